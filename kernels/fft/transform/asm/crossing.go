package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// twist writes the kernel between the columns of a grid and its rows.
func twist() {
	TEXT("twist", NOSPLIT, "func(dst, src, fine, coarse *float32, groups, srcStep int)")
	Doc("twist turns eight vectors k, whose lanes are columns, into eight vectors of columns, whose lanes are k, and",
		"multiplies each by a vector at fine and a value at coarse. From one group of columns to the next src moves by",
		"srcStep vectors, dst and fine by eight vectors and coarse by eight values.")
	distance := GP64()
	MOVQ(U32(line), distance)
	from := newStreams(parameter("src", 0), distance, 8)
	dst, fine, coarse, groups := parameter("dst", 0), parameter("fine", 0), parameter("coarse", 0), parameter("groups", 0)
	step := parameter("srcStep", 6)
	Label("group")
	for half := range 2 {
		for _, x := range halfTurned(from, 8, half) {
			wRe, wIm := YMM(), YMM()
			VBROADCASTSS(Mem{Base: coarse, Disp: 8 * x.lane}, wRe)
			VBROADCASTSS(Mem{Base: coarse, Disp: 8*x.lane + 4}, wIm)
			v := times(x.value, wRe, wIm)
			w := loadValue(Mem{Base: fine, Disp: line * x.lane})
			storeValue(times(v, w.re, w.im), Mem{Base: dst, Disp: line * x.lane})
		}
	}
	from.advance(step)
	for _, r := range []Register{dst, fine} {
		ADDQ(I32(8*line), r)
	}
	ADDQ(Imm(64), coarse)
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// crossLanes writes the kernel that computes a transform of length width across the first width lanes.
func crossLanes(width int, interleaved bool) {
	var name string
	var re, im Register
	rowShift, row := uint64(2), "values after result j−1."
	if interleaved {
		name = fmt.Sprintf("crossInterleaved%d", width)
		TEXT(name, NOSPLIT, "func(dst, src, tw *float32, groups, srcStride, srcStep, rowStride int, scaleRe, scaleIm float32)")
		rowShift, row = 3, "complex values after result j−1, interleaved, its parts scaled."
		re = parameter("dst", 0)
	} else {
		name = fmt.Sprintf("crossSplit%d", width)
		TEXT(name, NOSPLIT, "func(re, im, src, tw *float32, groups, srcStride, srcStep, rowStride int)")
		re, im = parameter("re", 0), parameter("im", 0)
	}
	Doc(fmt.Sprintf("%s joins the transforms of length M that %d lanes hold into one of length %d·M. For each group it", name, width, width),
		"reads eight vectors srcStride apart, multiplies lane c of vector k by its factor, transforms across the lanes",
		"and writes result j, contiguous in k, rowStride "+row,
		"From one group to the next src moves by srcStep vectors.")
	from := newStreams(parameter("src", 0), parameter("srcStride", 6), 8)
	toRe := newStreams(re, parameter("rowStride", rowShift), width)
	var toIm *streams
	if !interleaved {
		toIm = toRe.sibling(im)
	}
	tw, groups := parameter("tw", 0), parameter("groups", 0)
	step := parameter("srcStep", 6)
	scratch := spill(8 * line)
	scale := scratch.Offset(7 * line)
	if interleaved {
		storeScales(scale)
	}
	store := toRows(toRe, toIm, scale)

	Label("group")
	if width == 8 {
		crossEight(from, tw, scratch, store)
	} else {
		for half := range 2 {
			for _, x := range twisted(from, tw, width, half) {
				storeValue(x.value, scratch.Offset(line*x.lane))
			}
		}
		// A butterfly of seven stores differences where values were that it has loaded.
		butterfly(width, scratch, func(j int) value { return loadValue(scratch.Offset(line * j)) }, store)
	}
	from.advance(step)
	toRe.advance(Imm(8 << rowShift))
	if toIm != nil {
		toIm.advance(Imm(8 << rowShift))
	}
	ADDQ(I32(int32((width-1)*line)), tw)
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// crossEight is the transform of length 8 across the lanes. It takes half of the lanes at a time. Lanes 0, 1, 4 and 5 come
// together, which are two pairs of the first step.
func crossEight(from *streams, tw Register, scratch Mem, store func(k int, v value)) {
	var sums, diffs [4]value
	for half := range 2 {
		x := twisted(from, tw, 8, half)
		for i := range 2 {
			j := 2*half + i
			sums[j] = add(x[i].value, x[i+2].value)
			diffs[j] = sub(x[i].value, x[i+2].value)
			if half == 0 {
				storeValue(sums[j], scratch.Offset(line*i))
				storeValue(diffs[j], scratch.Offset(line*(i+2)))
			}
		}
	}
	radix4(loadValue(scratch), loadValue(scratch.Offset(line)), sums[2], sums[3], 2, store)
	oddEighths(func(j int) value {
		if j < 2 {
			return loadValue(scratch.Offset(line * (j + 2)))
		}
		return diffs[j]
	}, store)
}

// lane holds eight values of one lane, one from each vector of a group.
type lane struct {
	value
	lane int
}

// halfTurned returns the lanes below width in one half of the registers of a group. Half 0 holds lanes 0, 1, 4, 5, and half
// 1 holds lanes 2, 3, 6, 7, because loadPairs loads them so.
func halfTurned(from *streams, width, half int) []lane {
	re := transposed(from, 16*half)
	im := transposed(from, line/2+16*half)
	var lanes []lane
	for i, c := range []int{0, 1, 4, 5} {
		if c += 2 * half; c < width {
			lanes = append(lanes, lane{value{re[i], im[i]}, c})
		}
	}
	return lanes
}

// twisted returns the lanes of halfTurned multiplied by their factors. Lane 0 has no factors.
func twisted(from *streams, tw Register, width, half int) []lane {
	lanes := halfTurned(from, width, half)
	for i, x := range lanes {
		if x.lane > 0 {
			w := loadValue(Mem{Base: tw, Disp: line * (x.lane - 1)})
			lanes[i].value = times(x.value, w.re, w.im)
		}
	}
	return lanes
}

// broadcast returns eight copies of a parameter of four bytes.
func broadcast(name string) VecVirtual {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := YMM()
	VBROADCASTSS(p.Addr, v)
	return v
}

// transposed loads four lanes of eight vectors, from an offset in bytes on, and returns one register for each lane.
func transposed(from *streams, offset int) [4]VecVirtual {
	var v [4]VecVirtual
	for i := range v {
		v[i] = YMM()
		VBROADCASTF128(from.at(i).Offset(offset), v[i])
		VINSERTF128(U8(1), from.at(i+4).Offset(offset), v[i], v[i])
	}
	var t [4]VecVirtual
	for i := range t {
		t[i] = YMM()
	}
	VUNPCKLPS(v[1], v[0], t[0])
	VUNPCKHPS(v[1], v[0], t[1])
	VUNPCKLPS(v[3], v[2], t[2])
	VUNPCKHPS(v[3], v[2], t[3])
	VUNPCKLPD(t[2], t[0], v[0])
	VUNPCKHPD(t[2], t[0], v[1])
	VUNPCKLPD(t[3], t[1], v[2])
	VUNPCKHPD(t[3], t[1], v[3])
	return v
}
