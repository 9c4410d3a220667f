package kernels

import (
	"fmt"

	"crossover/dispatch"
)

// RowPlan is the typed plan of an operation that computes each row of a matrix from the same row of another matrix. The axes
// of the operation are rows and columns. Its tensors are those of [RowIO]. The parameters fix the number of columns. Only
// one goroutine at a time may use a RowPlan.
//
// An operation on single values has no axis of columns.
type RowPlan[P any] struct {
	*SizedPlan[P]
	columns int
}

// RowIO is the [Op].IO of such an operation: y and x, both rows×columns in float32.
func RowIO[P any](_ P, s Shape) []Tensor {
	matrix := []int{s[0], s[1]}
	return []Tensor{
		{Name: "y", Role: Out, Type: Float32, Dims: matrix, InPlaceOf: "x"},
		{Name: "x", Role: In, Type: Float32, Dims: matrix},
	}
}

// RowLoop returns the loop of such an operation. row computes one row. valuesPerMicrosecond is the number of values that take
// about a microsecond: see [Loop] and [RowsPerMicrosecond].
func RowLoop(columns, valuesPerMicrosecond int, row func(dst, src []float32)) Loop {
	return Loop{
		Rows:           func(s *Shape) int { return s[0] },
		PerMicrosecond: RowsPerMicrosecond(columns, valuesPerMicrosecond),
		Do: func(_ int, _ *Shape, a *Args, lo, hi int) {
			for at := lo * columns; at < hi*columns; at += columns {
				row(a[0][at:at+columns], a[1][at:at+columns])
			}
		},
	}
}

// mostPerMicrosecond is the greatest number of rows that take about a microsecond. On one core of an EPYC of family 25, rows of 8 to 64
// values took 95 to 160 ns in layer norm, 48 to 60 in RMS norm, and 56 to 91 in softmax.
const mostPerMicrosecond = 16

// RowsPerMicrosecond returns how many rows take about a microsecond. A row takes at least a sixteenth of it, however few its values.
func RowsPerMicrosecond(columns, valuesPerMicrosecond int) float64 {
	return min(float64(valuesPerMicrosecond)/float64(columns), mostPerMicrosecond)
}

// FewInRow reports whether rows have so few columns that mostPerMicrosecond decides how they are divided. The pool divides no rows that
// take less than four microseconds.
func FewInRow(rows, columns, valuesPerMicrosecond int) bool {
	return rows >= 4*mostPerMicrosecond && columns*mostPerMicrosecond < valuesPerMicrosecond
}

// NewRowPlan returns a plan for rows of the given number of columns that chooses by d, which may be nil: see [NewPlan]. It
// fails if columns is less than 1.
func NewRowPlan[P any](d *dispatch.Dispatcher, op *Op[P], p P, columns int) (*RowPlan[P], error) {
	if columns < 1 {
		return nil, fmt.Errorf("%s: columns is %d, want at least 1", op.Name, columns)
	}
	return &RowPlan[P]{NewPlan(d, op, p).Along(0, Shape{1: columns}), columns}, nil
}

// NewElementPlan returns a plan for single values, of an operation whose only axis is the number of values.
func NewElementPlan[P any](d *dispatch.Dispatcher, op *Op[P], p P) *RowPlan[P] {
	return &RowPlan[P]{NewPlan(d, op, p).Along(0, Shape{}), 1}
}

// Apply computes the rows of dst from those of src. Both are rows×columns, row-major. dst may be src itself and must not
// overlap it otherwise. Apply allocates nothing once an implementation has run twice at a number of rows. An implementation
// on a GPU remembers only the last few numbers of rows. Apply panics if the lengths differ or are not a multiple of the
// number of columns. It fails if every implementation does.
func (p *RowPlan[P]) Apply(dst, src []float32) error {
	Made(p.SizedPlan)
	if len(dst) != len(src) {
		panic(fmt.Sprintf("%s: dst has %d values, want as many as src, %d", p.plan.op.Name, len(dst), len(src)))
	}
	if len(src)%p.columns != 0 {
		panic(fmt.Sprintf("%s: %d values, want a multiple of the number of columns, %d", p.plan.op.Name, len(src), p.columns))
	}
	return RunSized(p.SizedPlan, len(src)/p.columns, &Args{dst, src})
}

// RowProgram returns the [Program] of the plans that build makes.
func RowProgram[P any](build func(d *dispatch.Dispatcher, p P) (*RowPlan[P], error)) Program[P] {
	return NewProgram(build, func(plan *RowPlan[P], _ Shape, a *Args) error { return plan.Apply(a[0], a[1]) })
}
