// Command asm writes the AVX2 kernels of package transform: lanes_amd64.s and the Go declarations beside it.
//
// Run it with go generate in the package's folder. The kernels work on vectors of eight complex values, one cache line
// each: eight real parts, then eight imaginary parts. The eight lanes are eight independent transforms, so that every
// kernel but the last one is plain arithmetic on whole vectors.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// line is the size of a vector of eight complex values in bytes; its imaginary parts start at half of it.
const line = 64

func main() {
	for _, radix := range []int{2, 3, 4, 5, 8} {
		first(radix)
		middle(radix)
		final(radix)
		finalRows(radix, false)
		finalRows(radix, true)
	}
	for _, width := range []int{3, 4, 5, 8} {
		crossLanes(width, false)
		crossLanes(width, true)
	}
	twist()
	untangle()
	tangle()
	product()
	Generate()
}

// value is one vector of complex values in registers.
type value struct{ re, im VecVirtual }

func newValue() value { return value{YMM(), YMM()} }

// add returns x + y.
func add(x, y value) value {
	z := newValue()
	VADDPS(y.re, x.re, z.re)
	VADDPS(y.im, x.im, z.im)
	return z
}

// sub returns x − y, in the registers of x.
func sub(x, y value) value {
	VSUBPS(y.re, x.re, x.re)
	VSUBPS(y.im, x.im, x.im)
	return x
}

// turn returns x − iy and x + iy, in the registers of x and y.
func turn(x, y value) (minus, plus value) {
	p := newValue()
	VSUBPS(y.im, x.re, p.re)
	VADDPS(y.re, x.im, p.im)
	VADDPS(y.im, x.re, x.re)
	VSUBPS(y.re, x.im, x.im)
	return x, p
}

// copied returns a copy of x.
func copied(x value) value {
	z := newValue()
	VMOVAPS(x.re, z.re)
	VMOVAPS(x.im, z.im)
	return z
}

// fma adds c·x to each part of z: c is a constant in memory.
func fma(c Mem, x, z value) {
	VFMADD231PS(c, x.re, z.re)
	VFMADD231PS(c, x.im, z.im)
}

// fnma subtracts c·x from each part of z.
func fnma(c Mem, x, z value) {
	VFNMADD231PS(c, x.re, z.re)
	VFNMADD231PS(c, x.im, z.im)
}

// fmaTurned returns z − i·c·x and z + i·c·x, in the registers of z and new ones.
func fmaTurned(c Mem, x, z value) (minus, plus value) {
	p := copied(z)
	VFNMADD231PS(c, x.im, p.re)
	VFMADD231PS(c, x.re, p.im)
	VFMADD231PS(c, x.im, z.re)
	VFNMADD231PS(c, x.re, z.im)
	return z, p
}

// times returns x·w.
func times(x value, wRe, wIm Op) value {
	z := newValue()
	VMULPS(wIm, x.im, z.re)
	VFMSUB231PS(wRe, x.re, z.re)
	VMULPS(wIm, x.re, z.im)
	VFMADD231PS(wRe, x.im, z.im)
	return z
}

var constants = map[string]Mem{}

// constant returns a vector of eight equal values in read-only memory.
func constant(name string, x float64) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, F32(float32(x)))
	}
	constants[name] = m
	return m
}

// permutation returns eight lane indexes in read-only memory.
func permutation(name string, lanes ...uint32) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i, l := range lanes {
		DATA(4*i, U32(l))
	}
	constants[name] = m
	return m
}

// streams addresses up to eight places that are a register's distance apart.
type streams struct {
	base, upper      Register // upper is base + 4·distance; it exists only for more than four places
	distance, triple Register
}

func newStreams(base, distance Register, count int) *streams {
	s := &streams{base: base, distance: distance}
	if count > 3 {
		s.triple = GP64()
		LEAQ(Mem{Base: distance, Index: distance, Scale: 2}, s.triple)
	}
	if count > 4 {
		s.upper = GP64()
		LEAQ(Mem{Base: base, Index: distance, Scale: 4}, s.upper)
	}
	return s
}

// sibling addresses places the same distance apart from another base.
func (s *streams) sibling(base Register) *streams {
	t := &streams{base: base, distance: s.distance, triple: s.triple}
	if s.upper != nil {
		t.upper = GP64()
		LEAQ(Mem{Base: base, Index: s.distance, Scale: 4}, t.upper)
	}
	return t
}

// at returns the address of place i.
func (s *streams) at(i int) Mem {
	base := s.base
	if i >= 4 {
		base, i = s.upper, i-4
	}
	switch i {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: s.triple, Scale: 1}
	default:
		return Mem{Base: base, Index: s.distance, Scale: uint8(i)}
	}
}

// advance moves every place by a number of bytes.
func (s *streams) advance(by Op) {
	ADDQ(by, s.base)
	if s.upper != nil {
		ADDQ(by, s.upper)
	}
}

// parameter loads a parameter into a register, as bytes where it counts units of 1<<shift bytes.
func parameter(name string, shift uint64) Register {
	r := Load(Param(name), GP64())
	if shift > 0 {
		SHLQ(U8(shift), r)
	}
	return r
}

// spill returns the address of size bytes of stack, aligned to a cache line so that no vector straddles two.
func spill(size int) Mem {
	local := AllocLocal(size + line)
	r := GP64()
	LEAQ(local.Offset(line-1), r)
	ANDQ(I32(-line), r)
	return Mem{Base: r}
}

func storeValue(v value, m Mem) {
	VMOVUPS(v.re, m)
	VMOVUPS(v.im, m.Offset(line/2))
}

func loadValue(m Mem) value {
	v := newValue()
	VMOVUPS(m, v.re)
	VMOVUPS(m.Offset(line/2), v.im)
	return v
}

// loadPairs loads eight interleaved complex values, in the order 0, 1, 4, 5, 2, 3, 6, 7 that costs least.
func loadPairs(m Mem) value {
	x, y := YMM(), YMM()
	VMOVUPS(m, x)
	VMOVUPS(m.Offset(line/2), y)
	v := newValue()
	VSHUFPS(U8(0x88), y, x, v.re)
	VSHUFPS(U8(0xdd), y, x, v.im)
	return v
}

// storePairs stores eight complex values interleaved, in their order.
func storePairs(v value, m Mem) {
	low, high := YMM(), YMM()
	VUNPCKLPS(v.im, v.re, low)
	VUNPCKHPS(v.im, v.re, high)
	x := YMM()
	VPERM2F128(U8(0x20), high, low, x)
	VMOVUPS(x, m)
	VPERM2F128(U8(0x31), high, low, x)
	VMOVUPS(x, m.Offset(line/2))
}

// butterfly computes the transform of length radix of the values that load gives, and hands each result to store as
// soon as it is there.
func butterfly(radix int, scratch Mem, load func(j int) value, store func(k int, v value)) {
	switch radix {
	case 2:
		a, b := load(0), load(1)
		store(0, add(a, b))
		store(1, sub(a, b))
	case 3:
		a, b, c := load(0), load(1), load(2)
		sum, diff := add(b, c), sub(b, c)
		store(0, add(a, sum))
		fnma(constant("half", 0.5), sum, a)
		y1, y2 := fmaTurned(constant("sin3", math.Sqrt(3)/2), diff, a)
		store(1, y1)
		store(2, y2)
	case 4:
		radix4(load(0), load(1), load(2), load(3), 1, store)
	case 5:
		radix5(load, store)
	case 8:
		var sums [4]value
		for j := range 4 {
			a, b := load(j), load(j+4)
			sums[j] = add(a, b)
			storeValue(sub(a, b), scratch.Offset(line*j))
		}
		radix4(sums[0], sums[1], sums[2], sums[3], 2, store)
		oddEighths(func(j int) value { return loadValue(scratch.Offset(line * j)) }, store)
	}
}

// radix4 stores the four results as numbers 0, step, 2·step and 3·step.
func radix4(a, b, c, d value, step int, store func(k int, v value)) {
	sumAC, diffAC := add(a, c), sub(a, c)
	sumBD, diffBD := add(b, d), sub(b, d)
	store(0, add(sumAC, sumBD))
	store(2*step, sub(sumAC, sumBD))
	y1, y3 := turn(diffAC, diffBD)
	store(step, y1)
	store(3*step, y3)
}

// oddEighths computes results 1, 3, 5 and 7 of the transform of length 8 from the differences x[j] − x[j+4].
func oddEighths(difference func(j int) value, store func(k int, v value)) {
	root := constant("root8", math.Sqrt2/2)
	// The odd ones are a transform of length 4 of difference j times exp(−2πi·j/8). Differences 1 and 3 are turned
	// by an eighth without the factor √½, which comes in with the last addition.
	minus, plus := turn(difference(0), difference(2))
	a := eighth(difference(1))
	b, re, im := difference(3), YMM(), YMM() // b·(−1−i) is re − i·im
	VSUBPS(b.re, b.im, re)
	VADDPS(b.re, b.im, im)
	sum, diff := newValue(), newValue()
	VADDPS(re, a.re, sum.re)
	VSUBPS(im, a.im, sum.im)
	VSUBPS(re, a.re, diff.re)
	VADDPS(im, a.im, diff.im)
	y5 := copied(minus)
	fma(root, sum, minus)
	store(1, minus)
	fnma(root, sum, y5)
	store(5, y5)
	y3, y7 := fmaTurned(root, diff, plus)
	store(3, y3)
	store(7, y7)
}

// eighth returns x·(1−i).
func eighth(x value) value {
	z := newValue()
	VADDPS(x.im, x.re, z.re)
	VSUBPS(x.re, x.im, z.im)
	return z
}

func radix5(load func(j int) value, store func(k int, v value)) {
	cos1, cos2 := constant("cos5", math.Cos(2*math.Pi/5)), constant("cos5twice", math.Cos(4*math.Pi/5))
	sin1, sin2 := constant("sin5", math.Sin(2*math.Pi/5)), constant("sin5twice", math.Sin(4*math.Pi/5))
	b, e := load(1), load(4)
	sumBE, diffBE := add(b, e), sub(b, e)
	c, d := load(2), load(3)
	sumCD, diffCD := add(c, d), sub(c, d)
	a := load(0)
	u, v := copied(a), copied(a)
	VADDPS(sumBE.re, a.re, a.re)
	VADDPS(sumBE.im, a.im, a.im)
	VADDPS(sumCD.re, a.re, a.re)
	VADDPS(sumCD.im, a.im, a.im)
	store(0, a)
	fma(cos1, sumBE, u)
	fma(cos2, sumCD, u)
	fma(cos2, sumBE, v)
	fma(cos1, sumCD, v)
	// Results 1 and 4 are u ∓ i·g with g = sin1·diffBE + sin2·diffCD, results 2 and 3 are v ∓ i·h with
	// h = sin2·diffBE − sin1·diffCD.
	g := newValue()
	VMULPS(sin1, diffBE.re, g.re)
	VMULPS(sin1, diffBE.im, g.im)
	fma(sin2, diffCD, g)
	y1, y4 := turn(u, g)
	store(1, y1)
	store(4, y4)
	h := newValue()
	VMULPS(sin2, diffBE.re, h.re)
	VMULPS(sin2, diffBE.im, h.im)
	fnma(sin1, diffCD, h)
	y2, y3 := turn(v, h)
	store(2, y2)
	store(3, y3)
}

// scratchFor returns stack memory for the butterflies that do not fit the registers, and for extra more vectors.
func scratchFor(radix, extra int) Mem {
	size := extra * line
	if radix == 8 {
		size += 4 * line
	}
	if size == 0 {
		return Mem{}
	}
	return spill(size)
}

// twiddled returns a store function that multiplies result k ≥ 1 by the k-th factor at tw.
func twiddled(tw Register, to *streams) func(k int, v value) {
	return func(k int, v value) {
		if k > 0 {
			wRe, wIm := YMM(), YMM()
			VBROADCASTSS(Mem{Base: tw, Disp: 8 * (k - 1)}, wRe)
			VBROADCASTSS(Mem{Base: tw, Disp: 8*(k-1) + 4}, wIm)
			v = times(v, wRe, wIm)
		}
		storeValue(v, to.at(k))
	}
}

// first writes the kernel of the first pass, which reads interleaved complex values.
func first(radix int) {
	name := fmt.Sprintf("first%d", radix)
	TEXT(name, NOSPLIT, "func(dst, src, tw *float32, count, srcStride, srcStep, dstStride, dstStep int, sign uint32)")
	Doc(fmt.Sprintf("%s is the first pass, of radix %d: for each of count positions it reads %d groups of eight", name, radix, radix),
		"interleaved complex values that begin srcStride values apart, flips their imaginary parts by sign (0 or the",
		"sign bit), and writes the results dstStride vectors apart. From one position to the next src moves by srcStep",
		"values, dst by dstStep vectors and tw by one set of factors.")
	from := newStreams(parameter("src", 0), parameter("srcStride", 3), radix)
	to := newStreams(parameter("dst", 0), parameter("dstStride", 6), radix)
	srcStep := parameter("srcStep", 3)
	tw, step, count := parameter("tw", 0), parameter("dstStep", 6), parameter("count", 0)
	scratch := scratchFor(radix, 1)
	flip := scratch
	if radix == 8 {
		flip = scratch.Offset(4 * line)
	}
	VMOVUPS(broadcast("sign"), flip)
	Label("position")
	butterfly(radix, scratch, func(j int) value {
		v := loadPairs(from.at(j))
		VXORPS(flip, v.im, v.im)
		return v
	}, twiddled(tw, to))
	from.advance(srcStep)
	to.advance(step)
	ADDQ(Imm(uint64(8*(radix-1))), tw)
	DECQ(count)
	JNE(LabelRef("position"))
	VZEROUPPER()
	RET()
}

// middle writes the kernel of a pass between the first one and the last one.
func middle(radix int) {
	name := fmt.Sprintf("middle%d", radix)
	TEXT(name, NOSPLIT, "func(dst, src, tw *float32, count, s, srcStride int)")
	Doc(fmt.Sprintf("%s is a pass of radix %d over count positions of s vectors each, srcStride vectors apart on", name, radix),
		"reading and s on writing.")
	from := newStreams(parameter("src", 0), parameter("srcStride", 6), radix)
	width := parameter("s", 6)
	to := newStreams(parameter("dst", 0), width, radix)
	tw, count := parameter("tw", 0), parameter("count", 0)
	scratch := scratchFor(radix, 0)
	skip := GP64() // from the end of result 0 to the beginning of the next position
	MOVQ(width, skip)
	IMUL3Q(Imm(uint64(radix-1)), skip, skip)
	Label("position")
	q := Load(Param("s"), GP64())
	Label("vector")
	butterfly(radix, scratch, func(j int) value { return loadValue(from.at(j)) }, twiddled(tw, to))
	from.advance(Imm(line))
	to.advance(Imm(line))
	DECQ(q)
	JNE(LabelRef("vector"))
	to.advance(skip)
	ADDQ(Imm(uint64(8*(radix-1))), tw)
	DECQ(count)
	JNE(LabelRef("position"))
	VZEROUPPER()
	RET()
}

// final writes the kernel of the last pass over the vectors, whose factors are all 1.
func final(radix int) {
	name := fmt.Sprintf("final%d", radix)
	TEXT(name, NOSPLIT, "func(dst, src *float32, s int)")
	Doc(fmt.Sprintf("%s is a pass of radix %d over one position of s vectors, s apart on reading and writing.", name, radix))
	distance, count := parameter("s", 6), parameter("s", 0)
	from := newStreams(parameter("src", 0), distance, radix)
	to := from.sibling(parameter("dst", 0))
	scratch := scratchFor(radix, 0)
	Label("vector")
	butterfly(radix, scratch, func(j int) value { return loadValue(from.at(j)) },
		func(k int, v value) { storeValue(v, to.at(k)) })
	from.advance(Imm(line))
	to.advance(Imm(line))
	DECQ(count)
	JNE(LabelRef("vector"))
	VZEROUPPER()
	RET()
}

// finalRows writes the kernel of the last pass over the vectors of a group of eight k, which leaves each result in a row.
func finalRows(radix int, interleaved bool) {
	var name string
	var re, im Register
	rowShift := uint64(2)
	if interleaved {
		name = fmt.Sprintf("rowsInterleaved%d", radix)
		TEXT(name, NOSPLIT, "func(dst, src *float32, s, pitch int, scaleRe, scaleIm float32)")
		rowShift = 3
		re = parameter("dst", 0)
		Doc(fmt.Sprintf("%s is final%d into rows that begin pitch complex values apart, interleaved, their parts scaled:", name, radix),
			"each result vector goes into a row of its own.")
	} else {
		name = fmt.Sprintf("rowsSplit%d", radix)
		TEXT(name, NOSPLIT, "func(re, im, src *float32, s, pitch int)")
		re, im = parameter("re", 0), parameter("im", 0)
		Doc(fmt.Sprintf("%s is final%d into rows that begin pitch values apart, their parts in two places: each result", name, radix),
			"vector goes into a row of its own.")
	}
	count, step := parameter("s", 0), parameter("pitch", rowShift)
	from := newStreams(parameter("src", 0), parameter("s", 6), radix)
	distance := GP64()
	MOVQ(count, distance)
	IMULQ(step, distance)
	toRe := newStreams(re, distance, radix)
	var toIm *streams
	if !interleaved {
		toIm = toRe.sibling(im)
	}
	extra := 0
	if interleaved {
		extra = 1
	}
	scratch := scratchFor(radix, extra)
	scale := scratch
	if radix == 8 {
		scale = scratch.Offset(4 * line)
	}
	if interleaved {
		storeScales(scale)
	}
	Label("vector")
	butterfly(radix, scratch, func(j int) value { return loadValue(from.at(j)) }, toRows(toRe, toIm, scale))
	from.advance(Imm(line))
	toRe.advance(step)
	if toIm != nil {
		toIm.advance(step)
	}
	DECQ(count)
	JNE(LabelRef("vector"))
	VZEROUPPER()
	RET()
}

// storeScales keeps the parameters scaleRe and scaleIm as a vector in memory.
func storeScales(m Mem) {
	for i, part := range []string{"scaleRe", "scaleIm"} {
		VMOVUPS(broadcast(part), m.Offset(line/2*i))
	}
}

// toRows returns a store function for eight values of a row: to re and im, or, where im is nil, interleaved and scaled.
func toRows(re, im *streams, scale Mem) func(k int, v value) {
	return func(k int, v value) {
		if im == nil {
			VMULPS(scale, v.re, v.re)
			VMULPS(scale.Offset(line/2), v.im, v.im)
			storePairs(v, re.at(k))
			return
		}
		VMOVUPS(v.re, re.at(k))
		VMOVUPS(v.im, im.at(k))
	}
}

// twist writes the kernel between the columns of a grid and its rows.
func twist() {
	TEXT("twist", NOSPLIT, "func(dst, src, fine, coarse *float32, groups, srcStep int)")
	Doc("twist turns eight vectors k, whose lanes are columns, into eight vectors of columns, whose lanes are k, and",
		"multiplies each by a vector at fine and a value at coarse. From one group of columns to the next src moves by",
		"srcStep vectors, dst and fine by eight vectors and coarse by eight values.")
	distance := GP64()
	MOVQ(U32(line), distance)
	from := newStreams(parameter("src", 0), distance, 8)
	dst, fine, coarse, groups := parameter("dst", 0), parameter("fine", 0), parameter("coarse", 0), parameter("groups", 0)
	step := parameter("srcStep", 6)
	Label("group")
	for half := range 2 {
		for _, x := range halfTurned(from, 8, half) {
			wRe, wIm := YMM(), YMM()
			VBROADCASTSS(Mem{Base: coarse, Disp: 8 * x.lane}, wRe)
			VBROADCASTSS(Mem{Base: coarse, Disp: 8*x.lane + 4}, wIm)
			v := times(x.value, wRe, wIm)
			w := loadValue(Mem{Base: fine, Disp: line * x.lane})
			storeValue(times(v, w.re, w.im), Mem{Base: dst, Disp: line * x.lane})
		}
	}
	from.advance(step)
	for _, r := range []Register{dst, fine} {
		ADDQ(I32(8*line), r)
	}
	ADDQ(Imm(64), coarse)
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// crossLanes writes the kernel that joins the first width lanes: a transform of that length across them.
func crossLanes(width int, interleaved bool) {
	var name string
	var re, im Register
	rowShift, row := uint64(2), "values after result j−1."
	if interleaved {
		name = fmt.Sprintf("crossInterleaved%d", width)
		TEXT(name, NOSPLIT, "func(dst, src, tw *float32, groups, srcStride, srcStep, rowStride int, scaleRe, scaleIm float32)")
		rowShift, row = 3, "complex values after result j−1, interleaved, its parts scaled."
		re = parameter("dst", 0)
	} else {
		name = fmt.Sprintf("crossSplit%d", width)
		TEXT(name, NOSPLIT, "func(re, im, src, tw *float32, groups, srcStride, srcStep, rowStride int)")
		re, im = parameter("re", 0), parameter("im", 0)
	}
	Doc(fmt.Sprintf("%s joins the transforms of length M that %d lanes hold into one of length %d·M. For each group it", name, width, width),
		"reads eight vectors srcStride apart, multiplies lane c of vector k by its factor, transforms across the lanes",
		"and writes result j, contiguous in k, rowStride "+row,
		"From one group to the next src moves by srcStep vectors.")
	from := newStreams(parameter("src", 0), parameter("srcStride", 6), 8)
	toRe := newStreams(re, parameter("rowStride", rowShift), width)
	var toIm *streams
	if !interleaved {
		toIm = toRe.sibling(im)
	}
	tw, groups := parameter("tw", 0), parameter("groups", 0)
	step := parameter("srcStep", 6)
	scratch := spill(7 * line)
	scale := scratch.Offset(6 * line)
	if interleaved {
		storeScales(scale)
	}
	store := toRows(toRe, toIm, scale)

	Label("group")
	if width == 8 {
		crossEight(from, tw, scratch, store)
	} else {
		for half := range 2 {
			for _, x := range twisted(from, tw, width, half) {
				storeValue(x.value, scratch.Offset(line*x.lane))
			}
		}
		butterfly(width, Mem{}, func(j int) value { return loadValue(scratch.Offset(line * j)) }, store)
	}
	from.advance(step)
	toRe.advance(Imm(8 << rowShift))
	if toIm != nil {
		toIm.advance(Imm(8 << rowShift))
	}
	ADDQ(I32(int32((width-1)*line)), tw)
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// crossEight is the transform of length 8 across the lanes, half of them at a time: lanes 0, 1, 4 and 5 come together
// and are two pairs of the first step.
func crossEight(from *streams, tw Register, scratch Mem, store func(k int, v value)) {
	var sums, diffs [4]value
	for half := range 2 {
		x := twisted(from, tw, 8, half)
		for i := range 2 {
			j := 2*half + i
			sums[j] = add(x[i].value, x[i+2].value)
			diffs[j] = sub(x[i].value, x[i+2].value)
			if half == 0 {
				storeValue(sums[j], scratch.Offset(line*i))
				storeValue(diffs[j], scratch.Offset(line*(i+2)))
			}
		}
	}
	radix4(loadValue(scratch), loadValue(scratch.Offset(line)), sums[2], sums[3], 2, store)
	oddEighths(func(j int) value {
		if j < 2 {
			return loadValue(scratch.Offset(line * (j + 2)))
		}
		return diffs[j]
	}, store)
}

// lane is eight values of one lane, one of each vector of a group.
type lane struct {
	value
	lane int
}

// halfTurned returns the lanes below width in one half of the registers of a group. The half 0 holds lanes 0, 1, 4, 5
// and the half 1 lanes 2, 3, 6, 7: that is how loadPairs leaves them.
func halfTurned(from *streams, width, half int) []lane {
	re := transposed(from, 16*half)
	im := transposed(from, line/2+16*half)
	var lanes []lane
	for i, c := range []int{0, 1, 4, 5} {
		if c += 2 * half; c < width {
			lanes = append(lanes, lane{value{re[i], im[i]}, c})
		}
	}
	return lanes
}

// twisted returns the lanes of halfTurned multiplied by their factors, which lane 0 has none of.
func twisted(from *streams, tw Register, width, half int) []lane {
	lanes := halfTurned(from, width, half)
	for i, x := range lanes {
		if x.lane > 0 {
			w := loadValue(Mem{Base: tw, Disp: line * (x.lane - 1)})
			lanes[i].value = times(x.value, w.re, w.im)
		}
	}
	return lanes
}

// broadcast returns eight copies of a parameter of four bytes.
func broadcast(name string) VecVirtual {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := YMM()
	VBROADCASTSS(p.Addr, v)
	return v
}

// transposed loads four lanes, which start at an offset in bytes, of eight vectors, and returns one register a lane.
func transposed(from *streams, offset int) [4]VecVirtual {
	var v [4]VecVirtual
	for i := range v {
		v[i] = YMM()
		VBROADCASTF128(from.at(i).Offset(offset), v[i])
		VINSERTF128(U8(1), from.at(i+4).Offset(offset), v[i], v[i])
	}
	var t [4]VecVirtual
	for i := range t {
		t[i] = YMM()
	}
	VUNPCKLPS(v[1], v[0], t[0])
	VUNPCKHPS(v[1], v[0], t[1])
	VUNPCKLPS(v[3], v[2], t[2])
	VUNPCKHPS(v[3], v[2], t[3])
	VUNPCKLPD(t[2], t[0], v[0])
	VUNPCKHPD(t[2], t[0], v[1])
	VUNPCKLPD(t[3], t[1], v[2])
	VUNPCKHPD(t[3], t[1], v[3])
	return v
}

// untangle writes the kernel that ends the real transform.
func untangle() {
	TEXT("untangle", NOSPLIT, "func(low, high, reLow, imLow, reHigh, imHigh, tw *float32, groups int)")
	Doc("untangle makes bins k and h−k of the real transform, eight at a time, from Z[k] at reLow and imLow, ascending,",
		"and Z[h−k] at reHigh and imHigh, descending by groups of eight; low ascends and high descends the same way. tw",
		"holds −i·exp(−2πik/n)/2.")
	low, high := parameter("low", 0), parameter("high", 0)
	reLow, imLow := parameter("reLow", 0), parameter("imLow", 0)
	reHigh, imHigh := parameter("reHigh", 0), parameter("imHigh", 0)
	tw, groups := parameter("tw", 0), parameter("groups", 0)
	half, reverse := YMM(), YMM()
	VMOVUPS(constant("half", 0.5), half)
	VMOVUPS(permutation("reverse", 7, 6, 5, 4, 3, 2, 1, 0), reverse)
	Label("group")
	a, b := newValue(), newValue()
	VMOVUPS(Mem{Base: reLow}, a.re)
	VMOVUPS(Mem{Base: imLow}, a.im)
	VPERMPS(Mem{Base: reHigh}, reverse, b.re)
	VPERMPS(Mem{Base: imHigh}, reverse, b.im)
	lower, upper := symmetric(a, b, tw, half, false)
	VPERMPS(upper.re, reverse, upper.re)
	VPERMPS(upper.im, reverse, upper.im)
	storePairs(lower, Mem{Base: low})
	storePairs(upper, Mem{Base: high})
	for _, r := range []Register{reLow, imLow} {
		ADDQ(Imm(32), r)
	}
	for _, r := range []Register{reHigh, imHigh} {
		SUBQ(Imm(32), r)
	}
	ADDQ(Imm(line), low)
	SUBQ(Imm(line), high)
	ADDQ(Imm(line), tw)
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// tangle writes the kernel that begins the inverse real transform.
func tangle() {
	TEXT("tangle", NOSPLIT, "func(dstLow, dstHigh, low, high, tw *float32, groups int)")
	Doc("tangle is the inverse of untangle: it makes conj(Z[k]) and conj(Z[h−k]) from bins k, ascending, and h−k,",
		"descending by groups of eight, all interleaved.")
	dstLow, dstHigh := parameter("dstLow", 0), parameter("dstHigh", 0)
	low, high := parameter("low", 0), parameter("high", 0)
	tw, groups := parameter("tw", 0), parameter("groups", 0)
	half, order, reverse, backwards := YMM(), YMM(), YMM(), YMM()
	VMOVUPS(constant("half", 0.5), half)
	VMOVUPS(permutation("pairsToOrder", 0, 1, 4, 5, 2, 3, 6, 7), order)
	VMOVUPS(permutation("pairsToReverse", 7, 6, 3, 2, 5, 4, 1, 0), backwards)
	VMOVUPS(permutation("reverse", 7, 6, 5, 4, 3, 2, 1, 0), reverse)
	Label("group")
	a, b := loadPairs(Mem{Base: low}), loadPairs(Mem{Base: high})
	VPERMPS(a.re, order, a.re)
	VPERMPS(a.im, order, a.im)
	VPERMPS(b.re, backwards, b.re)
	VPERMPS(b.im, backwards, b.im)
	lower, upper := symmetric(a, b, tw, half, true)
	VPERMPS(upper.re, reverse, upper.re)
	VPERMPS(upper.im, reverse, upper.im)
	storePairs(lower, Mem{Base: dstLow})
	storePairs(upper, Mem{Base: dstHigh})
	for _, r := range []Register{low, dstLow, tw} {
		ADDQ(Imm(line), r)
	}
	for _, r := range []Register{high, dstHigh} {
		SUBQ(Imm(line), r)
	}
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// symmetric returns sum + turned and conj(sum − turned), where sum = (a + conj(b))/2 and turned = (a − conj(b))·w, w
// at tw. For the inverse w is conjugated and so are both results.
func symmetric(a, b value, tw Register, half VecVirtual, inverse bool) (lower, upper value) {
	sum, diff := newValue(), newValue()
	VADDPS(b.re, a.re, sum.re)
	VSUBPS(b.im, a.im, sum.im)
	VSUBPS(b.re, a.re, diff.re)
	VADDPS(b.im, a.im, diff.im)
	wRe, wIm := Mem{Base: tw}, Mem{Base: tw, Disp: line / 2}
	turned := newValue()
	lower, upper = newValue(), newValue()
	if inverse {
		VMULPS(wIm, diff.im, turned.re)
		VFMADD231PS(wRe, diff.re, turned.re)
		VMULPS(wIm, diff.re, turned.im)
		VFMSUB231PS(wRe, diff.im, turned.im)
	} else {
		VMULPS(wIm, diff.im, turned.re)
		VFMSUB231PS(wRe, diff.re, turned.re)
		VMULPS(wIm, diff.re, turned.im)
		VFMADD231PS(wRe, diff.im, turned.im)
	}
	VMOVAPS(turned.re, lower.re)
	VFMADD231PS(half, sum.re, lower.re)
	VMOVAPS(turned.re, upper.re)
	VFMSUB231PS(half, sum.re, upper.re)
	VMOVAPS(turned.im, lower.im)
	VMOVAPS(turned.im, upper.im)
	if inverse {
		VFNMSUB231PS(half, sum.im, lower.im) // −(sum + turned)
		VFMSUB231PS(half, sum.im, upper.im)  // sum − turned
	} else {
		VFMADD231PS(half, sum.im, lower.im)  // sum + turned
		VFNMADD231PS(half, sum.im, upper.im) // turned − sum
	}
	return lower, upper
}

// product writes the kernel that multiplies two complex sequences.
func product() {
	TEXT("product", NOSPLIT, "func(dst, a, b *float32, groups int)")
	Doc("product writes the element-wise product of interleaved complex a and b to dst, four values a group. dst may be",
		"a or b.")
	dst, a, b := parameter("dst", 0), parameter("a", 0), parameter("b", 0)
	groups := parameter("groups", 0)
	Label("group")
	x, re, im, swapped := YMM(), YMM(), YMM(), YMM()
	VMOVUPS(Mem{Base: a}, x)
	VMOVSLDUP(Mem{Base: b}, re)
	VMOVSHDUP(Mem{Base: b}, im)
	VPERMILPS(U8(0xb1), x, swapped)
	VMULPS(im, swapped, swapped)
	VFMADDSUB231PS(re, x, swapped)
	VMOVUPS(swapped, Mem{Base: dst})
	for _, r := range []Register{dst, a, b} {
		ADDQ(Imm(32), r)
	}
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}
