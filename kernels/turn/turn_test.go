package turn

import "testing"

// Values come to their places at every length, with and without vector code, nothing else is written, and they come back.
func TestEveryWidth(t *testing.T) {
	before := haveSIMD
	defer func() { haveSIMD = before }()
	for _, haveSIMD = range []bool{before, false} {
		for _, n := range []int{1, 7, 8, 9, 16, 23, 40} {
			for _, step := range []int{1, 2, 3, 5, 6, 8, 12, 16} {
				k := n + 3
				src := make([]float32, (Rows-1)*k+n)
				for i := range src {
					src[i] = float32(i + 1)
				}
				dst := make([]float32, (n-1)*step+Rows+1)
				Aside(dst, step, src, k, n)
				for at, v := range dst {
					i := min(at/step, n-1)
					r, want := at-i*step, float32(0)
					if r < Rows {
						want = src[r*k+i]
					}
					if v != want {
						t.Fatalf("%d values, step %d: value %d is %g, want %g", n, step, at, v, want)
					}
				}
				if step != Rows {
					continue
				}
				back := make([]float32, len(src)+1)
				Back(back, k, dst, n)
				for at, v := range back {
					want := float32(0)
					if at%k < n && at < len(src) {
						want = src[at]
					}
					if v != want {
						t.Fatalf("%d values back: value %d is %g, want %g", n, at, v, want)
					}
				}
			}
		}
	}
}
