//go:build amd64 || arm64

package transform

import "crossover/kernels/fft/double"

// grid is the transform of length n = width·m in two steps. Both steps use all eight lanes at every n. Value x[width·j+q]
// lies in column q. The first step transforms the columns, eight neighbours side by side, by the passes of stockham on
// vectors. The second step multiplies value k of column q by exp(−2πi·kq/n) and transforms across the columns, eight
// neighbouring k side by side. If eight does not divide the number of columns, or of k, the last group of eight overlaps the
// one before.
type grid struct {
	n, width, m  int          // width columns of m values, each at least 8
	down, across []vectorPass // passes of the first step and of the second
	// The factors of the second step are products of two tables, which are small enough for a near cache. fine has a vector
	// for each column: the factors of the first eight k. coarse has a value for each group of eight k and each column: the
	// factor of the group's first k.
	fine, coarse []float32
	// spectra holds the transformed columns, m vectors for each group of eight. input and room return spare.
	spectra, spare []float32
	scratch        gridScratch
}

// gridScratch is the memory of one worker: two buffers, from one to the other of which the passes go.
type gridScratch [2][]float32

// newGrid returns the transform of length n in width columns. gridWidth chooses the width.
func newGrid(n, width int) *grid {
	t := &grid{n: n, width: width, m: n / width}
	down, _ := vectorRadices(t.m)
	across, _ := vectorRadices(width)
	t.down, t.across = vectorPasses(t.m, down), vectorPasses(width, across)
	for q := range width {
		t.fine = appendVector(t.fine, func(i int) complex128 { return double.Root(q*i, n) })
	}
	for g := range eights(t.m) {
		for q := range width {
			w := double.Root(q*eightStart(g, t.m), n)
			t.coarse = append(t.coarse, float32(real(w)), float32(imag(w)))
		}
	}
	return t.withScratch()
}

// mostOblong is the greatest ratio of the sides of a grid. In a less oblong grid, both steps stay in the nearest caches and
// have work for several cores.
const mostOblong = 8

// gridWidth returns the best number of columns for length n, and its cost. The cost is how often a value is loaded and
// stored, on average; values that are computed twice count twice. The width is 0 if n has a prime factor above 7, or has no
// two factors of at least 8 within mostOblong. Of equally good widths the one nearest to a square is best.
func gridWidth(n int) (width int, cost float64) {
	for w := 8; w*8 <= n; w++ {
		m := n / w
		if n%w != 0 || max(w, m) > mostOblong*min(w, m) {
			continue
		}
		down, ok := vectorRadices(m)
		across, too := vectorRadices(w)
		if !ok || !too {
			continue
		}
		// The first step also gathers eight values of a row, and the second one also transposes blocks of eight by eight.
		c := padding(w)*float64(len(down)+1) + padding(m)*float64(len(across)+2)
		if width == 0 || c < cost || c == cost && max(w, m) < max(width, n/width) {
			width, cost = w, c
		}
	}
	return width, cost
}

// lanesCost is the cost of lanes, as gridWidth counts it. Lanes that are not used cost as much as those that are.
func lanesCost(width, m int) float64 {
	radices, _ := vectorRadices(m)
	return 8/float64(width)*float64(len(radices)+1) + 2*padding(m)
}

// eights returns the number of groups of eight that cover n.
func eights(n int) int { return (n + 7) / 8 }

// eightStart returns the start of group i of eight. The last group ends at n, so it may overlap the one before.
func eightStart(i, n int) int { return min(8*i, n-8) }

// padding returns the number of values in groups of eight, overlaps counted twice, divided by n.
func padding(n int) float64 { return float64(8*eights(n)) / float64(n) }

func (t *grid) withScratch() *grid {
	c := *t
	// The real transform needs room for a few values after the last row and for gaps between eight rows.
	c.spectra, c.spare = twoBuffers(vectorFloats * (t.m*eights(t.width) + 18))
	c.scratch = t.newScratch()
	return &c
}

func (t *grid) newScratch() gridScratch {
	front, back := twoBuffers(vectorFloats * max(t.m, t.width))
	return gridScratch{front, back}
}

func (t *grid) Clone() Complex { return t.withScratch() }

func (t *grid) rows() (width, m int) { return t.width, t.m }

func (t *grid) input() []float32 { return t.spare }

func (t *grid) room() []float32 { return t.spare }

func (t *grid) Forward(dst, src []complex64) { forwardIn(t, dst, src) }

func (t *grid) Inverse(dst, src []complex64) { inverseIn(t, t.n, dst, src) }

// columns runs the first step.
func (t *grid) columns(src []float32, sign uint32) {
	t.columnGroups(src, sign, t.scratch, 0, eights(t.width))
}

// columnGroups runs the first step for groups lo to hi−1 of eight columns.
func (t *grid) columnGroups(src []float32, sign uint32, scratch gridScratch, lo, hi int) {
	for g := lo; g < hi; g++ {
		result, free := t.spectra[vectorFloats*t.m*g:][:vectorFloats*t.m], scratch[0]
		from, to := result, free
		if len(t.down)%2 == 1 { // so that the last pass lands in the result
			from, to = free, result
		}
		first := &t.down[0]
		first.first(to, src[2*eightStart(g, t.width):], first.twiddles, first.m, t.width*first.m, t.width, 1, first.radix, sign)
		for i := range t.down[1:] {
			from, to = to, from
			t.down[i+1].run(to, from)
		}
	}
}

// split runs the second step. Its results go to re and im, in rows of m values that begin pitch values apart.
func (t *grid) split(re, im []float32, pitch int) {
	t.splitGroups(re, im, pitch, t.scratch, 0, eights(t.m))
}

// splitGroups is split for groups lo to hi−1 of eight k.
func (t *grid) splitGroups(re, im []float32, pitch int, scratch gridScratch, lo, hi int) {
	last := &t.across[len(t.across)-1]
	for g := lo; g < hi; g++ {
		src, k := t.acrossButLast(scratch, g), eightStart(g, t.m)
		switch last.radix {
		case 2:
			rowsSplit2(&re[k], &im[k], src, last.s, pitch)
		case 3:
			rowsSplit3(&re[k], &im[k], src, last.s, pitch)
		case 4:
			rowsSplit4(&re[k], &im[k], src, last.s, pitch)
		case 5:
			rowsSplit5(&re[k], &im[k], src, last.s, pitch)
		case 7:
			rowsSplit7(&re[k], &im[k], src, last.s, pitch)
		case 8:
			rowsSplit8(&re[k], &im[k], src, last.s, pitch)
		}
	}
}

// interleaved runs the second step. Its results go to dst, with real and imaginary parts scaled.
func (t *grid) interleaved(dst []complex64, scaleRe, scaleIm float32) {
	t.interleavedGroups(dst, scaleRe, scaleIm, t.scratch, 0, eights(t.m))
}

// interleavedGroups is interleaved for groups lo to hi−1 of eight k.
func (t *grid) interleavedGroups(dst []complex64, scaleRe, scaleIm float32, scratch gridScratch, lo, hi int) {
	to, last := floats(dst), &t.across[len(t.across)-1]
	for g := lo; g < hi; g++ {
		src, d := t.acrossButLast(scratch, g), &to[2*eightStart(g, t.m)]
		switch last.radix {
		case 2:
			rowsInterleaved2(d, src, last.s, t.m, scaleRe, scaleIm)
		case 3:
			rowsInterleaved3(d, src, last.s, t.m, scaleRe, scaleIm)
		case 4:
			rowsInterleaved4(d, src, last.s, t.m, scaleRe, scaleIm)
		case 5:
			rowsInterleaved5(d, src, last.s, t.m, scaleRe, scaleIm)
		case 7:
			rowsInterleaved7(d, src, last.s, t.m, scaleRe, scaleIm)
		case 8:
			rowsInterleaved8(d, src, last.s, t.m, scaleRe, scaleIm)
		}
	}
}

// acrossButLast runs all passes of the second step but the last on group g of eight k, and returns the vectors.
func (t *grid) acrossButLast(scratch gridScratch, g int) *float32 {
	from, to := scratch[0], scratch[1]
	src, coarse := t.spectra[vectorFloats*eightStart(g, t.m):], t.coarse[2*t.width*g:]
	twist(&from[0], &src[0], &t.fine[0], &coarse[0], t.width/8, t.m)
	if t.width%8 != 0 {
		q := t.width - 8
		twist(&from[vectorFloats*q], &src[vectorFloats*t.m*(t.width/8)], &t.fine[vectorFloats*q], &coarse[2*q], 1, t.m)
	}
	for i := range t.across[:len(t.across)-1] {
		t.across[i].run(to, from)
		from, to = to, from
	}
	return &from[0]
}
