// Command asm generates the AVX2 loops of package recurrence; go generate runs it.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
	"crossover/kernels/recurrence/bend"
)

const (
	ymm = emit.Bytes
	xmm = ymm / 2

	// several is the number of vectors that a turn of a comb takes.
	several = 4

	// most is the number of vectors that a ladder or an envelope computes side by side.
	most = 6
)

func main() {
	spread()
	gather()
	ladder()
	comb()
	follow()
	Generate()
}

// rows are the addresses of successive rows.
type rows struct{ base, stride, third Register }

// newRows returns the rows from base on, which are stride bytes apart.
func newRows(base, stride Register) rows {
	r := rows{base, stride, GP64()}
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, r.third)
	return r
}

// at returns the address of row i, which is at most 3.
func (r rows) at(i int) Mem {
	return []Mem{{Base: r.base}, {Base: r.base, Index: r.stride, Scale: 1}, {Base: r.base, Index: r.stride, Scale: 2},
		{Base: r.base, Index: r.third, Scale: 1}}[i]
}

// transpose returns the columns of four rows in each half of a vector.
func transpose(x []VecVirtual) []VecVirtual {
	low, high := []VecVirtual{YMM(), YMM()}, []VecVirtual{YMM(), YMM()}
	for i := range low {
		VUNPCKLPS(x[2*i+1], x[2*i], low[i])
		VUNPCKHPS(x[2*i+1], x[2*i], high[i])
	}
	y := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
	VUNPCKLPD(low[1], low[0], y[0])
	VUNPCKHPD(low[1], low[0], y[1])
	VUNPCKLPD(high[1], high[0], y[2])
	VUNPCKHPD(high[1], high[0], y[3])
	return y
}

// spread writes a loop over eight samples of four channels at a time.
func spread() {
	TEXT("spreadSIMD", NOSPLIT, "func(dst *float32, width int, src *float32, stride int, n int)")
	Pragma("noescape")
	Doc(
		"spreadSIMD copies n samples of four channels. Those of a channel are successive in src, and channels are stride values",
		"apart. In dst, the channels of a sample are successive, and samples are width values apart. n must be a multiple of 8. It needs",
		"AVX2.",
	)
	dst, src, left := side("dst", "width"), side("src", "stride"), Load(Param("n"), GP64())
	eights(left, func() {
		x := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
		for i := range x {
			VMOVUPS(src.at(i), x[i])
		}
		y := transpose(x)
		for i := range y {
			VMOVUPS(y[i].AsX(), dst.at(i))
		}
		LEAQ(Mem{Base: dst.base, Index: dst.stride, Scale: 4}, dst.base)
		for i := range y {
			upper := XMM()
			VEXTRACTF128(Imm(1), y[i], upper)
			VMOVUPS(upper, dst.at(i))
		}
		LEAQ(Mem{Base: dst.base, Index: dst.stride, Scale: 4}, dst.base)
		ADDQ(Imm(ymm), src.base)
	})
}

// gather writes the reverse of spread.
func gather() {
	TEXT("gatherSIMD", NOSPLIT, "func(dst *float32, stride int, src *float32, width int, n int)")
	Pragma("noescape")
	Doc("gatherSIMD is the reverse of spreadSIMD: it copies from successive channels to successive samples. It needs AVX2.")
	dst, src, left := side("dst", "stride"), side("src", "width"), Load(Param("n"), GP64())
	eights(left, func() {
		low := []VecVirtual{XMM(), XMM(), XMM(), XMM()}
		for i := range low {
			VMOVUPS(src.at(i), low[i])
		}
		LEAQ(Mem{Base: src.base, Index: src.stride, Scale: 4}, src.base)
		x := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
		for i := range x {
			VINSERTF128(Imm(1), src.at(i), low[i].AsY(), x[i])
		}
		LEAQ(Mem{Base: src.base, Index: src.stride, Scale: 4}, src.base)
		for i, y := range transpose(x) {
			VMOVUPS(y, dst.at(i))
		}
		ADDQ(Imm(ymm), dst.base)
	})
}

// side returns the rows that two parameters say.
func side(base, stride string) rows {
	address, values := Load(Param(base), GP64()), Load(Param(stride), GP64())
	SHLQ(Imm(2), values)
	return newRows(address, values)
}

// eights writes a loop with eight samples a turn, of those that are left, and the end of the function.
func eights(left Register, turn func()) {
	Label("turn")
	CMPQ(left, Imm(8))
	JL(LabelRef("end"))
	turn()
	SUBQ(Imm(8), left)
	JMP(LabelRef("turn"))
	Label("end")
	emit.End()
}

// ladder writes a loop over samples for each number of vectors.
func ladder() {
	TEXT("ladderSIMD", NOSPLIT, "func(x *float32, n int, state *float64, vectors int, gains *[2][4]float64)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("ladderSIMD filters n samples of vectors·4 channels in place, with 1 to %d vectors. The channels of a sample are successive.", most),
		"state has a row with a value of each channel for each stage, and behind them a row of memory for each stage. gains are the step",
		"and the feedback, each in four lanes. n must be at least 1. It needs AVX2.",
	)
	x, n, state := Load(Param("x"), GP64()), Load(Param("n"), GP64()), Load(Param("state"), GP64())
	vectors, gains := Load(Param("vectors"), GP64()), Load(Param("gains"), GP64())
	numbers(vectors, func(v int) {
		step, feedback := Mem{Base: gains}, Mem{Base: gains, Disp: ymm}
		level := func(stage, i int) Mem { return Mem{Base: state, Disp: (stage*v + i) * ymm} }
		bent := func(stage, i int) Mem { return level(bend.Stages+stage, i) }
		Comment("The tangents of the levels, two vectors at a time: their number is even.")
		at, left := GP64(), GP64()
		MOVQ(state, at)
		MOVQ(U32(bend.Stages*v/2), left)
		Label(fmt.Sprintf("tangents%d", v))
		y := emit.Abreast(2, func(i int, to VecVirtual) { VMOVUPS(Mem{Base: at, Disp: i * ymm}, to) })
		tangents(y)
		for i := range y {
			VMOVUPS(y[i], Mem{Base: at, Disp: (bend.Stages*v + i) * ymm})
		}
		ADDQ(Imm(2*ymm), at)
		DECQ(left)
		JNZ(LabelRef(fmt.Sprintf("tangents%d", v)))
		Label(fmt.Sprintf("sample%d", v))
		t := emit.Abreast(v, func(i int, to VecVirtual) {
			narrow, last := XMM(), YMM()
			VMOVUPS(Mem{Base: x, Disp: i * xmm}, narrow)
			VCVTPS2PD(narrow, to)
			VMOVUPS(level(bend.Stages-1, i), last)
			VMULPD(feedback, last, last)
			VSUBPD(last, to, to)
		})
		pairs(v, func(lo, hi int) { tangents(t[lo:hi]) })
		for stage := range bend.Stages {
			pairs(v, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					VSUBPD(bent(stage, i), t[i], t[i])
				}
				for i := lo; i < hi; i++ {
					VMULPD(step, t[i], t[i])
				}
				for i := lo; i < hi; i++ {
					VADDPD(level(stage, i), t[i], t[i])
				}
				for i := lo; i < hi; i++ {
					VMOVUPS(t[i], level(stage, i))
					if stage == bend.Stages-1 {
						y := XMM()
						VCVTPD2PSY(t[i], y)
						VMOVUPS(y, Mem{Base: x, Disp: i * xmm})
					}
				}
				tangents(t[lo:hi])
				for i := lo; i < hi; i++ {
					VMOVUPS(t[i], bent(stage, i))
				}
			})
		}
		ADDQ(Imm(uint64(v*xmm)), x)
		DECQ(n)
		JNZ(LabelRef(fmt.Sprintf("sample%d", v)))
	})
}

// numbers appends a way through the function for each number of vectors.
func numbers(vectors Register, way func(v int)) {
	for v := 1; v < most; v++ {
		CMPQ(vectors, Imm(uint64(v)))
		JE(LabelRef(fmt.Sprintf("vectors%d", v)))
	}
	for v := most; v >= 1; v-- {
		if v < most {
			Label(fmt.Sprintf("vectors%d", v))
		}
		way(v)
		emit.End()
	}
}

// pairs appends what f appends for the vectors from lo to hi−1, which are two, or the last one if their number is odd.
func pairs(vectors int, f func(lo, hi int)) {
	for lo := 0; lo < vectors; lo += 2 {
		f(lo, min(lo+2, vectors))
	}
}

// tangents replaces values by their tangents, operation for operation as function tangent of package recurrence computes them.
// Instructions for one vector and for the next alternate.
func tangents(x []VecVirtual) {
	all := func(instruction func(i int)) {
		for i := range x {
			instruction(i)
		}
	}
	Comment("A NaN stays, because it is the second operand.")
	limit := YMM()
	VMOVUPD(emit.Doubles(bend.Most), limit)
	all(func(i int) { VMINPD(x[i], limit, x[i]) })
	limit = YMM()
	VMOVUPD(emit.Doubles(-bend.Most), limit)
	all(func(i int) { VMAXPD(x[i], limit, x[i]) })

	u := emit.Abreast(len(x), func(i int, to VecVirtual) { VMULPD(x[i], x[i], to) })
	v := emit.Abreast(len(x), func(i int, to VecVirtual) { VMULPD(u[i], u[i], to) })
	polynomial := func(c [5]float64) []VecVirtual {
		sum := emit.Abreast(len(x), func(i int, to VecVirtual) { VMULPD(emit.Doubles(c[3]), u[i], to) })
		part := emit.Abreast(len(x), func(i int, to VecVirtual) { VMULPD(emit.Doubles(c[4]), v[i], to) })
		all(func(i int) { VADDPD(emit.Doubles(c[2]), sum[i], sum[i]) })
		all(func(i int) { VADDPD(part[i], sum[i], sum[i]) })
		all(func(i int) { VMULPD(emit.Doubles(c[1]), u[i], part[i]) })
		all(func(i int) { VMULPD(v[i], sum[i], sum[i]) })
		all(func(i int) { VADDPD(emit.Doubles(c[0]), part[i], part[i]) })
		all(func(i int) { VADDPD(part[i], sum[i], sum[i]) })
		return sum
	}
	p := polynomial([5]float64{bend.P0, bend.P1, bend.P2, bend.P3, bend.P4})
	all(func(i int) { VMULPD(p[i], x[i], x[i]) })
	q := polynomial([5]float64{1, bend.Q1, bend.Q2, bend.Q3, bend.Q4})
	all(func(i int) { VDIVPD(q[i], x[i], x[i]) })
}

// comb writes a loop over samples that are less than a delay apart, in turns of several vectors and of one.
func comb() {
	TEXT("combSIMD", NOSPLIT, "func(line, dst, src *float32, n int, blend, feedForward, feedback, silence float32)")
	Pragma("noescape")
	Doc(
		"combSIMD filters n successive samples by places of a delay line, and updates them. Values with a magnitude below silence",
		"become 0 in the line. dst may be src. n must be a multiple of 8. It needs AVX2.",
	)
	line, dst, src := Load(Param("line"), GP64()), Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	blend, feedForward, feedback := emit.Parameter("blend"), emit.Parameter("feedForward"), emit.Parameter("feedback")
	silence := emit.Parameter("silence")
	turn := func(vectors int) {
		at := func(base Register, i int) Mem { return Mem{Base: base, Disp: i * ymm} }
		d := emit.Abreast(vectors, func(i int, to VecVirtual) { VMOVUPS(at(line, i), to) })
		v := emit.Abreast(vectors, func(i int, to VecVirtual) {
			VMULPS(feedback, d[i], to)
			VADDPS(at(src, i), to, to)
		})
		for i := range v {
			y := YMM()
			VMULPS(feedForward, d[i], d[i])
			VMULPS(blend, v[i], y)
			VADDPS(d[i], y, y)
			VMOVUPS(y, at(dst, i))
		}
		for i := range v {
			loud := YMM()
			VANDPS(emit.Words(1<<31-1), v[i], loud)
			VCMPPS(emit.NotLessThan, silence, loud, loud)
			VANDPS(loud, v[i], v[i])
			VMOVUPS(v[i], at(line, i))
		}
		for _, base := range []Register{line, dst, src} {
			ADDQ(U32(vectors*ymm), base)
		}
		SUBQ(U32(vectors*emit.Lanes), n)
	}
	Label("several")
	CMPQ(n, Imm(several*emit.Lanes))
	JL(LabelRef("one"))
	turn(several)
	JMP(LabelRef("several"))
	Label("one")
	CMPQ(n, Imm(emit.Lanes))
	JL(LabelRef("end"))
	turn(1)
	JMP(LabelRef("one"))
	Label("end")
	emit.End()
}

// follow writes a loop over samples for each number of vectors.
func follow() {
	TEXT("followSIMD", NOSPLIT, "func(x *float32, n int, state *float64, vectors int, coefficients *[2][4]float64)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("followSIMD follows the magnitudes of n samples of vectors·4 channels in place, with 1 to %d vectors. The channels of a sample", most),
		"are successive, and state has a value of each. coefficients are those of the attack and of the release, each in four lanes. n",
		"must be at least 1. It needs AVX2.",
	)
	x, n, state := Load(Param("x"), GP64()), Load(Param("n"), GP64()), Load(Param("state"), GP64())
	vectors, coefficients := Load(Param("vectors"), GP64()), Load(Param("coefficients"), GP64())
	attack, release := YMM(), YMM()
	VMOVUPS(Mem{Base: coefficients}, attack)
	VMOVUPS(Mem{Base: coefficients, Disp: ymm}, release)
	numbers(vectors, func(v int) {
		level := emit.Abreast(v, func(i int, to VecVirtual) { VMOVUPS(Mem{Base: state, Disp: i * ymm}, to) })
		Label(fmt.Sprintf("sample%d", v))
		for i := range v {
			narrow, step, coefficient, y := XMM(), YMM(), YMM(), XMM()
			VMOVUPS(Mem{Base: x, Disp: i * xmm}, narrow)
			VCVTPS2PD(narrow, step)
			VANDPS(emit.Quads(1<<63-1), step, step)
			VSUBPD(level[i], step, step)
			Comment("With a step of 0 or NaN, both coefficients give the same.")
			VBLENDVPD(step, release, attack, coefficient)
			VMULPD(coefficient, step, step)
			VADDPD(step, level[i], level[i])
			VCVTPD2PSY(level[i], y)
			VMOVUPS(y, Mem{Base: x, Disp: i * xmm})
		}
		ADDQ(Imm(uint64(v*xmm)), x)
		DECQ(n)
		JNZ(LabelRef(fmt.Sprintf("sample%d", v)))
		for i := range v {
			VMOVUPS(level[i], Mem{Base: state, Disp: i * ymm})
		}
	})
}
