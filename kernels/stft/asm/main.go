// Command asm generates the AVX kernel of package stft; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	ymm    = 32 // bytes of a YMM register
	unroll = 4  // registers a turn
)

func main() {
	TEXT("multiplyAVX", NOSPLIT, "func(dst, a, b *float32, n int)")
	Pragma("noescape")
	Doc("multiplyAVX sets dst[i] to a[i]·b[i] for i from 0 to n−1. n must be a positive multiple of 32. It needs AVX.")
	dst := Load(Param("dst"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	n := Load(Param("n"), GP64())
	SHLQ(Imm(2), n)
	i := GP64()
	XORQ(i, i)

	Label("next")
	var products [unroll]VecVirtual
	for r := range products {
		products[r] = YMM()
		VMOVUPS(Mem{Base: a, Index: i, Scale: 1, Disp: r * ymm}, products[r])
	}
	for r := range products {
		VMULPS(Mem{Base: b, Index: i, Scale: 1, Disp: r * ymm}, products[r], products[r])
	}
	for r := range products {
		VMOVUPS(products[r], Mem{Base: dst, Index: i, Scale: 1, Disp: r * ymm})
	}
	ADDQ(Imm(unroll*ymm), i)
	CMPQ(i, n)
	JNE(LabelRef("next"))
	VZEROUPPER()
	RET()
	Generate()
}
