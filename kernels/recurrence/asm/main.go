// Command asm generates the AVX2 loops of package recurrence; go generate runs it.
package main

import (
	"fmt"
	"math"

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

	// mostSmoothed is the number of vectors whose reductions are smoothed side by side. A core computes no faster with more.
	mostSmoothed = 2

	// most is the number of vectors that a ladder or an envelope computes side by side.
	most = 6
)

func main() {
	spread()
	gather()
	ladder()
	comb()
	follow()
	reduce()
	smooth()
	amplify()
	smoothTwo()
	compressOne()
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

// curve are the constants of a compressor, each in eight lanes.
type curve struct{ quiet, threshold, half, factor, slope, perDecibel, makeup Mem }

func newCurve() curve {
	at := Load(Param("curve"), GP64())
	row := func(i int) Mem { return Mem{Base: at, Disp: i * ymm} }
	return curve{row(0), row(1), row(2), row(3), row(4), row(5), row(6)}
}

// reductions returns the decibels by which a vector of samples is to be lowered.
func (c curve) reductions(at Mem) VecVirtual {
	x, quiet := YMM(), YMM()
	VMOVUPS(at, x)
	VANDPS(emit.Words(1<<31-1), x, x)
	Comment("A NaN stays, because it is the second operand.")
	VMOVUPS(c.quiet, quiet)
	VMAXPS(x, quiet, x)
	over := emit.LogNormal(x)
	VMULPS(emit.Floats(20*math.Log10E), over, over)
	VSUBPS(c.threshold, over, over)
	half, part, zero, square, inKnee := YMM(), YMM(), YMM(), YMM(), YMM()
	VMOVUPS(c.half, half)
	VADDPS(half, over, part)
	VXORPS(zero, zero, zero)
	Comment("A NaN stays again.")
	VMAXPS(part, zero, part)
	VMULPS(c.factor, part, square)
	VMULPS(part, square, square)
	VCMPPS(emit.NotLessThan, over, half, inKnee)
	VMULPS(c.slope, over, over)
	VBLENDVPS(inKnee, square, over, over)
	return over
}

// outputs multiplies a vector of samples by the gains for smoothed reductions, which it changes.
func (c curve) outputs(smoothed VecVirtual, src Mem) VecVirtual {
	makeup := YMM()
	VMULPS(c.perDecibel, smoothed, smoothed)
	VMOVUPS(c.makeup, makeup)
	VSUBPS(smoothed, makeup, smoothed)
	y := emit.Exp(smoothed)
	VMULPS(src, y, y)
	return y
}

// reduce writes a loop over the samples of a compressor, which do not wait for each other.
func reduce() {
	TEXT("reduceSIMD", NOSPLIT, "func(dst, src *float32, n int, curve *[7][8]float32)")
	Pragma("noescape")
	Doc(
		"reduceSIMD sets dst[i] to the decibels by which src[i] is to be lowered, and to NaN if src[i] is infinite or NaN, for i from 0 to",
		"n−1. curve is a magnitude that is not lowered, the threshold and half the knee in decibels, the factors in the knee and above",
		"it, the nepers of a decibel, and the make-up in nepers. n must be a multiple of 8 and at least 8. It needs AVX2 and FMA.",
	)
	dst, src, n, c := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64()), newCurve()
	Label("vector")
	VMOVUPS(c.reductions(Mem{Base: src}), Mem{Base: dst})
	ADDQ(Imm(ymm), src)
	ADDQ(Imm(ymm), dst)
	SUBQ(Imm(emit.Lanes), n)
	JNZ(LabelRef("vector"))
	emit.End()
}

// amplify writes a loop over the samples of a compressor, which do not wait for each other.
func amplify() {
	TEXT("amplifySIMD", NOSPLIT, "func(dst, src, levels *float32, n int, curve *[7][8]float32)")
	Pragma("noescape")
	Doc(
		"amplifySIMD sets dst[i] to src[i]·e^(makeup − levels[i]·perDecibel) for i from 0 to n−1. dst may be src. The rest is as in",
		"reduceSIMD.",
	)
	dst, src, levels := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("levels"), GP64())
	n, c := Load(Param("n"), GP64()), newCurve()
	Label("vector")
	x := YMM()
	VMOVUPS(Mem{Base: levels}, x)
	VMOVUPS(c.outputs(x, Mem{Base: src}), Mem{Base: dst})
	for _, base := range []Register{dst, src, levels} {
		ADDQ(Imm(ymm), base)
	}
	SUBQ(Imm(emit.Lanes), n)
	JNZ(LabelRef("vector"))
	emit.End()
}

// smoother is the follower of a compressor where the attack is at least as fast as the release: a level becomes the greater one
// of what both of them make of it.
type smoother struct{ attack, release, keepAttack, keepRelease Mem }

// newSmoother returns the smoother with the coefficients that a parameter points to, each in four lanes.
func newSmoother() smoother {
	at := Load(Param("coefficients"), GP64())
	row := func(i int) Mem { return Mem{Base: at, Disp: i * ymm} }
	return smoother{row(0), row(1), row(2), row(3)}
}

// inputs returns the products of four reductions with both coefficients.
func (s smoother) inputs(narrow Op) (attack, release VecVirtual) {
	x := YMM()
	attack, release = YMM(), YMM()
	VCVTPS2PD(narrow, x)
	VMULPD(s.attack, x, attack)
	VMULPD(s.release, x, release)
	return attack, release
}

// step replaces a level by the next one. It changes the inputs.
func (s smoother) step(level, attack, release VecVirtual) {
	VFMADD231PD(s.keepAttack, level, attack)
	VFMADD231PD(s.keepRelease, level, release)
	VMAXPD(attack, release, level)
}

// smooth writes a loop over samples for each number of vectors of channels.
func smooth() {
	TEXT("smoothSIMD", NOSPLIT, "func(x *float32, n, width int, state *float64, vectors int, coefficients *[4][4]float64)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("smoothSIMD smooths n samples of vectors·4 channels in place, with 1 or %d vectors. The channels of a sample are successive, and", mostSmoothed),
		"samples are width values apart. state has a value of each channel. coefficients are those of the attack and of the release, and",
		"what they lack to 1, each in four lanes. The attack must be at least the release, and n at least 1. It needs AVX2 and FMA.",
	)
	x, n, width := Load(Param("x"), GP64()), Load(Param("n"), GP64()), Load(Param("width"), GP64())
	state, vectors := Load(Param("state"), GP64()), Load(Param("vectors"), GP64())
	s := newSmoother()
	SHLQ(Imm(2), width)
	way := func(v int) {
		level := emit.Abreast(v, func(i int, to VecVirtual) { VMOVUPS(Mem{Base: state, Disp: i * ymm}, to) })
		Label(fmt.Sprintf("sample%d", v))
		for i := range v {
			at, narrow, y := Mem{Base: x, Disp: i * xmm}, XMM(), XMM()
			VMOVUPS(at, narrow)
			attack, release := s.inputs(narrow)
			s.step(level[i], attack, release)
			VCVTPD2PSY(level[i], y)
			VMOVUPS(y, at)
		}
		ADDQ(width, x)
		DECQ(n)
		JNZ(LabelRef(fmt.Sprintf("sample%d", v)))
		for i := range v {
			VMOVUPS(level[i], Mem{Base: state, Disp: i * ymm})
		}
		emit.End()
	}
	CMPQ(vectors, Imm(1))
	JE(LabelRef("one"))
	way(mostSmoothed)
	Label("one")
	way(1)
}

// smoothTwo writes a loop over four samples at a time of two channels. A half of a vector has the level of one of them, twice.
func smoothTwo() {
	TEXT("smoothTwoSIMD", NOSPLIT, "func(x, y *float32, n int, state *float64, coefficients *[4][4]float64)")
	Pragma("noescape")
	Doc(
		"smoothTwoSIMD smooths n samples of a channel at x and of one at y in place. n must be a multiple of 4 and at least 4. The rest",
		"is as in smoothSIMD.",
	)
	x, y, n, state := Load(Param("x"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64()), Load(Param("state"), GP64())
	s := newSmoother()
	level, other := YMM(), YMM()
	VBROADCASTSD(Mem{Base: state}, level)
	VBROADCASTSD(Mem{Base: state, Disp: 8}, other)
	VPBLENDD(Imm(0b11110000), other, level, level)
	unpack := [2]func(ops ...Op){VUNPCKLPD, VUNPCKHPD}
	Label("samples")
	first, second := XMM(), XMM()
	VMOVUPS(Mem{Base: x}, first)
	VMOVUPS(Mem{Base: y}, second)
	var smoothed [2]VecVirtual
	for i := range smoothed {
		narrow, all := XMM(), YMM()
		unpack[i](second, first, narrow)
		attacks, releases := s.inputs(narrow)
		for sample := range 2 {
			attack, release := YMM(), YMM()
			unpack[sample](attacks, attacks, attack)
			unpack[sample](releases, releases, release)
			s.step(level, attack, release)
			if sample == 0 {
				VMOVAPS(level, all)
			} else {
				VPBLENDD(Imm(0b11001100), level, all, all)
			}
		}
		smoothed[i] = XMM()
		VCVTPD2PSY(all, smoothed[i])
	}
	for i, base := range []Register{x, y} {
		narrow := XMM()
		unpack[i](smoothed[1], smoothed[0], narrow)
		VMOVUPS(narrow, Mem{Base: base})
		ADDQ(Imm(xmm), base)
	}
	SUBQ(Imm(4), n)
	JNZ(LabelRef("samples"))
	upper := XMM()
	VMOVSD(level.AsX(), Mem{Base: state})
	VEXTRACTF128(Imm(1), level, upper)
	VMOVSD(upper, Mem{Base: state, Disp: 8})
	emit.End()
}

// compressOne writes a loop over eight samples at a time of one channel, whose level is in all lanes. The reductions of the next
// samples and the outputs of the last ones stand between the steps of the follower, so that a core computes them while the follower
// waits. With two channels, a core has enough to do anyway.
func compressOne() {
	TEXT("compressOneSIMD", NOSPLIT, "func(dst, src, levels *float32, n int, state *float64, curve *[7][8]float32, coefficients *[4][4]float64)")
	Pragma("noescape")
	Doc(
		"compressOneSIMD smooths n reductions of a channel, which are in levels. Meanwhile it computes the reductions of samples that are",
		"8 later, and the outputs of samples that are 8 earlier and whose reductions are smoothed. n must be a multiple of 8 and at least",
		"8. The rest is as in reduceSIMD, smoothSIMD and amplifySIMD.",
	)
	dst, src, levels := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("levels"), GP64())
	n, state, c, s := Load(Param("n"), GP64()), Load(Param("state"), GP64()), newCurve(), newSmoother()
	const earlier, later = -ymm, ymm
	between := [2]func(){
		func() { VMOVUPS(c.reductions(Mem{Base: src, Disp: later}), Mem{Base: levels, Disp: later}) },
		func() {
			last := YMM()
			VMOVUPS(Mem{Base: levels, Disp: earlier}, last)
			VMOVUPS(c.outputs(last, Mem{Base: src, Disp: earlier}), Mem{Base: dst, Disp: earlier})
		},
	}
	level, smoothed := YMM(), [2]VecVirtual{}
	VBROADCASTSD(Mem{Base: state}, level)
	Label("vector")
	for half := range smoothed {
		narrow, all := XMM(), YMM()
		VMOVUPS(Mem{Base: levels, Disp: half * xmm}, narrow)
		attacks, releases := s.inputs(narrow)
		for sample := range 4 {
			attack, release, lane := YMM(), YMM(), Imm(uint64(sample*0b01_01_01_01))
			VPERMPD(lane, attacks, attack)
			VPERMPD(lane, releases, release)
			s.step(level, attack, release)
			if sample == 0 {
				VMOVAPS(level, all)
				between[half]()
			} else {
				VPBLENDD(Imm(uint64(0b11<<(2*sample))), level, all, all)
			}
		}
		smoothed[half] = YMM()
		VCVTPD2PSY(all, smoothed[half].AsX())
	}
	VINSERTF128(Imm(1), smoothed[1].AsX(), smoothed[0], smoothed[0])
	VMOVUPS(smoothed[0], Mem{Base: levels})
	for _, base := range []Register{dst, src, levels} {
		ADDQ(Imm(ymm), base)
	}
	SUBQ(Imm(emit.Lanes), n)
	JNZ(LabelRef("vector"))
	VMOVSD(level.AsX(), Mem{Base: state})
	emit.End()
}
