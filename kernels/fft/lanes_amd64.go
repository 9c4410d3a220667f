package fft

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./asm -out lanes_amd64.s -stubs lanes_stubs_amd64.go -pkg fft

// haveLanes says whether the processor runs the kernels of lanes_amd64.s.
var haveLanes = cpu.X86.HasAVX2 && cpu.X86.HasFMA

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

// laneTransform is a complex transform in vectors, in two steps: lanes or a grid.
type laneTransform interface {
	transform
	// columns runs the first step on interleaved src, with the signs of its imaginary parts flipped by sign. src may be
	// input.
	columns(src []float32, sign uint32)
	// split runs the second step into re and im, rows of m values that begin pitch values apart. pitch is at least 8.
	split(re, im []float32, pitch int)
	// interleaved runs the second step into dst, with real and imaginary parts scaled.
	interleaved(dst []complex64, scaleRe, scaleIm float32)
	// rows returns the number of rows and m.
	rows() (width, m int)
	// input is room for interleaved values. room is free between the steps: for 2·pitch values a row and 32 more.
	input() []float32
	room() []float32
}

// forwardIn is the forward transform in two steps.
func forwardIn(t laneTransform, dst, src []complex64) {
	t.columns(floats(src), 0)
	t.interleaved(dst, 1, 1)
}

// inverseIn is the inverse one of length n: the conjugate of the forward transform of the conjugate, over n.
func inverseIn(t laneTransform, n int, dst, src []complex64) {
	t.columns(floats(src), signBit)
	scale := float32(1 / float64(n))
	t.interleaved(dst, scale, -scale)
}

// newLaneTransform returns the transform of length n, or nil where the kernels do not apply: n is less than 16, or has a
// prime factor above 5 or none below, or the processor lacks the instructions.
func newLaneTransform(n int) laneTransform {
	t := newLanes(n, 1)
	if t == nil {
		return nil
	}
	if width, cost := gridWidth(n); width > 0 && cost < lanesCost(t.width, t.m) {
		return newGrid(n, width)
	}
	return t
}

// vectorPass is a pass as stockham has it, m and s counting vectors.
type vectorPass struct {
	radix, m, s int
	twiddles    []float32
}

const (
	// vectorFloats is the length of a vector: eight real parts, then eight imaginary parts.
	vectorFloats = 16
	// signBit flips the sign of a float32.
	signBit = 1 << 31
	// pageFloats is the distance at which two addresses fall into the same set of a first-level cache.
	pageFloats = 4096 / 4
)

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
			t.crossing = appendVector(t.crossing, func(i int) complex128 { return root(c*(t.groupStart(g)+i), n) })
		}
	}
	return t.withScratch()
}

// vectorPasses returns the passes of the given radices, whose product is m.
func vectorPasses(m int, radices []int) []vectorPass {
	var passes []vectorPass
	s := 1
	for _, r := range radices {
		p := vectorPass{radix: r, m: m / r, s: s}
		for j := range p.m {
			for k := 1; k < r; k++ {
				w := root(j*k, m)
				p.twiddles = append(p.twiddles, float32(real(w)), float32(imag(w)))
			}
		}
		passes = append(passes, p)
		m, s = p.m, s*r
	}
	return passes
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

// appendVector appends the vector of eight values.
func appendVector(to []float32, value func(i int) complex128) []float32 {
	var re, im [8]float32
	for i := range re {
		v := value(i)
		re[i], im[i] = float32(real(v)), float32(imag(v))
	}
	return append(append(to, re[:]...), im[:]...)
}

// vectorRadices returns the radices of the passes for m vectors, or false where m has a prime factor above 5. The
// radices 8 come last: the last pass needs no factors, and the others have the fewer the smaller their radix.
func vectorRadices(m int) (radices []int, ok bool) {
	twos := 0
	for ; m%2 == 0; m /= 2 {
		twos++
	}
	for _, r := range []int{5, 3} {
		for ; m%r == 0; m /= r {
			radices = append(radices, r)
		}
	}
	for ; twos > 0 && twos%3 != 0; twos -= 2 { // 4·4 is faster than 2·8
		if twos == 1 {
			radices = append(radices, 2)
			break
		}
		radices = append(radices, 4)
	}
	for ; twos >= 3; twos -= 3 {
		radices = append(radices, 8)
	}
	return radices, m == 1
}

func (t *lanes) withScratch() *lanes {
	c := *t
	// The last step reads and writes eight vectors at least, each block has a gap of one, and the real transform puts
	// 16 values after each of 16 rows and a few more after all.
	size := vectorFloats * (max(t.m, 8) + t.blocks + 18)
	c.front, c.back = twoBuffers(size)
	return &c
}

// twoBuffers returns two times n zeros that start at a cache line. The passes walk both in strides of powers of two,
// up to eight places at a time in each. Long buffers are half a page apart, modulo a page, so that the places in one do
// not push those in the other out of an eight-way cache.
func twoBuffers(n int) (front, back []float32) {
	apart, align := n, vectorFloats
	if n >= pageFloats {
		align = pageFloats
		apart = (n+pageFloats/2-1)/pageFloats*pageFloats + pageFloats/2
	}
	memory := make([]float32, apart+n+align)
	start := -int(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))/4) & (align - 1)
	return memory[start:][:n:n], memory[start+apart:][:n:n]
}

func (t *lanes) clone() transform { return t.withScratch() }

func (t *lanes) forward(dst, src []complex64) { forwardIn(t, dst, src) }

func (t *lanes) inverse(dst, src []complex64) { inverseIn(t, t.n, dst, src) }

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

func (p *vectorPass) first(dst, src, twiddles []float32, count, stride, step, dstStride, dstStep int, sign uint32) {
	d, s, w := &dst[0], &src[0], &twiddles[0]
	switch p.radix {
	case 2:
		first2(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 3:
		first3(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 4:
		first4(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 5:
		first5(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 8:
		first8(d, s, w, count, stride, step, dstStride, dstStep, sign)
	}
}

// run computes a pass after the first one.
func (p *vectorPass) run(dst, src []float32) {
	d, r, w, stride := &dst[0], &src[0], &p.twiddles[0], p.s*p.m
	switch {
	case p.m == 1:
		p.final(d, r)
	case p.radix == 2:
		middle2(d, r, w, p.m, p.s, stride)
	case p.radix == 3:
		middle3(d, r, w, p.m, p.s, stride)
	case p.radix == 4:
		middle4(d, r, w, p.m, p.s, stride)
	case p.radix == 5:
		middle5(d, r, w, p.m, p.s, stride)
	case p.radix == 8:
		middle8(d, r, w, p.m, p.s, stride)
	}
}

// final computes the last pass.
func (p *vectorPass) final(dst, src *float32) {
	switch p.radix {
	case 2:
		final2(dst, src, p.s)
	case 3:
		final3(dst, src, p.s)
	case 4:
		final4(dst, src, p.s)
	case 5:
		final5(dst, src, p.s)
	case 8:
		final8(dst, src, p.s)
	}
}

// multiply writes the element-wise product of a and b, of equal lengths, to dst, which may be one of them.
func multiply(dst, a, b []complex64) {
	done := 0
	if groups := len(a) / 4; haveLanes && groups > 0 {
		product(&floats(dst)[0], &floats(a)[0], &floats(b)[0], groups)
		done = 4 * groups
	}
	multiplyGo(dst[done:], a[done:], b[done:])
}

// laneReal is the real transform of length n by a laneTransform of half the length h, as halved has it.
//
// The spectrum Z of length h lies in rows. Long ones of eight lanes are the eight rows of the last step, with a gap
// between them that keeps the sixteen places which that step writes to in different sets of the cache; they are taken in
// four pairs, from both ends. Others are one row.
type laneReal struct {
	n, h     int
	half     laneTransform
	width, m int       // rows of half and their length
	rows     int       // pairs of rows that untangle takes: 4, or 1 for the row with itself
	pitch    int       // values from one row to the next
	groups   int       // groups of eight k in a row
	twiddles []float32 // −i·exp(−2πik/n)/2 for each group of eight k to the one that holds h/2
}

// gappedRow is the length of a row from which a gap is worth a call of the kernel a row.
const gappedRow = 256

// newLaneReal returns the transform of length n, or nil where newLaneTransform has none of half the length.
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

// newLaneRealBy returns the transform of length n by half, of half the length.
func newLaneRealBy(half laneTransform, n int) *laneReal {
	t := &laneReal{n: n, h: n / 2, half: half}
	t.width, t.m = half.rows()
	if t.width == 8 && t.m >= gappedRow && t.m%8 == 0 {
		t.rows, t.pitch, t.groups = 4, t.m+16, t.m/8
	} else {
		// The last group goes beyond the middle where it computes once more what its mirror image has.
		t.rows, t.pitch, t.groups = 1, max(t.m, 8), t.h/16+1
	}
	for g := range t.h/16 + 1 {
		t.twiddles = appendVector(t.twiddles, func(i int) complex128 { return -0.5i * root(8*g+i, n) })
	}
	return t
}

func (t *laneReal) clone() realTransform {
	c := *t
	c.half = t.half.clone().(laneTransform)
	return &c
}

func (t *laneReal) forward(dst []complex64, src []float32) {
	t.half.columns(src, 0)
	re, im := t.spectrum()
	t.half.split(re, im, t.pitch)
	t.wrap()
	for row := range t.rows {
		t.untangle(dst, row, 0, t.groups)
	}
	t.middle(dst)
}

// spectrum returns room for Z.
func (t *laneReal) spectrum() (re, im []float32) {
	free, size := t.half.room(), t.width*t.pitch+vectorFloats
	return free[:size], free[size:][:size]
}

// wrap appends to each row the value that comes next in Z, which is periodic: the mirror image of a row's first.
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

// untangle computes the bins of groups lo to hi of a row and of their mirror images.
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

// middle computes bin h/2, which pairs of rows leave out.
func (t *laneReal) middle(dst []complex64) {
	if t.rows > 1 {
		re, im := t.spectrum()
		dst[t.h/2] = complex(re[4*t.pitch], -im[4*t.pitch])
	}
}

func (t *laneReal) inverse(dst []float32, src []complex64) {
	spectrum, from := t.half.input(), floats(src)
	high := 2 * (t.h - 7)
	tangle(&spectrum[0], &spectrum[high], &from[0], &from[high], &t.twiddles[0], t.h/16+1)
	first, last := real(src[0])/2, real(src[t.h])/2
	spectrum[0], spectrum[1] = first+last, last-first
	t.half.columns(spectrum, 0)
	scale := float32(2 / float64(t.n))
	t.half.interleaved(pairs(dst), scale, -scale)
}
