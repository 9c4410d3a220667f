// Command asm generates the AVX kernels of package stft; go generate runs it.
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
	product("multiplySIMD", "sets dst[i] to a[i]·b[i]", false)
	product("multiplyAddSIMD", "adds a[i]·b[i] to dst[i]", true)
	Generate()
}

// product writes a kernel that multiplies two sequences, and adds the products to dst if add is set.
func product(name, does string, add bool) {
	TEXT(name, NOSPLIT, "func(dst, a, b *float32, n int)")
	Pragma("noescape")
	Doc(name + " " + does + " for i from 0 to n−1. n must be a positive multiple of 32. It needs AVX.")
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
		if add {
			VADDPS(Mem{Base: dst, Index: i, Scale: 1, Disp: r * ymm}, products[r], products[r])
		}
	}
	for r := range products {
		VMOVUPS(products[r], Mem{Base: dst, Index: i, Scale: 1, Disp: r * ymm})
	}
	ADDQ(Imm(unroll*ymm), i)
	CMPQ(i, n)
	JNE(LabelRef("next"))
	VZEROUPPER()
	RET()
}
