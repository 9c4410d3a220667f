package gemm

import (
	"math"
	"testing"
)

// The sums of lengths around a tile are those of the definition, in memory that ends with the last value and in longer memory,
// and nothing beyond C is written.
func TestSlider(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		var slider Slider
		for rows := 1; rows <= SliderRows(); rows++ {
			for _, n := range []int{0, 1, 15, 16, 17, 33, 64} {
				for _, terms := range []int{1, 3, 8} {
					for _, rowB := range []int{0, 1, 5} {
						for _, slack := range []int{0, 1, tileColumns} {
							checkSlider(t, &slider, rows, n, terms, rowB, slack)
						}
					}
				}
			}
		}
	})
	var slider Slider
	for name, call := range map[string]func(){
		"no terms":  func() { slider.Add(make([]float32, 1), 1, 1, nil, 1, make([]float32, 1), 1) },
		"backwards": func() { slider.Add(make([]float32, 1), 1, 1, make([]float32, 1), 1, make([]float32, 1), -1) },
		"a short b": func() { slider.Add(make([]float32, 16), 16, 16, make([]float32, 2), 1, make([]float32, 18), 3) },
		"a short c": func() { slider.Add(make([]float32, 19), 4, 16, make([]float32, 2), 2, make([]float32, 16), 3) },
		"too many rows": func() {
			slider.Add(make([]float32, 99), 1, 1, make([]float32, SliderRows()+1), SliderRows()+1, make([]float32, 1), 1)
		},
		"half a row":        func() { slider.Add(make([]float32, 2), 1, 1, make([]float32, 3), 2, make([]float32, 9), 1) },
		"rows that overlap": func() { slider.Add(make([]float32, 64), 15, 16, make([]float32, 2), 2, make([]float32, 16), 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
	c, a, b := make([]float32, 80), make([]float32, 6), make([]float32, 60)
	if allocations := testing.AllocsPerRun(10, func() { slider.Add(c, 40, 40, a, 2, b, 1) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
}

func checkSlider(t *testing.T, slider *Slider, rows, n, terms, rowB, slack int) {
	t.Helper()
	a, b := make([]float32, rows*terms), make([]float32, (terms-1)*rowB+n+slack)
	for i := range a {
		a[i] = float32(i + 1)
	}
	for i := range b {
		b[i] = float32(i%7 - 3)
	}
	for i := len(b) - slack; i < len(b); i++ {
		b[i] = float32(math.NaN()) // does not matter
	}
	const gap = 2
	c := make([]float32, rows*(n+gap))
	for i := range c {
		c[i] = 100
	}
	slider.Add(c[:(rows-1)*(n+gap)+n], n+gap, n, a, rows, b, rowB)
	for i, got := range c {
		row, j, want := i/(n+gap), i%(n+gap), float32(100)
		for l := 0; l < terms && j < n; l++ {
			want += a[l*rows+row] * b[l*rowB+j]
		}
		if got != want {
			t.Fatalf("%d rows of %d sums of %d terms, %d apart, with %d values behind: sum %d of row %d is %v, want %v", rows, n, terms, rowB, slack, j, row, got, want)
		}
	}
}
