package softmax

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

func newTestLaunch(t *testing.T, d *gpu.Device, columns int) *launch {
	t.Helper()
	e, err := newLaunch(d, Params{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.(*launch).plans.Close)
	return e.(*launch)
}

// TestLaunchEveryWidth has rows of each kind, in whole vectors and in single values: a simdgroup's, a threadgroup's and
// in chunks, and one past each of them; shared as one row is, and as many are.
func TestLaunchEveryWidth(t *testing.T) {
	device := emulator.Open(t)
	for _, columns := range []int{
		1, 2, 3, 4, 31, 32, 33, 100, 255, simdgroupColumns, simdgroupColumns + 1, 1000, 1023, 1024, 4096, 4099,
		fewRowsWholeUpTo, fewRowsWholeUpTo + 1, threadgroupColumns - 4, threadgroupColumns - 1, threadgroupColumns,
		threadgroupColumns + 1, 50_257, 100 << 10,
	} {
		for _, test := range []struct{ rows, sharedAs int }{
			{1, 1}, {2 * simdgroups, 2 * simdgroups}, {simdgroups + 1, fewRows + 1},
		} {
			rows := test.rows
			if columns > 4096 {
				rows = min(rows, 2) // much to emulate, and no threadgroup has more than one row
			}
			t.Run(fmt.Sprintf("%dx%d as %d", rows, columns, test.sharedAs), func(t *testing.T) {
				width := 1
				if columns%4 == 0 {
					width = 4
				}
				p, err := newPlan(device, rows, columns, width, strategyFor(test.sharedAs, columns/width, width))
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				x := p.x.Floats()
				kernels.Noise(x, uint64(columns))
				for i := range x {
					x[i] *= 20
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(p.y.Floats(), Reference(x, columns)); !(e <= 3e-7) {
					t.Errorf("relative error %.2g", e)
				}
			})
		}
	}
}

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

func TestLaunchPyTorch(t *testing.T) {
	x, want := readArray[float32](t, "testdata/rows_x.npy"), readArray[float64](t, "testdata/softmax.npy")
	e := newTestLaunch(t, emulator.Open(t), 1000)
	got := make([]float32, len(x))
	if err := e.apply(got, x); err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(got, want); !(e <= 3e-7) {
		t.Errorf("relative error %.2g", e)
	}
}

func TestWarmLaunchDoesNotAllocate(t *testing.T) {
	if underRace() {
		t.Skip("a library call allocates under the race detector")
	}
	e := newTestLaunch(t, emulator.Open(t), 1000)
	x := make([]float32, 3*1000)
	if allocs := testing.AllocsPerRun(5, func() { _ = e.apply(x, x) }); allocs != 0 && !emulator.Racing() {
		t.Errorf("%v allocations a call", allocs)
	}
}

// underRace reports whether the race detector is in this binary. Under it sync.Pool drops items at random, and the
// calls into libraries that draw their frames from one allocate.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestLaunchSpecialRows has the special rows in each of the three kernels: padded with entries that have no weight, and
// where the row is cut into chunks, with chunks of nothing else.
func TestLaunchSpecialRows(t *testing.T) {
	device := emulator.Open(t)
	for _, columns := range []int{40, 41, 1028, threadgroupColumns + 8} {
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
			e := newTestLaunch(t, device, columns)
			got := make([]float32, columns)
			if err := e.apply(got, x); err != nil {
				t.Fatal(err)
			}
			checkSpecial(t, fmt.Sprintf("%d columns, %s", columns, test.name), got, want)
		}
	}
}

// A threadgroup must not read what its simdgroups found out before it is there.
func TestLaunchNeedsItsBarriers(t *testing.T) {
	device := emulator.Open(t)
	const barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
	whole := text
	defer func() { text = whole }()
	pieces := strings.Split(whole, barrier)
	if len(pieces) < 2 {
		t.Fatal("there is no barrier to remove")
	}
	for i := 1; i < len(pieces); i++ {
		text = strings.Join(pieces[:i], barrier) + strings.Join(pieces[i:], barrier)
		caught := false
		for _, columns := range []int{4096, threadgroupColumns + 4} {
			p := newProblem(1, Params{columns})
			call, err := newTestLaunch(t, device, columns).bind(p.x)
			if err != nil {
				t.Fatal(err)
			}
			err = call.Run()
			caught = caught || err != nil || kernels.RelativeError(call.Output(), p.Reference()) > 1e-5
			call.Release()
		}
		if !caught {
			t.Errorf("nothing fails without barrier %d of %d", i, len(pieces)-1)
		}
	}
}
