package stft

import (
	"slices"

	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/native/accelerate"
	"crossover/native/fftw"
	"crossover/pool"
)

// transform is a real FFT of one or several successive frames.
type transform interface {
	Forward(dst []complex64, src []float32)
}

// transforms are those of one goroutine: a transform of a block of frames, and a transform of a single frame.
type transforms struct {
	blockFrames   int
	block, single transform
}

// newTransforms makes transforms of n points, one set for each of count goroutines.
type newTransforms func(n, count int) ([]transforms, error)

// inverseTransform writes a factor times the samples of one or several successive frames, whose bins are src.
type inverseTransform func(dst []float32, src []complex64)

// inverses are those of one goroutine: an inverse transform of a block of frames, and one of a single frame.
type inverses struct {
	blockFrames   int
	block, single inverseTransform
	factor        float64 // by which the samples are too large
}

// newInverses makes inverse transforms of n points, one set for each of count goroutines.
type newInverses func(n, count int) ([]inverses, error)

func inGo(n, count int) ([]transforms, error) {
	var each []transforms
	for t := fft.NewReal(n); len(each) < count; t = t.Clone() {
		each = append(each, transforms{blockFrames: 1, block: t, single: t})
	}
	return each, nil
}

// framesPerBlock is the number of frames that FFTW transforms in one call. With so many, frames share twiddle factors. With
// so few, a block of the usual windows stays in the second-level cache.
const framesPerBlock = 16

// withFFTW returns the same single-threaded plans of FFTW for all goroutines, because any number of goroutines may run a
// plan.
func withFFTW(n, count int) ([]transforms, error) {
	block, err := fftw.NewReal(n, framesPerBlock, 1)
	if err != nil {
		return nil, err
	}
	single, err := fftw.NewReal(n, 1, 1)
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]transforms{{blockFrames: framesPerBlock, block: block, single: single}}, count), nil
}

// withAccelerate returns a transform of Apple's vDSP for each goroutine. Such a transform computes one frame at a time, in
// memory of its own.
func withAccelerate(n, count int) ([]transforms, error) {
	each := make([]transforms, count)
	for i := range each {
		t, err := accelerate.NewReal(n)
		if err != nil {
			return nil, err
		}
		each[i] = transforms{blockFrames: 1, block: t, single: t}
	}
	return each, nil
}

func inverseInGo(n, count int) ([]inverses, error) {
	var each []inverses
	for t := fft.NewReal(n); len(each) < count; t = t.Clone() {
		each = append(each, inverses{blockFrames: 1, block: t.Inverse, single: t.Inverse, factor: 1})
	}
	return each, nil
}

// inverseWithFFTW is withFFTW for inverse transforms.
func inverseWithFFTW(n, count int) ([]inverses, error) {
	block, err := fftw.NewInverseReal(n, framesPerBlock, 1)
	if err != nil {
		return nil, err
	}
	single, err := fftw.NewInverseReal(n, 1, 1)
	if err != nil {
		return nil, err
	}
	all := inverses{blockFrames: framesPerBlock, block: block.InverseUnscaled, single: single.InverseUnscaled, factor: float64(n)}
	return slices.Repeat([]inverses{all}, count), nil
}

// inverseWithAccelerate is withAccelerate for inverse transforms.
func inverseWithAccelerate(n, count int) ([]inverses, error) {
	each := make([]inverses, count)
	for i := range each {
		t, err := accelerate.NewReal(n)
		if err != nil {
			return nil, err
		}
		each[i] = inverses{blockFrames: 1, block: t.InverseUnscaled, single: t.InverseUnscaled, factor: float64(n)}
	}
	return each, nil
}

// framer transforms the frames of a signal on one goroutine.
type framer struct {
	Params
	transforms
	window []float32
	rows   []float32 // the windowed frames of a block
}

// newFramers returns framers for count goroutines.
func newFramers(p Params, count int, newTransforms newTransforms) ([]framer, error) {
	each, err := newTransforms(p.NFFT, count)
	if err != nil {
		return nil, err
	}
	window := p.floatWeights(1)
	framers := make([]framer, count)
	for i, t := range each {
		framers[i] = framer{p, t, window, make([]float32, t.blockFrames*p.NFFT)}
	}
	return framers, nil
}

// load writes frame f of x, multiplied by the window, to dst.
func (r *framer) load(dst, x []float32, f int) {
	start := f*r.Hop - r.lead()
	from := min(max(-start, 0), r.NFFT)
	to := min(max(len(x)-start, from), r.NFFT)
	r.pad(dst[:from], x, start, r.window)
	multiply(dst[from:to], x[start+from:start+to], r.window[from:to])
	r.pad(dst[to:], x, start+to, r.window[to:])
}

// pad writes what lies outside of x from index start on, multiplied by the window, to dst.
func (r *framer) pad(dst, x []float32, start int, window []float32) {
	if r.Padding == Zero || len(x) == 0 {
		clear(dst)
		return
	}
	for j := range dst {
		dst[j] = x[reflected(start+j, len(x))] * window[j]
	}
}

// span fills the frames from lo to hi−1 of dst.
func (r *framer) span(dst []complex64, x []float32, lo, hi int) {
	bins := r.bins()
	f := lo
	for ; f+r.blockFrames <= hi; f += r.blockFrames {
		for i := range r.blockFrames {
			r.load(r.rows[i*r.NFFT:(i+1)*r.NFFT], x, f+i)
		}
		r.block.Forward(dst[f*bins:(f+r.blockFrames)*bins], r.rows)
	}
	for ; f < hi; f++ {
		row := r.rows[:r.NFFT]
		r.load(row, x, f)
		r.single.Forward(dst[f*bins:(f+1)*bins], row)
	}
}

// samplesPerMicrosecond is about how many samples of frames are windowed and transformed in a microsecond. samplesPerChunk is the
// greatest number of them that a worker takes at a time, except for a block of frames.
const (
	samplesPerMicrosecond = 2048
	samplesPerChunk       = 8192
)

// grain returns the number of frames in a chunk, which is whole blocks: see [pool.Pool.Grain]. FFTW transforms single frames at
// less than half of the speed.
func (p Params) grain(frames, blockFrames int, workers *pool.Pool) int {
	return workers.Grain(frames, samplesPerMicrosecond/float64(p.NFFT), blockFrames)
}

// over returns the loop over the frames of a signal.
func over(newTransforms newTransforms) func(p Params, workers int) (kernels.Loop, error) {
	return func(p Params, workers int) (kernels.Loop, error) {
		framers, err := newFramers(p, workers, newTransforms)
		if err != nil {
			return kernels.Loop{}, err
		}
		return kernels.Loop{
			Rows: func(s *kernels.Shape) int { return p.frames(s[samples]) },
			Grain: func(_ *kernels.Shape, frames int, workers *pool.Pool) int {
				block := framers[0].blockFrames
				return min(p.grain(frames, block, workers), block*max(1, samplesPerChunk/(block*p.NFFT)))
			},
			Do: func(worker int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
				framers[worker].span(kernels.Complex(a[0]), a[1], lo, hi)
			},
		}, nil
	}
}
