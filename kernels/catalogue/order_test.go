package catalogue_test

import (
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/catalogue"
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
	slices.SortFunc(names, catalogue.Compare)
	if !slices.Equal(names, want) {
		t.Errorf("the order is %q, want %q", names, want)
	}
}

// What a sweep measures first, a reader finds first.
func TestCompareAgreesWithTheSweep(t *testing.T) {
	var cases []kernels.Case // in the order of TestPlacements
	for _, c := range catalogue.Cases(kernels.Here()) {
		cases = append(cases, c, c.Placed(kernels.Shared), c.Placed(kernels.Resident))
	}
	for k := range cases[1:] {
		if a, b := cases[k].Name, cases[k+1].Name; catalogue.Compare(a, b) >= 0 {
			t.Errorf("%s is measured before %s and stands behind it", a, b)
		}
	}
}

// Programs choose by cases alone where an operation has no space. They do not know how costly the nodes of a stage are, so its
// space does not help them.
func TestCasesThatAreAlone(t *testing.T) {
	b := kernels.Here()
	for _, c := range catalogue.Placed(b) {
		inSpace := slices.ContainsFunc(catalogue.Spaces(b), func(s *kernels.Space) bool { return s.Operation == c.Operation })
		if want := !inSpace || c.Operation == "stage-graph"; c.Alone != want {
			t.Errorf("%s is alone: %v, want %v", c.Name, c.Alone, want)
		}
	}
}
