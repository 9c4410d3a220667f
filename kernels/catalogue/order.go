package catalogue

import (
	"cmp"
	"math"
	"strings"
	"sync"

	"crossover/kernels"
)

// Compare orders the names of cases for a reader: as the catalogue lists them, each case before the same one in other
// placements. A case that the catalogue does not have stands behind the others of its operation, or where that is unknown
// too, at the end; several such cases stand in the order of their names.
func Compare(a, b string) int {
	p, q := placeOf(a), placeOf(b)
	return cmp.Or(cmp.Compare(p.operation, q.operation), cmp.Compare(p.line, q.line), cmp.Compare(a, b))
}

// place is where a name stands in the catalogue.
type place struct{ operation, line int }

func placeOf(name string) place {
	if known, ok := places()[name]; ok {
		return known
	}
	operation, _, _ := strings.Cut(name, "/")
	for known, p := range places() {
		if of, _, _ := strings.Cut(known, "/"); of == operation {
			return place{p.operation, math.MaxInt}
		}
	}
	return place{math.MaxInt, 0}
}

// places are those of all cases in all placements.
var places = sync.OnceValue(func() map[string]place {
	all := map[string]place{}
	for n, operation := range operations {
		line := 0
		for _, c := range operation.Cases(kernels.Here()) {
			for _, placement := range []kernels.Placement{kernels.Caller, kernels.Shared, kernels.Resident} {
				all[c.Placed(placement).Name] = place{n, line}
				line++
			}
		}
	}
	return all
})
