// Command asm generates the AVX2 and AVX-512 kernels of package gemm; go generate runs it.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	unroll  = 4 // terms in one turn of the loop
	columns = 16
	word    = 4 // bytes of a float32
)

// instructions is a set of vector instructions.
type instructions struct {
	name, needs string
	rows        int // of C, at most: with columns, twelve accumulators, which hide the latency of two multiply-adds a cycle
	dotRows     int // of X in a kernel of dot products, at most: a divisor of rows
	width       int // bytes of a register
}

func main() {
	for _, set := range []instructions{{"SIMD", "AVX2 and FMA", 6, 3, 32}, {"AVX512", "AVX-512F", 12, 4, 64}} {
		for rows := 1; rows <= set.rows; rows++ {
			set.kernel(rows)
		}
		for rows := 1; rows <= thinRows; rows++ {
			set.thin(rows)
		}
		for rows := 1; rows <= set.dotRows; rows++ {
			set.dot(rows)
		}
		set.lone()
	}
	Generate()
}

// sums is the number of accumulators of an element. With few rows, one accumulator would leave the adders waiting for the
// sum before.
func (set *instructions) sums(rows int) int {
	sums := 1
	for sums < unroll && 2*sums*rows <= set.rows {
		sums *= 2
	}
	return sums
}

// register returns a vector register.
func (set *instructions) register() VecVirtual {
	if set.width == 64 {
		return ZMM()
	}
	return YMM()
}

// zero clears a register.
func (set *instructions) zero(r VecVirtual) {
	if set.width == 64 {
		VPXORD(r, r, r)
	} else {
		VXORPS(r, r, r)
	}
}

// multiplyAdd multiplies the value at m by each vector and adds the products to the accumulators.
func (set *instructions) multiplyAdd(m Mem, vectors, acc []VecVirtual) {
	if set.width == 64 {
		VFMADD231PS_BCST(m, vectors[0], acc[0])
		return
	}
	value := YMM()
	VBROADCASTSS(m, value)
	for v := range vectors {
		VFMADD231PS(vectors[v], value, acc[v])
	}
}

// kernel keeps a tile of C in registers over all terms. A term takes one value for each row, and one load for each vector of
// B.
func (set *instructions) kernel(rows int) {
	vectors := columns * word / set.width
	TEXT(fmt.Sprintf("multiply%d%s", rows, set.name), NOSPLIT, "func(c *float32, rowC int, a, b *float32, rowB, nextB, terms, panels int, add bool)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("multiply%d%s computes %d×16 elements of C for each panel of b, whose rows are rowC bytes apart: it sets them to the", rows, set.name, rows),
		fmt.Sprintf("sum over l of a[%d·l+i]·b[l][j], or adds that to them. Rows of a panel are rowB bytes apart and panels nextB bytes.", rows),
		fmt.Sprintf("It needs %s.", set.needs),
	)
	c, rowC := Load(Param("c"), GP64()), Load(Param("rowC"), GP64())
	panel, rowB, threeRows := Load(Param("b"), GP64()), Load(Param("rowB"), GP64()), GP64()
	LEAQ(Mem{Base: rowB, Index: rowB, Scale: 2}, threeRows)

	Label("panel")
	a, b, terms := Load(Param("a"), GP64()), GP64(), Load(Param("terms"), GP64())
	MOVQ(panel, b)
	acc := make([][][]VecVirtual, set.sums(rows)) // by row and vector
	for s := range acc {
		acc[s] = make([][]VecVirtual, rows)
		for r := range rows {
			for range vectors {
				sum := set.register()
				set.zero(sum)
				acc[s][r] = append(acc[s][r], sum)
			}
		}
	}
	term := func(acc [][]VecVirtual, row Mem, u int) {
		loaded := make([]VecVirtual, vectors)
		for v := range loaded {
			loaded[v] = set.register()
			row.Disp = v * set.width
			VMOVUPS(row, loaded[v])
		}
		for r := range rows {
			set.multiplyAdd(Mem{Base: a, Disp: (u*rows + r) * word}, loaded, acc[r])
		}
	}

	SUBQ(Imm(unroll), terms)
	JL(LabelRef("few"))
	Label("turn")
	for u, row := range [unroll]Mem{
		{Base: b}, {Base: b, Index: rowB, Scale: 1}, {Base: b, Index: rowB, Scale: 2}, {Base: b, Index: threeRows, Scale: 1},
	} {
		term(acc[u%len(acc)], row, u)
	}
	LEAQ(Mem{Base: b, Index: rowB, Scale: 4}, b)
	ADDQ(Imm(uint64(unroll*rows*word)), a)
	SUBQ(Imm(unroll), terms)
	JGE(LabelRef("turn"))

	Label("few")
	ADDQ(Imm(unroll), terms)
	JZ(LabelRef("done"))
	Label("one")
	term(acc[0], Mem{Base: b}, 0)
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
			VADDPS(Mem{Base: at, Disp: v * set.width}, acc[0][r][v], acc[0][r][v])
		}
		ADDQ(rowC, at)
	}
	Label("set")
	MOVQ(c, at)
	for r := range rows {
		for v := range vectors {
			VMOVUPS(acc[0][r][v], Mem{Base: at, Disp: v * set.width})
		}
		ADDQ(rowC, at)
	}
	ADDQ(Imm(columns*word), c)
	ADDQ(parameter("nextB"), panel)
	DECQ(parameter("panels"))
	JNZ(LabelRef("panel"))
	VZEROUPPER()
	RET()
}

// parameter returns where a parameter of the function lies in memory.
func parameter(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}
