package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// thinRows is the greatest number of rows of C in a kernel for thin products.
const thinRows = 6

// wide is the number of panels of B that meet a few rows at a time, as far as there are so many: enough sums that adders do not wait
// for the sum before, and long pieces of each row of B.
func (set *instructions) wide(rows int) int {
	if set.width == 64 {
		return []int{1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 6: 2}[rows]
	}
	return []int{1: 4, 2: 2, 3: 1, 4: 1, 5: 1, 6: 1}[rows]
}

// thin adds one term after the other to what C holds, or to 0. So its sums have the same bits however the terms are divided among
// calls.
func (set *instructions) thin(rows int) {
	TEXT(fmt.Sprintf("thin%d%s", rows, set.name), NOSPLIT, "func(c *float32, rowC int, a, b *float32, rowB, terms, panels int, add bool)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("thin%d%s adds a[%d·l+i]·b[l][j], for each l in turn, to elements i, j of %d rows of C, or to 0 if add is not set.", rows, set.name, rows, rows),
		"Rows of C are rowC bytes apart and rows of b rowB bytes. C has 16 columns for each panel.",
		fmt.Sprintf("It needs %s.", set.needs),
	)
	c, rowC := Load(Param("c"), GP64()), Load(Param("rowC"), GP64())
	panel, rowB := Load(Param("b"), GP64()), Load(Param("rowB"), GP64())
	left := Load(Param("panels"), GP64())
	if wide := set.wide(rows); wide > 1 {
		SUBQ(Imm(uint64(wide)), left)
		JL(LabelRef("narrow"))
		Label("wide")
		set.thinPanels(rows, wide, "wide_", c, rowC, panel, rowB)
		SUBQ(Imm(uint64(wide)), left)
		JGE(LabelRef("wide"))
		Label("narrow")
		ADDQ(Imm(uint64(wide)), left)
		JZ(LabelRef("end"))
	}
	Label("panel")
	set.thinPanels(rows, 1, "panel_", c, rowC, panel, rowB)
	DECQ(left)
	JNZ(LabelRef("panel"))
	Label("end")
	VZEROUPPER()
	RET()
}

// thinPanels computes a few panels side by side, and moves on c and panel. Its labels begin with prefix.
func (set *instructions) thinPanels(rows, wide int, prefix string, c, rowC, panel, rowB Register) {
	vectors := wide * columns * word / set.width
	a, b, terms := Load(Param("a"), GP64()), GP64(), Load(Param("terms"), GP64())
	MOVQ(panel, b)
	acc := make([][]VecVirtual, rows)
	for r := range acc {
		for v := range vectors {
			acc[r] = append(acc[r], set.register())
			set.zero(acc[r][v])
		}
	}
	inC := func(move func(at Mem, sum VecVirtual)) {
		at := GP64()
		MOVQ(c, at)
		for r := range rows {
			for v, sum := range acc[r] {
				move(Mem{Base: at, Disp: v * set.width}, sum)
			}
			if r < rows-1 {
				ADDQ(rowC, at)
			}
		}
	}
	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef(prefix + "term"))
	inC(func(at Mem, sum VecVirtual) { VMOVUPS(at, sum) })

	Label(prefix + "term")
	load := func(v int) VecVirtual {
		loaded := set.register()
		VMOVUPS(Mem{Base: b, Disp: v * set.width}, loaded)
		return loaded
	}
	value := func(r int) VecVirtual {
		value := set.register()
		VBROADCASTSS(Mem{Base: a, Disp: r * word}, value)
		return value
	}
	if rows < vectors { // what is less stays in registers
		var values []VecVirtual
		for r := range rows {
			values = append(values, value(r))
		}
		for v := range vectors {
			loaded := load(v)
			for r := range rows {
				VFMADD231PS(loaded, values[r], acc[r][v])
			}
		}
	} else {
		var all []VecVirtual
		for v := range vectors {
			all = append(all, load(v))
		}
		for r := range rows {
			of := value(r)
			for v := range vectors {
				VFMADD231PS(all[v], of, acc[r][v])
			}
		}
	}
	ADDQ(rowB, b)
	ADDQ(Imm(uint64(rows*word)), a)
	DECQ(terms)
	JNZ(LabelRef(prefix + "term"))

	inC(func(at Mem, sum VecVirtual) { VMOVUPS(sum, at) })
	ADDQ(U32(wide*columns*word), c)
	ADDQ(U32(wide*columns*word), panel)
}
