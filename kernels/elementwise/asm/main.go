// Command asm generates the AVX2 loops of package elementwise; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

func main() {
	// Loops that are limited by loads and stores take four vectors in a turn, so that the loop counter does not matter.
	// Turns do not depend on each other, so the processor overlaps those of longer functions by itself.
	emit.Loop("scale", "src[i]·a + b", 1, 4, func() emit.Body {
		a, b := emit.Parameter("a"), emit.Parameter("b")
		return func(x []VecVirtual) VecVirtual {
			VFMADD213PS(b, a, x[0])
			return x[0]
		}
	})
	emit.Loop("gain", "src[i]·a", 1, 4, func() emit.Body {
		a := emit.Parameter("a")
		return func(x []VecVirtual) VecVirtual {
			VMULPS(a, x[0], x[0])
			return x[0]
		}
	})
	emit.Loop("abs", "|src[i]|", 1, 4, func() emit.Body {
		return func(x []VecVirtual) VecVirtual {
			VANDPS(emit.Words(1<<31-1), x[0], x[0])
			return x[0]
		}
	})
	emit.Loop("exp", "approx.Exp(src[i])", 1, 1, emit.Each(emit.Exp))
	emit.Loop("log", "approx.Log(src[i])", 1, 1, emit.Each(emit.Log))
	emit.Loop("log1p", "approx.Log1p(src[i])", 1, 1, emit.Each(emit.Log1p))
	emit.Loop("pow", "approx.Pow(src[i], a). a is finite and not 0", 1, 1, func() emit.Body {
		y := emit.NewExponent(emit.Parameter("a"))
		return func(x []VecVirtual) VecVirtual { return emit.Pow(x[0], y) }
	})
	emit.Loop("softClip", "approx.Tanh(a·src[i])", 1, 1, func() emit.Body {
		a := emit.Parameter("a")
		return func(x []VecVirtual) VecVirtual {
			VMULPS(a, x[0], x[0])
			return emit.Tanh(x[0])
		}
	})
	emit.Loop("gelu", "approx.GELU(src[i])", 1, 1, emit.Each(emit.GELU))
	emit.Loop("geluTanh", "approx.GELUTanh(src[i])", 1, 1, emit.Each(emit.GELUTanh))
	emit.Loop("power", "src[2i]² + src[2i+1]²", 2, 2, func() emit.Body { return squares })
	emit.Loop("magnitude", "√(src[2i]² + src[2i+1]²)", 2, 1, func() emit.Body {
		return func(x []VecVirtual) VecVirtual {
			y := squares(x)
			VSQRTPS(y, y)
			return y
		}
	})
	Generate()
}

// squares returns re² + im² of eight complex values.
func squares(x []VecVirtual) VecVirtual {
	y := YMM()
	VMULPS(x[0], x[0], x[0])
	VMULPS(x[1], x[1], x[1])
	VHADDPS(x[1], x[0], y)
	VPERMPD(Imm(0b11_01_10_00), y, y) // VHADDPS works inside of halves
	return y
}
