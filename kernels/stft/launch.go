package stft

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft/launch"
)

//go:embed stft.metal
var text string

var source = gpu.Source{Name: "stft.metal", Text: text}

// appendSpectrogram appends a spectrogram. If the transform has a kernel for frames, that kernel cuts and windows the frames
// when it loads them.
func appendSpectrogram(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	if !launch.FramesFit(p.NFFT) {
		appendFramed(b, p, s, t, launch.Real)
		return
	}
	if fits(b, p, s, math.MaxInt32) {
		launch.Frames(b, t[0], t[1], p.NFFT,
			launch.Cut{Count: p.frames(s[samples]), Hop: p.Hop, Lead: p.NFFT / 2, Samples: s[samples]})
	}
}

// newVendor returns a function that appends a spectrogram whose frames a vendor's library transforms.
func newVendor(_ *gpu.Device, library gpu.FFT, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		appendFramed(b, p, s, t, func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
			b.Encode(func() (gpu.External, error) { return library.NewRealFFT(dst.Region(), src.Region(), n, batch) })
		})
	}, nil
}

// appendFramed appends a kernel that writes the windowed frames to memory, and a transform of these rows.
func appendFramed(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer,
	transform func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int)) {
	if !fits(b, p, s, launch.MostValues) {
		return
	}
	const width = 256
	frames, apart := p.frames(s[samples]), (p.NFFT+width-1)/width
	rows := b.Scratch(gpu.Float, frames*p.NFFT)
	b.Dispatch(b.Kernel(source, "frames"), gpu.Size{X: frames * apart, Y: 1, Z: 1}, gpu.Size{X: width, Y: 1, Z: 1},
		rows, t[1], b.Constant(gpu.Float, hannFloats(p.NFFT)), gpu.Values(p.NFFT, p.Hop, s[samples], apart))
	transform(b, t[0], rows, p.NFFT, frames)
}

// fits reports whether the frames of a call together have at most most values. It refuses a shape with more.
func fits(b *gpu.Builder, p Params, s kernels.Shape, most int) bool {
	n := s[samples]
	if p.NFFT <= most/2 && n <= most-2*p.NFFT && p.frames(n) <= most/p.NFFT && p.Hop <= most {
		return true
	}
	b.Refuse(fmt.Errorf("stft: %d samples in frames of %d every %d are too many for one call on a GPU (want frames of at most "+
		"%d values together): %w", n, p.NFFT, p.Hop, most, kernels.ErrRefused))
	return false
}
