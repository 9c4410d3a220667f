package gemm

import "fmt"

// Slider multiplies a row by matrices whose rows overlap, such as a filter's taps by a signal. Only one goroutine at a time may
// use a Slider. Its zero value is ready.
type Slider struct {
	edge [tileColumns]float32 // sums that would reach beyond C
}

// Add adds to c[j], for each j, the sum over l of a[l]·b[l·rowB+j]. c must not overlap b. Add panics if a is empty, rowB is
// negative, or b is shorter than (len(a)−1)·rowB + len(c). What b holds behind that is read and does not matter.
func (s *Slider) Add(c, a, b []float32, rowB int) {
	if len(a) < 1 || rowB < 0 {
		panic(fmt.Sprintf("gemm: %d values of A and rows %d apart: want at least 1, and rows at least 0 apart", len(a), rowB))
	}
	last := (len(a) - 1) * rowB
	if room := len(b) - len(c); room < 0 || len(a) > 1 && rowB > room/(len(a)-1) { // last may have overflowed
		panic(fmt.Sprintf("gemm: B has %d values, want at least %d·%d + %d", len(b), len(a)-1, rowB, len(c)))
	}
	for len(c) >= tileColumns {
		multiply(c, tileColumns, a, b, rowB, 1, len(a), true)
		c, b = c[tileColumns:], b[tileColumns:]
	}
	switch {
	case len(c) == 0:
	case len(b) >= last+tileColumns:
		multiply(s.edge[:], tileColumns, a, b, rowB, 1, len(a), false)
		put(c, s.edge[:], true)
	default:
		for j := range c {
			var sum float32
			for l, v := range a {
				sum += v * b[l*rowB+j]
			}
			c[j] += sum
		}
	}
}
