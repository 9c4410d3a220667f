package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

// dots is the number of rows of Y with which a kernel multiplies rows of X at the same time.
const dots = 4

// row returns the address of row i of a matrix whose rows are distance bytes apart. i is at most 3.
func row(base, distance, three Register, i int) Mem {
	return []Mem{{Base: base}, {Base: base, Index: distance, Scale: 1}, {Base: base, Index: distance, Scale: 2}, {Base: base, Index: three, Scale: 1}}[i]
}

// dot keeps sums of products of rows×4 elements of C in registers, a vector for each, and adds up the lanes of the vectors at
// the end. The lanes of all sums are added in the same order. A single row has two vectors for each sum: four would leave the
// adders waiting.
func (set *instructions) dot(rows int) {
	TEXT(fmt.Sprintf("dot%d%s", rows, set.name), NOSPLIT, "func(c *float32, rowC int, x *float32, rowX int, y *float32, rowY, terms, groups int, add bool)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("dot%d%s computes %d×4 elements of C for each group of 4 rows of y, whose rows are contiguous and rowY bytes apart:", rows, set.name, rows),
		"it sets them to the sums over l of x[i][l]·y[j][l], or adds these to them. Rows of x are rowX bytes apart and those of C rowC.",
		fmt.Sprintf("It needs %s.", set.needs),
	)
	c, rowC := Load(Param("c"), GP64()), Load(Param("rowC"), GP64())
	rowX, threeX := Load(Param("rowX"), GP64()), GP64()
	firstY, rowY, threeY := Load(Param("y"), GP64()), Load(Param("rowY"), GP64()), GP64()
	if rows > 3 {
		LEAQ(Mem{Base: rowX, Index: rowX, Scale: 2}, threeX)
	}
	LEAQ(Mem{Base: rowY, Index: rowY, Scale: 2}, threeY)
	lanes := set.width / word

	Label("group")
	x, y, left := Load(Param("x"), GP64()), GP64(), Load(Param("terms"), GP64())
	MOVQ(firstY, y)
	sums := 1
	if rows == 1 {
		sums = 2
	}
	acc := make([][][dots]VecVirtual, sums) // by row of X
	for s := range acc {
		acc[s] = make([][dots]VecVirtual, rows)
		for r := range rows {
			for j := range dots {
				acc[s][r][j] = set.register()
				set.zero(acc[s][r][j])
			}
		}
	}
	step := func(acc [][dots]VecVirtual, disp int) {
		loaded := make([]VecVirtual, rows)
		for r := range rows {
			loaded[r] = set.register()
			VMOVUPS(row(x, rowX, threeX, r).Offset(disp), loaded[r])
		}
		for j := range dots {
			at := row(y, rowY, threeY, j).Offset(disp)
			if rows == 1 {
				VFMADD231PS(at, loaded[0], acc[0][j])
				continue
			}
			value := set.register()
			VMOVUPS(at, value)
			for r := range rows {
				VFMADD231PS(value, loaded[r], acc[r][j])
			}
		}
	}
	if sums > 1 {
		SUBQ(Imm(uint64(sums*lanes)), left)
		JL(LabelRef("fewer"))
		Label("turn")
		for s := range sums {
			step(acc[s], s*set.width)
		}
		ADDQ(U32(sums*set.width), x)
		ADDQ(U32(sums*set.width), y)
		SUBQ(Imm(uint64(sums*lanes)), left)
		JGE(LabelRef("turn"))
		Label("fewer")
		ADDQ(Imm(uint64(sums*lanes)), left)
	}
	SUBQ(Imm(uint64(lanes)), left)
	JL(LabelRef("few"))
	Label("vector")
	step(acc[0], 0)
	ADDQ(Imm(uint64(set.width)), x)
	ADDQ(Imm(uint64(set.width)), y)
	SUBQ(Imm(uint64(lanes)), left)
	JGE(LabelRef("vector"))

	Label("few")
	ADDQ(Imm(uint64(lanes)), left)
	JZ(LabelRef("sum"))
	load := set.prefix(left)
	for r := range rows {
		value := set.register()
		load(row(x, rowX, threeX, r), value)
		for j := range dots {
			other := set.register()
			load(row(y, rowY, threeY, j), other)
			VFMADD231PS(other, value, acc[0][r][j])
		}
	}

	Label("sum")
	if sums > 1 {
		for j := range dots {
			VADDPS(acc[1][0][j], acc[0][0][j], acc[0][0][j])
		}
	}
	results := make([]VecVirtual, rows)
	for r := range rows {
		results[r] = set.across(acc[0][r])
	}
	add := Load(Param("add"), GP8())
	set.finish(results, c, rowC, add)
	ADDQ(Imm(dots*word), c)
	LEAQ(Mem{Base: firstY, Index: rowY, Scale: dots}, firstY)
	DECQ(parameter("groups"))
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// prefix returns a function that loads the first values of a vector, as many as count says. The other lanes become 0.
func (set *instructions) prefix(count Register) func(from Mem, to VecVirtual) {
	if set.width == 64 {
		bits, mask := GP64(), K()
		XORQ(bits, bits)
		BTSQ(count, bits)
		DECQ(bits)
		KMOVW(bits.As32(), mask)
		return func(from Mem, to VecVirtual) { VMOVUPS_Z(from, mask, to) }
	}
	masks, mask := emit.Prefix(), YMM()
	NEGQ(count)
	VMOVUPS(Mem{Base: masks, Index: count, Scale: 4, Disp: 2 * emit.Bytes}, mask)
	return func(from Mem, to VecVirtual) { VMASKMOVPS(from, mask, to) }
}

// across adds up the lanes of each of four vectors. The sums are in the four lowest lanes of the result, in the order of the
// vectors.
func (set *instructions) across(v [dots]VecVirtual) VecVirtual {
	pair := func(a, b VecVirtual) VecVirtual { // of each four lanes: a0+a2, b0+b2, a1+a3, b1+b3
		low, high := set.register(), set.register()
		VUNPCKLPS(b, a, low)
		VUNPCKHPS(b, a, high)
		VADDPS(high, low, low)
		return low
	}
	first, second := pair(v[0], v[1]), pair(v[2], v[3])
	even, odd := set.register(), set.register()
	const firstHalves, secondHalves = 0x44, 0xEE
	VSHUFPS(Imm(firstHalves), second, first, even)
	VSHUFPS(Imm(secondHalves), second, first, odd)
	VADDPS(odd, even, even)
	if set.width == 64 {
		const swapHalves, swapQuarters = 0x4E, 0xB1
		for _, order := range []uint64{swapHalves, swapQuarters} {
			other := ZMM()
			VSHUFF64X2(Imm(order), even, even, other)
			VADDPS(other, even, even)
		}
		return even
	}
	low, high := even.AsX(), XMM()
	VEXTRACTF128(Imm(1), even, high)
	VADDPS(high, low, low)
	return even
}

// finish writes the four lowest lanes of each result to a row of C, or adds them to it.
func (set *instructions) finish(results []VecVirtual, c, rowC, add Register) {
	var four Register // the mask of four lanes
	if set.width == 64 {
		bits := GP64()
		four = K()
		MOVQ(U32(1<<dots-1), bits)
		KMOVW(bits.As32(), four)
	}
	at := GP64()
	TESTB(add, add)
	JZ(LabelRef("set"))
	MOVQ(c, at)
	for i, r := range results {
		if set.width == 64 {
			before := ZMM()
			VMOVUPS_Z(Mem{Base: at}, four, before)
			VADDPS(before, r, r)
		} else {
			VADDPS(Mem{Base: at}, r.AsX(), r.AsX())
		}
		if i+1 < len(results) {
			ADDQ(rowC, at)
		}
	}
	Label("set")
	MOVQ(c, at)
	for i, r := range results {
		if set.width == 64 {
			VMOVUPS(r, four, Mem{Base: at})
		} else {
			VMOVUPS(r.AsX(), Mem{Base: at})
		}
		if i+1 < len(results) {
			ADDQ(rowC, at)
		}
	}
}
