package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// butterfly computes the transform of length radix of the values that load returns. It passes each result to store as soon
// as it is computed.
func butterfly(radix int, scratch Mem, load func(j int) value, store func(k int, v value)) {
	switch radix {
	case 2:
		a, b := load(0), load(1)
		store(0, add(a, b))
		store(1, sub(a, b))
	case 3:
		a, b, c := load(0), load(1), load(2)
		sum, diff := add(b, c), sub(b, c)
		store(0, add(a, sum))
		fnma(constant("half", 0.5), sum, a)
		y1, y2 := fmaTurned(constant("sin3", math.Sqrt(3)/2), diff, a)
		store(1, y1)
		store(2, y2)
	case 4:
		radix4(load(0), load(1), load(2), load(3), 1, store)
	case 5:
		radix5(load, store)
	case 7:
		radix7(scratch, load, store)
	case 8:
		var sums [4]value
		for j := range 4 {
			a, b := load(j), load(j+4)
			sums[j] = add(a, b)
			storeValue(sub(a, b), scratch.Offset(line*j))
		}
		radix4(sums[0], sums[1], sums[2], sums[3], 2, store)
		oddEighths(func(j int) value { return loadValue(scratch.Offset(line * j)) }, store)
	}
}

// radix4 stores the four results as numbers 0, step, 2·step and 3·step.
func radix4(a, b, c, d value, step int, store func(k int, v value)) {
	sumAC, diffAC := add(a, c), sub(a, c)
	sumBD, diffBD := add(b, d), sub(b, d)
	store(0, add(sumAC, sumBD))
	store(2*step, sub(sumAC, sumBD))
	y1, y3 := turn(diffAC, diffBD)
	store(step, y1)
	store(3*step, y3)
}

// oddEighths computes results 1, 3, 5 and 7 of the transform of length 8 from the differences x[j] − x[j+4].
func oddEighths(difference func(j int) value, store func(k int, v value)) {
	root := constant("root8", math.Sqrt2/2)
	// The odd results are the transform of length 4 of difference j times exp(−2πi·j/8). Differences 1 and 3 are turned by
	// an eighth without the factor √½. The last addition multiplies by √½.
	minus, plus := turn(difference(0), difference(2))
	a := eighth(difference(1))
	b, re, im := difference(3), YMM(), YMM() // b·(−1−i) is re − i·im
	VSUBPS(b.re, b.im, re)
	VADDPS(b.re, b.im, im)
	sum, diff := newValue(), newValue()
	VADDPS(re, a.re, sum.re)
	VSUBPS(im, a.im, sum.im)
	VSUBPS(re, a.re, diff.re)
	VADDPS(im, a.im, diff.im)
	y5 := copied(minus)
	fma(root, sum, minus)
	store(1, minus)
	fnma(root, sum, y5)
	store(5, y5)
	y3, y7 := fmaTurned(root, diff, plus)
	store(3, y3)
	store(7, y7)
}

// eighth returns x·(1−i).
func eighth(x value) value {
	z := newValue()
	VADDPS(x.im, x.re, z.re)
	VSUBPS(x.re, x.im, z.im)
	return z
}

func radix5(load func(j int) value, store func(k int, v value)) {
	cos1, cos2 := constant("cos5", math.Cos(2*math.Pi/5)), constant("cos5twice", math.Cos(4*math.Pi/5))
	sin1, sin2 := constant("sin5", math.Sin(2*math.Pi/5)), constant("sin5twice", math.Sin(4*math.Pi/5))
	b, e := load(1), load(4)
	sumBE, diffBE := add(b, e), sub(b, e)
	c, d := load(2), load(3)
	sumCD, diffCD := add(c, d), sub(c, d)
	a := load(0)
	u, v := copied(a), copied(a)
	VADDPS(sumBE.re, a.re, a.re)
	VADDPS(sumBE.im, a.im, a.im)
	VADDPS(sumCD.re, a.re, a.re)
	VADDPS(sumCD.im, a.im, a.im)
	store(0, a)
	fma(cos1, sumBE, u)
	fma(cos2, sumCD, u)
	fma(cos2, sumBE, v)
	fma(cos1, sumCD, v)
	// Results 1 and 4 are u ∓ i·g with g = sin1·diffBE + sin2·diffCD, results 2 and 3 are v ∓ i·h with
	// h = sin2·diffBE − sin1·diffCD.
	g := newValue()
	VMULPS(sin1, diffBE.re, g.re)
	VMULPS(sin1, diffBE.im, g.im)
	fma(sin2, diffCD, g)
	y1, y4 := turn(u, g)
	store(1, y1)
	store(4, y4)
	h := newValue()
	VMULPS(sin2, diffBE.re, h.re)
	VMULPS(sin2, diffBE.im, h.im)
	fnma(sin1, diffCD, h)
	y2, y3 := turn(v, h)
	store(2, y2)
	store(3, y3)
}

// radix7 computes results k and 7−k as u ∓ i·g, where u = x[0] + Σ_j cos(2πjk/7)·(x[j]+x[7−j]) and
// g = Σ_j sin(2πjk/7)·(x[j]−x[7−j]), 1 ≤ j ≤ 3. The differences wait in scratch.
func radix7(scratch Mem, load func(j int) value, store func(k int, v value)) {
	a := load(0)
	all := copied(a)
	var sums [3]value
	for i := range sums {
		x, y := load(i+1), load(6-i)
		sums[i] = add(x, y)
		storeValue(sub(x, y), scratch.Offset(line*i))
		VADDPS(sums[i].re, all.re, all.re)
		VADDPS(sums[i].im, all.im, all.im)
	}
	store(0, all)
	for k := 1; k <= 3; k++ {
		u, g := copied(a), newValue()
		for i, sum := range sums {
			m, diff := (i+1)*k%7, loadValue(scratch.Offset(line*i))
			near := min(m, 7-m)
			fma(constant(fmt.Sprintf("cos7times%d", near), math.Cos(2*math.Pi/7*float64(near))), sum, u)
			sine := constant(fmt.Sprintf("sin7times%d", near), math.Sin(2*math.Pi/7*float64(near)))
			switch {
			case i == 0:
				VMULPS(sine, diff.re, g.re)
				VMULPS(sine, diff.im, g.im)
			case m == near:
				fma(sine, diff, g)
			default:
				fnma(sine, diff, g)
			}
		}
		y, z := turn(u, g)
		store(k, y)
		store(7-k, z)
	}
}
