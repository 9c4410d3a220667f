package gemm

import "fmt"

// SliderRows returns the greatest number of rows that a Slider multiplies at a time on this processor.
func SliderRows() int { return tileRows }

// Slider multiplies a few rows by matrices whose rows overlap, such as a filter's taps by a signal. Only one goroutine at a time
// may use a Slider. Its zero value is ready.
type Slider struct {
	edge [mostTileRows * tileColumns]float32 // sums that would reach beyond C
}

// Add adds to c[i·rowC+j], for each i below rows and j below n, the sum over l of a[l·rows+i]·b[l·rowB+j]. c must not overlap b.
// Add panics if rows is not from 1 to [SliderRows], a is empty or not of whole rows, rowB is negative, rowC is below n where there
// are several rows, c is shorter than (rows−1)·rowC + n, or b is shorter than (len(a)/rows−1)·rowB + n. What b holds behind that
// may be read and does not matter.
func (s *Slider) Add(c []float32, rowC, n int, a []float32, rows int, b []float32, rowB int) {
	if rows < 1 || rows > tileRows || len(a) < 1 || len(a)%rows != 0 || rowB < 0 {
		panic(fmt.Sprintf("gemm: %d values of A in %d rows and rows of B %d apart: want whole rows, 1 to %d, and at least 0 apart", len(a), rows, rowB, tileRows))
	}
	if room := len(c) - n; n < 0 || room < 0 || rows > 1 && (rowC < n || rowC > room/(rows-1)) {
		panic(fmt.Sprintf("gemm: C has %d values, want at least %d·%d + %d", len(c), rows-1, rowC, n))
	}
	terms := len(a) / rows
	last := (terms - 1) * rowB
	if room := len(b) - n; room < 0 || terms > 1 && rowB > room/(terms-1) { // last may have overflowed
		panic(fmt.Sprintf("gemm: B has %d values, want at least %d·%d + %d", len(b), terms-1, rowB, n))
	}
	panels := n / tileColumns
	if panels > 0 {
		multiply(c, rowC, a, b, rowB, tileColumns, rows, terms, panels, true)
	}
	whole := panels * tileColumns
	if whole == n {
		return
	}
	at := whole // of a last panel, which has earlier columns too if B ends with it
	if len(b) < last+at+tileColumns && n >= tileColumns {
		at = n - tileColumns
	}
	if len(b) < last+at+tileColumns {
		for i := range rows {
			for j := range n {
				var sum float32
				for l := range terms {
					sum += a[l*rows+i] * b[l*rowB+j]
				}
				c[i*rowC+j] += sum
			}
		}
		return
	}
	multiply(s.edge[:], tileColumns, a, b[at:], rowB, 0, rows, terms, 1, false)
	for i := range rows {
		put(c[i*rowC+whole:][:n-whole], s.edge[i*tileColumns+whole-at:], true)
	}
}
