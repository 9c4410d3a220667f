package thresholds_test

import (
	"math"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// onTwoProcessors has the processors of a world's implementations on a machine with a GPU.
var onTwoProcessors = map[string]string{"a": "cpu", "b": "gpu", "c": "gpu", "d": "gpu"}

// apartSets returns a sweep of several cases on a machine whose processors drift apart from visit to visit, by wander.
// During the whole run they are apart by run.
func apartSets(seed uint64, wander, run float64) []*timings.Set {
	var sets []*timings.Set
	for k := range 4 {
		w := newWorld(100*seed+uint64(k), linear(1e-6, 2e-9), linear(20e-6, 0.2e-9))
		w.costs[1] = func(n float64) float64 { return math.Exp(run) * linear(20e-6, 0.2e-9)(n) }
		w.apart, w.noise = wander, spiky(0.01)
		set := w.set(5, geometric(512, 1<<20, 4)...)
		for range 3 {
			for _, size := range []int{8192, 10_000, 11_500, 13_000} {
				w.visit(set, size, 5)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// single returns a single run for each case.
func single(sets []*timings.Set) (cases [][]*timings.Set) {
	for _, set := range sets {
		cases = append(cases, []*timings.Set{set})
	}
	return cases
}

func TestProcessorsThatWanderApart(t *testing.T) {
	const truth = 19e-6 / 1.8e-9
	const runs = 120
	rng := newWorld(77).rng
	alone, together := 0, 0
	for run := range runs {
		sets := apartSets(uint64(run), 0.05, 0.05*rng.NormFloat64())
		known := thresholds.StudyProcessors(onTwoProcessors, single(sets))
		holds := func(p *thresholds.Processors) int {
			r := thresholds.Fit([]*timings.Set{sets[0]}, thresholds.Options{Seed: 1, Resamples: 400, Processors: p})
			if len(r.Segments) == 2 && float64(r.Segments[1].Low) <= truth && truth <= float64(r.Segments[1].High) {
				return 1
			}
			return 0
		}
		alone += holds(nil)
		together += holds(known)
	}
	if share := float64(together) / runs; share < 0.9 {
		t.Errorf("%.2f of the intervals hold the truth, want 0.9", share)
	}
	if share := float64(alone) / runs; share > 0.85 {
		t.Errorf("%.2f of the intervals hold the truth without the processors: the test shows nothing", share)
	}
}

// Processors with a constant ratio widen no interval. Implementations on one processor do not either.
func TestProcessorsThatStayTogether(t *testing.T) {
	for name, c := range map[string]struct {
		of     map[string]string
		wander float64
	}{
		"steady":        {onTwoProcessors, 0},
		"one processor": {map[string]string{"a": "cpu", "b": "cpu"}, 0.05},
	} {
		sets := apartSets(1, c.wander, 0)
		known := thresholds.StudyProcessors(c.of, single(sets))
		for _, set := range sets {
			o := thresholds.Options{Seed: 1, Resamples: 200}
			want := thresholds.Fit([]*timings.Set{set}, o)
			o.Processors = known
			got := thresholds.Fit([]*timings.Set{set}, o)
			for n := range got.Segments {
				if g, w := got.Segments[n], want.Segments[n]; g.Low != w.Low || g.High != w.High {
					t.Errorf("%s: an interval of %d to %d, want %d to %d as without", name, g.Low, g.High, w.Low, w.High)
				}
			}
		}
	}
}

func TestProcessorsOfNothing(t *testing.T) {
	p := thresholds.StudyProcessors(nil, nil)
	w := newWorld(3, linear(1e-6, 2e-9), linear(20e-6, 0.2e-9))
	r := thresholds.Fit([]*timings.Set{w.set(10, geometric(512, 1<<20, 2)...)}, thresholds.Options{Seed: 1, Resamples: 50, Processors: p})
	if r.Verdict != thresholds.Switches {
		t.Errorf("verdict %v, want a switch", r.Verdict)
	}
	if p = thresholds.StudyProcessors(nil, single([]*timings.Set{{Case: "empty"}, {Implementations: []string{"a", "b"}}})); p == nil {
		t.Error("nothing is known of sets without blocks, but that is no reason for nil")
	}
}
