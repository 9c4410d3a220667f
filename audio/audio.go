// Package audio reads the recordings that the audio operations compute on: PCM WAV files, as mono float32.
//
// The package does not resample, does not read compressed or floating-point formats, and does not write. One call reads a
// file:
//
//	input, err := audio.ReadWAV("take.wav")
//
// The container is specified in Microsoft and IBM, "Multimedia Programming Interface and Data Specifications 1.0"
// (1991), chapter 3, and extended by https://learn.microsoft.com/windows/win32/api/mmreg/ns-mmreg-waveformatextensible.
package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	goaudio "github.com/go-audio/audio"

	"crossover/kernels"
)

// maxFrames is the longest recording that ReadWAV takes: 1 GiB of mono float32, 1 h 41 min at 44.1 kHz.
const maxFrames = 1 << 28

// ReadWAV reads the WAV file at path: integer PCM of 8 (unsigned), 16, 24 or 32 bits per sample, of any sample rate and any
// number of channels. It averages the channels into one, and scales samples to [−1, 1). The name of the input is that of the
// file, without its folder.
//
// ReadWAV reads the whole recording or fails. It fails if the file ends early, has no samples, has more than 268 435 456
// samples per channel (1 GiB in memory), or is in another format. The error is one line that says what was found.
func ReadWAV(path string) (kernels.Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return kernels.Input{}, fmt.Errorf("audio: %w", err)
	}
	if !info.Mode().IsRegular() { // checked before opening, because opening a pipe waits for a writer
		return kernels.Input{}, fmt.Errorf("audio: %s: not a regular file (want a PCM WAV file)", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return kernels.Input{}, fmt.Errorf("audio: %w", err)
	}
	defer f.Close()
	samples, rate, err := decode(f, info.Size())
	if err != nil {
		return kernels.Input{}, fmt.Errorf("audio: %s: %w", path, err)
	}
	return kernels.Input{Samples: samples, SampleRate: rate, Name: filepath.Base(path)}, nil
}

// decode reads a WAV file of size bytes.
func decode(r io.ReaderAt, size int64) (samples []float32, rate float64, err error) {
	layout, err := scan(r, size)
	if err != nil {
		return nil, 0, err
	}
	samples, err = layout.mono(r)
	if err != nil {
		return nil, 0, err
	}
	return samples, float64(layout.format.SampleRate), nil
}

// format is the body of a "fmt " chunk, as it lies in the file.
type format struct {
	Code           uint16
	Channels       uint16
	SampleRate     uint32
	BytesPerSecond uint32
	FrameBytes     uint16
	Bits           uint16
}

const (
	formatPCM        = 1
	formatExtensible = 0xFFFE
)

// extension is what follows format in the body of an extensible "fmt " chunk.
type extension struct {
	Size        uint16
	ValidBits   uint16
	ChannelMask uint32
	Code        uint16 // the first two bytes of the subformat
	Suffix      [14]byte
}

// subformatSuffix ends the subformats that stand for a plain format code: KSDATAFORMAT_SUBTYPE_PCM and its siblings.
var subformatSuffix = [14]byte{0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71}

// layout says where the samples lie in a file, and how to read them.
type layout struct {
	format format
	start  int64 // of the first sample
	bytes  int64 // of all samples
}

// frames returns the number of samples in each channel.
func (l *layout) frames() int64 { return l.bytes / int64(l.format.FrameBytes) }

// scan reads the headers of chunks until it has the format and the samples. It accepts only samples that lie inside the file
// and have a format that mono reads.
func scan(r io.ReaderAt, size int64) (*layout, error) {
	var header [12]byte
	n, err := r.ReadAt(header[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if n == 0 {
		return nil, errors.New("empty file (want a PCM WAV file)")
	}
	if string(header[:4]) != "RIFF" || string(header[8:12]) != "WAVE" {
		return nil, fmt.Errorf("not a WAV file: begins with %q (want RIFF....WAVE)", header[:n])
	}
	l := &layout{}
	var haveFormat, haveData bool
	for at := int64(len(header)); !haveFormat || !haveData; {
		var chunk struct {
			ID   [4]byte
			Size uint32
		}
		if err := readStruct(r, at, &chunk); err == io.EOF {
			missing := "a format"
			if haveFormat {
				missing = "a data"
			}
			return nil, fmt.Errorf("ends without %s chunk", missing)
		} else if err != nil {
			return nil, fmt.Errorf("header ends early, after %d bytes", size)
		}
		at += 8
		length := int64(chunk.Size)
		if left := size - at; length > left {
			return nil, fmt.Errorf("%s chunk ends after %d of %d bytes", printable(chunk.ID), left, length)
		}
		switch string(chunk.ID[:]) {
		case "fmt ":
			if l.format, err = readFormat(r, at, length); err != nil {
				return nil, err
			}
			haveFormat = true
		case "data":
			if !haveData { // the first one counts, as in players
				l.start, l.bytes = at, length
			}
			haveData = true
		}
		at += length + length%2 // chunks begin at even offsets
	}
	return l, l.check()
}

// check returns an error that says what is wrong with the samples.
func (l *layout) check() error {
	if l.bytes == 0 {
		return errors.New("holds no samples")
	}
	if l.bytes%int64(l.format.FrameBytes) != 0 {
		return fmt.Errorf("data chunk of %d bytes is not a whole number of frames of %d bytes", l.bytes, l.format.FrameBytes)
	}
	if l.frames() > maxFrames {
		return fmt.Errorf("%d samples a channel are more than fit (want at most %d, cut the recording)", l.frames(), maxFrames)
	}
	return nil
}

// readFormat reads the "fmt " chunk of length bytes at offset at. It fails if the format is another one.
func readFormat(r io.ReaderAt, at, length int64) (format, error) {
	const accepted = "(want integer PCM of 8, 16, 24 or 32 bits)"
	var f format
	var x extension
	if length < int64(binary.Size(f)) {
		return f, fmt.Errorf("format chunk of %d bytes is too short (want at least %d)", length, binary.Size(f))
	}
	if err := readStruct(r, at, &f); err != nil {
		return f, err
	}
	code := f.Code
	if code == formatExtensible && length >= int64(binary.Size(f)+binary.Size(x)) {
		if err := readStruct(r, at+int64(binary.Size(f)), &x); err != nil {
			return f, err
		}
		if x.Suffix == subformatSuffix {
			code = x.Code
		}
	}
	switch {
	case code != formatPCM:
		return f, fmt.Errorf("format %s is not supported %s", formatName(code), accepted)
	case f.Channels == 0:
		return f, errors.New("0 channels (want at least 1)")
	case f.SampleRate == 0:
		return f, errors.New("sample rate of 0 Hz (want at least 1)")
	case f.Bits != 8 && f.Bits != 16 && f.Bits != 24 && f.Bits != 32:
		return f, fmt.Errorf("PCM of %d bits is not supported %s", f.Bits, accepted)
	case int(f.FrameBytes) != int(f.Channels)*int(f.Bits)/8:
		return f, fmt.Errorf("frames of %d bytes do not hold %d channels of %d bits", f.FrameBytes, f.Channels, f.Bits)
	}
	return f, nil
}

// formatName names a format code.
func formatName(code uint16) string {
	names := map[uint16]string{
		2: "Microsoft ADPCM", 3: "IEEE float", 6: "A-law", 7: "µ-law", 0x11: "IMA ADPCM", 0x50: "MPEG audio",
		0x55: "MP3", formatExtensible: "extensible",
	}
	if name, ok := names[code]; ok {
		return fmt.Sprintf("%s (0x%04X)", name, code)
	}
	return fmt.Sprintf("0x%04X", code)
}

// pieceBytes is about how much of a file is read and converted at a time, so that it stays in a cache.
const pieceBytes = 1 << 17

// mono reads the samples and averages the channels.
func (l *layout) mono(r io.ReaderAt) ([]float32, error) {
	channels, frame := int(l.format.Channels), int64(l.format.FrameBytes)
	scale := 1 / float64(int64(1)<<(l.format.Bits-1))
	// The float32 below 1. The largest averages of 24 bits and values of 32 bits would round up to 1.
	const largest = 1 - 1.0/(1<<24)

	piece := make([]byte, min(max(pieceBytes/frame, 1)*frame, l.bytes))
	chunk := goaudio.PCMBuffer{I32: make([]int32, len(piece)*8/int(l.format.Bits)), DataType: goaudio.DataTypeI32,
		Format: &goaudio.Format{NumChannels: channels, SampleRate: int(l.format.SampleRate)}}
	mono := make([]float32, l.frames())
	left := mono
	for at := int64(0); at < l.bytes; at += int64(len(piece)) {
		piece = piece[:min(int64(len(piece)), l.bytes-at)]
		if n, err := r.ReadAt(piece, l.start+at); n < len(piece) {
			if err != io.EOF {
				return nil, err
			}
			return nil, fmt.Errorf("data chunk ends after %d of %d bytes", at+int64(n)/frame*frame, l.bytes)
		}
		samples := chunk.I32[:len(piece)*8/int(l.format.Bits)]
		integers(samples, piece, int(l.format.Bits))
		to := left[:len(samples)/channels]
		left = left[len(to):]
		switch channels {
		case 1:
			for i, v := range samples {
				to[i] = float32(min(scale*float64(v), largest))
			}
		case 2:
			for i := range to {
				v := samples[2*i:][:2]
				to[i] = float32(min(scale/2*float64(int64(v[0])+int64(v[1])), largest))
			}
		default:
			for i := range to {
				sum := int64(0)
				for _, v := range samples[i*channels:][:channels] {
					sum += int64(v)
				}
				to[i] = float32(min(float64(sum)*scale/float64(channels), largest))
			}
		}
	}
	return mono, nil
}

// integers writes the samples of a piece of a file, of 8, 16, 24 or 32 bits, to dst. Only those of 8 bits are unsigned.
func integers(dst []int32, piece []byte, bits int) {
	switch bits {
	case 8:
		for i := range dst {
			dst[i] = int32(piece[i]) - 1<<7
		}
	case 16:
		for i := range dst {
			dst[i] = int32(int16(binary.LittleEndian.Uint16(piece[2*i:])))
		}
	case 24:
		for i := range dst {
			b := piece[3*i:][:3]
			dst[i] = int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24) >> 8
		}
	default:
		for i := range dst {
			dst[i] = int32(binary.LittleEndian.Uint32(piece[4*i:]))
		}
	}
}

// readStruct reads a little-endian value at an offset.
func readStruct(r io.ReaderAt, at int64, v any) error {
	return binary.Read(io.NewSectionReader(r, at, int64(binary.Size(v))), binary.LittleEndian, v)
}

// printable quotes a chunk's name unless it is plain letters and digits.
func printable(id [4]byte) string {
	name := string(bytes.TrimRight(id[:], " "))
	for _, c := range name {
		if c < '!' || c > '~' {
			return fmt.Sprintf("%q", id[:])
		}
	}
	return name
}
