package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/kernels/softmax"
	"crossover/sweeps"
	"crossover/thresholds/surfaces"
	"crossover/timings"
)

// operationOf returns an operation with two axes, and times of two implementations that cross. If luck is above 0, the times
// have a random factor that differs from shape to shape.
func operationOf(name string, luck float64) (calibration.Operation, *timings.Set) {
	rng := rand.New(rand.NewPCG(1, 3))
	set := &timings.Set{Case: name, Implementations: []string{"go", "go-parallel"}, Axes: []string{"rows", "columns"}, Shapes: map[int][]int{}}
	for size := 1; size <= 60; size++ {
		shape := []int{1 + rng.IntN(1000), 1 + rng.IntN(1000)}
		set.Shapes[size] = shape
		serial, factor := 1e-9*float64(shape[0]*shape[1]), math.Exp(luck*rng.NormFloat64())
		for range 4 {
			set.Blocks = append(set.Blocks, timings.Block{
				Size: size, Visit: size, Twin: -1, Iterations: []int{1, 1},
				Seconds: []float64{1e-7 + serial, factor * (3e-6 + serial/2)},
			})
		}
	}
	s := surface.Surface{Axes: set.Axes}
	for _, weights := range [][]float64{{1, 0}, {0, 1}, {1, 1}} {
		s.Features = append(s.Features, surface.Feature{Kind: surface.Logarithm, Weights: weights})
	}
	return calibration.Operation{
		Name: name, Placement: "caller", Axes: []calibration.Axis{{Name: "rows"}, {Name: "columns"}}, Surface: s,
		Implementations: []calibration.Implementation{{Name: "go", Processor: "cpu"}, {Name: "go-parallel", Processor: "cpu"}},
	}, set
}

// heldOutOf fits operations, each with its luck, and returns their held-out results.
func heldOutOf(t *testing.T, lucks ...float64) []calibration.HeldOut {
	t.Helper()
	r := &Run{Shapes: map[string]*timings.Set{}}
	for k, luck := range lucks {
		o, set := operationOf(fmt.Sprintf("operation-%d", k), luck)
		r.Entry.Operations = append(r.Entry.Operations, o)
		r.Shapes[set.Case] = set
	}
	if err := r.fitShapes(context.Background()); err != nil {
		t.Fatal(err)
	}
	var all []calibration.HeldOut
	for _, o := range r.Entry.Operations {
		all = append(all, o.HeldOut)
	}
	return all
}

// Each shape is held out, or is judged by a fit without it. The bounds of an operation without losses are above its regret,
// and are higher beside an operation with losses.
func TestPromisesOfOperations(t *testing.T) {
	alone := heldOutOf(t, 0)[0]
	beside := heldOutOf(t, 0.5, 0)
	for name, h := range map[string]calibration.HeldOut{"alone": alone, "beside": beside[1], "unlucky": beside[0]} {
		if h.Shapes+h.Crossed != 60 || h.Shapes < 5 || h.Shapes > 25 {
			t.Errorf("%s: %d shapes held out and %d crossed, of 60", name, h.Shapes, h.Crossed)
		}
		if !(h.RegretUpper > h.Regret && h.WithinLower < 1 && h.NineInTenUpper >= 0) {
			t.Errorf("%s: bounds of %+v", name, h)
		}
	}
	if b := beside[1]; !(b.Regret == alone.Regret && b.RegretUpper > alone.RegretUpper) {
		t.Errorf("regret %v, at most %v, and beside an operation that loses %v, at most %v", alone.Regret, alone.RegretUpper, b.Regret, b.RegretUpper)
	}
	if alone.RegretUpper > 0.01 {
		t.Errorf("regret is at most %v by %d shapes and %d crossed ones without a loss", alone.RegretUpper, alone.Shapes, alone.Crossed)
	}
	if unlucky := beside[0]; !(unlucky.Regret > 0 && unlucky.NineInTenUpper > 0.1) {
		t.Errorf("times that follow no rule: %+v", unlucky)
	}
}

// Choices at asked shapes rest on the times measured there, so no prediction is judged at these shapes.
func TestAskedShapesJudgeNothing(t *testing.T) {
	o, set := operationOf("asked", 0)
	for _, size := range []int{3, 11, 29} {
		o.Asked = append(o.Asked, calibration.Asked{Shape: set.Shapes[size], Calls: 1})
	}
	slices.SortFunc(o.Asked, func(a, b calibration.Asked) int { return slices.Compare(a.Shape, b.Shape) })
	r := &Run{Shapes: map[string]*timings.Set{"asked": set}}
	r.Entry.Operations = []calibration.Operation{o}
	if err := r.fitShapes(context.Background()); err != nil {
		t.Fatal(err)
	}
	if h := r.Entry.Operations[0].HeldOut; h.Shapes+h.Crossed != 57 {
		t.Errorf("%d shapes held out and %d crossed, of 57 that nobody asked for", h.Shapes, h.Crossed)
	}
}

// The surface of the entry is fitted to all shapes, after the choices were judged at those that are held out.
func TestSurfaceOfAllShapes(t *testing.T) {
	o, set := operationOf("whole", 0)
	r := &Run{Shapes: map[string]*timings.Set{"whole": set}}
	r.Entry.Operations = []calibration.Operation{o}
	if err := r.fitShapes(context.Background()); err != nil {
		t.Fatal(err)
	}
	whole := &r.Entry.Operations[0]
	fitted := slices.Collect(slices.Chunk(whole.Surface.Shapes, 2))
	if len(fitted) != 60 {
		t.Errorf("%d shapes are fitted, of 60", len(fitted))
	}
	for shape := range slices.Chunk(whole.HeldOut.Points, 2) {
		if !slices.ContainsFunc(fitted, func(of []int) bool { return slices.Equal(of, shape) }) {
			t.Errorf("%v is held out and not fitted", shape)
		}
	}
}

// Choices at held-out shapes are judged by a fit without them. Here the fastest implementation follows no rule, and so the
// choices lose about as much as guesses.
func TestHeldOutShapesAreUnknown(t *testing.T) {
	o, set := operationOf("unknown", 0)
	rng := rand.New(rand.NewPCG(5, 6))
	slower := map[int]int{}
	for size := range set.Shapes {
		set.Shapes[size] = []int{1 << (size % 8), 1 << (size / 8)}
	}
	for size := 1; size <= 60; size++ {
		slower[size] = rng.IntN(2)
	}
	for k := range set.Blocks {
		b := &set.Blocks[k]
		b.Seconds = []float64{1e-5, 1e-5}
		b.Seconds[slower[b.Size]] *= 1.5
	}
	r := &Run{Shapes: map[string]*timings.Set{"unknown": set}}
	r.Entry.Operations = []calibration.Operation{o}
	if err := r.fitShapes(context.Background()); err != nil {
		t.Fatal(err)
	}
	if h := r.Entry.Operations[0].HeldOut; h.Shapes < 5 || h.Regret < 0.08 {
		t.Errorf("choices at %d held-out shapes lose %v, want about 0.2", h.Shapes, h.Regret)
	}
}

// A bound that rests on other shapes does not contradict the result at the held-out shapes.
func TestBoundsAreOnTheirSide(t *testing.T) {
	seen := surfaces.Judged{Shapes: [][]int{{1, 2}, {3, 4}}, Losses: []float64{0.2, 0.4}, Mean: 0.3, Within: 0, Worst: 0.4, WorstAt: []int{3, 4}}
	h := heldOut(seen, 50, surfaces.Promise{Mean: 0.01, Within: 0.9, NineInTen: 0.1})
	if h.RegretUpper != h.Regret || h.WithinLower != 0 || h.Crossed != 50 || math.Abs(h.NineInTenUpper-math.Expm1(0.1)) > 1e-6 {
		t.Errorf("%+v", h)
	}
	if nothing := heldOut(surfaces.Judged{}, 50, surfaces.Promise{Mean: 0.01}); nothing.Crossed != 0 || nothing.RegretUpper != 0 {
		t.Errorf("of no shape held out: %+v", nothing)
	}
}

// TestRounded tests that the numbers of a surface are short in the file, and that predicted times hardly change.
func TestRounded(t *testing.T) {
	o, set := operationOf("linear", 0.1)
	fit, err := surfaces.New(&surfaces.Problem{
		Axes: o.Surface.Axes, Features: o.Surface.Features, Implementations: set.Implementations, Points: surfaces.Points(set, set.Shape),
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fit.Surface)
	if err != nil {
		t.Fatal(err)
	}
	var short surface.Surface
	if err := json.Unmarshal(text, &short); err != nil {
		t.Fatal(err)
	}
	round(&short)
	before, after := surface.NewPredictor(fit.Surface), surface.NewPredictor(&short)
	rng := rand.New(rand.NewPCG(2, 3))
	worst := 0.0
	for range 1000 {
		shape := []int{1 + rng.IntN(1000), 1 + rng.IntN(1000)}
		var x, y [2]float64
		before.Predict(shape, x[:])
		after.Predict(shape, y[:])
		worst = max(worst, math.Abs(x[0]-y[0]), math.Abs(x[1]-y[1]))
	}
	if worst == 0 || worst > 1e-3 {
		t.Errorf("predicted times change by %.2g, want some change of at most 0.1 %%", worst)
	}
	for _, i := range short.Implementations {
		for k, w := range i.Weights {
			if number := fmt.Sprint(w); len(number) > len("-0.0000")+1 || number == "-0" {
				t.Errorf("weight %d of %s is %s", k, i.Name, number)
			}
		}
	}
}

func TestThinned(t *testing.T) {
	points := make([]surfaces.Point, 100)
	for i := range points {
		points[i].Shape = []int{1 + i}
	}
	for most, want := range map[int]int{-5: 0, 0: 0, 1: 1, 30: 30, 99: 99, 100: 100, 500: 100} {
		few := thinned(points, most)
		if len(few) != want {
			t.Errorf("%d of 100 points, want %d", len(few), want)
		}
		for i := 1; i < len(few); i++ {
			if gap := few[i].Shape[0] - few[i-1].Shape[0]; gap < 1 || gap > 1+100/want {
				t.Errorf("at most %d: points %v and %v", most, few[i-1].Shape, few[i].Shape)
			}
		}
	}
}

// An operation whose samples are all taken back, because each of its implementations turned out to be wrong, is not in the
// entry, as it has no file.
func TestShapesAreTakenBack(t *testing.T) {
	space := softmax.Op.Space(kernels.Here(), kernels.Caller)
	size := space.Add(kernels.Shape{3, 768})
	result := &sweeps.Result{Case: &space.Case, Samples: timings.Set{
		Case: space.Case.Name, Implementations: []string{"go"},
		Blocks: []timings.Block{{Size: size, Twin: -1, Iterations: []int{1}, Seconds: []float64{1e-6}}},
	}}
	r := &Run{Shapes: map[string]*timings.Set{}}
	r.takeShapes(space, result)
	if len(r.Entry.Operations) != 1 || len(r.Shapes) != 1 {
		t.Fatalf("%d operations and %d samples, want 1", len(r.Entry.Operations), len(r.Shapes))
	}
	result.Samples.Blocks = nil
	r.takeShapes(space, result)
	if len(r.Entry.Operations) != 0 || len(r.Shapes) != 0 {
		t.Errorf("%d operations and %d samples, want none", len(r.Entry.Operations), len(r.Shapes))
	}
}

// An operation is degraded if the machine was quiet in none of the runs that measured its shapes.
func TestShapesOfARestlessMachine(t *testing.T) {
	space := softmax.Op.Space(kernels.Here(), kernels.Caller)
	run := func(columns int, degraded bool) *Run {
		size := space.Add(kernels.Shape{3, columns})
		r := &Run{Shapes: map[string]*timings.Set{}}
		r.takeShapes(space, &sweeps.Result{Case: &space.Case, Degraded: degraded, Samples: timings.Set{
			Case: space.Case.Name, Implementations: []string{"go"},
			Blocks: []timings.Block{{Size: size, Twin: -1, Iterations: []int{1}, Seconds: []float64{1e-6}}},
		}})
		return r
	}
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	for _, c := range []struct{ older, newer, fresh, want bool }{
		{true, true, false, true}, {true, false, false, false}, {false, true, false, false}, {false, true, true, true},
	} {
		fresh := none
		if c.fresh {
			fresh = all
		}
		if j := Join(run(100, c.older), run(200, c.newer), none, fresh); j.Entry.Operations[0].Degraded != c.want {
			t.Errorf("%+v: degraded is %v", c, !c.want)
		}
	}
}

// Operations of a family are measured at different shapes, and so are placements of an operation.
func TestShapesOfAFamilyDiffer(t *testing.T) {
	r := &Run{options: Options{Seed: 7}}
	of := map[string]string{}
	elsewhere := *fft.Op.Space(kernels.Here(), kernels.Caller) // of a machine with a GPU
	elsewhere.Placement, elsewhere.Case.Name = kernels.Shared, elsewhere.Case.Name+"/shared"
	for _, space := range []*kernels.Space{
		fft.Op.Space(kernels.Here(), kernels.Caller), fft.InverseOp.Space(kernels.Here(), kernels.Caller),
		fft.ComplexOp.Space(kernels.Here(), kernels.Caller), &elsewhere,
	} {
		for _, shape := range r.spread(space).First(12) {
			if key := fmt.Sprint(shape); of[key] != "" && of[key] != space.Case.Name {
				t.Errorf("%s is a shape of %s and of %s", key, of[key], space.Case.Name)
			} else {
				of[key] = space.Case.Name
			}
		}
	}
}

// An operation of which an implementation has changed is spread over its shapes as a new one, before a fit is believed.
func TestAChangedOperationBeginsAnew(t *testing.T) {
	space := softmax.Op.Space(kernels.Here(), kernels.Caller)
	revision, _ := revisionOf(&space.Case)("go-parallel")
	for changed, anew := range map[int]bool{0: false, 1: true} {
		_, set := operationOf(space.Case.Name, 0)
		set.Axes, set.Implementations = space.Case.Axes, []string{"go", "go-parallel", "cuda"}
		for n := range set.Blocks {
			b := &set.Blocks[n]
			b.Seconds, b.Iterations = []float64{b.Seconds[0], 20 * b.Seconds[0], 2 * b.Seconds[0]}, []int{1, 1, 1}
		}
		set.SetRevision("go-parallel", revision+changed)
		r := &Run{Before: &Run{Shapes: map[string]*timings.Set{space.Case.Name: set}}, Shapes: map[string]*timings.Set{}}
		// The worth of a visit is at least 1 as long as first shapes are spread.
		if _, _, worth := r.spread(space).Next(&timings.Set{Implementations: set.Implementations}); (worth >= 1) != anew {
			t.Errorf("of %d shapes, with the revision raised by %d, the next visit has a worth of %v", len(set.Sizes()), changed, worth)
		}
	}
}

// A surface is fitted to what all runs of a case measured on its line: at a size of two runs, to the median of both.
func TestPointsOfAllRunsOfACase(t *testing.T) {
	times := func(seconds map[int]float64) *timings.Set {
		set := &timings.Set{Case: "sum", Implementations: []string{"a", "b"}}
		for _, size := range []int{100, 200} {
			if s, ok := seconds[size]; ok {
				set.Blocks = append(set.Blocks, timings.Block{Size: size, Twin: -1, Iterations: []int{1, 1}, Seconds: []float64{s, 2 * s}})
			}
		}
		return set
	}
	r := &Run{
		Entry: calibration.Host{Cases: []calibration.Case{{
			Name: "sum", Operation: "sum", Implementations: []calibration.Implementation{{Name: "a"}, {Name: "b"}},
		}}},
		Timings: map[string]*timings.Set{"sum": times(map[int]float64{100: 1})},
		Earlier: map[string][]*timings.Set{"sum": {times(map[int]float64{100: 4, 200: 5})}},
	}
	points := r.pointsOfCases(&calibration.Operation{Name: "sum", Placement: "caller", Axes: []calibration.Axis{{Name: "n"}}}, []string{"b"})
	if len(points) != 2 || points[0].Shape[0] != 100 || points[1].Shape[0] != 200 {
		t.Fatalf("points %v, want one at 100 and one at 200", points)
	}
	for k, want := range []float64{4, 10} { // √(2·8), and 10 of the earlier run alone
		if got := math.Exp(points[k].LogSeconds[0]); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %d: %v s, want %v", points[k].Shape[0], got, want)
		}
	}
}

// The surface of an operation is also fitted to the points of its family in the same placement, and to nothing of others. Times
// of implementations that the other operation excludes do not count.
func TestPointsOfFamily(t *testing.T) {
	r := &Run{Shapes: map[string]*timings.Set{}}
	for _, name := range []string{"own", "inverse", "other", "elsewhere"} {
		o, set := operationOf(name, 0)
		o.Family = map[string]string{"other": "another"}[name]
		if o.Family == "" {
			o.Family = "transforms"
		}
		if name == "inverse" {
			o.Implementations[1].Excluded = "wrong results"
		}
		if name == "elsewhere" {
			o.Placement = "shared"
		}
		r.Entry.Operations = append(r.Entry.Operations, o)
		r.Shapes[shapesName(&o)] = set
	}
	own := &r.Entry.Operations[0]
	points := r.pointsOf(own, r.Shapes["own"])
	counts := map[int]int{}
	for _, p := range points {
		counts[p.Relative]++
		if timed := !math.IsNaN(p.LogSeconds[1]); timed != (p.Relative == 0) {
			t.Fatalf("an implementation that is excluded in the family: %+v", p)
		}
	}
	if len(counts) != 2 || counts[0] != 60 || counts[1] != 60 {
		t.Errorf("points by relative: %v, want 60 own ones and 60 of one other", counts)
	}
	own.Family = ""
	r.Entry.Operations[2].Family = ""
	if points := r.pointsOf(own, r.Shapes["own"]); len(points) != 60 {
		t.Errorf("%d points of an operation without a family, want 60", len(points))
	}
}

// A planner builds on what it knows of every implementation. Of one that changed it knows nothing, however many shapes the others
// have.
func TestKnownShapes(t *testing.T) {
	set := &timings.Set{Implementations: []string{"go", "go-parallel", "cuda"}}
	for size := 1; size <= 30; size++ {
		seconds := []float64{1, 2, math.NaN()}
		if size%3 == 0 {
			seconds[2] = 20 // a slow one is left out at two of three shapes
		}
		set.Blocks = append(set.Blocks, timings.Block{Size: size, Visit: size, Seconds: seconds, Iterations: []int{1, 1, 1}, Twin: -1})
	}
	if n := knownShapes(set); n != 30 {
		t.Errorf("%d shapes are known, want 30", n)
	}
	if n := knownShapes(set.Without([]timings.Change{{Implementation: "go-parallel"}})); n != 0 {
		t.Errorf("without the times of one that changed %d shapes are known", n)
	}
	set.Blocks[4].Seconds[2], set.Blocks = 20, set.Blocks[:6]
	if n := knownShapes(set); n != 6 {
		t.Errorf("%d shapes are known of 6", n)
	}
	if n := knownShapes(&timings.Set{}); n != 0 {
		t.Errorf("%d shapes of an empty set are known", n)
	}
}
