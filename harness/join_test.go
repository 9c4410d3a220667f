package harness

import (
	"math"
	"slices"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/timings"
)

// oneCase returns a run of one case with one block. The run began a number of seconds after a fixed time.
func oneCase(second int, seconds float64) *Run {
	set := &timings.Set{Case: "sum", Implementations: []string{"a"}, Blocks: []timings.Block{
		{Size: 64, Seconds: []float64{seconds}, Iterations: []int{10}, Twin: -1},
	}}
	return &Run{
		Entry: calibration.Host{
			ID: "host", Created: time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC),
			Cases: []calibration.Case{{Name: "sum", Blocks: 1}},
		},
		Timings: map[string]*timings.Set{"sum": set},
	}
}

// In a joined entry each case has each run once, and each run belongs to a case. That also holds for equal runs and equal
// samples.
func TestJoinTakesARunOnce(t *testing.T) {
	none := func(string) bool { return false }
	for name, c := range map[string]struct {
		older, newer *Run
		runs         int
	}{
		"another run":                   {oneCase(1, 1e-6), oneCase(2, 2e-6), 1},
		"the same run":                  {oneCase(1, 1e-6), oneCase(1, 1e-6), 0},
		"other samples of the same run": {oneCase(1, 1e-6), oneCase(1, 2e-6), 0},
		"the same samples of another":   {oneCase(1, 1e-6), oneCase(2, 1e-6), 0},
	} {
		j := Join(c.older, c.newer, none, none)
		if again := Join(c.older, j, none, none); len(again.Entry.Cases[0].Earlier) != c.runs || len(again.Entry.Runs) != c.runs {
			t.Errorf("%s: joined twice there are %d runs and %d earlier ones, want %d", name, len(again.Entry.Runs), len(again.Entry.Cases[0].Earlier), c.runs)
		}
		if len(j.Entry.Runs) != c.runs || len(j.Entry.Cases[0].Earlier) != c.runs || len(j.Earlier["sum"]) != c.runs {
			t.Errorf("%s: %d runs, %d earlier ones, want %d", name, len(j.Entry.Runs), len(j.Entry.Cases[0].Earlier), c.runs)
		}
	}
}

// Only the newest run of a case keeps what a GPU measured. Joined again, the run before is still known as the same.
func TestEarlierRunsKeepNoTimesOfGPUs(t *testing.T) {
	none := func(string) bool { return false }
	run := func(second int, seconds float64) *Run {
		r := oneCase(second, seconds)
		r.Timings["sum"].Blocks[0].SetTimesOnGPU(0, timings.GPUTimes{Busy: seconds / 2})
		return r
	}
	older := run(1, 1e-6)
	j := Join(older, Join(older, run(2, 2e-6), none, none), none, none)
	if _, told := j.Timings["sum"].Blocks[0].TimesOnGPU(0); !told {
		t.Error("the newest run lost what the GPU measured")
	}
	if n := len(j.Earlier["sum"]); n != 1 {
		t.Fatalf("%d earlier runs, want 1", n)
	}
	earlier := j.Earlier["sum"][0]
	if _, told := earlier.Blocks[0].TimesOnGPU(0); told || earlier.Blocks[0].Seconds[0] != 1e-6 {
		t.Errorf("the earlier run has %+v, want its time and nothing of a GPU", earlier.Blocks[0])
	}
	if got, want := j.Entry.Cases[0].Earlier[0].Samples, earlier.Digest(); got != want {
		t.Errorf("the entry says that the samples are %s, and they are %s", got, want)
	}
	if _, told := older.Timings["sum"].Blocks[0].TimesOnGPU(0); !told {
		t.Error("the joined run itself was changed")
	}
}

// What a newer run measured of a kept case stands behind the older run's times, before those of earlier runs, without the blocks
// that were measured while the machine was not quiet.
func TestANewerRunStandsBehindAKeptCase(t *testing.T) {
	none, all := func(string) bool { return false }, func(string) bool { return true }
	older := Join(oneCase(1, 1e-6), oneCase(2, 2e-6), none, none)
	newer := oneCase(3, 3e-6)
	newer.Timings["sum"].Blocks = append(newer.Timings["sum"].Blocks, newer.Timings["sum"].Blocks[0], newer.Timings["sum"].Blocks[0])
	newer.Timings["sum"].Blocks[0].Disturbed, newer.Timings["sum"].Blocks[1].Crowded = true, true
	j := Join(older, newer, all, none)
	firsts := func(j *Run) (seconds []float64) {
		for _, set := range j.History("sum") {
			seconds = append(seconds, set.Blocks[0].Seconds[0])
		}
		return seconds
	}
	if got, want := firsts(j), []float64{2e-6, 3e-6, 1e-6}; !slices.Equal(got, want) {
		t.Errorf("the runs begin with %v, want %v", got, want)
	}
	if n := len(j.Earlier["sum"][0].Blocks); n != 1 {
		t.Errorf("%d blocks of the newer run, want the quiet one", n)
	}
	if run := j.Entry.EarlierRun(j.Entry.Cases[0].Earlier[0]); !run.Created.Equal(newer.Entry.Created) {
		t.Errorf("the newer run's times are said to be of %v", run.Created)
	}
	if again := Join(Join(j, oneCase(4, 4e-6), none, none), newer, all, none); len(again.Earlier["sum"]) != 3 || len(again.Earlier["sum"][1].Blocks) != 1 {
		t.Errorf("joined again, there are %d other runs", len(again.Earlier["sum"]))
	}
	newer.Timings["sum"].Blocks = newer.Timings["sum"].Blocks[:2]
	for name, j := range map[string]*Run{"nothing quiet": Join(older, newer, all, none), "forgotten": Join(older, oneCase(3, 3e-6), all, all)} {
		if got, want := firsts(j), []float64{2e-6, 1e-6}; !slices.Equal(got, want) {
			t.Errorf("%s: the runs begin with %v, want %v", name, got, want)
		}
	}
}

// A run that was the first one keeps all of its blocks if it is joined again behind a better one.
func TestARunThatIsKnownKeepsItsBlocks(t *testing.T) {
	none, all := func(string) bool { return false }, func(string) bool { return true }
	known := oneCase(1, 1e-6)
	known.Timings["sum"].Blocks = append(known.Timings["sum"].Blocks, known.Timings["sum"].Blocks[0])
	known.Timings["sum"].Blocks[0].Disturbed = true
	j := Join(Join(known, oneCase(2, 2e-6), none, none), known, all, none)
	if n := len(j.Earlier["sum"]); n != 1 || len(j.Earlier["sum"][0].Blocks) != 2 {
		t.Errorf("%d other runs, the first with %d blocks, want one with 2", n, len(j.Earlier["sum"][0].Blocks))
	}
}

// Short runs do not push out longer ones of a case that has as many runs as are kept.
func TestAShortRunPushesOutNoLongOne(t *testing.T) {
	none, all := func(string) bool { return false }, func(string) bool { return true }
	long := func(second, blocks int) *Run {
		r := oneCase(second, 1e-6*float64(second))
		for len(r.Timings["sum"].Blocks) < blocks {
			r.Timings["sum"].Blocks = append(r.Timings["sum"].Blocks, r.Timings["sum"].Blocks[0])
		}
		return r
	}
	joined := long(1, 9)
	for second := 2; second <= MostRuns; second++ {
		joined = Join(joined, long(second, 9), none, none)
	}
	for blocks, oldest := range map[int]float64{4: 1e-6, 5: 2e-6} {
		j := Join(joined, long(MostRuns+1, blocks), all, none)
		history := j.History("sum")
		if got := history[len(history)-1].Blocks[0].Seconds[0]; len(history) != MostRuns || got != oldest {
			t.Errorf("after a run of %d blocks, the oldest of %d runs took %v s, want %v", blocks, len(history), got, oldest)
		}
	}
}

// A run of sizes that the others know pushes out no run that knows another one. It stands behind them as long as there is room.
func TestARunOfKnownSizesPushesOutNoOther(t *testing.T) {
	none, all := func(string) bool { return false }, func(string) bool { return true }
	of := func(second int, sizes ...int) *Run {
		r := oneCase(second, 1e-6*float64(second))
		block := r.Timings["sum"].Blocks[0]
		r.Timings["sum"].Blocks = nil
		for _, size := range sizes {
			block.Size = size
			r.Timings["sum"].Blocks = append(r.Timings["sum"].Blocks, block)
		}
		r.Entry.Cases[0].Blocks = len(sizes)
		return r
	}
	seconds := func(j *Run) (all []int) {
		for _, set := range j.History("sum") {
			all = append(all, int(math.Round(1e6*set.Blocks[0].Seconds[0])))
		}
		return all
	}
	joined := of(1, 64, 128)
	for second := 2; second <= MostRuns; second++ {
		if second == 3 {
			joined = Join(joined, of(second, 64), none, none)
		} else {
			joined = Join(joined, of(second, 64, 64<<second), none, none)
		}
	}
	joined = Join(joined, of(7, 64, 96), none, none)
	if got, want := seconds(joined), []int{7, 6, 5, 4, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("after a run of a new size there are the runs %v, want %v", got, want)
	}
	for name, c := range map[string]struct {
		newer *Run
		kept  func(string) bool
		want  []int
		why   string
	}{
		"a known size, as the main run":   {of(8, 64), none, []int{8, 7, 6, 5, 4, 2}, ""},
		"a known size, behind the others": {of(8, 64), all, []int{7, 6, 5, 4, 2, 1}, "6 runs know its sizes"},
		"a new size, behind the others":   {of(8, 80), all, []int{7, 8, 6, 5, 4, 2}, ""},
	} {
		if got := seconds(Join(joined, c.newer, c.kept, none)); !slices.Equal(got, c.want) {
			t.Errorf("%s: there are the runs %v, want %v", name, got, c.want)
		}
		if why := joined.NothingToAdd(&c.newer.Entry.Cases[0], &joined.Entry.Cases[0], c.newer.Timings["sum"], nil); c.why != "" && why != c.why {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
	}
}
