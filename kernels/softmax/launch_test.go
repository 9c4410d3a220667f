package softmax

import (
	"fmt"
	"math"
	"testing"

	"crossover/kernels/kerneltest"
)

func TestStrategyFor(t *testing.T) {
	for _, test := range []struct {
		rows, columns int
		want          strategy
	}{
		{1, 1, strategy{"simdgroup_rows", 32, 1, 1, 1}},
		{100, 100, strategy{"simdgroup_rows", 128, 1, 4, 1}},
		{100, 99, strategy{"simdgroup_rows", 128, 4, 4, 1}},
		{3, 512, strategy{"simdgroup_rows", 96, 4, 3, 1}},
		{3, 516, strategy{"threadgroup_rows", 96, 2, 1, 1}},
		{1, 1024, strategy{"threadgroup_rows", 128, 2, 1, 1}},
		{1, 1023, strategy{"threadgroup_rows", 64, 16, 1, 1}},
		{1, 4096, strategy{"threadgroup_rows", 512, 2, 1, 1}},
		{1, 8192, strategy{"threadgroup_rows", 512, 4, 1, 1}},
		{1, 16 << 10, strategy{"threadgroup_rows", 512, 8, 1, 1}},
		{fewRows, 32 << 10, strategy{"chunk_statistics", 512, 2, 1, 8}},
		{fewRows + 1, 32 << 10, strategy{"threadgroup_rows", 1024, 8, 1, 1}},
		{fewRows + 1, 32<<10 - 1, strategy{"threadgroup_rows", 1024, 32, 1, 1}},
		{fewRows + 1, 32<<10 + 1, strategy{"chunk_statistics", 512, 8, 1, 9}},
	} {
		width := 1
		if test.columns%4 == 0 {
			width = 4
		}
		if got := strategyFor(test.rows, test.columns/width, width); got != test.want {
			t.Errorf("%d rows of %d columns: %+v, want %+v", test.rows, test.columns, got, test.want)
		}
	}
}

// TestLaunchSpecialRows computes special rows by each of the three kernels. The rows are padded with entries of weight 0. If
// rows are cut into chunks, some chunks have only such entries.
func TestLaunchSpecialRows(t *testing.T) {
	for _, columns := range []int{40, 41, 1028, threadgroupColumns + 8} {
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
