package transform

import "crossover/kernels/fft/double"

// lanes is the transform of length n = width·m in AVX2: transforms of length m side by side, lane c over x[width·j+c],
// by the passes of stockham on vectors, and then one transform of length width across the lanes. The passes read and
// write whole vectors with contiguous lanes; only the last step moves values between lanes. The width is 8 where 8
// divides the length; else some of the eight lanes compute what nobody reads, and all but short lengths are better off
// with a grid.
//
// A transform for several cores, where its length allows it, runs its first pass without sorting: that leaves eight
// shorter transforms in blocks, one after the other, which go through the passes on their own.
type lanes struct {
	n, m   int
	width  int // 8, 5, 4 or 3
	blocks int // 1 or 8
	pitch  int // vectors from one block to the next
	passes []vectorPass
	// crossing holds the factors of the last step: for each group of eight k, vectors exp(−2πi·ck/n), 0 < c < width.
	crossing []float32
	// front and back hold vectors: the passes go back and forth between them. The one that the vectors do not end in
	// is free for the output of split.
	front, back []float32
}

// newLanes returns the transform of length n, in one block or in eight, or nil where the kernels do not apply: n is less
// than 16, or has a prime factor above 5 or none below, or is no multiple of 64 for eight blocks, or the processor lacks
// the instructions.
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
		t.pitch++ // one more, so that the same place of every block is not in the same set of the cache
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

// laneWidth returns the number of lanes that a transform of length n uses, or 0 where none divides it.
func laneWidth(n int) int {
	for _, width := range []int{8, 5, 4, 3} {
		if n%width == 0 {
			return width
		}
	}
	return 0
}

func (t *lanes) withScratch() *lanes {
	c := *t
	// The last step reads and writes eight vectors at least, each block has a gap of one, and the real transform puts
	// 16 values after each of 16 rows and a few more after all.
	size := vectorFloats * (max(t.m, 8) + t.blocks + 18)
	c.front, c.back = twoBuffers(size)
	return &c
}

func (t *lanes) Clone() Complex { return t.withScratch() }

func (t *lanes) Forward(dst, src []complex64) { forwardIn(t, dst, src) }

func (t *lanes) Inverse(dst, src []complex64) { inverseIn(t, t.n, dst, src) }

// columns runs every pass but the last step.
func (t *lanes) columns(src []float32, sign uint32) {
	if t.width < 8 && &src[0] != &t.back[0] {
		// The kernel reads eight values at a time, a few more than there are at the end.
		copy(t.back, src)
		src = t.back
	}
	t.first(src, sign, 0, t.passes[0].m)
	for b := range t.blocks {
		t.block(b)
	}
}

// first runs positions lo to hi of the first pass, from interleaved src to front.
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

// vectors returns the buffer that the passes end in, and the other one.
func (t *lanes) vectors() (result, free []float32) {
	if len(t.passes)%2 == 1 {
		return t.front, t.back
	}
	return t.back, t.front
}

// groups returns the number of groups of eight k that the last step takes.
func (t *lanes) groups() int { return (t.m + 7) / 8 }

// groupStart returns the first k of a group. Where m is not a multiple of eight, the last group overlaps the one
// before; where m is less than eight, the only group goes on into vectors that do not count, and its rows are closed
// up afterwards.
func (t *lanes) groupStart(g int) int { return max(0, min(8*g, t.m-8)) }

// crossRun returns how many of the groups from lo to hi one call of a kernel takes, with the vectors and the factors
// that it starts from.
func (t *lanes) crossRun(lo, hi int) (count int, src, tw *float32) {
	count = 1
	if even := min(hi, t.m/8); lo < even {
		count = even - lo
	}
	vectors, _ := t.vectors()
	return count, &vectors[vectorFloats*t.groupStart(lo)/t.blocks], &t.crossing[(t.width-1)*vectorFloats*lo]
}

// crossStrides returns the distance in vectors from one k to the next inside a group, and from group to group.
func (t *lanes) crossStrides() (stride, step int) {
	if t.blocks > 1 {
		return t.pitch, 1
	}
	return 1, 8
}

// interleaved runs the last step into dst, with real and imaginary parts scaled.
func (t *lanes) interleaved(dst []complex64, scaleRe, scaleIm float32) {
	to := floats(dst)
	if t.m < 8 {
		_, to = t.vectors()
	}
	stride, step := t.crossStrides()
	for g := 0; g < t.groups(); {
		count, src, tw := t.crossRun(g, t.groups())
		d, pitch := &to[2*t.groupStart(g)], max(t.m, 8)
		switch t.width {
		case 3:
			crossInterleaved3(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		case 4:
			crossInterleaved4(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		case 5:
			crossInterleaved5(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		case 8:
			crossInterleaved8(d, src, tw, count, stride, step, pitch, scaleRe, scaleIm)
		}
		g += count
	}
	if t.m < 8 {
		closeRows(floats(dst), to, t.width, 2*t.m, 16)
	}
}

func (t *lanes) split(re, im []float32, pitch int) { t.splitGroups(re, im, pitch, 0, t.groups()) }

// splitGroups is split for groups lo to hi of the last step.
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
		case 8:
			crossSplit8(&re[k], &im[k], src, tw, count, stride, step, pitch)
		}
		g += count
	}
}

// closeRows moves rows of the given length, stride apart in src, next to each other in dst, which may be src.
func closeRows(dst, src []float32, rows, length, stride int) {
	for row := range rows {
		copy(dst[length*row:][:length], src[stride*row:])
	}
}
