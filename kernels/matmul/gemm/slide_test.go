package gemm

import (
	"math"
	"testing"
)

// The sums of lengths around a tile are those of the definition, in memory that ends with the last value and in longer memory,
// and nothing beyond C is written.
func TestSlider(t *testing.T) {
	var slider Slider
	for _, n := range []int{0, 1, 15, 16, 17, 33, 64} {
		for _, terms := range []int{1, 3, 8} {
			for _, rowB := range []int{0, 1, 5} {
				for _, slack := range []int{0, 1, tileColumns} {
					a, b := make([]float32, terms), make([]float32, (terms-1)*rowB+n+slack)
					for i := range a {
						a[i] = float32(i + 1)
					}
					for i := range b {
						b[i] = float32(i%7 - 3)
					}
					for i := len(b) - slack; i < len(b); i++ {
						b[i] = float32(math.NaN()) // does not matter
					}
					c := make([]float32, n+1)
					for i := range c {
						c[i] = 100
					}
					slider.Add(c[:n], a, b, rowB)
					for j := range c {
						want := float32(100)
						for l := 0; l < terms && j < n; l++ {
							want += a[l] * b[l*rowB+j]
						}
						if c[j] != want {
							t.Fatalf("%d sums of %d terms, %d apart, with %d values behind: sum %d is %v, want %v", n, terms, rowB, slack, j, c[j], want)
						}
					}
				}
			}
		}
	}
	for name, call := range map[string]func(){
		"no terms":  func() { slider.Add(make([]float32, 1), nil, make([]float32, 1), 1) },
		"backwards": func() { slider.Add(make([]float32, 1), make([]float32, 1), make([]float32, 1), -1) },
		"a short b": func() { slider.Add(make([]float32, 16), make([]float32, 2), make([]float32, 18), 3) },
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
	c, a, b := make([]float32, 40), make([]float32, 3), make([]float32, 60)
	if allocations := testing.AllocsPerRun(10, func() { slider.Add(c, a, b, 1) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
}
