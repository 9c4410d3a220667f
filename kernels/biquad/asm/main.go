// Command asm generates the AVX2 loops of package biquad; go generate runs it.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"

	"crossover/kernels/elementwise/emit"
)

const (
	ymm = emit.Bytes

	// A lane of 64 bits has a channel.
	lanes = 4

	// A turn takes so many samples of each channel, which makes the transposition square.
	turn = 4

	// The states are settled after every settleEvery samples.
	settleEvery = 256

	// silence is the magnitude below which a state is settled.
	silence = 1e-30
)

func main() {
	filter(lanes)
	filter(2 * lanes)
	cascade()
	Generate()
}

// filter writes a loop that filters channels by one section.
func filter(channels int) {
	name := fmt.Sprintf("filter%dSIMD", channels)
	TEXT(name, NOSPLIT, "func(dst, src *float32, apart *[8]int, turns int, f *[5][4]float64, states *[2][4]float64)")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("%s filters 4·turns samples of %d channels. Channel i lies apart[i] bytes behind the beginnings of src and dst,", name, channels),
		"where apart[0] is 0. Channels may be the same. states is what four channels have, s1 and s2 of each, and is followed by that",
		"of the next four. f has each coefficient four times. States are settled after every 256 samples. dst may be src. turns must be",
		"at least 1. It needs AVX2.",
	)
	c := newCall(channels)
	coefficients, states := Load(Param("f"), GP64()), Load(Param("states"), GP64())
	var f [5]Op
	for i := range f {
		v := YMM()
		VBROADCASTSD(Mem{Base: coefficients, Disp: i * ymm}, v)
		f[i] = v
	}
	s := loadStates(channels, states)
	c.loop(func() {
		x := c.samples()
		for t := range x {
			half := halves(x[t], channels)
			for i := range half {
				v := double(half[i])
				step(f, v, s[i])
				half[i] = single(v)
			}
			x[t] = joined(half)
		}
		c.store(x)
	}, func() {
		for _, s := range s {
			settle(s)
		}
	})
	storeStates(s, states)
	VZEROUPPER()
	RET()
}

// cascade writes a loop that filters channels by several sections. All sections filter four samples before the first one goes
// on. So their recurrences overlap, and what they hand to each other stays in registers.
func cascade() {
	const channels = lanes
	TEXT("cascadeSIMD", NOSPLIT, "func(dst, src *float32, apart *[8]int, turns int, f *[5][4]float64, states *[2][4]float64, sections int)")
	Pragma("noescape")
	Doc(
		"cascadeSIMD is filter4SIMD by several sections, one after the other. f and states are those of the first one, and are followed",
		"by those of the next. sections must be at least 1. It needs AVX2.",
	)
	c := newCall(channels)
	k, f, states := GP64(), GP64(), GP64()
	// over appends a loop over sections.
	over := func(label string, body func()) {
		Load(Param("f"), f)
		Load(Param("states"), states)
		Load(Param("sections"), k)
		Label(label)
		body()
		ADDQ(U32(5*ymm), f)
		ADDQ(U32(2*ymm), states)
		DECQ(k)
		JNZ(LabelRef(label))
	}
	var coefficients [5]Op
	for i := range coefficients {
		coefficients[i] = Mem{Base: f, Disp: i * ymm}
	}
	c.loop(func() {
		x := c.samples()
		for t := range x {
			x[t] = double(x[t])
		}
		over("section", func() {
			s := loadStates(channels, states)
			for t := range x {
				step(coefficients, x[t], s[0])
			}
			storeStates(s, states)
		})
		for t := range x {
			x[t] = single(x[t])
		}
		c.store(x)
	}, func() {
		over("quiet", func() {
			s := loadStates(channels, states)
			for _, s := range s {
				settle(s)
			}
			storeStates(s, states)
		})
	})
	VZEROUPPER()
	RET()
}

// call has the registers of a loop over samples.
type call struct {
	channels            int
	dst, src            Register
	apart               []Register // of all channels but the first
	turns, untilSettled Register
}

func newCall(channels int) *call {
	c := &call{channels: channels, dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	apart := Load(Param("apart"), GP64())
	for i := 1; i < channels; i++ {
		r := GP64()
		MOVQ(Mem{Base: apart, Disp: 8 * i}, r)
		c.apart = append(c.apart, r)
	}
	c.turns, c.untilSettled = Load(Param("turns"), GP64()), GP64()
	return c
}

// at returns the memory of a channel.
func (c *call) at(base Register, channel int) Mem {
	if channel == 0 {
		return Mem{Base: base}
	}
	return Mem{Base: base, Index: c.apart[channel-1], Scale: 1}
}

// loop appends a loop over turns.
func (c *call) loop(body, settle func()) {
	MOVQ(U32(settleEvery/turn), c.untilSettled)
	Label("turn")
	body()
	ADDQ(Imm(4*turn), c.src)
	ADDQ(Imm(4*turn), c.dst)
	DECQ(c.untilSettled)
	JNZ(LabelRef("next"))
	Comment("Channels whose states have both decayed go on from zero.")
	settle()
	MOVQ(U32(settleEvery/turn), c.untilSettled)
	Label("next")
	DECQ(c.turns)
	JNZ(LabelRef("turn"))
}

// pick returns a register for a sample of each channel. Eight channels need a wide one.
func pick(channels int) VecVirtual {
	if channels > lanes {
		return YMM()
	}
	return XMM()
}

// samples appends loads of a turn, and returns a register of all channels for each sample.
func (c *call) samples() (x [turn]VecVirtual) {
	var rows [turn]VecVirtual
	for i := range rows {
		rows[i] = pick(c.channels)
		if c.channels == lanes {
			VMOVUPS(c.at(c.src, i), rows[i])
			continue
		}
		VBROADCASTF128(c.at(c.src, i), rows[i]) // which package avo knows to write the whole register
		VINSERTF128(Imm(1), c.at(c.src, lanes+i), rows[i], rows[i])
	}
	return transposed(c.channels, rows)
}

// store appends what stores a turn.
func (c *call) store(x [turn]VecVirtual) {
	for i, row := range transposed(c.channels, x) {
		VMOVUPS(row.AsX(), c.at(c.dst, i))
		if c.channels > lanes {
			VEXTRACTF128(Imm(1), row, c.at(c.dst, lanes+i))
		}
	}
}

// transposed appends the transposition of four by four values in each half of registers.
func transposed(channels int, r [turn]VecVirtual) (x [turn]VecVirtual) {
	var t [turn]VecVirtual
	for i := 0; i < turn; i += 2 {
		t[i], t[i+1] = pick(channels), pick(channels)
		VUNPCKLPS(r[i+1], r[i], t[i])
		VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	const firstHalves, secondHalves = 0x44, 0xEE
	for i := range x {
		x[i] = pick(channels)
		VSHUFPS(Imm([]uint64{firstHalves, secondHalves}[i%2]), t[i/2+2], t[i/2], x[i])
	}
	return x
}

// halves returns the parts of a sample of each channel, with four channels each.
func halves(x VecVirtual, channels int) []VecVirtual {
	if channels == lanes {
		return []VecVirtual{x}
	}
	upper := XMM()
	VEXTRACTF128(Imm(1), x, upper)
	return []VecVirtual{x.AsX().(VecVirtual), upper}
}

// joined is the inverse of halves.
func joined(half []VecVirtual) VecVirtual {
	if len(half) == 1 {
		return half[0]
	}
	x, lower := YMM(), half[0]
	insert, err := x86.VINSERTF128(Imm(1), half[1], lower.AsY(), x)
	if err != nil {
		panic(err)
	}
	// Package avo would keep an upper half of lower from turn to turn, which nothing reads.
	insert.Inputs = []Op{half[1], lower}
	Instruction(insert)
	return x
}

// double appends a conversion to float64, and single one to float32.
func double(half VecVirtual) VecVirtual {
	v := YMM()
	VCVTPS2PD(half, v)
	return v
}

func single(v VecVirtual) VecVirtual {
	half := XMM()
	VCVTPD2PSY(v, half)
	return half
}

// pair has a state of each of four channels.
type pair struct{ s1, s2 VecVirtual }

func loadStates(channels int, states Register) (s []pair) {
	for i := range channels / lanes {
		p := pair{YMM(), YMM()}
		VMOVUPD(Mem{Base: states, Disp: 2 * i * ymm}, p.s1)
		VMOVUPD(Mem{Base: states, Disp: (2*i + 1) * ymm}, p.s2)
		s = append(s, p)
	}
	return s
}

func storeStates(s []pair, states Register) {
	for i, p := range s {
		VMOVUPD(p.s1, Mem{Base: states, Disp: 2 * i * ymm})
		VMOVUPD(p.s2, Mem{Base: states, Disp: (2*i + 1) * ymm})
	}
}

// step appends a step of a section: v = b0·v + s1, s1 ← (c1·v + s2) − a1·s1, s2 ← c2·v − a2·s1, in which v and s1 on the right are
// those before the step. Each product is rounded, as in the code that Go makes for amd64.
func step(f [5]Op, v VecVirtual, s pair) {
	b0, c1, c2, a1, a2 := f[0], f[1], f[2], f[3], f[4]
	p, q := YMM(), YMM()
	VMULPD(c1, v, p)
	VADDPD(s.s2, p, p)
	VMULPD(c2, v, q)
	VMULPD(b0, v, v)
	VADDPD(s.s1, v, v)
	VMULPD(a2, s.s1, s.s2)
	VSUBPD(s.s2, q, s.s2)
	VMULPD(a1, s.s1, s.s1)
	VSUBPD(s.s1, p, s.s1)
}

// settle appends what zeroes the states of which both values are below silence.
func settle(s pair) {
	const withoutSign = 1<<63 - 1
	a, b := YMM(), YMM()
	VANDPS(emit.Quads(withoutSign), s.s1, a)
	VANDPS(emit.Quads(withoutSign), s.s2, b)
	VCMPPD(emit.LessThan, emit.Doubles(silence), a, a)
	VCMPPD(emit.LessThan, emit.Doubles(silence), b, b)
	VANDPS(b, a, a)
	VANDNPS(s.s1, a, s.s1)
	VANDNPS(s.s2, a, s.s2)
}
