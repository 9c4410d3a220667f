package surfaces

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/calibration/surface"
	"crossover/timings"
)

var (
	axes     = []string{"rows", "columns"}
	features = []surface.Feature{
		{Kind: surface.Logarithm, Weights: []float64{1, 0}},
		{Kind: surface.Logarithm, Weights: []float64{0, 1}},
		{Kind: surface.Logarithm, Weights: []float64{1, 1}},
	}
	names = []string{"serial", "parallel", "rare"}
)

// seconds returns the times of the implementations of a made-up machine: one on one core, one on four cores that pays for a
// hand-over, and one that is never the fastest.
func seconds(shape []int) []float64 {
	work := float64(shape[0] * shape[1])
	serial := 50e-9 + 1e-9*work*(1+0.3*math.Sin(math.Log2(float64(shape[1]))))
	return []float64{serial, 3e-6 + serial/4, 10e-6 + 2*serial}
}

// space has the shapes of 1 to 4096 rows and columns.
type space struct{ shapes map[int][]int }

func (s space) Draw(at []float64) ([]int, bool) {
	return []int{int(math.Exp2(12 * at[0])), int(math.Exp2(12 * at[1]))}, true
}
func (s space) Add(shape []int) int {
	key := shape[0]<<13 | shape[1]
	s.shapes[key] = shape
	return key
}
func (s space) At(size int) []int { return s.shapes[size] }

// run lets a planner make a number of visits to the made-up machine, with lognormal noise.
func run(t *testing.T, visits int, noise float64, seed uint64) (*timings.Set, space, *Planner) {
	t.Helper()
	s := space{map[int][]int{}}
	p := NewPlanner(s, axes, features, seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	set := &timings.Set{Case: "made-up", Implementations: names}
	for visit := range visits {
		size, blocks, worth := p.Next(set)
		if worth <= 0 {
			t.Fatalf("nothing to learn after %d visits", visit)
		}
		for range blocks {
			b := timings.Block{Size: size, Visit: visit, Twin: -1, Seconds: seconds(s.At(size)), Iterations: make([]int, len(names))}
			for i := range b.Seconds {
				b.Seconds[i] *= math.Exp(noise * rng.NormFloat64())
			}
			set.Blocks = append(set.Blocks, b)
		}
		p.Visited(size)
	}
	return set, s, p
}

func problemOf(set *timings.Set, s space) *Problem {
	return &Problem{Axes: axes, Features: features, Implementations: names, Points: Fitted(Points(set, s.At))}
}

// regretOf returns the mean and the worst regret of a surface's choices at fresh shapes, by the machine's true times.
func regretOf(f *surface.Surface, seed uint64) (mean, worst float64) {
	p, rng, out := surface.NewPredictor(f), rand.New(rand.NewPCG(seed, 2)), make([]float64, len(f.Implementations))
	const n = 500
	for range n {
		shape, _ := space{}.Draw([]float64{rng.Float64(), rng.Float64()})
		p.Predict(shape, out)
		chosen := 0
		for i := range out {
			if out[i] < out[chosen] {
				chosen = i
			}
		}
		truth := seconds(shape)
		loss := math.Log(truth[slices.Index(names, f.Implementations[chosen].Name)] / slices.Min(truth))
		mean, worst = mean+loss/n, max(worst, loss)
	}
	return mean, worst
}

// After sixty visits, the mean regret of the choices is below half a per cent.
func TestChoicesAtFreshShapes(t *testing.T) {
	for seed := range uint64(3) {
		set, s, _ := run(t, 60, 0.02, seed)
		fit, err := New(problemOf(set, s))
		if err != nil {
			t.Fatal(err)
		}
		if err := fit.Surface.Check(); err != nil {
			t.Fatal(err)
		}
		if mean, worst := regretOf(fit.Surface, seed); mean > 0.005 || worst > 0.3 {
			t.Errorf("seed %d: regret %.4f in the mean, %.3f at worst", seed, mean, worst)
		}
	}
}

// The fit and the saved surface predict the same times.
func TestSurfaceIsTheFit(t *testing.T) {
	set, s, _ := run(t, 40, 0.02, 1)
	fit, err := New(problemOf(set, s))
	if err != nil {
		t.Fatal(err)
	}
	p, out := surface.NewPredictor(fit.Surface), make([]float64, len(fit.Surface.Implementations))
	for _, shape := range [][]int{{1, 1}, {7, 480}, {4096, 4096}, {100, 3}} {
		p.Predict(shape, out)
		for i, q := range fit.Predict(shape) {
			if math.Abs(q.LogSeconds-out[i]) > 1e-6 {
				t.Errorf("%v: %s takes %v by the fit, %v by the surface", shape, names[q.Implementation], q.LogSeconds, out[i])
			}
		}
	}
}

// The deviation is smaller at a measured shape than at a shape far away.
func TestDeviationGrows(t *testing.T) {
	set, s, _ := run(t, 40, 0.02, 1)
	problem := problemOf(set, s)
	fit, err := New(problem)
	if err != nil {
		t.Fatal(err)
	}
	near, far := fit.Predict(problem.Points[0].Shape)[0].Deviation, fit.Predict([]int{1 << 20, 1 << 20})[0].Deviation
	if !(near < far) {
		t.Errorf("deviation %v where it was timed, %v far away", near, far)
	}
}

// An implementation that was timed at some of the shapes is predicted from those. One that was timed at too few shapes is
// left out.
func TestMissingTimes(t *testing.T) {
	set, s, _ := run(t, 40, 0.02, 1)
	for k := range set.Blocks {
		if set.Blocks[k].Visit%2 == 0 {
			set.Blocks[k].Erase(1)
		}
		if set.Blocks[k].Visit > 2 {
			set.Blocks[k].Erase(2)
		}
	}
	fit, err := New(problemOf(set, s))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(fit.Surface.Implementations); n != 2 {
		t.Fatalf("%d implementations, want serial and parallel", n)
	}
	if mean, _ := regretOf(fit.Surface, 1); mean > 0.02 {
		t.Errorf("regret %.4f", mean)
	}
	for k := range set.Blocks {
		set.Blocks[k].Erase(0)
		set.Blocks[k].Erase(1)
	}
	if _, err := New(problemOf(set, s)); err == nil {
		t.Error("a fit of nothing")
	}
}

// About a fifth of the shapes is held out and never fitted. They judge without bias: between two names of one implementation
// there is nothing to lose, and a choice that is 20 % slower everywhere loses 20 %.
func TestJudge(t *testing.T) {
	set, s, _ := run(t, 200, 0.05, 3)
	for _, p := range Fitted(Points(set, s.At)) {
		if HeldOut(p.Shape) {
			t.Fatalf("%v is held out and fitted", p.Shape)
		}
	}
	for k := range set.Blocks {
		set.Blocks[k].Erase(2)
	}
	first := func([]int) []int { return []int{0, 1, 2} }
	const draws = 16
	var same Judged
	mean := 0.0
	for draw := range draws {
		rng := rand.New(rand.NewPCG(uint64(draw), 5))
		for k := range set.Blocks {
			b := &set.Blocks[k]
			b.Seconds[0] = 1e-5 * math.Exp(0.05*rng.NormFloat64())
			b.Seconds[1] = 1e-5 * math.Exp(0.05*rng.NormFloat64())
		}
		same = Judge(set, s.At, first)
		mean += same.Mean / draws
	}
	if n := len(same.Losses); n < 15 || n > 65 {
		t.Fatalf("%d of 200 shapes are held out", n)
	}
	if math.Abs(mean) > 0.005 || same.Within < 0.6 {
		t.Errorf("one implementation twice: mean loss %.4f, within 5 %% at %.2f", mean, same.Within)
	}
	for k := range set.Blocks {
		set.Blocks[k].Seconds[0] *= 1.2
	}
	slower := Judge(set, s.At, first)
	if math.Abs(slower.Mean-math.Log(1.2)) > 0.015 || slower.Within > 0.1 {
		t.Errorf("20 %% slower: mean loss %.4f, within 5 %% at %.2f", slower.Mean, slower.Within)
	}
	// An implementation on several cores that was not timed anywhere computes on one core.
	set.Implementations = []string{"go", "fftw", "go-parallel"}
	if got := Judge(set, s.At, func([]int) []int { return []int{2, 1, 0} }); got.Mean != slower.Mean {
		t.Errorf("go-parallel, not timed: mean loss %.4f, want that of go, %.4f", got.Mean, slower.Mean)
	}
	if slower.Worst < slower.Mean || slower.WorstAt == nil {
		t.Errorf("worst %.4f at %v", slower.Worst, slower.WorstAt)
	}
}

// The same seed gives the same shapes, and another seed gives others. No shape comes twice, and none is above the limit.
// In one call, an implementation waited for something that was not there. Predictions elsewhere are as without that call.
func TestACallThatWaited(t *testing.T) {
	set, s, _ := run(t, 120, 0.02, 3)
	clean, err := New(problemOf(set, s))
	if err != nil {
		t.Fatal(err)
	}
	waited := set.Sizes()[40]
	for HeldOut(s.At(waited)) {
		waited = set.Sizes()[slices.Index(set.Sizes(), waited)+1]
	}
	for k := range set.Blocks {
		if b := &set.Blocks[k]; b.Size == waited {
			b.Seconds[1] *= 400
		}
	}
	fit, err := New(problemOf(set, s))
	if err != nil {
		t.Fatal(err)
	}
	if risk := fit.Surface.Implementations[1].Risk; risk > clean.Surface.Implementations[1].Risk+0.02 {
		t.Errorf("the risk is %.3f, and %.3f without the call", risk, clean.Surface.Implementations[1].Risk)
	}
	for _, size := range set.Sizes() {
		was, is := clean.Predict(s.At(size))[1].LogSeconds, fit.Predict(s.At(size))[1].LogSeconds
		if math.Abs(is-was) > 0.1 {
			t.Errorf("%v: predicted %.3f times as long as without the call", s.At(size), math.Exp(is-was))
		}
	}
}

func TestPlanner(t *testing.T) {
	one, _, _ := run(t, 50, 0, 7)
	again, _, _ := run(t, 50, 0, 7)
	other, _, _ := run(t, 50, 0, 8)
	if !slices.Equal(one.Sizes(), again.Sizes()) || slices.Equal(one.Sizes(), other.Sizes()) {
		t.Error("the shapes do not follow from the seed")
	}
	if n := len(one.Sizes()); n != 50 {
		t.Errorf("%d shapes in 50 visits", n)
	}
	s := space{map[int][]int{}}
	p := NewPlanner(s, axes, features, 1)
	p.Limit(100 << 13)
	set := &timings.Set{Implementations: names}
	for range 30 {
		size, _, worth := p.Next(set)
		if worth > 0 && size > 100<<13 {
			t.Fatalf("%v is above the limit", s.At(size))
		}
		p.Visited(size)
	}
}

// Shapes that the fit chooses are closer to the crossing than spread shapes.
func TestPlannerGoesWhereItIsClose(t *testing.T) {
	set, s, _ := run(t, 150, 0.02, 5)
	var far [2]float64
	var n [2]float64
	for k, size := range set.Sizes() {
		_ = k
		visit := set.At(size)[0].Visit
		if visit < firstShapes || HeldOut(s.At(size)) {
			continue
		}
		truth := seconds(s.At(size))
		active := visit % 2
		far[active] += math.Abs(math.Log(truth[0] / truth[1]))
		n[active]++
	}
	if spread, active := far[0]/n[0], far[1]/n[1]; !(active < 0.7*spread) {
		t.Errorf("spread shapes are %.2f from the crossing, chosen ones %.2f", spread, active)
	}
}

// gain agrees with a simulation.
func TestGain(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ mean, deviation float64 }{{0.1, 0.1}, {0, 0.2}, {0.3, 0.1}, {-0.1, 0.1}} {
		sum := 0.0
		const n = 400_000
		for range n {
			sum += max(0, -(c.mean+c.deviation*rng.NormFloat64())) / n
		}
		if got := gain(c.mean, c.deviation); math.Abs(got-sum) > 0.001 {
			t.Errorf("gain of %+v is %v, simulated %v", c, got, sum)
		}
	}
	if gain(0.1, 0) != 0 || gain(-0.1, 0) != 0.1 {
		t.Error("without deviation the gain is what is known")
	}
}

// A shape at which the machine was disturbed is proposed again.
func TestDoubted(t *testing.T) {
	s := space{map[int][]int{}}
	p := NewPlanner(s, axes, features, 1)
	set := &timings.Set{Implementations: names}
	first, _, _ := p.Next(set)
	p.Visited(first)
	p.Doubted(first)
	if again, _, _ := p.Next(set); again != first {
		t.Errorf("%v comes up, want %v again", s.At(again), s.At(first))
	}
}

// A fit that begins at an earlier one predicts as well as a new one.
func TestMore(t *testing.T) {
	set, s, _ := run(t, 80, 0.02, 3)
	all := problemOf(set, s)
	few := *all
	few.Points = few.Points[:30]
	first, err := New(&few)
	if err != nil {
		t.Fatal(err)
	}
	for _, search := range []bool{true, false} {
		fit, err := first.More(all, search)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Equal(fit.hyper.scales, first.hyper.scales); got == search {
			t.Errorf("search %v: the scales were kept: %v", search, got)
		}
		if mean, worst := regretOf(fit.Surface, 3); mean > 0.005 || worst > 0.3 {
			t.Errorf("search %v: regret %.4f in the mean, %.3f at worst", search, mean, worst)
		}
	}
}

// A hopelessly slow implementation is left out at most of the shapes where it is one. Nothing else is left out, and nothing
// at held-out shapes.
func TestPlannerLeavesOutTheHopeless(t *testing.T) {
	names := []string{"good", "fair", "bad"}
	s := space{map[int][]int{}}
	p := NewPlanner(s, axes, features, 1)
	set := &timings.Set{Case: "made-up", Implementations: names}
	skipped, of := map[string]int{}, 0
	for visit := range 120 {
		size, blocks, _ := p.Next(set)
		work := 1e-9 * float64(s.At(size)[0]*s.At(size)[1])
		all := []float64{1e-6 + work, 1e-6 + 2*work, 40 * (1e-6 + work)}
		leftOut := 0
		for range blocks {
			b := timings.Block{Size: size, Visit: visit, Twin: -1, Seconds: slices.Clone(all), Iterations: make([]int, len(names))}
			for i, name := range names {
				if p.Skips(size, name) {
					b.Seconds[i] = math.NaN()
					leftOut++
				}
			}
			set.Blocks = append(set.Blocks, b)
		}
		for _, name := range names {
			if p.Skips(size, name) {
				skipped[name]++
			}
		}
		if HeldOut(s.At(size)) && leftOut > 0 {
			t.Errorf("%v is held out, and somebody was left out", s.At(size))
		}
		if visit > firstShapes && !HeldOut(s.At(size)) {
			of++
		}
		p.Visited(size)
	}
	if skipped["good"]+skipped["fair"] > 0 {
		t.Errorf("left out: %v", skipped)
	}
	if share := float64(skipped["bad"]) / float64(of); share < 0.4 || share > 0.8 {
		t.Errorf("the hopeless one was left out at %.2f of the shapes, want about two of three", share)
	}
}

// The weight of a planner is a factor of its worth, before and after the first fit.
func TestPlannerWeigh(t *testing.T) {
	for _, visits := range []int{0, 40} {
		set, _, p := run(t, visits, 0.02, 1)
		_, _, whole := p.Next(set)
		p.Weigh(0.5)
		if _, _, half := p.Next(set); math.Abs(half/whole-0.5) > 1e-12 {
			t.Errorf("after %d visits it is worth %v of %v", visits, half, whole)
		}
	}
}

// A planner that knows the shapes of an earlier run chooses at its second visit, and closer to the crossing than spread shapes are.
func TestPlannerKnows(t *testing.T) {
	set, s, _ := run(t, 60, 0.02, 5)
	distance := func(shape []int) float64 {
		truth := seconds(shape)
		return math.Abs(math.Log(truth[0] / truth[1]))
	}
	var far [2]float64
	for seed := range uint64(20) {
		for k, points := range [][]Point{nil, Points(set, s.At)} {
			p := NewPlanner(space{map[int][]int{}}, axes, features, 100+seed)
			p.Know(len(points), func([]string) []Point { return points })
			now := &timings.Set{Implementations: names}
			first, _, _ := p.Next(now)
			p.Visited(first)
			second, _, _ := p.Next(now)
			far[k] += distance(p.space.At(second)) / 20
		}
	}
	if !(far[1] < 0.7*far[0]) {
		t.Errorf("the second shape is %.2f from the crossing without earlier shapes, and %.2f with them", far[0], far[1])
	}
}
