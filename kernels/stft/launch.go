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
		launch.Frames(b, t[0], t[1], p.NFFT, launch.Cut{Count: p.frames(s[samples]), Hop: p.Hop, Lead: p.lead(),
			Samples: s[samples], Window: cosines[p.Window], Reflected: p.Padding == Reflect})
	}
}

// newVendor returns a function that appends a spectrogram whose frames a vendor's library transforms.
func newVendor(_ *gpu.Device, library gpu.FFT, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		appendFramed(b, p, s, t, func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
			b.FFT(library, dst, src, gpu.Transform{N: n, Batch: batch})
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
		rows, t[1], b.Constant(gpu.Float, p.floatWeights(1)),
		gpu.Values(p.NFFT, p.Hop, p.lead(), int(p.Padding), s[samples], apart))
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

//go:embed istft.metal
var inverseText string

//go:embed overlapped.metal
var overlappedText string

// appendInverse appends the inverse by our kernels. If a thread can have the same samples of every frame, one kernel transforms
// the frames and adds them up, so that the samples of the frames do not go through memory.
func appendInverse(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	if shared, ok := overlappedBy(p); ok {
		appendOverlapped(b, p, s, t, shared)
		return
	}
	appendAdded(b, p, s, t, launch.InverseReal)
}

// overlap is how the frames of an inverse are transformed and added up by one kernel.
type overlap struct {
	launch.Shared
	frames   int // that reach a sample
	team     int // rows of threads that transform the frames of a part
	resident int // threads that a core of an H200 has the registers for
}

// overlappedBy returns how the frames are added up. ok is false if there is no kernel for these lengths.
func overlappedBy(p Params) (o overlap, ok bool) {
	if p.NFFT < launch.ShortestInverse || p.NFFT > 2*launch.LongestShared || p.NFFT&(p.NFFT-1) != 0 || p.Hop > p.NFFT {
		return o, false
	}
	o = overlap{launch.ShareInverse(gpu.Source{Name: "passes.metal+overlapped.metal", Text: overlappedText}, p.NFFT),
		(p.NFFT + p.Hop - 1) / p.Hop, 1, 512}
	pair := 2 * o.Lanes // samples that the threads of a row have side by side
	if p.Hop%pair != 0 {
		return o, false
	}
	// The parts of two rows are twice as long, so that half as many frames are transformed twice. With few frames that reach a sample
	// that saves less than it takes.
	if o.frames >= 4 && o.Rows%2 == 0 {
		o.team = 2
	}
	if p.NFFT/pair <= 8 {
		o.resident = 768
	}
	o.Source = o.Source.Define("SHIFT", p.Hop/pair).Define("TEAM", o.team).Define("RESIDENT", o.resident)
	if o.team == 2 {
		// What rows hand over to each other waits for a barrier, which comes after the last exchange of a transform.
		o.Source = o.Source.Define("FREE", 1)
	}
	return o, true
}

// appendOverlapped appends the kernel that transforms the frames and adds them up.
func appendOverlapped(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer, o overlap) {
	if !fits(b, p, s, launch.MostValues) {
		return
	}
	n := s[samples]
	first := p.lead() / p.Hop
	blocks := (p.lead()+n-1)/p.Hop - first + 1
	// With more parts, more frames are transformed twice. With fewer, cores wait.
	each := o.walked(blocks, b.Facts().Cores*o.resident/(o.Lanes*o.team))
	parts := (blocks + each - 1) / each
	weights := p.floatWeights(1)
	scaled := make([]float32, p.NFFT)
	for i := range p.Hop {
		sum := float32(0)
		for j := i; j < p.NFFT; j += p.Hop {
			sum += weights[j] * weights[j]
		}
		for j := i; j < p.NFFT; j += p.Hop {
			scaled[o.scaledPlace(j)] = weights[j] * share(sum) / float32(p.NFFT)
		}
	}
	b.Dispatch(b.Kernel(o.Source, "overlapped"), gpu.Size{X: (parts*o.team + o.Rows - 1) / o.Rows, Y: 1, Z: 1},
		gpu.Size{X: o.Threads, Y: 1, Z: 1}, t[0], t[1], b.Constant(gpu.Float2, o.Roots), b.Constant(gpu.Float2, o.Halves),
		b.Constant(gpu.Float2, weights), b.Constant(gpu.Float4, scaled),
		gpu.Values(p.frames(n), n, first, each, (each+o.frames-1)/o.team))
}

// scaledPlace returns where the scaled weight of sample j of a frame is. Two pairs of samples that a thread has one after the other
// lie side by side, so that it loads both at once.
func (o overlap) scaledPlace(j int) int {
	pair := j / 2
	m, lane := pair/o.Lanes, pair%o.Lanes
	return 4*(m/2*o.Lanes+lane) + m%2*2 + j%2
}

// walked returns how many blocks are in each of at most `parts` parts. A part with the frames that reach its first block is a
// multiple of a team's frames.
func (o overlap) walked(blocks, parts int) int {
	each := (blocks + parts - 1) / parts
	return each + (o.team-(each+o.frames-1)%o.team)%o.team
}

// newInverseVendor returns a function that appends the inverse by a vendor's library. The library does not divide by the number
// of samples and may overwrite the bins, so it gets a copy of them that is divided.
func newInverseVendor(_ *gpu.Device, library gpu.FFT, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		appendAdded(b, p, s, t, func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
			bins := b.Scratch(gpu.Float2, batch*(n/2+1))
			launch.ScaledBins(b, bins, src, n, batch)
			b.FFT(library, dst, bins, gpu.Transform{N: n, Batch: batch, Inverse: true})
		})
	}, nil
}

// appendAdded appends an inverse transform of all frames, and a kernel that adds their samples up.
func appendAdded(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer,
	transform func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int)) {
	if !fits(b, p, s, launch.MostValues) {
		return
	}
	frames, vector := p.frames(s[samples]), 1
	if p.NFFT%8 == 0 && p.Hop%4 == 0 { // so that 4 divides the lead too
		vector = 4
	}
	rows := b.Scratch(gpu.Float, frames*p.NFFT)
	transform(b, rows, t[1], p.NFFT, frames)
	const width = 256
	source := gpu.Source{Name: "istft.metal", Text: inverseText}.Define("VECTOR", vector)
	b.Dispatch(b.Kernel(source, "overlap_add"), gpu.Size{X: (s[samples] + width*vector - 1) / (width * vector), Y: 1, Z: 1},
		gpu.Size{X: width, Y: 1, Z: 1}, t[0], rows, b.Constant(gpu.Float, p.floatWeights(1)),
		gpu.Values(p.NFFT, p.Hop, p.lead(), s[samples], frames))
}
