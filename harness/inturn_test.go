package harness

import (
	"slices"
	"testing"

	"crossover/kernels"
)

// Neighbours in a list often have the same program, which one processor compiles while others that ask for it wait.
func TestKernelsOfCasesAreCompiledInTurn(t *testing.T) {
	of := func(name string, sizes ...int) (list []kernel) {
		return kernelsOf(&kernels.Case{Name: name}, sizes, []string{"cuda"})
	}
	var got []string
	for _, k := range inTurn([][]kernel{of("a", 1, 2, 3), nil, of("b", 1), of("c", 1, 2)}) {
		got = append(got, k.of.Name+string(rune('0'+k.size)))
	}
	if want := []string{"a1", "b1", "c1", "a2", "c2", "a3"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}
