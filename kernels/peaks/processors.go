package peaks

import (
	"math"
	"math/bits"

	"crossover/kernels"
	"crossover/pool"
)

// audible returns v, or 0 if v counts as 0.
func audible(v float32) float32 {
	if v < tiny && v > -tiny {
		return 0
	}
	return v
}

// candidate reports whether frame n of x meets the first two conditions.
func (p *Params) candidate(x []float32, n int) bool {
	v := audible(x[n])
	for _, other := range x[max(0, n-p.PreMax):min(n+p.PostMax, len(x))] {
		if !(audible(other) <= v) {
			return false
		}
	}
	around := x[max(0, n-p.PreAvg):min(n+p.PostAvg, len(x))]
	var sum float32
	for _, other := range around {
		sum += audible(other)
	}
	return v >= sum/float32(len(around))+p.Delta
}

// floor returns a value below which no frame from lo to hi−1 is a peak. If the values around them are not negative, neither are
// their means, and Delta is one. Most onset strengths are below it.
func (p *Params) floor(x []float32, lo, hi int) float32 {
	for _, v := range x[max(0, lo-p.PreAvg):min(hi+p.PostAvg, len(x))] {
		if v < 0 {
			return float32(math.Inf(-1))
		}
	}
	return p.Delta
}

// newSerial returns a runner that skips the frames behind each peak.
func newSerial(p Params) kernels.Runner {
	return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
		p.pick(a)
		return nil
	})
}

// pick picks the peaks of a call on one core.
func (p *Params) pick(a *kernels.Args) {
	x, to, found := a[values], kernels.Uint32s(a[indices]), 0
	floor := p.floor(x, 0, len(x))
	for n := 0; n < len(x); n++ {
		if x[n] >= floor && p.candidate(x, n) {
			to[found] = uint32(n)
			found++
			n += p.Wait
		}
	}
	finish(a, to, found)
}

// finish writes the number of peaks, and what stands behind them.
func finish(a *kernels.Args, to []uint32, found int) {
	kernels.Uint32s(a[count])[0] = uint32(found)
	for i := range to[found:] {
		to[found+i] = none
	}
}

// word is the number of frames whose candidates are the bits of a word.
const word = 64

// parallel finds candidates on the workers of a pool, and then chooses among them.
type parallel struct {
	Params
	workers *pool.Pool
	masks   []uint64

	x []float32 // of the current call
}

func newParallel(p Params, workers *pool.Pool) kernels.Runner {
	return &parallel{Params: p, workers: workers}
}

// Run picks the peaks of a call. The workers look at every frame, and one core alone skips Wait frames behind each peak. Where
// every second frame would be a peak, that is 1+Wait/2 times as little work, which the workers divide by their number. Where none
// is, one core takes as many times as long as there are workers. So from a Wait of twice their square on, one core loses less at
// worst.
func (p *parallel) Run(_ kernels.Shape, a *kernels.Args) error {
	words := (len(a[values]) + word - 1) / word
	const aboutAMicrosecond = 16 // words
	grain := p.workers.Grain(words, aboutAMicrosecond, 1)
	if workers := p.workers.Workers(); words <= grain || p.Wait/2 >= workers*workers {
		p.pick(a) // which skips frames
		return nil
	}
	if len(p.masks) < words {
		p.masks = make([]uint64, words)
	}
	p.x = a[values]
	p.workers.Run(words, grain, p)
	to, found, next := kernels.Uint32s(a[indices]), 0, 0
	for w, mask := range p.masks[:words] {
		for {
			mask &= ^uint64(0) << max(0, next-w*word)
			if mask == 0 {
				break
			}
			n := w*word + bits.TrailingZeros64(mask)
			to[found] = uint32(n)
			found++
			next = n + p.Wait + 1
		}
	}
	finish(a, to, found)
	p.x = nil
	return nil
}

// Do finds the candidates of the words from lo to hi−1.
func (p *parallel) Do(_, lo, hi int) {
	floor := p.floor(p.x, lo*word, min(hi*word, len(p.x)))
	for w := lo; w < hi; w++ {
		var mask uint64
		for n := w * word; n < min((w+1)*word, len(p.x)); n++ {
			if p.x[n] >= floor && p.candidate(p.x, n) {
				mask |= 1 << (n - w*word)
			}
		}
		p.masks[w] = mask
	}
}
