package softmax

import (
	"fmt"
	"math"
	"testing"

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
