// Command asm generates the AVX2 loop of package resample; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	group = 4  // outputs side by side
	place = 8  // bytes of a place: the offset in the samples, then that in the rows
	word  = 4  // bytes of a float32
	ymm   = 32 // bytes of a YMM register
)

func main() {
	groups()
	Generate()
}

// groups computes four outputs at a time, each from a run of samples and a row of its own. The four accumulators are added up
// together at the end.
func groups() {
	TEXT("groupsSIMD", NOSPLIT, "func(y, x *float32, offset int, rows *float32, at, end *int32, period, advance, taps, count int)")
	Pragma("noescape")
	Doc(
		"groupsSIMD computes count groups of four outputs. The places of the first group begin at `at`, and count from offset",
		"bytes behind x. Places from end on repeat those that are period before, with samples that are advance bytes later. Rows",
		"have taps values, a multiple of 8. It needs AVX2 and FMA.",
	)
	y := Load(Param("y"), GP64())
	x := Load(Param("x"), GP64())
	ADDQ(NewParamAddr("offset", 16), x)
	at := Load(Param("at"), GP64())

	Label("group")
	var samples, rows [group]GPVirtual
	var sums [group]VecVirtual
	for i := range group {
		samples[i], rows[i], sums[i] = GP64(), GP64(), YMM()
		MOVLQSX(Mem{Base: at, Disp: i * place}, samples[i])
		MOVLQSX(Mem{Base: at, Disp: i*place + 4}, rows[i])
		ADDQ(x, samples[i])
		ADDQ(NewParamAddr("rows", 24), rows[i])
		VXORPS(sums[i], sums[i], sums[i])
	}
	taps := GP64()
	Load(Param("taps"), taps)
	Label("taps")
	for i := range group {
		v := YMM()
		VMOVUPS(Mem{Base: samples[i]}, v)
		VFMADD231PS(Mem{Base: rows[i]}, v, sums[i])
		ADDQ(Imm(ymm), samples[i])
		ADDQ(Imm(ymm), rows[i])
	}
	SUBQ(Imm(ymm/word), taps)
	JNZ(LabelRef("taps"))

	VHADDPS(sums[1], sums[0], sums[0])
	VHADDPS(sums[3], sums[2], sums[2])
	VHADDPS(sums[2], sums[0], sums[0])
	high := XMM()
	VEXTRACTF128(Imm(1), sums[0], high)
	VADDPS(high, sums[0].AsX(), high)
	VMOVUPS(high, Mem{Base: y})

	ADDQ(Imm(group*word), y)
	ADDQ(Imm(group*place), at)
	CMPQ(at, NewParamAddr("end", 40))
	JB(LabelRef("next"))
	back := GP64()
	Load(Param("period"), back)
	SHLQ(Imm(3), back)
	SUBQ(back, at)
	ADDQ(NewParamAddr("advance", 56), x)
	Label("next")
	DECQ(NewParamAddr("count", 72))
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}
