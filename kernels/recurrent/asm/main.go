// Command asm generates the AVX2 loops of package recurrent; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

func main() {
	TEXT("advanceLSTMSIMD", NOSPLIT, "func(y, c, gates *float32, n int)")
	Pragma("noescape")
	Doc("advanceLSTMSIMD computes a step of n units of an LSTM as advanceLSTMGo does. It needs AVX2 and FMA.")
	y, c := Load(Param("y"), GP64()), Load(Param("c"), GP64())
	gates := gatesOf("gates", 4)
	over([]Register{y, c, gates[0], gates[1], gates[2], gates[3]}, func(load func(at Register) VecVirtual, store func(v VecVirtual, at Register)) {
		fresh := emit.Tanh(load(gates[2]))
		i := emit.Logistic(load(gates[0]))
		VMULPS(i, fresh, fresh)
		f := emit.Logistic(load(gates[1]))
		VFMADD231PS(load(c), f, fresh)
		store(fresh, c)
		out := emit.Tanh(fresh)
		VMULPS(emit.Logistic(load(gates[3])), out, out)
		store(out, y)
	})

	TEXT("advanceGRUSIMD", NOSPLIT, "func(y, h, gates, parts *float32, n int)")
	Pragma("noescape")
	Doc("advanceGRUSIMD computes a step of n units of a GRU as advanceGRUGo does. It needs AVX2 and FMA.")
	y, h := Load(Param("y"), GP64()), Load(Param("h"), GP64())
	gates, parts := gatesOf("gates", 3), gatesOf("parts", 3)
	over([]Register{y, h, gates[0], gates[1], gates[2], parts[0], parts[1], parts[2]}, func(load func(at Register) VecVirtual, store func(v VecVirtual, at Register)) {
		r, n, z, rest := load(gates[0]), load(gates[2]), load(gates[1]), YMM()
		VADDPS(load(parts[0]), r, r)
		r = emit.Logistic(r)
		VFMADD231PS(load(parts[2]), r, n)
		n = emit.Tanh(n)
		VADDPS(load(parts[1]), z, z)
		z = emit.Logistic(z)
		VMOVUPS(emit.Floats(1), rest)
		VSUBPS(z, rest, rest)
		VMULPS(rest, n, n)
		VFMADD231PS(load(h), z, n)
		store(n, y)
	})
	Generate()
}

// gatesOf returns where the values of each gate begin: n values one after the other.
func gatesOf(name string, count int) []Register {
	n := Load(Param("n"), GP64())
	all := []Register{Load(Param(name), GP64())}
	for range count - 1 {
		next := GP64()
		LEAQ(Mem{Base: all[len(all)-1], Index: n, Scale: 4}, next)
		all = append(all, next)
	}
	return all
}

// over appends a loop over the n units, eight at a time. body computes eight. pointers are those that move with the units.
func over(pointers []Register, body func(load func(at Register) VecVirtual, store func(v VecVirtual, at Register))) {
	n := Load(Param("n"), GP64())
	Label("one")
	CMPQ(n, Imm(emit.Lanes))
	JL(LabelRef("rest"))
	body(func(at Register) VecVirtual {
		v := YMM()
		VMOVUPS(Mem{Base: at}, v)
		return v
	}, func(v VecVirtual, at Register) { VMOVUPS(v, Mem{Base: at}) })
	for _, pointer := range pointers {
		ADDQ(Imm(emit.Bytes), pointer)
	}
	SUBQ(Imm(emit.Lanes), n)
	JMP(LabelRef("one"))

	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("end"))
	Comment("The last units, less than a vector.")
	masks, mask := emit.Prefix(), YMM()
	NEGQ(n)
	VMOVUPS(Mem{Base: masks, Index: n, Scale: 4, Disp: 2 * emit.Bytes}, mask)
	body(func(at Register) VecVirtual {
		v := YMM()
		VMASKMOVPS(Mem{Base: at}, mask, v)
		return v
	}, func(v VecVirtual, at Register) { VMASKMOVPS(v, mask, Mem{Base: at}) })
	Label("end")
	VZEROUPPER()
	RET()
}
