package harness

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/timings"
)

// shaped is a run as switching makes it, of a, b and c, which also has shapes of the operation. c is of a revision.
func shaped(second, at, revision int) *Run {
	r := switching(second, at, "a", "b", "c")
	r.Timings["sum"].SetRevision("c", revision)
	r.Entry.Cases[0].Operation = "sum"
	set := &timings.Set{Case: "sum", Implementations: []string{"a", "b", "c"}, Axes: []string{"n", "m"}, Shapes: map[int][]int{}}
	set.SetRevision("c", revision)
	for n := range 4 {
		shape := 100*second + n
		set.Shapes[shape] = []int{second, 1 + n}
		set.Blocks = append(set.Blocks, timings.Block{
			Size: shape, Visit: n, Twin: -1, Seconds: []float64{1e-6, 2e-6, 3e-6}, Iterations: []int{1, 1, 1},
		})
	}
	r.Entry.Operations = []calibration.Operation{{Name: "sum", Placement: "caller", Axes: []calibration.Axis{{Name: "n"}, {Name: "m"}}}}
	r.Shapes = map[string]*timings.Set{"sum": set}
	return r
}

// timesOf returns how many times of each implementation sets have.
func timesOf(sets ...*timings.Set) []int {
	n := make([]int, 3)
	for _, set := range sets {
		for _, b := range set.Blocks {
			for i := range n {
				if b.Timed(i) {
					n[i]++
				}
			}
		}
	}
	return n
}

// Once an implementation has another revision, its times of earlier runs are left out, of cases and of shapes. So are those of
// the others at sizes and shapes at which it was near the fastest one: at all here. One line says so, and only when it happens.
func TestJoinLeavesOutTimesOfOtherRevisions(t *testing.T) {
	none := func(string) bool { return false }
	older := Join(shaped(1, 300, 0), shaped(2, 400, 0), none, none)
	if len(older.Changes) != 0 || !reflect.DeepEqual(timesOf(older.Earlier["sum"]...), []int{42, 42, 42}) || !reflect.DeepEqual(timesOf(older.Shapes["sum"]), []int{8, 8, 8}) {
		t.Fatalf("of one revision: %q, times %v of the case, %v of shapes", older.Changes, timesOf(older.Earlier["sum"]...), timesOf(older.Shapes["sum"]))
	}
	j := Join(older, shaped(3, 500, 1), none, none)
	if want := []string{"sum: c changed since the run of 2026-01-01: its earlier times are left out"}; !slices.Equal(j.Changes, want) {
		t.Errorf("%q is said, want %q", j.Changes, want)
	}
	if got := timesOf(j.Earlier["sum"]...); !reflect.DeepEqual(got, []int{0, 0, 0}) || len(j.Earlier["sum"]) != 0 {
		t.Errorf("%d earlier runs with times %v, want none", len(j.Earlier["sum"]), got)
	}
	if got := timesOf(j.Timings["sum"]); !reflect.DeepEqual(got, []int{42, 42, 42}) {
		t.Errorf("the newest run has times %v", got)
	}
	if got := timesOf(j.Shapes["sum"]); !reflect.DeepEqual(got, []int{4, 4, 4}) { // c was near the fastest at the others
		t.Errorf("shapes have times %v, want 4 each", got)
	}
	if j.Timings["sum"].Revisions["c"] != 1 || j.Shapes["sum"].Revisions["c"] != 1 {
		t.Errorf("the times are of the revisions %v and %v", j.Timings["sum"].Revisions, j.Shapes["sum"].Revisions)
	}
	if got := timesOf(older.Timings["sum"]); !reflect.DeepEqual(got, []int{42, 42, 42}) {
		t.Errorf("the older run itself has lost times: %v", got)
	}
	next := Join(j, shaped(4, 600, 1), none, none)
	if len(next.Changes) != 0 || !reflect.DeepEqual(timesOf(next.Earlier["sum"]...), []int{42, 42, 42}) || !reflect.DeepEqual(timesOf(next.Shapes["sum"]), []int{8, 8, 8}) {
		t.Errorf("another run of the revision: %q, times %v of the case, %v of shapes", next.Changes, timesOf(next.Earlier["sum"]...), timesOf(next.Shapes["sum"]))
	}
	for k, e := range next.Entry.Cases[0].Earlier {
		if set := next.Earlier["sum"][k]; e.Samples != set.Digest() || e.Blocks != len(set.Blocks) {
			t.Errorf("earlier run %d: the entry names other samples", k)
		}
	}
}

// Whether a change concerns times is judged by the processors of the machine that took them, whatever this process may use.
func TestJoinJudgesByTheProcessorsOfTheTimes(t *testing.T) {
	none := func(string) bool { return false }
	op := &kernels.Op[struct{}]{Name: "sum", Axes: []kernels.Axis{{Name: "n", Min: 1, Max: 1 << 20}},
		Lines: []kernels.Line{{Axis: kernels.Axis{Name: "n", Min: 1, Max: 1 << 20}, At: func(n int) kernels.Shape { return kernels.Shape{n} }}},
		By: []kernels.Makers[struct{}]{kernels.RevisedOn(1, func(_ kernels.Shape, processors int) bool { return processors >= 4 },
			kernels.Named("c", func(*kernels.Backends, struct{}) (kernels.Runner, error) { return nil, nil }))}}
	for name, test := range map[string]struct {
		cores int
		at    *calibration.Sentinel
		want  bool
	}{
		"of two": {2, nil, false}, "of sixteen": {16, nil, true}, "of sixteen, two used": {16, &calibration.Sentinel{Processors: 2}, true},
		"of two, with GOMAXPROCS=8": {2, &calibration.Sentinel{Processors: 8}, true},
	} {
		older, newer := shaped(1, 300, 0), shaped(2, 400, 1)
		older.Entry.Facts.Cores, older.Entry.Environment.Sentinel = test.cores, test.at
		newer.Declare(op.Cases(kernels.Here()), nil)
		if lost := len(Join(older, newer, none, none).Changes) > 0; lost != test.want {
			t.Errorf("%s: the change concerns the times: %v, want %v", name, lost, test.want)
		}
		changed := changedSince([]calibration.Implementation{{Name: "c"}}, newer.Declared("sum"), older.Entry.Processors()) != ""
		if changed != test.want {
			t.Errorf("%s: choices cannot be checked: %v, want %v", name, changed, test.want)
		}
	}
}

// A change that concerns some sizes and shapes leaves the others, which are of the new revision then.
func TestJoinLeavesOutTimesThatHaveChanged(t *testing.T) {
	none := func(string) bool { return false }
	const greatest = 200 // that the change concerns
	concerns := func(s kernels.Shape) bool { return s[0] <= greatest && s[1] <= 2 }
	op := &kernels.Op[struct{}]{Name: "sum", Axes: []kernels.Axis{{Name: "n", Min: 1, Max: 1 << 20}, {Name: "m", Min: 1, Max: 99}},
		Lines: []kernels.Line{{Axis: kernels.Axis{Name: "n", Min: 1, Max: 1 << 20}, At: func(n int) kernels.Shape { return kernels.Shape{n, 1} }}},
		Work:  func(kernels.Shape, string) kernels.Work { return kernels.Work{} },
		By: []kernels.Makers[struct{}]{kernels.RevisedAt(1, concerns, kernels.Named("c", func(*kernels.Backends, struct{}) (kernels.Runner, error) {
			return nil, nil
		}))}}
	newer := shaped(2, 400, 1)
	newer.cases = op.Cases(&kernels.Backends{})
	newer.cases[0].Name = "sum"
	newer.cases[0].Implementations[0].Probe = func() error { return errors.New("it need not be in all runs") }
	older := shaped(1, 300, 0)
	sizes := older.Timings["sum"].Sizes()
	j := Join(older, newer, none, none)
	if want := []string{"sum: c changed since the run of 2026-01-01: some of its earlier times are left out"}; !slices.Equal(j.Changes, want) {
		t.Errorf("%q is said, want %q", j.Changes, want)
	}
	var left []int
	for _, size := range sizes {
		if size > greatest {
			left = append(left, size)
		}
	}
	earlier := j.Earlier["sum"][0]
	if got := earlier.Sizes(); len(left) == 0 || len(left) == len(sizes) || !slices.Equal(got, left) || earlier.Revisions["c"] != 1 {
		t.Errorf("of sizes %v, %v are left, of revision %d, want %v of 1", sizes, got, earlier.Revisions["c"], left)
	}
	newer.Before = older
	if before := newer.before(&newer.cases[0]); len(before) != 1 || !slices.Equal(before[0].Sizes(), left) {
		t.Errorf("a planner knows %v of sizes %v, want %v", before, sizes, left)
	}
	space := op.Space(&kernels.Backends{}, kernels.Caller)
	if known := len(newer.shapesBefore(space).Sizes()); known != 2 {
		t.Errorf("a planner knows %d shapes, want 2", known)
	}
	unconcerned := shaped(1, 300, 0)
	unconcerned.Timings["sum"].Blocks = slices.DeleteFunc(unconcerned.Timings["sum"].Blocks, func(b timings.Block) bool { return b.Size <= greatest })
	unconcerned.Shapes["sum"].Blocks = unconcerned.Shapes["sum"].Blocks[2:]
	if j := Join(unconcerned, newer, none, none); len(j.Changes) != 0 {
		t.Errorf("%q is said of a run that the change does not concern", j.Changes)
	}
	// Shapes 1×1 to 1×4 of the older run: those of one and two columns have changed.
	if got := timesOf(j.Shapes["sum"]); !reflect.DeepEqual(got, []int{6, 6, 6}) {
		t.Errorf("shapes have times %v, want 6 each", got)
	}
	// A case that stays keeps all times, and they are of the new revision if no change concerns them. So a poorer run is no better one.
	all := func(string) bool { return true }
	for concerned, revision := range map[bool]int{true: 0, false: 1} {
		stays := unconcerned
		if concerned {
			stays = older
		}
		stays.Entry.Cases[0].Implementations = []calibration.Implementation{{Name: "c"}}
		before := len(stays.Timings["sum"].Blocks)
		j := Join(stays, newer, all, none)
		if got := j.Timings["sum"]; len(got.Blocks) != before || got.Revisions["c"] != revision || j.Entry.Cases[0].Implementations[0].Revision != revision {
			t.Errorf("a case that stays, concerned %v: %d blocks of revision %d, in the entry %d, want %d of %d", concerned, len(got.Blocks), got.Revisions["c"],
				j.Entry.Cases[0].Implementations[0].Revision, before, revision)
		}
		if stays.Timings["sum"].Revisions["c"] != 0 || stays.Entry.Cases[0].Implementations[0].Revision != 0 {
			t.Error("the older run itself was changed")
		}
	}
	narrowed := newer.cases[0]
	narrowed.Axis.Min = greatest + 1
	is := &calibration.Case{Blocks: 1, Implementations: []calibration.Implementation{{Name: "c", Revision: 1}}}
	was := &calibration.Case{Blocks: 9, Segments: []calibration.Segment{{}}, Implementations: []calibration.Implementation{{Name: "c"}}}
	if Poorer(is, was, &narrowed, 2) == "" || Poorer(is, was, &newer.cases[0], 2) != "" {
		t.Error("a change of other sizes makes a poorer run a better one, or one of these does not")
	}
	// A program knows nothing of the changes between other revisions than its own.
	another := shaped(3, 500, 2)
	another.DeclaredAs(newer)
	if j := Join(shaped(1, 300, 0), another, none, none); !slices.Equal(j.Changes, []string{"sum: c changed since the run of 2026-01-01: its earlier times are left out"}) {
		t.Errorf("%q is said of a run of another program", j.Changes)
	}
	// The choices on a line that a change does not concern can still be checked.
	recorded := []calibration.Implementation{{Name: "c"}}
	c := newer.cases[0]
	if changedSince(recorded, &c, 2) == "" {
		t.Error("the line has changed, and nothing is said")
	}
	if c.Axis.Min = greatest + 1; changedSince(recorded, &c, 2) != "" {
		t.Errorf("%s, though nothing on the line has changed", changedSince(recorded, &c, 2))
	}
}

// What is kept or forgotten as a whole has nothing that could be left out.
func TestJoinKeepsAndForgetsWholeCases(t *testing.T) {
	none, all := func(string) bool { return false }, func(string) bool { return true }
	kept := Join(shaped(1, 300, 0), shaped(2, 400, 1), all, none)
	if len(kept.Changes) != 0 || !reflect.DeepEqual(timesOf(kept.Timings["sum"]), []int{42, 42, 42}) {
		t.Errorf("kept: %q, times %v", kept.Changes, timesOf(kept.Timings["sum"]))
	}
	if forgot := Join(shaped(1, 300, 0), shaped(2, 400, 1), none, all); len(forgot.Changes) != 0 || len(forgot.Earlier["sum"]) != 0 {
		t.Errorf("forgotten: %q, %d earlier runs", forgot.Changes, len(forgot.Earlier["sum"]))
	}
}

// An earlier run that keeps no block is no run of the case any more.
func TestJoinLeavesOutEmptyRuns(t *testing.T) {
	none := func(string) bool { return false }
	of := func(second, revision int) *Run {
		r := switching(second, 300, "a", "b")
		r.Timings["sum"].SetRevision("b", revision)
		return r
	}
	j := Join(of(1, 0), of(2, 1), none, none)
	if len(j.Earlier["sum"]) != 0 || len(j.Entry.Runs) != 0 || len(j.Changes) != 1 || strings.Contains(j.Changes[0], "\n") {
		t.Errorf("%d earlier runs, %q", len(j.Earlier["sum"]), j.Changes)
	}
}

// A surface is not fitted to the times that a case, or another placement, has of an implementation before it changed.
func TestPointsAreOfOneRevision(t *testing.T) {
	for name, revision := range map[string]int{"same": 1, "before": 0} {
		r := shaped(1, 300, 1)
		r.Entry.Operations = append(r.Entry.Operations, r.Entry.Operations[0])
		r.Entry.Operations[1].Placement = "shared"
		for k := range r.Entry.Operations {
			r.Entry.Operations[k].Surface.Axes = []string{"n", "m"}
			r.Entry.Operations[k].Implementations = []calibration.Implementation{
				{Name: "a", Processor: "cpu"}, {Name: "b", Processor: "cpu"}, {Name: "c", Processor: "cpu"},
			}
		}
		other := shaped(2, 300, revision)
		r.Shapes["sum/shared"], r.Timings["sum"] = other.Shapes["sum"], other.Timings["sum"]
		o, names := &r.Entry.Operations[0], []string{"a", "b", "c"}
		for _, p := range append(r.pointsOfPlacements(o, names), r.pointsOfCases(o, names)...) {
			if timed := p.LogSeconds[2] == p.LogSeconds[2]; timed != (revision == 1) || p.LogSeconds[0] != p.LogSeconds[0] {
				t.Errorf("%s: the times at %v are %v", name, p.Shape, p.LogSeconds)
			}
		}
		if n := len(r.pointsOfPlacements(o, names)); n != 4 {
			t.Errorf("%s: %d points of the other placement, want 4", name, n)
		}
		if n := len(r.pointsOfCases(o, names)); n != 7 {
			t.Errorf("%s: %d points of the case, want 7", name, n)
		}
	}
}

// A choice among implementations of which one has changed is not checked.
func TestChangedSince(t *testing.T) {
	recorded := []calibration.Implementation{{Name: "go"}, {Name: "fftw", Revision: 2}, {Name: "cuda", Excluded: "no GPU"}, {Name: "gone", Revision: 7}}
	for want, now := range map[string][3]int{
		"": {0, 2, 5},
		"unmeasured: fftw changed since the calibration (go run ./cmd/calibrate measures again)":     {0, 3, 0},
		"unmeasured: go, fftw changed since the calibration (go run ./cmd/calibrate measures again)": {1, 0, 0},
	} {
		c := &kernels.Case{Implementations: []kernels.Implementation{
			{Name: "go", Revision: now[0]}, {Name: "fftw", Revision: now[1]}, {Name: "cuda", Revision: now[2]},
		}}
		if got := changedSince(recorded, c, 2); got != want {
			t.Errorf("%v: %q, want %q", now, got, want)
		}
	}
}

// A result of another program is not better, unless the present one is of an earlier revision.
func TestResultsOfAnEarlierRevisionDoNotStay(t *testing.T) {
	result := func(blocks, revision int, excluded string) *calibration.Case {
		return &calibration.Case{Blocks: blocks, Segments: []calibration.Segment{{}}, Implementations: []calibration.Implementation{
			{Name: "go"}, {Name: "fftw", Revision: revision, Excluded: excluded},
		}}
	}
	for name, c := range map[string]struct {
		now, before *calibration.Case
		want        string
	}{
		"the same":          {result(10, 1, ""), result(100, 1, ""), "it has fewer blocks"},
		"raised":            {result(10, 2, ""), result(100, 1, ""), ""},
		"an earlier one":    {result(10, 0, ""), result(100, 1, ""), "it has fewer blocks"},
		"did not compete":   {result(10, 2, ""), result(100, 1, "no library"), "it has fewer blocks"},
		"nothing, and none": {result(0, 2, ""), result(100, 1, ""), "nothing was measured"},
	} {
		if got := Poorer(c.now, c.before, nil, 2); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
