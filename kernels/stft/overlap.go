package stft

import (
	"slices"

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

// part adds up frames from to to−1 of the spectrogram src: in dst what lies before frame to, and in the tail what lies behind,
// where later frames write. If those are all frames, dst is the signal. Otherwise the samples that earlier frames reach wait
// for join.
func (o *overlapper) part(dst, tail []float32, src []complex64, from, to int) {
	count, bins := o.frames(len(dst)), o.bins()
	lo, hi := o.between(from, to, len(dst))
	clear(dst[lo:hi])
	clear(tail)
	done := o.joined(from, lo, hi)
	for f := from; f < to; {
		frames, invert := 1, o.single
		if f+o.blockFrames <= to {
			frames, invert = o.blockFrames, o.block
		}
		invert(o.rows[:frames*o.NFFT], src[f*bins:(f+frames)*bins])
		for i := range frames {
			row := o.rows[i*o.NFFT : (i+1)*o.NFFT]
			o.add(dst[lo:hi], lo, row, o.start(f+i))
			o.add(tail, o.start(to), row, o.start(f+i))
		}
		f += frames
		// No later frame reaches what is before frame f.
		if next := min(o.start(f), hi); next > done {
			o.divide(dst, done, next, count)
			done = next
		}
	}
	o.divide(dst, done, hi, count)
}

// join finishes the samples of a part that earlier frames reach. It adds the tails of the parts before, which are in order and
// of as many frames each.
func (o *overlapper) join(dst []float32, tails []float32, each, from, to int) {
	lo, hi := o.between(from, to, len(dst))
	hi = o.joined(from, lo, hi)
	length, last := o.tail(), from/each
	for part := max(0, last-1-(length-1)/(each*o.Hop)); part < last; part++ {
		addTo(dst[lo:hi], lo, tails[part*length:(part+1)*length], o.start((part+1)*each))
	}
	o.divide(dst, lo, hi, o.frames(len(dst)))
}

// joined returns the end of the samples lo to hi−1 that frames before frame from reach.
func (p Params) joined(from, lo, hi int) int {
	if from == 0 {
		return lo
	}
	return min(max(p.start(from)+p.tail(), lo), hi)
}

// start returns the first sample that frame f reaches. It may be before the signal.
func (p Params) start(f int) int { return f*p.Hop - p.lead() }

// tail returns how many samples frames reach behind the start of the next one.
func (p Params) tail() int { return max(0, p.NFFT-p.Hop) }

// between returns the samples lo to hi−1 of a signal that lie behind the start of frame from and before that of frame to. The
// first and the last frame have also what no window reaches.
func (p Params) between(from, to, samples int) (lo, hi int) {
	hi = samples
	if from > 0 {
		lo = min(max(p.start(from), 0), samples)
	}
	if to < p.frames(samples) {
		hi = min(max(p.start(to), 0), samples)
	}
	return lo, hi
}

// add adds row, the samples of a frame that begins at start, to dst, which begins at sample lo, where both are.
func (o *overlapper) add(dst []float32, lo int, row []float32, start int) {
	from, to := max(start, lo), min(start+len(row), lo+len(dst))
	if from < to {
		multiplyAdd(dst[from-lo:to-lo], row[from-start:], o.weights[from-start:])
	}
}

// addTo adds src, which begins at sample start, to dst, which begins at sample lo, where both are.
func addTo(dst []float32, lo int, src []float32, start int) {
	from, to := max(start, lo), min(start+len(src), lo+len(dst))
	for ; from < to; from += len(ones) { // by vector code
		end := min(from+len(ones), to)
		multiplyAdd(dst[from-lo:end-lo], src[from-start:end-start], ones[:])
	}
}

var ones = [256]float32(slices.Repeat([]float32{1}, 256))

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

// addUp makes the two implementations by the same inverse transforms: on the calling goroutine, and on the workers of the pool.
func addUp(serial, parallel string, newInverses newInverses) kernels.Makers[Params] {
	return func(b *kernels.Backends, op *kernels.Op[Params]) []kernels.Maker[Params] {
		return slices.Concat(
			kernels.Named(serial, func(_ *kernels.Backends, p Params) (kernels.Runner, error) { return alone(newInverses)(p) })(b, op),
			kernels.OnPool(kernels.Named(parallel, func(b *kernels.Backends, p Params) (kernels.Runner, error) {
				return newDivided(p, b.Pool, newInverses)
			}))(b, op))
	}
}

// alone makes runners that compute on the calling goroutine.
func alone(newInverses newInverses) func(p Params) (kernels.Runner, error) {
	return func(p Params) (kernels.Runner, error) { return newDivided(p, pool.New(1), newInverses) }
}

// divided computes on the workers of a pool: first the parts, each of as many frames, then what they have in common. A part
// inverts no frame of another one.
type divided struct {
	Params
	pool        *pool.Pool
	overlappers []overlapper // by worker of the pool

	dst     []float32 // of the current call
	src     []complex64
	each    int       // frames of a part
	tails   []float32 // of all parts but the last
	joining bool
}

func newDivided(p Params, workers *pool.Pool, newInverses newInverses) (kernels.Runner, error) {
	overlappers, err := newOverlappers(p, workers.Workers(), newInverses)
	return &divided{Params: p, pool: workers, overlappers: overlappers}, err
}

// partsPerWorker is the greatest number of parts for each worker. Each part takes as much memory as a frame.
const partsPerWorker = 8

// Run computes a call.
func (r *divided) Run(s kernels.Shape, a *kernels.Args) error {
	dst, src := a[0], kernels.Complex(a[1])
	count, workers := r.frames(len(dst)), len(r.overlappers)
	block := r.overlappers[0].blockFrames
	r.each = max(r.grain(count, block, r.pool), ((count-1)/(partsPerWorker*workers*block)+1)*block)
	if workers == 1 || count <= r.each {
		r.overlappers[0].part(dst, nil, src, 0, count)
		return nil
	}
	if most := (count - 1) / r.each * r.tail(); most > len(r.tails) {
		r.tails = make([]float32, most)
	}
	r.dst, r.src = dst, src
	for _, r.joining = range []bool{false, true} {
		r.pool.Run(count, r.each, r)
	}
	r.dst, r.src = nil, nil
	return nil
}

// Do computes or joins the part of the frames lo to hi−1.
func (r *divided) Do(worker, lo, hi int) {
	o, part, length := &r.overlappers[worker], lo/r.each, r.tail()
	switch {
	case r.joining:
		o.join(r.dst, r.tails, r.each, lo, hi)
	case hi < r.frames(len(r.dst)):
		o.part(r.dst, r.tails[part*length:(part+1)*length], r.src, lo, hi)
	default:
		o.part(r.dst, nil, r.src, lo, hi)
	}
}
