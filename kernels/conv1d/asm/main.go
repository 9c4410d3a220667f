// Command asm generates the AVX2 kernels of package conv1d; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	vector = 8  // float32 values in a YMM register
	rows   = 8  // accumulators of the FIR kernel: 8 hide the latency of two multiply-adds a cycle
	reuse  = 4  // taps, vector apart, that share one load of samples
	tile   = 2  // vectors of 4 complex values that the spectral kernel holds at a time
	cplx   = 8  // bytes of a complex64
	word   = 4  // bytes of a float32
	ymm    = 32 // bytes of a YMM register
)

func main() {
	fir()
	spectral()
	spread()
	Generate()
}

// fir keeps outputs in registers. Accumulator j holds outputs 8j to 8j+7, and adds the vector of samples that starts at 8m−r
// times tap r+8(j−m). So for one r, reuse broadcast taps and rows+reuse−1 loads suffice for rows·reuse multiply-adds. The
// loads, many of which straddle a cache line, stay off the critical path.
func fir() {
	TEXT("firSIMD", NOSPLIT, "func(y, x, h *float32, taps int)")
	Pragma("noescape")
	Doc(
		"firSIMD adds to y[j], for j from 0 to 63, the sum of h[k]·x[j−k] over k from 0 to taps−1, accumulated apart",
		"from y. It reads x[1−taps] to x[63]. It needs AVX2 and FMA.",
	)
	y := Load(Param("y"), GP64())
	x := Load(Param("x"), GP64())
	h := Load(Param("h"), GP64())
	taps := Load(Param("taps"), GP64())

	var acc [rows]VecVirtual
	for j := range acc {
		acc[j] = YMM()
		VXORPS(acc[j], acc[j], acc[j])
	}

	Label("group")
	CMPQ(taps, Imm(vector*reuse))
	JL(LabelRef("single"))
	shift := GP64()
	MOVQ(U32(vector), shift)

	Label("shift")
	var tap [reuse]VecVirtual
	for q := range tap {
		tap[q] = YMM()
		VBROADCASTSS(Mem{Base: h, Disp: q * vector * word}, tap[q])
	}
	for m := 1 - reuse; m < rows; m++ {
		samples := YMM()
		VMOVUPS(Mem{Base: x, Disp: m * ymm}, samples)
		for q := range tap {
			if j := m + q; 0 <= j && j < rows {
				VFMADD231PS(samples, tap[q], acc[j])
			}
		}
	}
	ADDQ(Imm(word), h)
	SUBQ(Imm(word), x)
	DECQ(shift)
	JNZ(LabelRef("shift"))

	ADDQ(Imm((reuse-1)*vector*word), h)
	SUBQ(Imm((reuse-1)*vector*word), x)
	SUBQ(Imm(vector*reuse), taps)
	JMP(LabelRef("group"))

	Label("single")
	TESTQ(taps, taps)
	JZ(LabelRef("store"))
	last := YMM()
	VBROADCASTSS(Mem{Base: h}, last)
	for j := range acc {
		VFMADD231PS(Mem{Base: x, Disp: j * ymm}, last, acc[j])
	}
	ADDQ(Imm(word), h)
	SUBQ(Imm(word), x)
	DECQ(taps)
	JMP(LabelRef("single"))

	Label("store")
	for j := range acc {
		VADDPS(Mem{Base: y, Disp: j * ymm}, acc[j], acc[j])
		VMOVUPS(acc[j], Mem{Base: y, Disp: j * ymm})
	}
	VZEROUPPER()
	RET()
}

// spectral keeps a tile of bins in registers for all partitions, so that each sum is stored once. The real and the imaginary
// part of the filter have accumulators of their own. One add-subtract at the end combines them.
func spectral() {
	TEXT("spectralSIMD", NOSPLIT, "func(y, x, h *complex64, bins, partitions int)")
	Pragma("noescape")
	Doc(
		"spectralSIMD sets y[b], for b from 0 to bins−1, to the sum of x[b−p·bins]·h[b+p·bins] over p from 0 to",
		"partitions−1: the newest spectrum meets the first partition. bins must be a positive multiple of 8. It needs",
		"AVX2 and FMA.",
	)
	y := Load(Param("y"), GP64())
	x := Load(Param("x"), GP64())
	h := Load(Param("h"), GP64())
	bins := Load(Param("bins"), GP64())
	partitions := Load(Param("partitions"), GP64())

	stride := GP64()
	MOVQ(bins, stride)
	SHLQ(Imm(3), stride)

	Label("tile")
	var straight, crossed [tile]VecVirtual
	for i := range tile {
		straight[i], crossed[i] = YMM(), YMM()
		VXORPS(straight[i], straight[i], straight[i])
		VXORPS(crossed[i], crossed[i], crossed[i])
	}
	xp, hp, p := GP64(), GP64(), GP64()
	MOVQ(x, xp)
	MOVQ(h, hp)
	MOVQ(partitions, p)

	Label("partition")
	TESTQ(p, p)
	JZ(LabelRef("sum"))
	for i := range tile {
		value, swapped, re, im := YMM(), YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: xp, Disp: i * ymm}, value)
		VPERMILPS(Imm(0b10110001), value, swapped)
		VMOVSLDUP(Mem{Base: hp, Disp: i * ymm}, re)
		VMOVSHDUP(Mem{Base: hp, Disp: i * ymm}, im)
		VFMADD231PS(value, re, straight[i])
		VFMADD231PS(swapped, im, crossed[i])
	}
	SUBQ(stride, xp)
	ADDQ(stride, hp)
	DECQ(p)
	JMP(LabelRef("partition"))

	Label("sum")
	for i := range tile {
		VADDSUBPS(crossed[i], straight[i], straight[i])
		VMOVUPS(straight[i], Mem{Base: y, Disp: i * ymm})
	}
	ADDQ(Imm(tile*ymm), x)
	ADDQ(Imm(tile*ymm), h)
	ADDQ(Imm(tile*ymm), y)
	SUBQ(Imm(tile*ymm/cplx), bins)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// spread adds the product of one spectrum and one partition to a sum. Everything is read once and written once, so memory
// limits its speed.
func spread() {
	TEXT("spreadSIMD", NOSPLIT, "func(y, sum, x, h *complex64, bins int)")
	Pragma("noescape")
	Doc("spreadSIMD sets y[b], for b from 0 to bins−1, to sum[b] + x[b]·h[b]. bins must be a positive multiple of 8. It needs AVX2", "and FMA.")
	y := Load(Param("y"), GP64())
	sum := Load(Param("sum"), GP64())
	x := Load(Param("x"), GP64())
	h := Load(Param("h"), GP64())
	bins := Load(Param("bins"), GP64())
	at := GP64()
	XORQ(at, at)

	Label("spread")
	for i := range tile {
		value, swapped, re, im, straight := YMM(), YMM(), YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: sum, Index: at, Scale: cplx, Disp: i * ymm}, straight)
		VMOVUPS(Mem{Base: x, Index: at, Scale: cplx, Disp: i * ymm}, value)
		VPERMILPS(Imm(0b10110001), value, swapped)
		VMOVSLDUP(Mem{Base: h, Index: at, Scale: cplx, Disp: i * ymm}, re)
		VMOVSHDUP(Mem{Base: h, Index: at, Scale: cplx, Disp: i * ymm}, im)
		VFMADD231PS(value, re, straight)
		VMULPS(swapped, im, swapped)
		VADDSUBPS(swapped, straight, straight)
		VMOVUPS(straight, Mem{Base: y, Index: at, Scale: cplx, Disp: i * ymm})
	}
	ADDQ(Imm(tile*ymm/cplx), at)
	CMPQ(at, bins)
	JL(LabelRef("spread"))
	VZEROUPPER()
	RET()
}
