package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// scratchFor returns stack memory for butterflies that do not fit into the registers, and for extra more vectors.
func scratchFor(radix, extra int) Mem {
	if size := (spilled(radix) + extra) * line; size > 0 {
		return spill(size)
	}
	return Mem{}
}

// spilled returns the number of vectors that a butterfly keeps in memory.
func spilled(radix int) int {
	switch radix {
	case 7:
		return 3
	case 8:
		return 4
	}
	return 0
}

// twiddled returns a store function that multiplies result k ≥ 1 by the k-th factor at tw.
func twiddled(tw Register, to *streams) func(k int, v value) {
	return func(k int, v value) {
		if k > 0 {
			wRe, wIm := YMM(), YMM()
			VBROADCASTSS(Mem{Base: tw, Disp: 8 * (k - 1)}, wRe)
			VBROADCASTSS(Mem{Base: tw, Disp: 8*(k-1) + 4}, wIm)
			v = times(v, wRe, wIm)
		}
		storeValue(v, to.at(k))
	}
}

// first writes the kernel of the first pass, which reads interleaved complex values.
func first(radix int) {
	name := fmt.Sprintf("first%d", radix)
	TEXT(name, NOSPLIT, "func(dst, src, tw *float32, count, srcStride, srcStep, dstStride, dstStep int, sign uint32)")
	Doc(fmt.Sprintf("%s is the first pass, of radix %d: for each of count positions it reads %d groups of eight", name, radix, radix),
		"interleaved complex values that begin srcStride values apart, flips their imaginary parts by sign (0 or the",
		"sign bit), and writes the results dstStride vectors apart. From one position to the next src moves by srcStep",
		"values, dst by dstStep vectors and tw by one set of factors.")
	from := newStreams(parameter("src", 0), parameter("srcStride", 3), radix)
	to := newStreams(parameter("dst", 0), parameter("dstStride", 6), radix)
	srcStep := parameter("srcStep", 3)
	tw, step, count := parameter("tw", 0), parameter("dstStep", 6), parameter("count", 0)
	scratch := scratchFor(radix, 1)
	flip := scratch.Offset(spilled(radix) * line)
	VMOVUPS(broadcast("sign"), flip)
	Label("position")
	butterfly(radix, scratch, func(j int) value {
		v := loadPairs(from.at(j))
		VXORPS(flip, v.im, v.im)
		return v
	}, twiddled(tw, to))
	from.advance(srcStep)
	to.advance(step)
	ADDQ(Imm(uint64(8*(radix-1))), tw)
	DECQ(count)
	JNE(LabelRef("position"))
	VZEROUPPER()
	RET()
}

// middle writes the kernel of a pass between the first one and the last one.
func middle(radix int) {
	name := fmt.Sprintf("middle%d", radix)
	TEXT(name, NOSPLIT, "func(dst, src, tw *float32, count, s, srcStride int)")
	Doc(fmt.Sprintf("%s is a pass of radix %d over count positions of s vectors each, srcStride vectors apart on", name, radix),
		"reading and s on writing.")
	from := newStreams(parameter("src", 0), parameter("srcStride", 6), radix)
	width := parameter("s", 6)
	to := newStreams(parameter("dst", 0), width, radix)
	tw, count := parameter("tw", 0), parameter("count", 0)
	scratch := scratchFor(radix, 0)
	skip := GP64() // from the end of result 0 to the beginning of the next position
	MOVQ(width, skip)
	IMUL3Q(Imm(uint64(radix-1)), skip, skip)
	Label("position")
	q := Load(Param("s"), GP64())
	Label("vector")
	butterfly(radix, scratch, func(j int) value { return loadValue(from.at(j)) }, twiddled(tw, to))
	from.advance(Imm(line))
	to.advance(Imm(line))
	DECQ(q)
	JNE(LabelRef("vector"))
	to.advance(skip)
	ADDQ(Imm(uint64(8*(radix-1))), tw)
	DECQ(count)
	JNE(LabelRef("position"))
	VZEROUPPER()
	RET()
}

// final writes the kernel of the last pass over the vectors, whose factors are all 1.
func final(radix int) {
	name := fmt.Sprintf("final%d", radix)
	TEXT(name, NOSPLIT, "func(dst, src *float32, s int)")
	Doc(fmt.Sprintf("%s is a pass of radix %d over one position of s vectors, s apart on reading and writing.", name, radix))
	distance, count := parameter("s", 6), parameter("s", 0)
	from := newStreams(parameter("src", 0), distance, radix)
	to := from.sibling(parameter("dst", 0))
	scratch := scratchFor(radix, 0)
	Label("vector")
	butterfly(radix, scratch, func(j int) value { return loadValue(from.at(j)) },
		func(k int, v value) { storeValue(v, to.at(k)) })
	from.advance(Imm(line))
	to.advance(Imm(line))
	DECQ(count)
	JNE(LabelRef("vector"))
	VZEROUPPER()
	RET()
}

// finalRows writes the kernel of the last pass over the vectors of a group of eight k. It stores each result in a row.
func finalRows(radix int, interleaved bool) {
	var name string
	var re, im Register
	rowShift := uint64(2)
	if interleaved {
		name = fmt.Sprintf("rowsInterleaved%d", radix)
		TEXT(name, NOSPLIT, "func(dst, src *float32, s, pitch int, scaleRe, scaleIm float32)")
		rowShift = 3
		re = parameter("dst", 0)
		Doc(fmt.Sprintf("%s is final%d into rows that begin pitch complex values apart, interleaved, their parts scaled:", name, radix),
			"each result vector goes into a row of its own.")
	} else {
		name = fmt.Sprintf("rowsSplit%d", radix)
		TEXT(name, NOSPLIT, "func(re, im, src *float32, s, pitch int)")
		re, im = parameter("re", 0), parameter("im", 0)
		Doc(fmt.Sprintf("%s is final%d into rows that begin pitch values apart, their parts in two places: each result", name, radix),
			"vector goes into a row of its own.")
	}
	count, step := parameter("s", 0), parameter("pitch", rowShift)
	from := newStreams(parameter("src", 0), parameter("s", 6), radix)
	distance := GP64()
	MOVQ(count, distance)
	IMULQ(step, distance)
	toRe := newStreams(re, distance, radix)
	var toIm *streams
	if !interleaved {
		toIm = toRe.sibling(im)
	}
	extra := 0
	if interleaved {
		extra = 1
	}
	scratch := scratchFor(radix, extra)
	scale := scratch.Offset(spilled(radix) * line)
	if interleaved {
		storeScales(scale)
	}
	Label("vector")
	butterfly(radix, scratch, func(j int) value { return loadValue(from.at(j)) }, toRows(toRe, toIm, scale))
	from.advance(Imm(line))
	toRe.advance(step)
	if toIm != nil {
		toIm.advance(step)
	}
	DECQ(count)
	JNE(LabelRef("vector"))
	VZEROUPPER()
	RET()
}

// storeScales keeps the parameters scaleRe and scaleIm as a vector in memory.
func storeScales(m Mem) {
	for i, part := range []string{"scaleRe", "scaleIm"} {
		VMOVUPS(broadcast(part), m.Offset(line/2*i))
	}
}

// toRows returns a store function for eight values of a row. It stores to re and im, or, if im is nil, interleaved and
// scaled.
func toRows(re, im *streams, scale Mem) func(k int, v value) {
	return func(k int, v value) {
		if im == nil {
			VMULPS(scale, v.re, v.re)
			VMULPS(scale.Offset(line/2), v.im, v.im)
			storePairs(v, re.at(k))
			return
		}
		VMOVUPS(v.re, re.at(k))
		VMOVUPS(v.im, im.at(k))
	}
}
