package fft

import (
	"fmt"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
)

func runComplex(t *testing.T, d *gpu.Device, n, rows int, inverse bool, launch func(b *gpu.Builder, dst, src *gpu.Buffer)) {
	t.Helper()
	b := d.NewPlan()
	src, dst := b.Input(gpu.Float2, n*rows), b.Output(gpu.Float2, n*rows)
	launch(b, dst, src)
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	x := complexNoise(n * rows)
	copy(src.Floats(), floats(x))
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	want := make([]complex64, 0, n*rows)
	c := NewComplex(n)
	for r := range rows {
		y := make([]complex64, n)
		if inverse {
			c.Inverse(y, x[r*n:][:n])
		} else {
			c.Forward(y, x[r*n:][:n])
		}
		want = append(want, y...)
	}
	expect(t, fmt.Sprint(n, rows, inverse), dst.Floats(), widen(floats(want)), 1e-6)
}

func TestShapes(t *testing.T) {
	d := emulator.Open(t)
	for _, s := range []shape{
		{radices: []int{16}, points: 16, side: 3},
		{radices: []int{8, 8}, points: 8, side: 3, squares: true},
		{radices: []int{16, 16}, points: 16, side: 2, split: true},
		{radices: []int{16, 16}, points: 16, side: 2},
		{radices: []int{8, 8, 4}, points: 8, side: 2, squares: true, split: true},
		{radices: []int{16, 16, 4}, points: 16, side: 1},
		{radices: []int{32, 32}, points: 32, side: 1},
		{radices: []int{16, 16, 4}, points: 16, side: 1, split: true, slices: 4},
		{radices: []int{16, 16, 4}, points: 16, side: 1, split: true, slices: 2},
		{radices: []int{4, 4, 2, 4}, points: 8, side: 1},
	} {
		for _, inverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
				runComplex(t, d, s.length(), 5, inverse, func(b *gpu.Builder, dst, src *gpu.Buffer) { launchComplexRows(b, dst, src, s, 5, inverse) })
			})
		}
	}
	for _, v := range []division{
		{{radices: []int{8, 4}, points: 8, side: 8}, {radices: []int{4, 4}, points: 4, side: 8}},
		{{radices: []int{8, 4}, points: 8, side: 16, split: true}, {radices: []int{4, 16}, points: 16, side: 16}},
		{{radices: []int{8, 2}, points: 8, side: 16, split: true}, {radices: []int{4, 4}, points: 8, side: 8, split: true}, {radices: []int{4, 4}, points: 8, side: 8, split: true}},
	} {
		for _, inverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v", v), func(t *testing.T) {
				runComplex(t, d, v.length(), 3, inverse, func(b *gpu.Builder, dst, src *gpu.Buffer) { v.launch(b, dst, src, 3, inverse) })
			})
		}
	}
}
