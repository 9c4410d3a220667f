package kerneltest

import (
	"testing"

	"crossover/kernels"
)

// Shapes compares one implementation on the given backends with the reference at the given shapes.
func Shapes[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, implementation string, shapes ...kernels.Shape) {
	t.Helper()
	for _, s := range shapes {
		problem := op.Problem(b, s, kernels.Caller, generated())
		call, err := problem.Bind(implementation)
		if err != nil {
			t.Fatalf("%s at %v: %v", implementation, s, err)
		}
		if err := call.Run(); err != nil {
			t.Errorf("%s at %v: %v", implementation, s, err)
		} else if off, most := call.ErrorAgainst(problem.Reference()), allowed(op, b, implementation, s); !(off <= most) {
			t.Errorf("%s at %v: error %.2g, allowed %.2g", implementation, s, off, most)
		}
		call.Release()
		kernels.Release(problem)
	}
}

// Programs calls every implementation of this machine through the typed plan, at a size of each line, and compares it with
// the reference.
func Programs[P any](t *testing.T, op *kernels.Op[P], program kernels.Program[P], size int) {
	t.Helper()
	for _, c := range kernels.Listed(op, program).Cases(kernels.Here()) {
		both, _ := c.WithPrograms()
		n := c.Axis.Nearest(size)
		problem := both.Problem(n, generated())
		want := problem.Reference()
		for _, i := range both.Implementations {
			if _, isProgram := kernels.ProgramOf(i.Name); !isProgram || i.Missing() != nil {
				continue
			}
			call, err := problem.Bind(i.Name)
			if err != nil {
				t.Errorf("%s, %s: %v", c.Name, i.Name, err)
				continue
			}
			if err := call.Run(); err != nil {
				t.Errorf("%s, %s: %v", c.Name, i.Name, err)
			} else if off, allowed := call.ErrorAgainst(want), c.Allowed(i.Name, n); !(off <= allowed) {
				t.Errorf("%s, %s: error %.2g, allowed %.2g", c.Name, i.Name, off, allowed)
			}
			call.Release()
		}
		kernels.Release(problem)
	}
}
