package main

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// record is the shapes that a program called, as --shapes has them.
type record struct {
	shapes []harness.Asked // that can be checked here

	left   int   // number of the others
	calls  int64 // of those
	reason error // the first one
}

// readRecord reads the file of --shapes. Shapes of no operation, and what the file cannot mean, are errors. Shapes that cannot
// be checked here are left out: the file may be from another machine.
func readRecord(path string, spaces []*kernels.Space) (*record, error) {
	called, err := command.ReadShapes(path)
	if err != nil {
		return nil, err
	}
	if len(called) == 0 {
		return nil, command.Usage("--shapes %s: no shape in it (want lines such as fft/n=441,batch=64 1000)", path)
	}
	r := &record{}
	for _, c := range called {
		shape, whole, err := catalogue.ReadShape(c.Name)
		if err != nil {
			return nil, command.Usage("--shapes %s:%d: %.80q: %v", path, c.Line, c.Name, err)
		}
		in, err := spaceOf(spaces, shape, whole)
		if err != nil {
			r.leave(c.Calls, fmt.Errorf("%.80s: %w", c.Name, err))
			continue
		}
		r.shapes = append(r.shapes, harness.Asked{Name: c.Name, Case: in, Shape: shape.Values, Calls: c.Calls})
	}
	return r, nil
}

// spaceOf returns the name of the space in which a shape is measured.
func spaceOf(spaces []*kernels.Space, shape catalogue.Shape, whole bool) (string, error) {
	if !whole {
		return "", fmt.Errorf("an axis has no value")
	}
	for _, s := range spaces {
		if s.Operation == shape.Operation && s.Placement == shape.Placement {
			var values kernels.Shape
			copy(values[:], shape.Values)
			return s.Case.Name, s.Affordable(values)
		}
	}
	return "", fmt.Errorf("only operations with several axes have shapes to check, in memory of the %s and in shared memory if there is a GPU", kernels.Caller)
}

// leave counts a shape that is left out.
func (r *record) leave(calls int64, reason error) {
	r.left++
	r.calls += min(calls, math.MaxInt64-r.calls)
	r.reason = cmp.Or(r.reason, reason)
}

// warn says what was left out.
func (r *record) warn(stderr io.Writer) {
	if r.left > 0 {
		warn(stderr, []string{fmt.Sprintf("left out %s with %s: %v", command.Plural(r.left, "shape"), calls(r.calls), r.reason)})
	}
}
