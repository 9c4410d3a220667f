// Command asm generates the AVX2 kernels of package gemm; go generate runs it.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	mostRows = 6  // with columns, twelve accumulators: enough to hide the latency of two multiply-adds a cycle
	vectors  = 2  // of 8 columns
	unroll   = 4  // terms in one turn of the loop
	word     = 4  // bytes of a float32
	ymm      = 32 // bytes of a YMM register
)

func main() {
	for rows := 1; rows <= mostRows; rows++ {
		kernel(rows)
	}
	Generate()
}

// sums is how many accumulators an element has: few rows would leave the adders waiting for the one before.
func sums(rows int) int {
	switch rows {
	case 1:
		return 4
	case 2, 3:
		return 2
	}
	return 1
}

type accumulators [mostRows][vectors]VecVirtual

// kernel keeps a tile of C in registers over all terms. A term is one broadcast a row and one load for 8 columns.
func kernel(rows int) {
	name := fmt.Sprintf("multiply%dAVX2", rows)
	TEXT(name, NOSPLIT, "func(c *float32, rowC int, a, b *float32, rowB, terms int, add bool)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("%s computes %d×16 elements of C, whose rows are rowC bytes apart: it sets them to the sum over l of", name, rows),
		fmt.Sprintf("a[%d·l+i]·b[l][j], or adds that to them. Rows of b are rowB bytes apart. It needs AVX2 and FMA.", rows),
	)
	c, rowC := Load(Param("c"), GP64()), Load(Param("rowC"), GP64())
	a, b := Load(Param("a"), GP64()), Load(Param("b"), GP64())
	rowB, terms := Load(Param("rowB"), GP64()), Load(Param("terms"), GP64())
	threeRows := GP64()
	LEAQ(Mem{Base: rowB, Index: rowB, Scale: 2}, threeRows)

	acc := make([]accumulators, sums(rows))
	for s := range acc {
		for r := range rows {
			for v := range vectors {
				acc[s][r][v] = YMM()
				VXORPS(acc[s][r][v], acc[s][r][v], acc[s][r][v])
			}
		}
	}
	term := func(acc *accumulators, row Mem, u int) {
		var columns [vectors]VecVirtual
		for v := range columns {
			columns[v] = YMM()
			row.Disp = v * ymm
			VMOVUPS(row, columns[v])
		}
		for r := range rows {
			value := YMM()
			VBROADCASTSS(Mem{Base: a, Disp: (u*rows + r) * word}, value)
			for v := range columns {
				VFMADD231PS(columns[v], value, acc[r][v])
			}
		}
	}

	SUBQ(Imm(unroll), terms)
	JL(LabelRef("few"))
	Label("turn")
	for u, row := range [unroll]Mem{
		{Base: b}, {Base: b, Index: rowB, Scale: 1}, {Base: b, Index: rowB, Scale: 2}, {Base: b, Index: threeRows, Scale: 1},
	} {
		term(&acc[u%len(acc)], row, u)
	}
	LEAQ(Mem{Base: b, Index: rowB, Scale: 4}, b)
	ADDQ(Imm(uint64(unroll*rows*word)), a)
	SUBQ(Imm(unroll), terms)
	JGE(LabelRef("turn"))

	Label("few")
	ADDQ(Imm(unroll), terms)
	JZ(LabelRef("done"))
	Label("one")
	term(&acc[0], Mem{Base: b}, 0)
	ADDQ(rowB, b)
	ADDQ(Imm(uint64(rows*word)), a)
	DECQ(terms)
	JNZ(LabelRef("one"))

	Label("done")
	for half := len(acc) / 2; half > 0; half /= 2 {
		for s := range half {
			for r := range rows {
				for v := range vectors {
					VADDPS(acc[s+half][r][v], acc[s][r][v], acc[s][r][v])
				}
			}
		}
	}
	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef("set"))
	at := GP64()
	MOVQ(c, at)
	for r := range rows {
		for v := range vectors {
			VADDPS(Mem{Base: at, Disp: v * ymm}, acc[0][r][v], acc[0][r][v])
		}
		ADDQ(rowC, at)
	}
	Label("set")
	for r := range rows {
		for v := range vectors {
			VMOVUPS(acc[0][r][v], Mem{Base: c, Disp: v * ymm})
		}
		ADDQ(rowC, c)
	}
	VZEROUPPER()
	RET()
}
