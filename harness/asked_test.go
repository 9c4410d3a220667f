package harness

import (
	"fmt"
	"slices"
	"testing"

	"crossover/calibration"
	"crossover/sweeps"
	"crossover/timings"
)

// scriptedPlanner proposes one size for ever and notes what it is told.
type scriptedPlanner struct {
	visited, doubted []int
	high             int
}

func (p *scriptedPlanner) Next(*timings.Set) (size, blocks int, worth float64) { return 5, 3, 1 }
func (p *scriptedPlanner) Visited(size int)                                    { p.visited = append(p.visited, size) }
func (p *scriptedPlanner) Doubted(size int)                                    { p.doubted = append(p.doubted, size) }
func (p *scriptedPlanner) Skips(int, string) bool                              { return true }
func (p *scriptedPlanner) Limit(high int)                                      { p.high = high }

// timedAt returns a set in which a call takes some seconds at a size.
func timedAt(seconds map[int]float64) *timings.Set {
	set := &timings.Set{Implementations: []string{"go"}}
	for size, v := range seconds {
		set.Blocks = append(set.Blocks, timings.Block{Size: size, Twin: -1, Seconds: []float64{v}, Iterations: []int{1}})
	}
	return set
}

// The most frequent shapes come first. Then those that take most of a program's time have long visits, and then the others
// once more. At the end comes what the other planner wants.
func TestAskedComeFirst(t *testing.T) {
	r := &Run{Asked: []Asked{
		{Case: "sum", Shape: []int{10}, Calls: 1}, {Case: "sum", Shape: []int{30}, Calls: 100}, {Case: "scale", Shape: []int{7}, Calls: 50},
		{Case: "sum", Shape: []int{20}, Calls: 9},
	}}
	times, others := newAskedTimes(), map[int]float64{}
	for size := range longShapes - 1 { // one of the three can be among those that take most
		others[size] = 0.5
	}
	times.note("scale", others)
	behind := &scriptedPlanner{}
	p := planFirst("sum", r.askedIn("sum"), times, onlyValue, behind)
	set := timedAt(map[int]float64{10: 1, 20: 1e-3, 30: 1e-6}) // 1 s, 9 ms and 0.1 ms of the program
	var got, long []int
	last := worthAsked * 100.0
	visit := func() {
		size, blocks, worth := p.Next(set)
		if skips := p.(sweeps.Selective).Skips(size, "go"); skips != (size == 5) {
			t.Errorf("an implementation is left out at %d: %v", size, skips)
		}
		if again, _, _ := p.Next(set); again != size || blocks < 1 || worth > last || worth <= 0 {
			t.Errorf("proposes %d and %d with %d blocks, worth %v after %v", size, again, blocks, worth, last)
		}
		last = worth
		if p.(sweeps.Thorough).Full(size) {
			long = append(long, len(got))
		}
		got = append(got, size)
		p.Visited(size)
	}
	for range 8 {
		visit()
	}
	if fmt.Sprint(got) != "[30 20 10 10 20 30 10 5]" || fmt.Sprint(long) != "[3 6]" || fmt.Sprint(behind.visited) != "[30 20 10 5]" {
		t.Errorf("visits %v, of which %v are long, and the other planner is told %v", got, long, behind.visited)
	}
	p.Doubted(20)
	last = worthAsked
	if visit(); got[8] != 20 || len(behind.doubted) != 1 {
		t.Errorf("after a doubt: %v", got)
	}

	p = planFirst("sum", r.askedIn("sum"), newAskedTimes(), onlyValue, behind)
	p.Limit(15)
	if size, _, _ := p.Next(set); size != 10 || behind.high != 15 {
		t.Errorf("proposes %d, limited to 15", size)
	}
	p = planFirst("sum", r.askedIn("sum"), newAskedTimes(), onlyValue, nil)
	visits := map[int]int{}
	for range 3 * mostVisits {
		size, _, _ := p.Next(set)
		visits[size]++
		p.Visited(size)
	}
	if _, _, worth := p.Next(set); worth != 0 || len(visits) != 3 || visits[30] != mostVisits {
		t.Errorf("visits %v, and there is more to measure than was asked for: %v", visits, worth)
	}
	if planFirst("fft", r.askedIn("fft"), newAskedTimes(), onlyValue, behind) != behind {
		t.Error("nothing is asked for, and the planner is another one")
	}
}

// Of the shapes of all spaces, so many have long visits, those that take most.
func TestLongVisits(t *testing.T) {
	times := newAskedTimes()
	planners := map[string]sweeps.Planner{}
	seconds := map[string]map[int]float64{"sum": {}, "scale": {}}
	var asked []Asked
	for k := range 2 * longShapes {
		name := []string{"sum", "scale"}[k%2]
		asked = append(asked, Asked{Case: name, Shape: []int{1 + k}, Calls: 10})
		seconds[name][1+k] = 1e-6 * float64(1+k)
	}
	const unmeasured = 1000 // and called most
	r := &Run{Asked: append(asked, Asked{Case: "sum", Shape: []int{unmeasured}, Calls: 1e12})}
	visits, long := map[int]int{}, map[int]int{}
	for name := range seconds {
		planners[name] = planFirst(name, r.askedIn(name), times, onlyValue, &scriptedPlanner{})
	}
	for {
		var best sweeps.Planner
		at, most := 0, 1.0 // of the other planner
		for name, p := range planners {
			if size, _, worth := p.Next(timedAt(seconds[name])); worth > most {
				best, at, most = p, size, worth
			}
		}
		if best == nil {
			break
		}
		if visits[at]++; visits[at] > mostVisits {
			t.Fatalf("%d has %d visits", at, visits[at])
		}
		if best.(sweeps.Thorough).Full(at) {
			long[at]++
		}
		best.Visited(at)
	}
	if long[unmeasured] > 0 || visits[unmeasured] != askedVisits {
		t.Errorf("a shape that could not be measured has %d visits, %d of them long", visits[unmeasured], long[unmeasured])
	}
	for k := range 2 * longShapes {
		wantVisits, wantLong := askedVisits, 0
		if k >= longShapes {
			wantVisits, wantLong = 1+longVisits, longVisits
		}
		if visits[1+k] != wantVisits || long[1+k] != wantLong {
			t.Errorf("shape %d has %d visits, %d of them long, want %d and %d", 1+k, visits[1+k], long[1+k], wantVisits, wantLong)
		}
	}
}

// A count of a record stays when the shape is asked for without one. A newer count takes its place.
func TestJoinAsked(t *testing.T) {
	set := &timings.Set{Shapes: map[int][]int{1: {3, 4}, 2: {5, 6}, 3: {7, 8}, 4: {9, 9}}}
	older := []calibration.Asked{{Shape: []int{3, 4}, Calls: 1000}, {Shape: []int{5, 6}, Calls: 1000}, {Shape: []int{7, 8}, Calls: 30}, {Shape: []int{1, 1}, Calls: 5}}
	newer := []calibration.Asked{{Shape: []int{3, 4}, Calls: 1}, {Shape: []int{5, 6}, Calls: 20}, {Shape: []int{9, 9}, Calls: 1}}
	got := ""
	for _, a := range joinAsked(newer, older, set) {
		got += fmt.Sprint(a.Shape, a.Calls, " ")
	}
	if want := "[3 4] 1000 [5 6] 20 [7 8] 30 [9 9] 1 "; got != want {
		t.Errorf("joined to %s, want %s", got, want)
	}
}

// TestResultOfAnAskedShape tests that what is printed of a shape agrees: a choice that costs something is behind in one half of
// the samples.
func TestResultOfAnAskedShape(t *testing.T) {
	o, set := operationOf("softmax", 0)
	shape := set.Shapes[1]
	blocks := []timings.Block{
		{Size: 1, Visit: 1, Twin: -1, Iterations: []int{1, 1}, Seconds: []float64{1e-6, 2e-6}},
		{Size: 1, Visit: 2, Twin: -1, Iterations: []int{1, 1}, Seconds: []float64{1e-6, 0.6e-6}},
		{Size: 1, Visit: 3, Twin: -1, Iterations: []int{1, 1}, Seconds: []float64{1e-6, 2e-6}},
	}
	set.Blocks = append(slices.DeleteFunc(set.Blocks, func(b timings.Block) bool { return b.Size == 1 }), blocks...)
	o.Asked = []calibration.Asked{{Shape: shape, Calls: 70}}
	r := &Run{Shapes: map[string]*timings.Set{o.Name: set}, Entry: calibration.Host{Operations: []calibration.Operation{o}}}
	got := r.ResultOf(Asked{Name: "softmax/…", Case: o.Name, Shape: shape, Calls: 1})
	if got.Implementation != "go" || got.Calls != 70 || got.Regret == nil || *got.Regret < 0.1 || !(got.Least < 1) || !(got.Most > 1) {
		t.Errorf("%+v, regret %v", got, *got.Regret)
	}
}
