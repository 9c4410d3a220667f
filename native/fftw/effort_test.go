package fftw

import (
	"fmt"
	"testing"
	"time"
)

func TestEffort(t *testing.T) {
	const measured, pruned = flagNoIndirectOp, flagNoIndirectOp | flagAllowPruning
	for _, tc := range []struct {
		n, batch int
		d        direction
		want     uint32
	}{
		{1, 1, toBins, measured},
		{128, 1, toBins, measured},
		{128, 16, toSamples, measured},
		{129, 1, toBins, measured},
		{130, 1, toBins, pruned},
		{1000, 16, toBins, pruned},
		{1000, 1, toSamples, pruned},
		{1000, 2, toSamples, measured},
		{1000, 1, ofComplex, measured},
		{4096, 1, ofComplex, measured},
		{4096, 1, toBins, pruned},
		{4097, 1, toBins, flagEstimate},
		{8191, 1, ofComplex, flagEstimate},
		{8192, 1, ofComplex, measured},
		{16384, 1, toBins, pruned},
		{32768, 1, toBins, flagEstimate},
		{1 << 30, 1, ofComplex, flagEstimate},
	} {
		if got := effort(tc.n, tc.batch, tc.d); got != tc.want {
			t.Errorf("effort of %d rows of %d, direction %d: flags %#x, want %#x", tc.batch, tc.n, tc.d, got, tc.want)
		}
	}
}

// took returns how long it takes to make a plan, and closes the plan.
func took(t testing.TB, ask func() (interface{ Close() }, error)) time.Duration {
	t.Helper()
	start := time.Now()
	p, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	passed := time.Since(start)
	p.Close()
	return passed
}

// BenchmarkPlan makes the first plan of a length.
func BenchmarkPlan(b *testing.B) {
	needLibrary(b)
	for _, n := range []int{128, 480, 1024, 2400, 4096, 4410, 16384, 100003} {
		for _, batch := range []int{1, 16} {
			for name, ask := range map[string]func() (interface{ Close() }, error){
				"forward": func() (interface{ Close() }, error) { return NewReal(n, batch, 1) },
				"inverse": func() (interface{ Close() }, error) { return NewInverseReal(n, batch, 1) },
				"complex": func() (interface{ Close() }, error) { return NewComplex(n, batch, 1, false) },
			} {
				b.Run(fmt.Sprintf("of=%s/n=%d/batch=%d", name, n, batch), func(b *testing.B) {
					for b.Loop() {
						Forget()
						took(b, ask)
					}
				})
			}
		}
	}
}
