package fft

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./asm -out lanes_amd64.s -stubs lanes_stubs_amd64.go -pkg fft

// haveLanes says whether the processor runs the kernels of lanes_amd64.s.
var haveLanes = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// lanes is the transform of length n = 8·m in AVX2: eight transforms of length m side by side, lane c over x[8j+c], by
// the passes of stockham on vectors, and then one transform of length 8 across the lanes. The passes read and write
// whole vectors with contiguous lanes; only the last step moves values between lanes.
//
// A long transform runs its first pass without sorting, which leaves shorter transforms in blocks, one after the other,
// and each block goes through all of its passes while it is in the cache.
type lanes struct {
	n, m   int
	blocks int // 1, or the radix of the first pass
	passes []vectorPass
	// crossing holds the factors of the last step: for each group of eight k, seven vectors exp(−2πi·ck/n), c = 1…7.
	crossing []float32
	// front and back hold vectors: the passes go back and forth between them. The one that the vectors do not end in
	// is free for the output of split.
	front, back []float32
}

// vectorPass is a pass as stockham has it, m and s counting vectors.
type vectorPass struct {
	radix, m, s int
	twiddles    []float32
}

const (
	// vectorFloats is the length of a vector: eight real parts, then eight imaginary parts.
	vectorFloats = 16
	// blockedVectors is the number of vectors from which a transform is cut into blocks: front and back together no
	// longer fit the second-level cache.
	blockedVectors = 8192
	// signBit flips the sign of a float32.
	signBit = 1 << 31
)

// newLanes returns the transform of length n, or nil where the kernels do not apply: n is not a multiple of 8 of at
// least 16, or has a prime factor above 5, or the processor lacks the instructions.
func newLanes(n int) *lanes {
	if !haveLanes || n%8 != 0 || n < 16 {
		return nil
	}
	m := n / 8
	radices, ok := vectorRadices(m)
	if !ok {
		return nil
	}
	t := &lanes{n: n, m: m, blocks: 1}
	if last := len(radices) - 1; m >= blockedVectors && radices[last] == 8 {
		t.blocks = 8
		radices = append([]int{8}, radices[:last]...)
	}
	length, s := m, 1
	for i, r := range radices {
		p := vectorPass{radix: r, m: length / r, s: s}
		for j := range p.m {
			for k := 1; k < r; k++ {
				w := root(j*k, length)
				p.twiddles = append(p.twiddles, float32(real(w)), float32(imag(w)))
			}
		}
		t.passes = append(t.passes, p)
		length, s = p.m, s*r
		if i == 0 && t.blocks > 1 {
			s = 1 // the blocks are transforms of their own
		}
	}
	for g := range t.groups() {
		for c := 1; c < 8; c++ {
			t.crossing = appendVector(t.crossing, func(i int) complex128 { return root(c*(t.groupStart(g)+i), n) })
		}
	}
	return t.withScratch()
}

// appendVector appends the vector of eight values.
func appendVector(to []float32, value func(i int) complex128) []float32 {
	var re, im [8]float32
	for i := range re {
		re[i], im[i] = float32(real(value(i))), float32(imag(value(i)))
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
	// The last step reads and writes eight vectors at least, and the real transform appends one value to each half.
	floats := vectorFloats*max(t.m, 8) + 2*vectorFloats
	c.front, c.back = alignedFloats(floats), alignedFloats(floats)
	return &c
}

// alignedFloats returns n zeros that start at a cache line.
func alignedFloats(n int) []float32 {
	s := make([]float32, n+15)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(s))) % 64 / 4
	return s[skip:][:n]
}

func (t *lanes) clone() transform { return t.withScratch() }

func (t *lanes) forward(dst, src []complex64) {
	t.columns(floats(src), 0)
	t.interleaved(dst, 1, 1)
}

// inverse is the conjugate of the forward transform of the conjugate, over n.
func (t *lanes) inverse(dst, src []complex64) {
	t.columns(floats(src), signBit)
	scale := float32(1 / float64(t.n))
	t.interleaved(dst, scale, -scale)
}

// columns runs every pass but the last step on interleaved src, with the signs of its imaginary parts flipped by sign.
func (t *lanes) columns(src []float32, sign uint32) {
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
		stride, step = p.m, 1
	}
	dst := t.front[vectorFloats*step*lo:]
	src = src[vectorFloats*lo:]
	p.first(dst, src, p.twiddles[2*(p.radix-1)*lo:], hi-lo, stride, step, sign)
}

// block runs the other passes on block b.
func (t *lanes) block(b int) {
	size := vectorFloats * t.m / t.blocks
	from, to := t.front[size*b:][:size], t.back[size*b:][:size]
	for i := 1; i < len(t.passes); i++ {
		t.passes[i].run(to, from)
		from, to = to, from
	}
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
	return count, &vectors[vectorFloats*t.groupStart(lo)/t.blocks], &t.crossing[7*vectorFloats*lo]
}

// crossStrides returns the distance in vectors from one k to the next inside a group, and from group to group.
func (t *lanes) crossStrides() (stride, step int) {
	if t.blocks > 1 {
		return t.m / t.blocks, 1
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
		crossInterleaved(&to[2*t.groupStart(g)], src, tw, count, stride, step, max(t.m, 8), scaleRe, scaleIm)
		g += count
	}
	if t.m < 8 {
		closeRows(floats(dst), to, 2*t.m, 16)
	}
}

// split runs groups lo to hi of the last step into re and im.
func (t *lanes) split(re, im []float32, lo, hi int) {
	stride, step := t.crossStrides()
	for g := lo; g < hi; {
		count, src, tw := t.crossRun(g, hi)
		k := t.groupStart(g)
		crossSplit(&re[k], &im[k], src, tw, count, stride, step, max(t.m, 8))
		g += count
	}
	if t.m < 8 {
		closeRows(re, re, t.m, 8)
		closeRows(im, im, t.m, 8)
	}
}

// closeRows moves eight rows of the given width, stride apart in src, next to each other in dst, which may be src.
func closeRows(dst, src []float32, width, stride int) {
	for row := range 8 {
		copy(dst[width*row:][:width], src[stride*row:])
	}
}

func (p *vectorPass) first(dst, src, twiddles []float32, count, dstStride, dstStep int, sign uint32) {
	d, s, w := &dst[0], &src[0], &twiddles[0]
	switch p.radix {
	case 2:
		first2(d, s, w, count, p.m, dstStride, dstStep, sign)
	case 3:
		first3(d, s, w, count, p.m, dstStride, dstStep, sign)
	case 4:
		first4(d, s, w, count, p.m, dstStride, dstStep, sign)
	case 5:
		first5(d, s, w, count, p.m, dstStride, dstStep, sign)
	case 8:
		first8(d, s, w, count, p.m, dstStride, dstStep, sign)
	}
}

func (p *vectorPass) run(dst, src []float32) {
	d, s, w := &dst[0], &src[0], &p.twiddles[0]
	if p.m == 1 {
		switch p.radix {
		case 2:
			final2(d, s, p.s)
		case 3:
			final3(d, s, p.s)
		case 4:
			final4(d, s, p.s)
		case 5:
			final5(d, s, p.s)
		case 8:
			final8(d, s, p.s)
		}
		return
	}
	switch p.radix {
	case 2:
		middle2(d, s, w, p.m, p.s, p.s*p.m)
	case 3:
		middle3(d, s, w, p.m, p.s, p.s*p.m)
	case 4:
		middle4(d, s, w, p.m, p.s, p.s*p.m)
	case 5:
		middle5(d, s, w, p.m, p.s, p.s*p.m)
	case 8:
		middle8(d, s, w, p.m, p.s, p.s*p.m)
	}
}

// floats views complex values as their parts.
func floats(x []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// laneReal is the real transform of length n by lanes of half the length h, as halved has it.
type laneReal struct {
	n, h     int
	half     *lanes
	twiddles []float32 // −i·exp(−2πik/n)/2 for each group of eight k
}

// newLaneReal returns the transform of length n, or nil where newLanes has none of half the length.
func newLaneReal(n int) *laneReal {
	if n%2 != 0 {
		return nil
	}
	half := newLanes(n / 2)
	if half == nil {
		return nil
	}
	t := &laneReal{n: n, h: n / 2, half: half}
	for g := range t.groups() {
		t.twiddles = appendVector(t.twiddles, func(i int) complex128 { return -0.5i * root(8*g+i, n) })
	}
	return t
}

func (t *laneReal) clone() realTransform {
	c := *t
	c.half = t.half.withScratch()
	return &c
}

// groups returns the number of groups of eight k that cover 0 to h/2. The last one may go beyond, where it computes
// once more what its mirror image has.
func (t *laneReal) groups() int { return t.h/16 + 1 }

func (t *laneReal) forward(dst []complex64, src []float32) {
	t.half.columns(src, 0)
	re, im := t.spectrum()
	t.half.split(re, im, 0, t.half.groups())
	t.wrap()
	t.untangle(dst, 0, t.groups())
}

// spectrum returns room for the h+1 values Z[0] to Z[h] and a few more.
func (t *laneReal) spectrum() (re, im []float32) {
	_, free := t.half.vectors()
	room := len(free) / 2 / vectorFloats * vectorFloats
	return free[:room], free[room:][:room]
}

// wrap sets Z[h] to Z[0].
func (t *laneReal) wrap() {
	re, im := t.spectrum()
	re[t.h], im[t.h] = re[0], im[0]
}

// untangle computes the bins of groups lo to hi and of their mirror images.
func (t *laneReal) untangle(dst []complex64, lo, hi int) {
	re, im := t.spectrum()
	low, high := 8*lo, t.h-8*lo-7
	to := floats(dst)
	untangle(&to[2*low], &to[2*high], &re[low], &im[low], &re[high], &im[high], &t.twiddles[vectorFloats*lo], hi-lo)
}

func (t *laneReal) inverse(dst []float32, src []complex64) {
	spectrum := t.half.back
	from := floats(src)
	high := 2 * (t.h - 7)
	tangle(&spectrum[0], &spectrum[high], &from[0], &from[high], &t.twiddles[0], t.groups())
	first, last := real(src[0])/2, real(src[t.h])/2
	spectrum[0], spectrum[1] = first+last, last-first
	t.half.columns(spectrum, 0)
	scale := float32(2 / float64(t.n))
	t.half.interleaved(pairs(dst), scale, -scale)
}
