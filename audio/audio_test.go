package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	goaudio "github.com/go-audio/audio"
	"github.com/go-audio/wav"
)

// recording writes PCM files without the reader's code, so that the reader is not tested against itself.
type recording struct {
	bits, channels, rate int
	values               []int // interleaved; 8-bit values are unsigned
}

func (r recording) data() []byte {
	var data []byte
	for _, v := range r.values {
		for shift := 0; shift < r.bits; shift += 8 {
			data = append(data, uint8(v>>shift))
		}
	}
	return data
}

// chunk returns a RIFF chunk, padded to an even length.
func chunk(id string, body []byte) []byte {
	out := append([]byte(id), binary.LittleEndian.AppendUint32(nil, uint32(len(body)))...)
	out = append(out, body...)
	if len(body)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

func riff(chunks ...[]byte) []byte {
	body := append([]byte("WAVE"), bytes.Join(chunks, nil)...)
	return chunk("RIFF", body)
}

func (r recording) format(code uint16) []byte {
	var body []byte
	body = binary.LittleEndian.AppendUint16(body, code)
	body = binary.LittleEndian.AppendUint16(body, uint16(r.channels))
	body = binary.LittleEndian.AppendUint32(body, uint32(r.rate))
	body = binary.LittleEndian.AppendUint32(body, uint32(r.rate*r.channels*r.bits/8))
	body = binary.LittleEndian.AppendUint16(body, uint16(r.channels*r.bits/8))
	return binary.LittleEndian.AppendUint16(body, uint16(r.bits))
}

// extensible returns an extensible format whose subformat is the plain code.
func (r recording) extensible(code uint16) []byte {
	body := r.format(0xFFFE)
	body = binary.LittleEndian.AppendUint16(body, 22)
	body = binary.LittleEndian.AppendUint16(body, uint16(r.bits))
	body = binary.LittleEndian.AppendUint32(body, 3)
	body = binary.LittleEndian.AppendUint16(body, code)
	return append(body, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71)
}

func (r recording) file() []byte {
	return riff(chunk("fmt ", r.format(1)), chunk("data", r.data()))
}

var mono16 = recording{16, 1, 8000, []int{0, 16384, -16384, 32767, -32768}}

var mono16Want = []float32{0, 0.5, -0.5, 32767.0 / 32768, -1}

func TestDecode(t *testing.T) {
	below1 := math.Nextafter32(1, 0)
	info := chunk("LIST", append([]byte("INFOISFT"), 0xF0, 0xFF, 0xFF, 0xFF, 'x', 0)) // claims an entry of 4 GiB
	for name, c := range map[string]struct {
		file []byte
		rate float64
		want []float32
	}{
		"8 bits": {
			recording{8, 1, 11025, []int{128, 192, 64, 255, 0}}.file(), 11025,
			[]float32{0, 0.5, -0.5, 127.0 / 128, -1},
		},
		"16 bits": {mono16.file(), 8000, mono16Want},
		"24 bits": {
			recording{24, 1, 48000, []int{0, 1 << 22, -1 << 22, 1<<23 - 1, -1 << 23, -1}}.file(), 48000,
			[]float32{0, 0.5, -0.5, 1 - 1.0/(1<<23), -1, -1.0 / (1 << 23)},
		},
		"32 bits": {
			recording{32, 1, 96000, []int{0, 1 << 30, -1 << 30, 1<<31 - 1, -1 << 31}}.file(), 96000,
			[]float32{0, 0.5, -0.5, below1, -1},
		},
		"stereo": {
			recording{16, 2, 44100, []int{16384, 0, -32768, -32768, 32767, 32767}}.file(), 44100,
			[]float32{0.25, -1, 32767.0 / 32768},
		},
		"8 bits, stereo": {
			recording{8, 2, 44100, []int{255, 1, 128, 0}}.file(), 44100, []float32{0, -0.5},
		},
		"24 bits, 6 channels": {
			recording{24, 6, 44100, []int{1 << 22, 1 << 22, 1 << 22, 0, 0, 0, -1 << 23, -1 << 23, -1 << 23, -1 << 23, -1 << 23, -1 << 23}}.file(),
			44100, []float32{0.25, -1},
		},
		"24 bits, 6 channels, largest": {
			recording{24, 6, 44100, []int{1<<23 - 1, 1<<23 - 1, 1<<23 - 1, 1<<23 - 1, 1<<23 - 1, 1<<23 - 1}}.file(),
			44100, []float32{1 - 1.0/(1<<23)},
		},
		"an odd number of bytes": {recording{8, 1, 8000, []int{192, 64, 192}}.file(), 8000, []float32{0.5, -0.5, 0.5}},
		"an odd number of bytes, 24 bits": {
			recording{24, 1, 8000, []int{1 << 22}}.file(), 8000, []float32{0.5},
		},
		"extensible": {
			riff(chunk("fmt ", mono16.extensible(1)), chunk("data", mono16.data())), 8000, mono16Want,
		},
		"format chunk with an empty extension": {
			riff(chunk("fmt ", append(mono16.format(1), 0, 0)), chunk("data", mono16.data())), 8000, mono16Want,
		},
		"chunks of others around": {
			riff(chunk("bext", make([]byte, 603)), info, chunk("fmt ", mono16.format(1)), info, chunk("fact", []byte{5, 0, 0, 0}),
				chunk("data", mono16.data()), chunk("cue ", []byte{1})), 8000, mono16Want,
		},
		"data before format": {
			riff(chunk("data", mono16.data()), chunk("fmt ", mono16.format(1))), 8000, mono16Want,
		},
		"two data chunks": {
			riff(chunk("data", mono16.data()), chunk("data", []byte{1, 2}), chunk("fmt ", mono16.format(1))), 8000, mono16Want,
		},
		"a broken chunk after the samples": {
			append(mono16.file(), "LIST\xff\xff\xff\x7f"...), 8000, mono16Want,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, rate, err := decode(bytes.NewReader(c.file), int64(len(c.file)))
			if err != nil {
				t.Fatal(err)
			}
			if rate != c.rate {
				t.Errorf("sample rate %v, want %v", rate, c.rate)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) { // every value is exact in float32
				t.Errorf("samples %v, want %v", got, c.want)
			}
		})
	}
}

// TestDecodeCrossesPieces reads more than one piece, at a channel count that does not divide them.
func TestDecodeCrossesPieces(t *testing.T) {
	r := recording{bits: 24, channels: 3, rate: 44100}
	const frames = 40000
	for i := range frames * r.channels {
		r.values = append(r.values, (i*7919)%(1<<23)-(1<<22))
	}
	file := r.file()
	got, _, err := decode(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != frames {
		t.Fatalf("%d samples, want %d", len(got), frames)
	}
	for i, v := range got {
		frame := r.values[3*i : 3*i+3]
		if want := float32(float64(frame[0]+frame[1]+frame[2]) / 3 / (1 << 23)); math.Abs(float64(v-want)) > 1e-7 {
			t.Fatalf("sample %d is %v, want %v", i, v, want)
		}
	}
}

// TestDecodeReadsTheEncoder reads files that the library's encoder wrote.
func TestDecodeReadsTheEncoder(t *testing.T) {
	for _, bits := range []int{8, 16, 24, 32} {
		for _, channels := range []int{1, 2, 6} {
			t.Run(fmt.Sprintf("bits=%d/channels=%d", bits, channels), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "tone.wav")
				f, err := os.Create(path)
				if err != nil {
					t.Fatal(err)
				}
				const frames = 1000
				buffer := &goaudio.IntBuffer{Format: &goaudio.Format{NumChannels: channels, SampleRate: 22050}, SourceBitDepth: bits}
				var want []float64
				for i := range frames {
					v := 0.9 * math.Sin(float64(i)/10)
					want = append(want, v)
					for range channels {
						sample := int(math.Round(v * float64(int(1)<<(bits-1))))
						if bits == 8 {
							sample += 128
						}
						buffer.Data = append(buffer.Data, sample)
					}
				}
				encoder := wav.NewEncoder(f, 22050, bits, channels, 1)
				encoder.Metadata = &wav.Metadata{Artist: "nobody", Title: "tone"}
				if err := encoder.Write(buffer); err != nil {
					t.Fatal(err)
				}
				if err := encoder.Close(); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				input, err := ReadWAV(path)
				if err != nil {
					t.Fatal(err)
				}
				if input.Name != "tone.wav" || input.SampleRate != 22050 || len(input.Samples) != frames {
					t.Fatalf("%q, %v Hz, %d samples, want tone.wav, 22050 Hz, %d", input.Name, input.SampleRate, len(input.Samples), frames)
				}
				// Half a step of the sample format, and float32's rounding.
				tolerance := 0.5/float64(int(1)<<(bits-1)) + 1e-7
				for i, v := range input.Samples {
					if math.Abs(float64(v)-want[i]) > tolerance {
						t.Fatalf("sample %d is %v, want %v ± %v", i, v, want[i], tolerance)
					}
				}
			})
		}
	}
}

func TestReadWAVRefuses(t *testing.T) {
	whole := mono16.file()
	with := func(code uint16, change func(r *recording)) []byte {
		r := mono16
		if change != nil {
			change(&r)
		}
		return riff(chunk("fmt ", r.format(code)), chunk("data", mono16.data()))
	}
	frameBytes := bytes.Clone(whole)
	frameBytes[32] = 7
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":              {nil, "empty file"},
		"text":               {[]byte("hello\nworld\n, this is text"), `not a WAV file: begins with "hello\nworld\n"`},
		"short text":         {[]byte("hi"), `not a WAV file: begins with "hi"`},
		"PNG":                {[]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), `begins with "\x89PNG`},
		"AVI":                {[]byte("RIFF\x10\x00\x00\x00AVI LIST"), "not a WAV file"},
		"RF64":               {append([]byte("RF64"), whole[4:]...), `begins with "RF64`},
		"only the RIFF part": {whole[:12], "ends without a format chunk"},
		"half a chunk name":  {whole[:14], "header ends early, after 14 bytes"},
		"half a format":      {whole[:30], "fmt chunk ends after 10 of 16 bytes"},
		"no data":            {whole[:36], "ends without a data chunk"},
		"half a data header": {whole[:40], "header ends early"},
		"samples missing":    {whole[:len(whole)-3], "data chunk ends after 7 of 10 bytes"},
		"no samples":         {riff(chunk("fmt ", mono16.format(1)), chunk("data", nil)), "holds no samples"},
		"half a frame":       {riff(chunk("fmt ", mono16.format(1)), chunk("data", []byte{1, 2, 3})), "3 bytes is not a whole number of frames of 2"},
		"endless stream":     {append(bytes.Clone(whole[:40]), 0xFF, 0xFF, 0xFF, 0xFF, 1, 2), "data chunk ends after 2 of 4294967295 bytes"},
		"huge format chunk":  {append(bytes.Clone(whole[:16]), 0xF0, 0xFF, 0xFF, 0xFF, 1, 0), "fmt chunk ends after 2 of 4294967280 bytes"},
		"short format chunk": {riff(chunk("fmt ", mono16.format(1)[:14]), chunk("data", mono16.data())), "format chunk of 14 bytes is too short"},
		"unprintable chunk":  {append(bytes.Clone(whole[:12]), "\x00\n\x01\x02\x09\x00\x00\x00"...), `"\x00\n\x01\x02" chunk ends after 0 of 9 bytes`},
		"IEEE float":         {with(3, func(r *recording) { r.bits = 32 }), "format IEEE float (0x0003) is not supported (want integer PCM of 8, 16, 24 or 32 bits)"},
		"A-law":              {with(6, func(r *recording) { r.bits = 8 }), "format A-law"},
		"unknown":            {with(0x1234, nil), "format 0x1234 is not supported"},
		"extensible float":   {riff(chunk("fmt ", mono16.extensible(3)), chunk("data", mono16.data())), "format IEEE float"},
		"extensible, cut":    {with(0xFFFE, nil), "format extensible (0xFFFE) is not supported"},
		"12 bits":            {with(1, func(r *recording) { r.bits = 12 }), "PCM of 12 bits is not supported"},
		"64 bits":            {with(1, func(r *recording) { r.bits = 64 }), "PCM of 64 bits is not supported"},
		"0 bits":             {with(1, func(r *recording) { r.bits = 0 }), "PCM of 0 bits"},
		"0 channels":         {with(1, func(r *recording) { r.channels = 0 }), "0 channels"},
		"0 Hz":               {with(1, func(r *recording) { r.rate = 0 }), "sample rate of 0 Hz"},
		"wrong frame":        {frameBytes, "frames of 7 bytes do not hold 1 channels of 16 bits"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "take.wav")
			if err := os.WriteFile(path, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			expectLine(t, path, c.want)
		})
	}
	t.Run("folder", func(t *testing.T) { expectLine(t, t.TempDir(), "not a regular file") })
	t.Run("missing", func(t *testing.T) { expectLine(t, filepath.Join(t.TempDir(), "none.wav"), "no such file") })
}

// expectLine checks that reading path fails with one line that holds want and names the path.
func expectLine(t *testing.T, path, want string) {
	t.Helper()
	input, err := ReadWAV(path)
	if err == nil {
		t.Fatalf("read %d samples, want an error", len(input.Samples))
	}
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q, want one line that holds %q and the path", err, want)
	}
	if input.Samples != nil {
		t.Error("samples beside an error")
	}
}

// TestReadWAVRefusesTheEndless uses a file with a hole of 256 MiB, which takes no space.
func TestReadWAVRefusesTheEndless(t *testing.T) {
	const size = maxFrames + 2
	path := filepath.Join(t.TempDir(), "long.wav")
	r := recording{8, 1, 44100, nil}
	header := riff(chunk("fmt ", r.format(1)))
	header = append(header, "data"...)
	header = binary.LittleEndian.AppendUint32(header, size)
	if err := os.WriteFile(path, header, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(header))+size); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	expectLine(t, path, "268435458 samples a channel are more than fit (want at most 268435456")
}

// breaking is a file whose reads fail.
type breaking struct{ f func() (int, error) }

func (b breaking) ReadAt([]byte, int64) (int, error) { return b.f() }

func TestDecodeSurvivesItsReader(t *testing.T) {
	for name, c := range map[string]struct {
		read func() (int, error)
		want string
	}{
		"read error": {func() (int, error) { return 0, io.ErrClosedPipe }, io.ErrClosedPipe.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := decode(breaking{c.read}, 100); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestDecodeShrinkingFile cuts the file after its size was read and before its samples are.
func TestDecodeShrinkingFile(t *testing.T) {
	file := mono16.file()
	_, _, err := decode(bytes.NewReader(file[:len(file)-4]), int64(len(file)))
	if want := "data chunk ends after 6 of 10 bytes"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func FuzzReadWAV(f *testing.F) {
	f.Add(mono16.file())
	f.Add(recording{24, 2, 44100, []int{1, 2, 3, 4}}.file())
	f.Add(recording{8, 1, 44100, []int{1, 2, 3}}.file())
	f.Add(riff(chunk("LIST", []byte("INFOISFT\xf0\xff\xff\xff")), chunk("fmt ", mono16.extensible(1)), chunk("data", mono16.data())))
	f.Fuzz(func(t *testing.T, file []byte) {
		samples, rate, err := decode(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error is more than one line: %q", err)
			}
			return
		}
		if len(samples) == 0 || len(samples) > len(file) || !(rate > 0) {
			t.Fatalf("%d samples at %v Hz from %d bytes", len(samples), rate, len(file))
		}
		for i, v := range samples {
			if !(v >= -1 && v < 1) {
				t.Fatalf("sample %d is %v, outside [−1, 1)", i, v)
			}
		}
	})
}

// TestReadWAVOnARecording reads a real recording, the file named by CROSSOVER_TEST_WAV.
func TestReadWAVOnARecording(t *testing.T) {
	path := os.Getenv("CROSSOVER_TEST_WAV")
	if path == "" {
		t.Skip("CROSSOVER_TEST_WAV names no recording")
	}
	input, err := ReadWAV(path)
	if err != nil {
		t.Fatal(err)
	}
	energy := 0.0
	for _, v := range input.Samples {
		energy += float64(v) * float64(v)
	}
	rms := math.Sqrt(energy / float64(len(input.Samples)))
	t.Logf("%s: %d samples at %v Hz, RMS %.4f", input.Name, len(input.Samples), input.SampleRate, rms)
	if rms == 0 {
		t.Error("the recording is silent")
	}
}
