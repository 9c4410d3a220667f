package conv1d

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/native/fftw"
	"crossover/pool"
)

// StreamParams are what all calls of a [Stream] have in common.
type StreamParams struct {
	Taps  []float32 // of the filter, at least one; NewStream copies them
	Block int       // samples in each call, from 1 to 1 Mi
}

// mostBlock keeps the transforms, which are twice as long, within what a GPU transforms.
const mostBlock = 1 << 20

// The axes of the stream, and the tensors of a call.
const (
	streamBlock = iota
	streamTaps
)

const (
	streamOut = iota
	streamAfter
	streamIn
	streamBefore
)

var streamAxes = []kernels.Axis{
	{Name: "block", Unit: "samples", Min: 64, Max: 4096, Usual: []int{64, 128, 256, 480, 512, 1024, 2048, 4096}},
	{Name: "taps", Unit: "taps", Min: 1 << 10, Max: 64 << 10, Usual: []int{1 << 10, 2048, 4096, 8 << 10, 16 << 10, 22050, 32 << 10, 44100, 48000, 64 << 10}},
}

// window returns the length of the transforms: the least even length, from two blocks on, whose half has no prime factor above 7.
// Transforms of other lengths take up to three times as long, and their errors would be above the tolerance.
func (p StreamParams) window() int {
	for half := p.Block; ; half++ {
		rest := half
		for _, factor := range []int{2, 3, 5, 7} {
			for rest%factor == 0 {
				rest /= factor
			}
		}
		if rest == 1 {
			return 2 * half
		}
	}
}

// StreamOp declares one block of a convolution in a stream. The filter is cut into partitions as long as a block B. A call
// transforms a window, adds its product with each partition to the sum of an output block to come, and transforms the sum that is
// due back:
//
//	sums[p] ← sums[p+1] + X·H[p],   y = the values B to 2B−1 of the inverse transform of sums[0]
//
// X is the spectrum of the window: the block before, this block, and zeros up to the least length N, from 2B on, whose half has
// no prime factor above 7. H[p] is the spectrum of the taps p·B to (p+1)·B−1, zero-padded to N. Sums past the last are 0.
// So the state has a spectrum for each partition but the last one, and the B samples of the block before. A call reads and
// writes each of them once.
var StreamOp = kernels.Declare(kernels.Op[StreamParams]{
	Name:    "convolution-stream",
	Formula: "y[i] = Σ_k h[k]·x[i−k] for the next block of a signal; uniform partitions of a block, overlap-save",
	Source:  "F. Wefers, Partitioned convolution algorithms for real-time auralization, 2015, chapter 5",
	Axes:    streamAxes,
	// The number of partitions. Transforms have good lengths only, so the prime factors of the block say nothing.
	Features: []surface.Feature{kernels.Power(-1, 1)},
	Lines:    []kernels.Line{kernels.Along(streamAxes, "block", kernels.Param{Name: "taps", Value: 32 << 10})},
	Params: func(s kernels.Shape) StreamParams {
		return StreamParams{ImpulseResponse(s[streamTaps]), s[streamBlock]}
	},
	Check: StreamParams.check,
	IO: func(p StreamParams, _ kernels.Shape) []kernels.Tensor {
		block, state := []int{p.Block}, []int{p.state()}
		return []kernels.Tensor{
			streamOut:    {Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: block, InPlaceOf: "x"},
			streamAfter:  {Name: "after", Role: kernels.Out, Type: kernels.Float32, Dims: state},
			streamIn:     {Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: block},
			streamBefore: {Name: "before", Role: kernels.In, Type: kernels.Float32, Dims: state},
		}
	},
	// A recording, after noise that has rung out in part.
	Fill: func(p StreamParams, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		in.Fill(a[streamIn])
		sums, last := p.split(a[streamBefore])
		kernels.Noise(kernels.ComplexWords(sums), 3)
		for row := range slices.Chunk(sums, stride(p.window())) {
			clear(row[p.window()/2+1:])
		}
		kernels.Noise(last, 4)
	},
	Reference: streamReference,
	Tolerance: func(kernels.Shape) float64 { return tolerance },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		block, parts := float64(s[streamBlock]), math.Ceil(float64(s[streamTaps])/float64(s[streamBlock]))
		half := float64(StreamParams{Block: s[streamBlock]}.window() / 2)
		// The sums are read and written, and the filter is read. All are spectra of half+1 bins.
		return kernels.Work{Bytes: 16*block + 8*(half+1)*(3*parts-2), Flops: 2*transformFlops(2*half) + 8*half*parts,
			Pieces: parts, Threads: block * parts, Launches: 5}
	},
	By: []kernels.Makers[StreamParams]{
		kernels.Named("go", streamBy(goTransforms, false)),
		kernels.Revised(1, kernels.OnPool(kernels.Named("go-parallel", streamBy(goTransforms, true)))), // shorter filters are not divided
		kernels.Library("fftw", fftw.Probe, fftw.Version, streamBy(fftwTransforms, false)),
		kernels.Revised(1, kernels.OnPool(kernels.Library("fftw-parallel", fftw.Probe, fftw.Version, streamBy(fftwTransforms, true)))),
		kernels.Framework("", func(p StreamParams) (kernels.Runner, error) { return streamBy(accelerateTransforms, false)(nil, p) }),
		kernels.KernelText("", appendStream),
	},
})

// check fails if a parameter is out of range.
func (p StreamParams) check() error {
	if len(p.Taps) == 0 {
		return errors.New("convolution-stream: the filter has no taps: want at least 1")
	}
	if p.Block < 1 || p.Block > mostBlock {
		return fmt.Errorf("convolution-stream: blocks of %d samples: want 1 to %d", p.Block, mostBlock)
	}
	return nil
}

// parts returns the number of partitions.
func (p StreamParams) parts() int { return (len(p.Taps) + p.Block - 1) / p.Block }

// state returns the number of values of the state: the sums, two values for each bin, and the last block.
func (p StreamParams) state() int { return 2*(p.parts()-1)*stride(p.window()) + p.Block }

// split returns the two parts of a state.
func (p StreamParams) split(state []float32) (sums []complex64, last []float32) {
	at := len(state) - p.Block
	return kernels.Complex(state[:at]), state[at:]
}

// streamReference computes a call by the definition in float64.
func streamReference(p StreamParams, _ kernels.Shape, a *kernels.Args) []float64 {
	block, length, parts, row := p.Block, p.window(), p.parts(), stride(p.window())
	sums, last := p.split(a[streamBefore])
	transform := fourier.NewFFT(length)
	window := make([]float64, length)
	for i := range block {
		window[i], window[block+i] = float64(last[i]), float64(a[streamIn][i])
	}
	x := transform.Coefficients(nil, window)
	next := make([]complex128, parts*row)
	for q := range parts {
		h := realSpectrum(transform, p.Taps[q*block:min((q+1)*block, len(p.Taps))])
		for b := range row {
			if q+1 < parts {
				next[q*row+b] = complex128(sums[q*row+b])
			}
			if b <= length/2 {
				next[q*row+b] += x[b] * h[b]
			}
		}
	}
	transform.Sequence(window, next[:length/2+1])
	var out []float64
	for _, v := range window[block : 2*block] {
		out = append(out, v/float64(length))
	}
	for _, v := range next[row:] {
		out = append(out, real(v), imag(v))
	}
	for _, v := range a[streamIn] {
		out = append(out, float64(v))
	}
	return out
}

// Stream convolves a signal that comes in blocks of equal length with one filter. Only one goroutine at a time may use a
// Stream.
//
// It has no latency beyond the block: a call returns the outputs at the times of its own samples. To be heard in time, it must
// return within [Stream.Deadline]. All calls take equally long.
//
// As in [Plan], a NaN or an infinity reaches more outputs than those that it is a term of: all of its block and of the blocks
// that the filter reaches from there, and one more. So many blocks later the outputs are right again. The error is some 1e-7
// of the loudest output within the filter's length.
type Stream struct {
	// Explain takes the length of the blocks.
	*kernels.SizedPlan[StreamParams]

	params StreamParams
	states [2][]float32 // before a call and after it; nil before the first call
}

// NewStream returns the stream of a filter, after silence. It chooses by d, which may be nil: see [kernels.NewPlan]. NewStream
// copies the filter. It fails if the filter has no taps, or if block is not 1 to 1 Mi samples. Powers of two are fastest.
func NewStream(d *dispatch.Dispatcher, filter []float32, block int) (*Stream, error) {
	p := StreamParams{slices.Clone(filter), block}
	if err := p.check(); err != nil {
		return nil, err
	}
	plan := kernels.NewPlan(d, &StreamOp, p)
	return &Stream{SizedPlan: plan.Along(streamBlock, kernels.Shape{streamBlock: block, streamTaps: len(filter)}), params: p}, nil
}

// Block returns the number of samples in each call.
func (p *Stream) Block() int { return p.params.Block }

// Deadline returns the time that a block lasts at a sample rate in Hz: a call that takes longer is late. It means nothing at a
// rate that is not above 0.
func (p *Stream) Deadline(sampleRate float64) time.Duration {
	return time.Duration(float64(p.params.Block) / sampleRate * float64(time.Second))
}

// Process convolves the next block of the signal. The outputs of successive calls are the first outputs of the convolution of
// the whole signal, up to rounding. dst may be src but must not overlap it otherwise.
//
// The first call decides where the state lies: in shared memory ([kernels.Backends.Alloc]) if dst and src do. Process allocates
// nothing once an implementation has run twice. It panics if dst or src are not one block. It fails only if every
// implementation fails, and then leaves the state unchanged.
func (p *Stream) Process(dst, src []float32) error {
	kernels.Made(p.SizedPlan)
	if len(dst) != p.params.Block || len(src) != p.params.Block {
		panic(fmt.Sprintf("convolution-stream: dst has %d values and src %d, want a block of %d in each", len(dst), len(src), p.params.Block))
	}
	if p.states[0] == nil {
		for i := range p.states {
			p.states[i] = kernels.Keep(p.SizedPlan, p.params.state(), dst, src)
		}
	}
	err := kernels.RunSized(p.SizedPlan, p.params.Block, &kernels.Args{dst, p.states[1], src, p.states[0]})
	if err == nil {
		p.states[0], p.states[1] = p.states[1], p.states[0]
	}
	return err
}

// Reset forgets what came before, as if it had been silence.
func (p *Stream) Reset() { clear(p.states[0]) }

// Close releases what the implementations hold, such as GPU memory, and the state. The garbage collector does the same for a
// dropped stream. A call after Close begins after silence.
func (p *Stream) Close() {
	p.SizedPlan.Close()
	p.states = [2][]float32{}
}

// StreamProgram is the [kernels.Program] of the operation.
var StreamProgram = kernels.NewProgram(
	func(d *dispatch.Dispatcher, p StreamParams) (*Stream, error) { return NewStream(d, p.Taps, p.Block) },
	func(p *Stream, _ kernels.Shape, a *kernels.Args) error {
		p.states = [2][]float32{a[streamBefore], a[streamAfter]}
		return p.Process(a[streamOut], a[streamIn])
	})

// stream convolves blocks on a processor.
type stream struct {
	partitions
	params StreamParams
	fft    transform
	scale  float32    // of the two transforms
	pool   *pool.Pool // nil for one core

	samples  []float32   // a window
	spectrum []complex64 // of the window
	due      []complex64 // the sum of this block

	before, after []complex64 // the sums of a call
}

// leastStreamed is the least number of samples of a filter whose partitions are divided among the workers of the pool, and
// streamedPerMicrosecond those that take about a microsecond. The sums move from core to core with every block, so that chunks
// of 4096 samples, and filters of up to some 30 000, took up to twice as long as on one core.
const (
	leastStreamed          = 32 << 10
	streamedPerMicrosecond = 8 << 10
)

// streamBy convolves by the transforms of a library, on one core or on the workers of the pool.
func streamBy(newFFTs newTransforms, parallel bool) func(b *kernels.Backends, p StreamParams) (kernels.Runner, error) {
	return func(b *kernels.Backends, p StreamParams) (kernels.Runner, error) {
		ffts, err := newFFTs(p.window(), 1)
		if err != nil {
			return nil, err
		}
		// The sums must mean the same to all implementations, so the outputs are scaled, not the filter.
		unscaled := transforms{each: ffts.each, gain: 1}
		e := &stream{partitions: newPartitions(p.Taps, unscaled, p.Block, p.window()), params: p, fft: ffts.each[0], scale: 1 / ffts.gain}
		if parallel {
			e.pool = b.Pool
		}
		e.samples = make([]float32, p.window())
		e.spectrum, e.due = make([]complex64, e.stride), make([]complex64, e.stride)
		return e, nil
	}
}

// Run convolves a block.
func (e *stream) Run(_ kernels.Shape, a *kernels.Args) error {
	before, last := e.params.split(a[streamBefore])
	after, next := e.params.split(a[streamAfter])
	copy(e.samples, last)
	copy(e.samples[e.block:], a[streamIn])
	clear(e.samples[2*e.block:])
	copy(next, a[streamIn])
	e.fft.Forward(e.spectrum[:e.bins], e.samples)
	e.before, e.after = before, after
	if e.pool != nil && e.count*e.block >= leastStreamed {
		e.pool.Run(e.count, e.pool.Grain(e.count, streamedPerMicrosecond/float64(e.block), 1), e)
	} else {
		e.Do(0, 0, e.count)
	}
	e.before, e.after = nil, nil
	e.fft.Inverse(e.samples, e.due[:e.bins])
	for i, v := range e.samples[e.block : 2*e.block] {
		a[streamOut][i] = v * e.scale
	}
	return nil
}

// Do adds the products with the partitions from lo to hi−1.
func (e *stream) Do(_, lo, hi int) {
	for q := lo; q < hi; q++ {
		row, to := e.filter[q*e.stride:(q+1)*e.stride], e.due
		if q > 0 {
			to = e.after[(q-1)*e.stride : q*e.stride]
		}
		if q+1 < e.count {
			spread(to, e.before[q*e.stride:(q+1)*e.stride], e.spectrum, row)
		} else {
			spectral(to, e.spectrum, row)
		}
	}
}
