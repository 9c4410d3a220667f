package emit

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Body appends the instructions that compute a vector of results, and returns its register. x is a vector, or two of
// them if the results are of complex values. It may change x.
type Body func(x []reg.VecVirtual) reg.VecVirtual

// Each returns the setup of a function without parameters.
func Each(f func(x reg.VecVirtual) reg.VecVirtual) func() Body {
	return func() Body { return func(x []reg.VecVirtual) reg.VecVirtual { return f(x[0]) } }
}

// Parameter returns a parameter of the function, a float32, in all lanes. [Load] would move it by an instruction that knows no
// upper halves of registers. While those hold something, processors take up to a hundred nanoseconds for such an instruction.
func Parameter(name string) reg.VecVirtual {
	parameter, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := YMM()
	VBROADCASTSS(parameter.Addr, v)
	return v
}

// Fold joins the values of vectors, as many as a power of two, pair by pair. It returns the register with the result in its lowest
// lane. last joins the last two: it may be join, or an instruction of that lane alone. Fold changes the vectors.
func Fold(all []reg.VecVirtual, join, last func(ops ...Op)) reg.Register {
	for width := len(all) / 2; width > 0; width /= 2 {
		for i := range width {
			join(all[i+width], all[i], all[i])
		}
	}
	low, high := all[0].AsX(), XMM()
	VEXTRACTF128(Imm(1), all[0], high)
	join(high, low, low)
	VMOVHLPS(low, low, high)
	join(high, low, low)
	VMOVSHDUP(low, high)
	last(high, low, low)
	return low
}

// End ends a function and returns the first value of each register. It empties the upper halves of registers first, for the
// reason that [Parameter] gives.
func End(results ...reg.Register) {
	VZEROUPPER()
	for i, r := range results {
		Store(r, ReturnIndex(i))
	}
	RET()
}

// Loop appends a loop that computes a function of each value, in turns of the given number of vectors of results. A result
// has one input, or two: the parts of a complex value. setup appends what comes before the loop.
func Loop(name, formula string, inputs, vectors int, setup func() Body) {
	TEXT(name+"SIMD", NOSPLIT, "func(dst, src *float32, n int, a, b float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%sSIMD sets dst[i] to %s for i from 0 to n−1. It needs AVX2 and FMA.", name, formula))
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	compute := setup()

	turn := func(vectors int) {
		for i := range vectors {
			x := make([]reg.VecVirtual, inputs)
			for k := range x {
				x[k] = YMM()
				VMOVUPS(Mem{Base: src, Disp: (i*inputs + k) * Bytes}, x[k])
			}
			VMOVUPS(compute(x), Mem{Base: dst, Disp: i * Bytes})
		}
		ADDQ(U32(vectors*inputs*Bytes), src)
		ADDQ(U32(vectors*Bytes), dst)
		SUBQ(U32(vectors*Lanes), n)
	}
	if vectors > 1 {
		Label("several")
		CMPQ(n, U32(vectors*Lanes))
		JL(LabelRef("one"))
		turn(vectors)
		JMP(LabelRef("several"))
	}
	Label("one")
	CMPQ(n, Imm(Lanes))
	JL(LabelRef("rest"))
	turn(1)
	JMP(LabelRef("one"))

	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("end"))
	Comment("The last values, less than a vector.")
	masks, mask := Prefix(), YMM()
	NEGQ(n)
	x := make([]reg.VecVirtual, inputs)
	for k := range x {
		x[k] = YMM()
		VMOVUPS(Mem{Base: masks, Index: n, Scale: uint8(4 * inputs), Disp: (2 + k) * Bytes}, mask)
		VMASKMOVPS(Mem{Base: src, Disp: k * Bytes}, mask, x[k])
	}
	y := compute(x)
	VMOVUPS(Mem{Base: masks, Index: n, Scale: 4, Disp: 2 * Bytes}, mask)
	VMASKMOVPS(y, mask, Mem{Base: dst})
	Label("end")
	VZEROUPPER()
	RET()
}

// Prefix returns where the masks for loads and stores of the first words of up to two vectors lie: table + 4·(16 − k) is the
// address of a mask for words 0 to 7 if the first k of them count, and the vector behind it is the mask for words 8 to 15.
func Prefix() (table reg.Register) {
	const name = "prefix"
	m, known := constants[name]
	if !known {
		m = GLOBL(name, RODATA|NOPTR)
		for i := range 4 * Lanes {
			mask := uint32(0)
			if i < 2*Lanes {
				mask = math.MaxUint32
			}
			DATA(4*i, U32(mask))
		}
		constants[name] = m
	}
	address := GP64()
	LEAQ(m, address)
	return address
}

// Abreast appends instructions for vectors, one vector after the other, and returns the registers of their results.
func Abreast(vectors int, instruction func(i int, to reg.VecVirtual)) []reg.VecVirtual {
	results := make([]reg.VecVirtual, vectors)
	for i := range results {
		results[i] = YMM()
		instruction(i, results[i])
	}
	return results
}
