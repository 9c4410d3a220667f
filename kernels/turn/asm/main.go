// Command asm generates the AVX2 code of package turn; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// main writes the transposition of eight by eight values at a time: pairs of rows, then pairs of pairs, then halves.
func main() {
	const edge = 8
	TEXT("turnSIMD", NOSPLIT, "func(dst *float32, rowDst, nextDst int, src *float32, rowSrc, nextSrc, blocks int)")
	Pragma("noescape")
	Doc(
		"turnSIMD transposes blocks of 8×8 values. The rows of a block of src are rowSrc bytes apart, and those of a block of dst",
		"rowDst bytes. From one block to the next it goes nextSrc and nextDst bytes on. Blocks of dst are written in their order, and",
		"so are their rows. blocks must be at least 1. It needs AVX2.",
	)
	dst, rowDst, nextDst := Load(Param("dst"), GP64()), Load(Param("rowDst"), GP64()), Load(Param("nextDst"), GP64())
	src, row, nextSrc := Load(Param("src"), GP64()), Load(Param("rowSrc"), GP64()), Load(Param("nextSrc"), GP64())
	blocks := Load(Param("blocks"), GP64())
	threeRows, lower, to := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: row, Index: row, Scale: 2}, threeRows)
	Label("block")
	LEAQ(Mem{Base: src, Index: row, Scale: 4}, lower)
	var r, t, s [edge]VecVirtual
	for i := range edge {
		base := src
		if i >= 4 {
			base = lower
		}
		at := []Mem{{Base: base}, {Base: base, Index: row, Scale: 1}, {Base: base, Index: row, Scale: 2}, {Base: base, Index: threeRows, Scale: 1}}[i%4]
		r[i] = YMM()
		VMOVUPS(at, r[i])
	}
	for i := 0; i < edge; i += 2 {
		t[i], t[i+1] = YMM(), YMM()
		VUNPCKLPS(r[i+1], r[i], t[i])
		VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	const firstHalves, secondHalves = 0x44, 0xEE
	for i := range edge {
		s[i] = YMM()
		from := i/4*4 + i%4/2 // of t
		VSHUFPS(Imm([]uint64{firstHalves, secondHalves}[i%2]), t[from+2], t[from], s[i])
	}
	MOVQ(dst, to)
	const lowerLanes, upperLanes = 0x20, 0x31
	for i := range edge {
		out := YMM()
		VPERM2F128(Imm([]uint64{lowerLanes, upperLanes}[i/4]), s[i%4+4], s[i%4], out)
		VMOVUPS(out, Mem{Base: to})
		ADDQ(rowDst, to)
	}
	ADDQ(nextSrc, src)
	ADDQ(nextDst, dst)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
	Generate()
}
