package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lone multiplies a single row by four panels at a time. A processor fetches what follows in each of the four. One panel after the
// other is one long stream, which comes in more slowly than the adders are. Each element of C has one accumulator.
func (set *instructions) lone() {
	TEXT("lone"+set.name, NOSPLIT, "func(c, a, b *float32, nextB, terms, groups int, add bool)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("lone%s computes 64 elements of a row of C for each group of four panels of b: it sets them to the sum over l of a[l]·b[l][j],", set.name),
		"or adds that to them. Rows of a panel follow each other, and panels are nextB bytes apart.",
		fmt.Sprintf("It needs %s.", set.needs),
	)
	const panels = 4
	vectors := columns * word / set.width
	c, group := Load(Param("c"), GP64()), Load(Param("b"), GP64())
	nextB, threeNext := Load(Param("nextB"), GP64()), GP64()
	LEAQ(Mem{Base: nextB, Index: nextB, Scale: 2}, threeNext)

	Label("group")
	a, b, terms := Load(Param("a"), GP64()), GP64(), Load(Param("terms"), GP64())
	MOVQ(group, b)
	var acc [panels][]VecVirtual
	for p := range acc {
		for range vectors {
			sum := set.register()
			set.zero(sum)
			acc[p] = append(acc[p], sum)
		}
	}

	Label("term")
	value := set.register()
	VBROADCASTSS(Mem{Base: a}, value)
	for p := range acc {
		at := row(b, nextB, threeNext, p)
		for v, sum := range acc[p] {
			loaded := set.register()
			at.Disp = v * set.width
			VMOVUPS(at, loaded)
			VFMADD231PS(loaded, value, sum)
		}
	}
	ADDQ(Imm(columns*word), b)
	ADDQ(Imm(word), a)
	DECQ(terms)
	JNZ(LabelRef("term"))

	each := func(do func(at Mem, sum VecVirtual)) {
		for p := range acc {
			for v, sum := range acc[p] {
				do(Mem{Base: c, Disp: p*columns*word + v*set.width}, sum)
			}
		}
	}
	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef("set"))
	each(func(at Mem, sum VecVirtual) { VADDPS(at, sum, sum) })
	Label("set")
	each(func(at Mem, sum VecVirtual) { VMOVUPS(sum, at) })
	ADDQ(U32(panels*columns*word), c)
	LEAQ(Mem{Base: group, Index: nextB, Scale: 4}, group)
	DECQ(parameter("groups"))
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}
