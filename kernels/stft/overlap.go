package stft

import (
	"crossover/kernels"
	"crossover/pool"
)

// leastWeight is the least sum of squared weights that is divided by: the least normal float32, as in librosa. Where the sum is
// less, no window reaches.
const leastWeight = 0x1p-126

// overlapper inverts the frames of a spectrogram and adds them up, on one goroutine.
type overlapper struct {
	Params
	inverses
	rows    []float32 // the samples of a block of frames
	weights []float32 // of the window, divided by the factor of the inverses
	squares []float32 // of the weights
	sums    []float32 // of the squares, at edgeSamples samples

	// steady[i mod len] is what the sum at sample i is multiplied with, if all frames that could reach the sample are there.
	// Its length is a multiple of the hop. It is empty if frames do not overlap.
	steady []float32
}

// edgeSamples is the number of samples for which sums of squares are computed at a time.
const edgeSamples = 256

// leastSteady is the least length of the table of factors, so that they are applied to long parts of a signal.
const leastSteady = 256

// newOverlappers returns overlappers for count goroutines.
func newOverlappers(p Params, count int, newInverses newInverses) ([]overlapper, error) {
	each, err := newInverses(p.NFFT, count)
	if err != nil {
		return nil, err
	}
	squares := p.squares()
	var steady []float32
	if p.Hop < p.NFFT {
		steady = make([]float32, (leastSteady+p.Hop-1)/p.Hop*p.Hop)
	}
	for i := range steady {
		sum := float32(0)
		for j := (i + p.lead()) % p.Hop; j < p.NFFT; j += p.Hop {
			sum += squares[j]
		}
		steady[i] = share(sum)
	}
	all := make([]overlapper, count)
	for i, inverses := range each {
		all[i] = overlapper{p, inverses, make([]float32, inverses.blockFrames*p.NFFT), p.floatWeights(1 / inverses.factor),
			squares, make([]float32, edgeSamples), steady}
	}
	return all, nil
}

// squares returns the squares of the weights.
func (p Params) squares() []float32 {
	squares := make([]float32, p.NFFT)
	for j, w := range p.Window.Weights(p.NFFT) {
		squares[j] = float32(w * w)
	}
	return squares
}

// share returns the factor for a sample with a sum of squared weights.
func share(sum float32) float32 {
	if sum <= leastWeight {
		return 1
	}
	return 1 / sum
}

// reaching returns the first and the last of count frames that reach samples from lo to hi−1. If none does, last is less than
// first.
func (p Params) reaching(lo, hi, count int) (first, last int) {
	lo, hi = lo+p.lead(), hi+p.lead()
	if lo >= p.NFFT {
		first = (lo-p.NFFT)/p.Hop + 1
	}
	return first, min(count-1, (hi-1)/p.Hop)
}

// span writes samples lo to hi−1 of the signal dst, whose spectrogram is src.
func (o *overlapper) span(dst []float32, src []complex64, lo, hi int) {
	bins, count := o.bins(), o.frames(len(dst))
	clear(dst[lo:hi])
	done := lo
	f, last := o.reaching(lo, hi, count)
	for f <= last {
		frames, invert := 1, o.single
		if f+o.blockFrames-1 <= last {
			frames, invert = o.blockFrames, o.block
		}
		invert(o.rows[:frames*o.NFFT], src[f*bins:(f+frames)*bins])
		for i := range frames {
			o.add(dst, o.rows[i*o.NFFT:(i+1)*o.NFFT], f+i, lo, hi)
		}
		f += frames
		// No later frame reaches what is before frame f.
		if next := min(f*o.Hop-o.lead(), hi); next > done {
			o.divide(dst, done, next, count)
			done = next
		}
	}
	o.divide(dst, done, hi, count)
}

// add adds what row, the samples of frame f, has between lo and hi−1.
func (o *overlapper) add(dst, row []float32, f, lo, hi int) {
	start := f*o.Hop - o.lead()
	from, to := max(start, lo), min(start+o.NFFT, hi)
	if from < to {
		multiplyAdd(dst[from:to], row[from-start:], o.weights[from-start:])
	}
}

// divide divides samples lo to hi−1 by their sums of squared weights.
func (o *overlapper) divide(dst []float32, lo, hi, count int) {
	if len(o.steady) == 0 {
		o.divideEdge(dst, lo, hi, count)
		return
	}
	// All frames that could reach these samples are there.
	from := min(max(lo, o.NFFT-o.Hop-o.lead()), hi)
	to := max(min(hi, count*o.Hop-o.lead()), from)
	o.divideEdge(dst, lo, from, count)
	for from < to {
		at := from % len(o.steady)
		n := min(to-from, len(o.steady)-at)
		multiply(dst[from:from+n], dst[from:from+n], o.steady[at:at+n])
		from += n
	}
	o.divideEdge(dst, from, hi, count)
}

// divideEdge is divide where some frames are missing.
func (o *overlapper) divideEdge(dst []float32, lo, hi, count int) {
	for ; lo < hi; lo += edgeSamples {
		end := min(lo+edgeSamples, hi)
		sums := o.sums[:end-lo]
		clear(sums)
		first, last := o.reaching(lo, end, count)
		for f := first; f <= last; f++ {
			start := f*o.Hop - o.lead()
			from, to := max(start, lo), min(start+o.NFFT, end)
			squares := o.squares[from-start:]
			for i, sum := range sums[from-lo : to-lo] {
				sums[from-lo+i] = sum + squares[i]
			}
		}
		for i, sum := range sums {
			dst[lo+i] *= share(sum)
		}
	}
}

// addUp returns the loop over the samples of a signal, a hop of them a row. The frames at the ends of a chunk are inverted for
// both of its neighbours.
func addUp(newInverses newInverses) func(p Params, workers int) (kernels.Loop, error) {
	return func(p Params, workers int) (kernels.Loop, error) {
		overlappers, err := newOverlappers(p, workers, newInverses)
		if err != nil {
			return kernels.Loop{}, err
		}
		return kernels.Loop{
			Rows:  func(s *kernels.Shape) int { return 1 + (s[samples]-1)/p.Hop },
			Grain: p.grain,
			Do: func(worker int, s *kernels.Shape, a *kernels.Args, lo, hi int) {
				overlappers[worker].span(a[0], kernels.Complex(a[1]), lo*p.Hop, min(hi*p.Hop, s[samples]))
			},
		}, nil
	}
}

// grain returns the number of hops in a chunk: one chunk for each worker, but not so few hops that most frames are inverted
// twice or that the work is not worth handing over, and not more than are needed to make such frames rare.
func (p Params) grain(_ *kernels.Shape, hops int, workers *pool.Pool) int {
	shared := (p.NFFT - 1) / p.Hop // frames that two chunks have in common
	each := (hops + workers.Workers() - 1) / workers.Workers()
	return max(1, shared, samplesPerChunk/p.NFFT, min(each, 32*(shared+1)))
}
