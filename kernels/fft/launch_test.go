package fft

import (
	"fmt"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
)

func TestQuickReal(t *testing.T) {
	d := emulator.Open(t)
	for _, tc := range []struct{ n, rows int }{{1, 3}, {2, 3}, {7, 2}, {16, 3}, {32, 2}, {101, 2}, {64, 2}, {512, 3}, {1000, 2}, {2048, 1}, {4098, 1}} {
		t.Run(fmt.Sprint(tc.n), func(t *testing.T) {
			b := d.NewPlan()
			src, dst, back := b.Input(gpu.Float, tc.n*tc.rows), b.Output(gpu.Float2, (tc.n/2+1)*tc.rows), b.Output(gpu.Float, tc.n*tc.rows)
			LaunchReal(b, dst, src, tc.n, tc.rows)
			LaunchRealInverse(b, back, dst, tc.n, tc.rows)
			p, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			x := noise(tc.n * tc.rows)
			copy(src.Floats(), x)
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			var want []float64
			for row := range slices.Chunk(x, tc.n) {
				want = append(want, parts64(Reference(row))...)
			}
			expect(t, "forward", dst.Floats(), want, 1e-6)
			expect(t, "inverse", back.Floats(), widen(x), 1e-6)
		})
	}
}
