package softmax

import (
	"fmt"
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/rowwise"
)

// TestLaunchSpecialRows computes special rows by each of the three kernels. The rows are padded with entries of weight 0. If
// rows are cut into chunks, some chunks have only such entries.
func TestLaunchSpecialRows(t *testing.T) {
	for _, columns := range []int{40, 41, 1028, rowwise.ThreadgroupColumns + 8} {
		p := kerneltest.Plans(t, &Op, Params{columns})[kerneltest.EmulatorName]
		if p == nil {
			t.Skip("no C++ compiler for the emulator")
		}
		for _, test := range specialRows {
			x, want := make([]float32, columns), make([]float32, columns)
			for i := range x {
				x[i] = -inf
				if math.IsNaN(float64(test.want[0])) {
					want[i] = nan
				}
			}
			// One entry lies in the first chunk and the others in the last one.
			x[0], want[0] = test.x[0], test.want[0]
			copy(x[columns-len(test.x)+1:], test.x[1:])
			copy(want[columns-len(test.x)+1:], test.want[1:])
			got := make([]float32, columns)
			apply(t, p, got, x, columns)
			checkSpecial(t, fmt.Sprintf("%d columns, %s", columns, test.name), got, want)
		}
	}
}

// TestLong has rows that one threadgroup reads twice in part, with special ones among them. The emulated GPU has one core.
func TestLong(t *testing.T) {
	for _, columns := range []int{2*longThreads*longValues + 4, longThreads*longValues + 1} {
		p := kerneltest.Plans(t, &Op, Params{columns})[kerneltest.EmulatorName]
		if p == nil {
			t.Skip("no C++ compiler for the emulator")
		}
		const rows = rowwise.FewRows + 1
		x, got := make([]float32, rows*columns), make([]float32, rows*columns)
		kernels.Noise(x, 1)
		for i := range x {
			x[i] *= 20
		}
		x[columns-1], x[columns] = 200, 300
		for i := range columns {
			x[2*columns+i], x[3*columns+i] = -inf, -300
		}
		x[3*columns-1], x[4*columns+7], x[5*columns+7], x[6*columns-1] = -300, nan, inf, nan
		for i := range longThreads {
			x[3*columns+i] = -inf
		}
		want := Reference(x, columns)
		apply(t, p, got, x, columns)
		for r := range rows {
			row := want[r*columns : (r+1)*columns]
			if math.IsNaN(row[0]) {
				for i, v := range got[r*columns : (r+1)*columns] {
					if !math.IsNaN(float64(v)) {
						t.Fatalf("%d columns, row %d: element %d is %v, want NaN", columns, r, i, v)
					}
				}
			} else if e := kernels.RelativeError(got[r*columns:(r+1)*columns], row); !(e <= 3e-7) {
				t.Errorf("%d columns, row %d: relative error %.2g", columns, r, e)
			}
		}
	}
	for _, test := range []struct {
		rows, columns, cores int
		want                 bool
	}{
		{256, 128 << 10, 132, true}, {140, 128 << 10, 132, false}, {256, 32 << 10, 132, false}, {32, 128 << 10, 10, false},
		{1000, 128 << 10, 132, true}, {256, 1 << 20, 132, false}, {40, 128 << 10, 10, true},
	} {
		if got := long(test.rows, test.columns, test.cores); got != test.want {
			t.Errorf("long(%d, %d, %d) is %v", test.rows, test.columns, test.cores, got)
		}
	}
}
