//go:build amd64 || arm64

package transform

import "crossover/kernels/fft/double"

// laneReal is the real transform of length n by a laneTransform of length h = n/2. See halved for the formula.
//
// The spectrum Z of length h lies in rows. If it is long and has eight lanes, its rows are the eight rows of the last step.
// Gaps between them keep the sixteen places to which that step writes in different sets of the cache. untangle takes these
// rows in four pairs, from both ends. Any other spectrum is one row.
type laneReal struct {
	n, h     int
	half     laneTransform
	width, m int       // rows of half and their length
	rows     int       // pairs of rows that untangle takes: 4, or 1 for one row with itself
	pitch    int       // values from one row to the next
	groups   int       // groups of eight k in a row
	twiddles []float32 // −i·exp(−2πik/n)/2 in groups of eight k, up to the group with h/2
}

// gappedRow is the length of rows from which gaps pay. Gaps take a call of the kernel for each pair of rows.
const gappedRow = 256

// newLaneReal returns the transform of length n, or nil if there is no laneTransform of half the length.
func newLaneReal(n int) *laneReal {
	if n%2 != 0 {
		return nil
	}
	half := newLaneTransform(n / 2)
	if half == nil {
		return nil
	}
	return newLaneRealBy(half, n)
}

// newLaneRealBy returns the transform of length n by the given transform of half the length.
func newLaneRealBy(half laneTransform, n int) *laneReal {
	t := &laneReal{n: n, h: n / 2, half: half}
	t.width, t.m = half.rows()
	if t.width == 8 && t.m >= gappedRow && t.m%8 == 0 {
		t.rows, t.pitch, t.groups = 4, t.m+16, t.m/8
	} else {
		// The last group may reach beyond the middle. There it computes again what its mirror image has.
		t.rows, t.pitch, t.groups = 1, max(t.m, 8), t.h/16+1
	}
	for g := range t.h/16 + 1 {
		t.twiddles = appendVector(t.twiddles, func(i int) complex128 { return -0.5i * double.Root(8*g+i, n) })
	}
	return t
}

func (t *laneReal) Clone() Real {
	c := *t
	c.half = t.half.Clone().(laneTransform)
	return &c
}

func (t *laneReal) Forward(dst []complex64, src []float32) {
	t.half.columns(src, 0)
	re, im := t.spectrum()
	t.half.split(re, im, t.pitch)
	t.wrap()
	for row := range t.rows {
		t.untangle(dst, row, 0, t.groups)
	}
	t.middle(dst)
}

// spectrum returns memory for Z.
func (t *laneReal) spectrum() (re, im []float32) {
	free, size := t.half.room(), t.width*t.pitch+vectorFloats
	return free[:size], free[size:][:size]
}

// wrap appends to each row the value that comes next in Z, which is periodic. Mirror images of the first values of rows lie
// there.
func (t *laneReal) wrap() {
	re, im := t.spectrum()
	for _, z := range [][]float32{re, im} {
		if t.rows == 1 {
			if t.m < 8 {
				closeRows(z, z, t.width, t.m, t.pitch)
			}
			z[t.h] = z[0]
			continue
		}
		for row := range 8 {
			z[row*t.pitch+t.m] = z[(row+1)%8*t.pitch]
		}
	}
}

// untangle computes the bins of groups lo to hi−1 of a row, and of their mirror images.
func (t *laneReal) untangle(dst []complex64, row, lo, hi int) {
	re, im := t.spectrum()
	to := floats(dst)
	k := row*t.m + 8*lo
	low, high := 8*lo, t.h-8*lo-7
	if t.rows > 1 {
		low += row * t.pitch
		high = (7-row)*t.pitch + t.m - 8*lo - 7
	}
	untangle(&to[2*k], &to[2*(t.h-k-7)], &re[low], &im[low], &re[high], &im[high],
		&t.twiddles[vectorFloats*(row*t.groups+lo)], hi-lo)
}

// middle computes bin h/2. Pairs of rows leave it out.
func (t *laneReal) middle(dst []complex64) {
	if t.rows > 1 {
		re, im := t.spectrum()
		dst[t.h/2] = complex(re[4*t.pitch], -im[4*t.pitch])
	}
}

func (t *laneReal) Inverse(dst []float32, src []complex64) {
	t.tangle(src, 0, t.tangled())
	t.tangleEnds(src)
	t.half.columns(t.half.input(), 0)
	scale := t.inverseScale()
	t.half.interleaved(pairs(dst), scale, -scale)
}

// tangled returns the number of groups that tangle takes. The last one may reach beyond the middle. There it computes again
// what its mirror image has.
func (t *laneReal) tangled() int { return t.h/16 + 1 }

// tangle makes groups lo to hi−1 of eight values of the half's input, and their mirror images, of bins.
func (t *laneReal) tangle(src []complex64, lo, hi int) {
	to, from := t.half.input(), floats(src)
	low, high := 16*lo, 2*(t.h-7-8*lo)
	tangle(&to[low], &to[high], &from[low], &from[high], &t.twiddles[vectorFloats*lo], hi-lo)
}

// tangleEnds makes value 0 of bins 0 and h, which tangle gets wrong.
func (t *laneReal) tangleEnds(src []complex64) {
	to, first, last := t.half.input(), real(src[0])/2, real(src[t.h])/2
	to[0], to[1] = first+last, last-first
}

// inverseScale is the factor of the values that tangle makes, which are half as large as in the formula.
func (t *laneReal) inverseScale() float32 { return float32(2 / float64(t.n)) }
