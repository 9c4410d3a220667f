//go:build amd64 || arm64

package transform

import "crossover/kernels/fft/double"

// lanes is the transform of length n = width·m in AVX2. Lane c transforms the m values x[width·j+c]. All lanes run side by
// side, by the passes of stockham on vectors. The last step is a transform of length width across the lanes. Only this step
// moves values between lanes. The width is 8 if 8 divides the length. Otherwise some of the eight lanes compute results that
// nobody reads, and a grid is faster at all but short lengths.
//
// A transform for several cores has eight blocks if its length allows it. The first pass then does not sort. It leaves eight
// shorter transforms, one after the other, which take the other passes independently.
type lanes struct {
	n, m   int
	width  int // 8, 7, 5, 4 or 3
	blocks int // 1 or 8
	pitch  int // vectors from one block to the next
	passes []vectorPass
	// crossing holds the factors of the last step: for each group of eight k, vectors exp(−2πi·ck/n), 0 < c < width.
	crossing []float32
	// front and back hold vectors. Each pass reads one and writes the other. The one that does not hold the last pass's
	// vectors is free for the output of split.
	front, back []float32
}

// newLanes returns the transform of length n in one block or in eight, or nil if the kernels do not apply. They need AVX2
// and FMA, and n of at least 16 without a prime factor above 7. For eight blocks n must be a multiple of 64.
func newLanes(n, blocks int) *lanes {
	width := laneWidth(n)
	if !haveLanes || n < 16 || width == 0 || n/width%blocks != 0 || blocks > 1 && width < 8 {
		return nil
	}
	m := n / width
	radices, ok := vectorRadices(m / blocks)
	if !ok {
		return nil
	}
	t := &lanes{n: n, m: m, width: width, blocks: blocks, pitch: m / blocks}
	if blocks > 1 {
		radices = append([]int{blocks}, radices...)
		t.pitch++ // one more, so that equal places of the blocks are in different sets of the cache
	}
	t.passes = vectorPasses(m, radices)
	if blocks > 1 {
		for i := range t.passes[1:] {
			t.passes[i+1].s /= blocks // the blocks are transforms of their own
		}
	}
	for g := range t.groups() {
		for c := 1; c < width; c++ {
			t.crossing = appendVector(t.crossing, func(i int) complex128 { return double.Root(c*(t.groupStart(g)+i), n) })
		}
	}
	return t.withScratch()
}

// laneWidth returns the number of lanes that a transform of length n uses, or 0 if no number of lanes divides n. Seven lanes
// are for the lengths 49, 98 and 343. Other lengths that only seven divides have a grid, which takes up to a sixth less time.
func laneWidth(n int) int {
	for _, width := range []int{8, 5, 4, 3, 7} {
		if n%width == 0 {
			return width
		}
	}
	return 0
}

func (t *lanes) withScratch() *lanes {
	c := *t
	// The last step reads and writes at least eight vectors. Each block has a gap of one vector. The real transform puts 16
	// values after each of 16 rows, and a few more after all rows.
	size := vectorFloats * (max(t.m, 8) + t.blocks + 18)
	c.front, c.back = twoBuffers(size)
	return &c
}

func (t *lanes) Clone() Complex { return t.withScratch() }

func (t *lanes) Forward(dst, src []complex64) { forwardIn(t, dst, src) }

func (t *lanes) Inverse(dst, src []complex64) { inverseIn(t, t.n, dst, src) }

// columns runs every pass before the last step.
func (t *lanes) columns(src []float32, sign uint32) {
	if t.width < 8 && &src[0] != &t.back[0] {
		// The kernel reads eight values at a time, which may go beyond the end of src.
		copy(t.back, src)
		src = t.back
	}
	t.first(src, sign, 0, t.passes[0].m)
	for b := range t.blocks {
		t.block(b)
	}
}

// first runs positions lo to hi−1 of the first pass, from interleaved src to front.
func (t *lanes) first(src []float32, sign uint32, lo, hi int) {
	p := &t.passes[0]
	stride, step := 1, p.radix
	if t.blocks > 1 {
		stride, step = t.pitch, 1
	}
	dst := t.front[vectorFloats*step*lo:]
	p.first(dst, src[2*t.width*lo:], p.twiddles[2*(p.radix-1)*lo:], hi-lo, t.width*p.m, t.width, stride, step, sign)
}

// block runs the other passes on block b.
func (t *lanes) block(b int) {
	size := vectorFloats * t.pitch
	from, to := t.front[size*b:], t.back[size*b:]
	for i := 1; i < len(t.passes); i++ {
		t.passes[i].run(to, from)
		from, to = to, from
	}
}

func (t *lanes) rows() (width, m int) { return t.width, t.m }

func (t *lanes) input() []float32 { return t.back }

func (t *lanes) room() []float32 {
	_, free := t.vectors()
	return free
}

// vectors returns the buffer with the result of the passes, and the other buffer.
func (t *lanes) vectors() (result, free []float32) {
	if len(t.passes)%2 == 1 {
		return t.front, t.back
	}
	return t.back, t.front
}

// groups returns the number of groups of eight k that the last step takes.
func (t *lanes) groups() int { return (t.m + 7) / 8 }

// groupStart returns the first k of a group. If m is not a multiple of eight, the last group overlaps the one before. If m
// is less than eight, the only group goes on into vectors without meaning, and closeRows removes their results.
func (t *lanes) groupStart(g int) int { return max(0, min(8*g, t.m-8)) }

// crossRun returns how many of the groups from lo to hi−1 one call of a kernel takes, and the vectors and factors at which
// it starts.
func (t *lanes) crossRun(lo, hi int) (count int, src, tw *float32) {
	count = 1
	if even := min(hi, t.m/8); lo < even {
		count = even - lo
	}
	vectors, _ := t.vectors()
	return count, &vectors[vectorFloats*t.groupStart(lo)/t.blocks], &t.crossing[(t.width-1)*vectorFloats*lo]
}

// crossStrides returns the distance in vectors from one k to the next in a group, and from one group to the next.
func (t *lanes) crossStrides() (stride, step int) {
	if t.blocks > 1 {
		return t.pitch, 1
	}
	return 1, 8
}

// interleaved runs the last step. Its results go to dst, with real and imaginary parts scaled.
func (t *lanes) interleaved(dst []complex64, scaleRe, scaleIm float32) {
	if t.m >= 8 {
		t.interleavedGroups(dst, scaleRe, scaleIm, 0, t.groups())
		return
	}
	_, free := t.vectors()
	t.interleavedGroups(pairs(free), scaleRe, scaleIm, 0, t.groups())
	closeRows(floats(dst), free, t.width, 2*t.m, 16)
}

// interleavedGroups is interleaved for groups lo to hi−1 of the last step. If m is less than eight, rows are eight values
// apart.
func (t *lanes) interleavedGroups(dst []complex64, scaleRe, scaleIm float32, lo, hi int) {
	to := floats(dst)
	stride, step := t.crossStrides()
	for g := lo; g < hi; {
		count, src, tw := t.crossRun(g, hi)
		d, pitch := &to[2*t.groupStart(g)], max(t.m, 8)
		switch t.width {
		case 3:
			crossInterleaved3(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		case 4:
			crossInterleaved4(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		case 5:
			crossInterleaved5(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		case 7:
			crossInterleaved7(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		case 8:
			crossInterleaved8(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		}
		g += count
	}
}

func (t *lanes) split(re, im []float32, pitch int) { t.splitGroups(re, im, pitch, 0, t.groups()) }

// splitGroups is split for groups lo to hi−1 of the last step.
func (t *lanes) splitGroups(re, im []float32, pitch, lo, hi int) {
	stride, step := t.crossStrides()
	for g := lo; g < hi; {
		count, src, tw := t.crossRun(g, hi)
		k := t.groupStart(g)
		switch t.width {
		case 3:
			crossSplit3(&re[k], &im[k], src, tw, count, stride, step, pitch)
		case 4:
			crossSplit4(&re[k], &im[k], src, tw, count, stride, step, pitch)
		case 5:
			crossSplit5(&re[k], &im[k], src, tw, count, stride, step, pitch)
		case 7:
			crossSplit7(&re[k], &im[k], src, tw, count, stride, step, pitch)
		case 8:
			crossSplit8(&re[k], &im[k], src, tw, count, stride, step, pitch)
		}
		g += count
	}
}

// closeRows moves rows of the given length from src, where they are stride apart, to dst, without gaps. dst may be src.
func closeRows(dst, src []float32, rows, length, stride int) {
	for row := range rows {
		copy(dst[length*row:][:length], src[stride*row:])
	}
}
