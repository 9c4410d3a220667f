package kernels

import (
	"fmt"

	"crossover/dispatch"
)

// RowPlan is the typed plan of an operation that makes each row of a matrix of the same row of another one: its axes are
// the rows and the columns, and its tensors are those of [RowIO]. The parameters settle the columns. It is for one
// goroutine at a time.
type RowPlan[P any] struct {
	columns int
	plan    *Plan[P]
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
	plan, err := NewPlan(d, op, p)
	if err != nil {
		return nil, err
	}
	return &RowPlan[P]{columns, plan}, nil
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
	if len(src) == 0 {
		return nil
	}
	return p.plan.Run(p.shape(len(src)/p.columns), Args{dst, src})
}

func (p *RowPlan[P]) shape(rows int) Shape { return Shape{rows, p.columns} }

// Explain gives the reason for the implementation that Apply uses for a number of rows.
func (p *RowPlan[P]) Explain(rows int) dispatch.Explanation { return p.plan.Explain(p.shape(rows)) }

// Close releases what the implementations hold. The garbage collector does the same for a plan that is dropped.
func (p *RowPlan[P]) Close() { p.plan.Close() }

// RowProgram returns what calls the plans that build makes as a program does.
func RowProgram[P any](build func(d *dispatch.Dispatcher, p P) (*RowPlan[P], error)) Program[P] {
	return func(d *dispatch.Dispatcher, p P) (func(s Shape, a *Args) error, error) {
		plan, err := build(d, p)
		return func(_ Shape, a *Args) error { return plan.Apply(a[0], a[1]) }, err
	}
}
