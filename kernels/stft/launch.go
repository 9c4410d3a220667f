package stft

import (
	_ "embed"
	"fmt"
	"math"
	"unsafe"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft"
)

//go:embed stft.metal
var text string

var source = gpu.Source{Name: "stft.metal", Text: text}

// launch computes spectrograms on a GPU.
type launch struct {
	framing
	device *gpu.Device
	append appendFrames
	most   int                        // values that the frames of a call may hold
	plans  kernels.Plans[*launchPlan] // by number of samples
}

// appendFrames appends the spectrogram dst of so many samples at src to a plan.
type appendFrames func(b *gpu.Builder, dst, src *gpu.Buffer, f *framing, samples int)

// launchPlan is the launch plan of one number of samples.
type launchPlan struct {
	*gpu.Plan
	src, dst *gpu.Buffer
}

func newLaunch(d *gpu.Device, p Params) (engine, error) {
	l := &launch{framing: newFraming(p), device: d, append: fused, most: math.MaxInt32}
	if !fft.FramesFit(p.NFFT) {
		l.append, l.most = framed(fft.LaunchReal), fft.MostValues
	}
	return l, nil
}

// newVendorLaunch returns the engine of a vendor's library, which gets its frames from a kernel of ours.
func newVendorLaunch(d *gpu.Device, library gpu.FFT, p Params) (engine, error) {
	vendor := framed(func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
		b.Encode(func() (gpu.External, error) { return library.NewRealFFT(dst.Region(), src.Region(), n, batch) })
	})
	return &launch{framing: newFraming(p), device: d, append: vendor, most: fft.MostValues}, nil
}

// fused cuts and windows the frames where the transform loads them.
func fused(b *gpu.Builder, dst, src *gpu.Buffer, f *framing, samples int) {
	fft.LaunchFrames(b, dst, src, f.NFFT,
		fft.Frames{Count: f.frames(samples), Hop: f.Hop, Lead: f.NFFT / 2, Samples: samples})
}

// framed writes the frames out for a transform that takes rows.
func framed(transform func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int)) appendFrames {
	const width = 256
	return func(b *gpu.Builder, dst, src *gpu.Buffer, f *framing, samples int) {
		frames, apart := f.frames(samples), (f.NFFT+width-1)/width
		rows := b.Scratch(gpu.Float, frames*f.NFFT)
		b.Dispatch(b.Kernel(source, "frames"), gpu.Size{X: frames * apart, Y: 1, Z: 1}, gpu.Size{X: width, Y: 1, Z: 1},
			rows, src, b.Constant(gpu.Float, f.window), gpu.Values(f.NFFT, f.Hop, samples, apart))
		transform(b, dst, rows, f.NFFT, frames)
	}
}

func (l *launch) plan(samples int) (*launchPlan, error) {
	frames := l.frames(samples)
	if l.NFFT > l.most/2 || samples > l.most-2*l.NFFT || frames > l.most/l.NFFT || l.Hop > l.most {
		return nil, fmt.Errorf("stft: %d samples in frames of %d every %d are too many for one call on a GPU (want frames of "+
			"at most %d values together)", samples, l.NFFT, l.Hop, l.most)
	}
	b := l.device.NewPlan()
	src, dst := b.Input(gpu.Float, max(samples, 1)), b.Output(gpu.Float2, frames*l.bins())
	l.append(b, dst, src, &l.framing, samples)
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	return &launchPlan{p, src, dst}, nil
}

func (l *launch) transform(dst []complex64, x []float32) error {
	p, err := l.plans.For(len(x), l.plan)
	if err != nil {
		return err
	}
	copy(p.src.Floats(), x)
	if err := p.Run(); err != nil {
		return err
	}
	copy(floats(dst), p.dst.Floats())
	return nil
}

// bind returns the call that computes the spectrogram of x, which lies in the plan's own memory already.
func (l *launch) bind(x []float32) (kernels.Call, error) {
	p, err := l.plan(len(x))
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.src.Floats(), x)
	return kernels.PlanCall(p.Plan, p.dst.Floats), nil
}

// floats views complex values as their parts.
func floats(x []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}
