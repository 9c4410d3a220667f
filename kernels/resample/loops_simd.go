//go:build amd64 || arm64

package resample

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// groups is groupsGo by the fastest instructions of this processor.
func (f *polyphase) groups(y, x []float32, m int) {
	if !haveSIMD {
		f.groupsGo(y, x, m)
		return
	}
	_, _ = x[f.begin(m)], x[f.begin(m+len(y)-1)+f.taps-1]
	turn, at := m/f.period, m%f.period
	groupsSIMD(&y[0], &x[0], turn*f.advance, &f.rows[0], &f.places[at][0], &f.places[f.period][0], f.period, f.advance, f.taps,
		len(y)/group)
}
