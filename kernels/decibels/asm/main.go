// Command asm generates the AVX2 loop of package decibels; go generate runs it.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

func main() {
	emit.Loop("decibels", "10·log10(max(src[i], a)) + b, and NaN if a is NaN", 1, 1, func() emit.Body {
		least, offset, scale := emit.Parameter("a"), emit.Parameter("b"), YMM()
		VMOVUPS(emit.Floats(10/math.Ln10), scale)
		return func(x []VecVirtual) VecVirtual {
			VMAXPS(least, x[0], x[0]) // the second operand if one of the two is NaN
			y := emit.Log(x[0])
			VFMADD213PS(offset, scale, y)
			return y
		}
	})
	Generate()
}
