package kernels

import (
	"fmt"

	"crossover/dispatch"
)

// RowPlan is the typed plan of an operation that makes each row of a matrix of the same row of another one: its axes are
// the rows and the columns, and its tensors are those of [RowIO]. The parameters settle the columns. It is for one
// goroutine at a time.
//
// Where the rows are single values, there is no axis of columns.
type RowPlan[P any] struct {
	*SizedPlan[P]
	columns int
}

// RowIO is the IO of such an operation.
func RowIO[P any](_ P, s Shape) []Tensor {
	matrix := []int{s[0], s[1]}
	return []Tensor{
		{Name: "y", Role: Out, Type: Float32, Dims: matrix},
		{Name: "x", Role: In, Type: Float32, Dims: matrix},
	}
}

// RowLoop is the loop of such an operation, where one row depends on nothing else. leastValues take some tenths of a
// microsecond.
func RowLoop(columns, leastValues int, row func(dst, src []float32)) Loop {
	return Loop{
		Rows:  func(s *Shape) int { return s[0] },
		Least: leastValues / columns,
		Do: func(_ int, _ *Shape, a *Args, lo, hi int) {
			for at := lo * columns; at < hi*columns; at += columns {
				row(a[0][at:at+columns], a[1][at:at+columns])
			}
		},
	}
}

// NewRowPlan returns a plan for rows of so many columns that chooses by d; d may be nil. It fails where there are none.
func NewRowPlan[P any](d *dispatch.Dispatcher, op *Op[P], p P, columns int) (*RowPlan[P], error) {
	if columns < 1 {
		return nil, fmt.Errorf("%s: columns is %d, want at least 1", op.Name, columns)
	}
	return &RowPlan[P]{NewPlan(d, op, p).Along(0, Shape{1: columns}), columns}, nil
}

// NewElementPlan returns a plan for rows of one value, of an operation whose only axis is their number.
func NewElementPlan[P any](d *dispatch.Dispatcher, op *Op[P], p P) *RowPlan[P] {
	return &RowPlan[P]{NewPlan(d, op, p).Along(0, Shape{}), 1}
}

// Apply computes the rows of dst from those of src. Both are rows×columns, row-major; dst may be src itself and must not
// overlap it otherwise. Apply allocates nothing once an implementation has been used at a number of rows; a GPU's
// remembers a few of them. It panics where the lengths differ or are no multiple of the number of columns, and fails
// where every implementation does.
func (p *RowPlan[P]) Apply(dst, src []float32) error {
	if len(dst) != len(src) {
		panic(p.plan.op.Name + ": dst and src differ in length")
	}
	if len(src)%p.columns != 0 {
		panic(p.plan.op.Name + ": length is not a multiple of the number of columns")
	}
	return RunSized(p.SizedPlan, len(src)/p.columns, Args{dst, src})
}

// RowProgram returns the Program of the plans that build makes.
func RowProgram[P any](build func(d *dispatch.Dispatcher, p P) (*RowPlan[P], error)) Program[P] {
	return NewProgram(build, func(plan *RowPlan[P], _ Shape, a *Args) error { return plan.Apply(a[0], a[1]) })
}
