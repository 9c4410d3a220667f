package conv1d

import "crossover/pool"

// blockFor returns the block length B of a partitioned convolution: the smallest power of two from 256 on with B² ≥
// 512·taps, but at most 4096. For each sample, the transforms cost in proportion to log B, and the products to taps/B. So
// the best block grows with the taps, but more slowly. With AVX2, the rule is within a few percent of the fastest power of
// two from 8 to 32 768 taps.
func blockFor(taps int) int {
	b := 256
	for b < 4096 && b*b < 512*taps {
		b *= 2
	}
	return b
}

// partitions is a filter for uniformly partitioned overlap-save. The filter is cut into blocks of B taps. Each block is
// zero-padded to 2B and transformed. Window t of the signal has the samples (t−1)·B to (t+1)·B−1, with zeros outside of the
// signal. The outputs t·B to (t+1)·B−1 are the last B samples of the inverse transform of Σ_p window[t−p]·filter[p], where
// window and filter are spectra.
type partitions struct {
	block  int // B
	bins   int // of a spectrum
	stride int // from a spectrum to the next
	count  int
	filter []complex64 // count spectra, first taps first
}

// newPartitions returns the partitions of a filter for windows of the given length, which is even and at least two blocks.
func newPartitions(taps []float32, ffts transforms, block, window int) partitions {
	p := partitions{block: block, bins: window/2 + 1, stride: stride(window), count: (len(taps) + block - 1) / block}
	p.filter = make([]complex64, p.count*p.stride)
	padded := make([]float32, window)
	for i := range p.count {
		clear(padded)
		for k, tap := range taps[i*block : min((i+1)*block, len(taps))] {
			padded[k] = tap / ffts.gain
		}
		ffts.each[0].Forward(p.filter[i*p.stride:i*p.stride+p.bins], padded)
	}
	return p
}

// windows returns the number of windows that touch a signal of n samples.
func (p *partitions) windows(n int) int { return (n+p.block-1)/p.block + 1 }

// outputs returns the number of blocks of an output of n samples.
func (p *partitions) outputs(n int) int { return (n + p.block - 1) / p.block }

// scratch holds the transform and the memory of one goroutine.
type scratch struct {
	fft      transform
	samples  []float32
	spectrum []complex64
}

func (p *partitions) newScratch(fft transform) scratch {
	return scratch{fft: fft, samples: make([]float32, 2*p.block), spectrum: make([]complex64, p.stride)}
}

// analyse writes the spectrum of window t of x to dst.
func (p *partitions) analyse(dst []complex64, x []float32, t int, s *scratch) {
	first, end := (t-1)*p.block, (t+1)*p.block
	window := s.samples
	if first >= 0 && end <= len(x) {
		window = x[first:end]
	} else {
		clear(window)
		copy(window[max(0, -first):], x[max(0, first):min(end, len(x))])
	}
	s.fft.Forward(dst[:p.bins], window)
}

// synthesise writes block t of the output. spectra holds the spectra of the windows oldest to newest: those of t−count+1 to
// t that exist.
func (p *partitions) synthesise(y []float32, t, oldest, newest int, spectra []complex64, s *scratch) {
	skipped := t - newest // windows past the signal's end are zero and belong to the first partitions
	used := newest - oldest + 1
	spectral(s.spectrum, spectra[:used*p.stride], p.filter[skipped*p.stride:(skipped+used)*p.stride])
	s.fft.Inverse(s.samples, s.spectrum[:p.bins])
	copy(y[t*p.block:], s.samples[p.block:])
}

// delayLine is partitioned convolution on one core, block by block. The spectra of the last windows are in a
// frequency-domain delay line.
type delayLine struct {
	partitions
	scratch scratch
	// line has room for twice the partitions, so that the windows in use are adjacent and move rarely.
	line []complex64
}

func newDelayLine(taps []float32, newFFTs newTransforms) (*delayLine, error) {
	block := blockFor(len(taps))
	ffts, err := newFFTs(2*block, 1)
	if err != nil {
		return nil, err
	}
	e := &delayLine{partitions: newPartitions(taps, ffts, block, 2*block)}
	e.scratch = e.newScratch(ffts.each[0])
	e.line = make([]complex64, 2*e.count*e.stride)
	return e, nil
}

func (e *delayLine) prepare(int) error { return nil }

func (e *delayLine) convolve(y, x []float32) {
	windows := e.windows(len(x))
	base := 0 // the window in the line's first slot
	for t := range e.outputs(len(y)) {
		if t < windows {
			if t-base == 2*e.count {
				base = t - e.count + 1
				copy(e.line, e.line[(e.count+1)*e.stride:])
			}
			e.analyse(e.line[(t-base)*e.stride:], x, t, &e.scratch)
		}
		oldest, newest := max(0, t-e.count+1), min(t, windows-1)
		e.synthesise(y, t, oldest, newest, e.line[(oldest-base)*e.stride:], &e.scratch)
	}
}

// samplesPerChunk is the number of samples of the signal or the output in a chunk: some five microseconds of work. Less work
// is not worth handing over.
const samplesPerChunk = 4096

// parallelPartitions is partitioned convolution on the workers of a pool. They first transform all windows, and then compute
// all blocks of the output.
type parallelPartitions struct {
	partitions
	pool    *pool.Pool
	each    []scratch
	spectra []complex64 // of all windows

	synthesis bool // what Do computes now
	x, y      []float32
}

func newParallelPartitions(taps []float32, newFFTs newTransforms, workers *pool.Pool) (*parallelPartitions, error) {
	block := blockFor(len(taps))
	ffts, err := newFFTs(2*block, workers.Workers())
	if err != nil {
		return nil, err
	}
	e := &parallelPartitions{partitions: newPartitions(taps, ffts, block, 2*block), pool: workers}
	for _, fft := range ffts.each {
		e.each = append(e.each, e.newScratch(fft))
	}
	return e, nil
}

func (e *parallelPartitions) prepare(n int) error {
	if size := e.windows(n) * e.stride; size > len(e.spectra) {
		e.spectra = make([]complex64, size)
	}
	return nil
}

func (e *parallelPartitions) convolve(y, x []float32) {
	e.x, e.y = x, y
	grain := max(1, samplesPerChunk/e.block)
	e.synthesis = false
	e.pool.Run(e.windows(len(x)), grain, e)
	e.synthesis = true
	e.pool.Run(e.outputs(len(y)), grain, e)
	e.x, e.y = nil, nil
}

// Do transforms the windows, or computes the blocks of the output, from lo to hi−1.
func (e *parallelPartitions) Do(worker, lo, hi int) {
	s := &e.each[worker]
	windows := e.windows(len(e.x))
	for t := lo; t < hi; t++ {
		if !e.synthesis {
			e.analyse(e.spectra[t*e.stride:], e.x, t, s)
			continue
		}
		oldest, newest := max(0, t-e.count+1), min(t, windows-1)
		e.synthesise(e.y, t, oldest, newest, e.spectra[oldest*e.stride:], s)
	}
}
