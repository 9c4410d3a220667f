package fftw

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"
)

// complexRows returns batch rows of n complex values, and their transforms by the definition in float64.
func complexRows(n, batch int, inverse bool) (values []complex64, want []complex128) {
	samples, _ := rows(n, 2*batch)
	for i := range n * batch {
		values = append(values, complex(samples[2*i], samples[2*i+1]))
	}
	sign := -2 * math.Pi
	if inverse {
		sign = -sign
	}
	for row := range batch {
		for k := range n {
			var sum complex128
			for j, x := range values[row*n:][:n] {
				sum += complex128(x) * cmplx.Rect(1, sign*float64(j*k%n)/float64(n))
			}
			want = append(want, sum)
		}
	}
	return values, want
}

func TestComplex(t *testing.T) {
	needLibrary(t)
	for _, tc := range []struct{ n, batch, threads, offset int }{
		{1, 1, 1, 0}, {2, 1, 1, 0}, {15, 1, 1, 1}, {64, 3, 1, 0}, {64, 3, 1, 1}, {29, 2, 1, 0}, {256, 64, 2, 0}, {256, 64, 2, 1},
	} {
		for _, inverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v,inverse=%v", tc, inverse), func(t *testing.T) {
				if err := ProbeThreads(); tc.threads > 1 && err != nil {
					t.Skip(err)
				}
				plan, err := NewComplex(tc.n, tc.batch, tc.threads, inverse)
				if err != nil {
					t.Fatal(err)
				}
				defer plan.Close()
				values, want := complexRows(tc.n, tc.batch, inverse)
				// With an offset, rows lack the alignment that the plan needs.
				src := append(make([]complex64, tc.offset), values...)[tc.offset:]
				dst := make([]complex64, len(want)+tc.offset)[tc.offset:]
				plan.Transform(dst, src)
				if e := relativeError(dst, want); e > 3e-7 {
					t.Errorf("relative error %.2g, want at most 3e-7", e)
				}
				if !slices.Equal(src, values) {
					t.Error("the input has changed")
				}
				if got := testing.AllocsPerRun(5, func() { plan.Transform(dst, src) }); got != 0 && tc.threads == 1 {
					t.Errorf("%v allocations a call, want 0", got)
				}
			})
		}
	}
}

func TestComplexRefusals(t *testing.T) {
	needLibrary(t)
	if _, err := NewComplex(0, 1, 1, false); err == nil {
		t.Error("a plan of rows of nothing was made")
	}
	before := settled(0)
	plan, err := NewComplex(8, 1, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := Live() - before; got != 1 {
		t.Errorf("one plan counts as %d", got)
	}
	mustPanic(t, "short src", func() { plan.Transform(make([]complex64, 8), make([]complex64, 7)) })
	mustPanic(t, "short dst", func() { plan.Transform(make([]complex64, 7), make([]complex64, 8)) })
	plan.Close()
	plan.Close()
	if got := Live() - before; got != 0 {
		t.Errorf("%d plans live after Close", got)
	}
	mustPanic(t, "closed plan", func() { plan.Transform(make([]complex64, 8), make([]complex64, 8)) })
}
