package catalogue

import (
	"slices"
	"testing"

	"crossover/kernels"
)

func TestCompare(t *testing.T) {
	names := []string{
		"zeta/n=1", "scale/shared", "fft/n=1024,resident", "alpha", "fft/n=1024,shared", "softmax/columns=7", "sum",
		"fft/n=1024", "scale", "softmax/columns=1024", "fft/batch=1", "softmax/columns=3", "softmax/columns=1024,shared",
	}
	want := []string{
		"scale", "scale/shared", "sum", "fft/batch=1", "fft/n=1024", "fft/n=1024,shared", "fft/n=1024,resident",
		"softmax/columns=1024", "softmax/columns=1024,shared", "softmax/columns=3", "softmax/columns=7", // 3 and 7 are no lines
		"alpha", "zeta/n=1",
	}
	slices.SortFunc(names, Compare)
	if !slices.Equal(names, want) {
		t.Errorf("the order is %q, want %q", names, want)
	}
}

// What a sweep measures first, a reader finds first.
func TestCompareAgreesWithTheSweep(t *testing.T) {
	cases := withPlacements(Cases(kernels.Here()), true, true)
	for k := range cases[1:] {
		if a, b := cases[k].Name, cases[k+1].Name; Compare(a, b) >= 0 {
			t.Errorf("%s is measured before %s and stands behind it", a, b)
		}
	}
}
