package audio

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkDecode reads recordings of a million frames.
func BenchmarkDecode(b *testing.B) {
	for _, bits := range []int{8, 16, 24, 32} {
		for _, channels := range []int{1, 2} {
			const frames = 1 << 20
			r := recording{bits: bits, channels: channels, rate: 44100}
			for i := range frames * channels {
				r.values = append(r.values, i*7919%(1<<(bits-1)))
			}
			file := r.file()
			b.Run(fmt.Sprintf("bits=%d/channels=%d", bits, channels), func(b *testing.B) {
				b.SetBytes(int64(len(file)))
				for b.Loop() {
					if _, _, err := decode(bytes.NewReader(file), int64(len(file))); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
