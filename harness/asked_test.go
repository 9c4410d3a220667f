package harness

import (
	"fmt"
	"testing"

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

// The most frequent shapes come first, then all once more, then what the other planner wants.
func TestAskedComeFirst(t *testing.T) {
	r := &Run{Asked: []Asked{
		{Case: "sum", Shape: []int{10}, Calls: 1}, {Case: "sum", Shape: []int{30}, Calls: 100}, {Case: "scale", Shape: []int{7}, Calls: 50},
		{Case: "sum", Shape: []int{20}, Calls: 9},
	}}
	behind := &scriptedPlanner{}
	p := planFirst(r.askedIn("sum"), onlyValue, behind)
	var got []int
	last := worthAsked * 100.0
	visit := func() {
		size, blocks, worth := p.Next(nil)
		if skips := p.(sweeps.Selective).Skips(size, "go"); skips != (size == 5) {
			t.Errorf("an implementation is left out at %d: %v", size, skips)
		}
		if again, _, _ := p.Next(nil); again != size || blocks < 1 || worth > last || worth <= 0 {
			t.Errorf("proposes %d and %d with %d blocks, worth %v after %v", size, again, blocks, worth, last)
		}
		last = worth
		got = append(got, size)
		p.Visited(size)
	}
	for range 7 {
		visit()
	}
	if fmt.Sprint(got) != "[30 20 10 30 20 10 5]" || fmt.Sprint(behind.visited) != "[30 20 10 5]" {
		t.Errorf("visits %v, of which the other planner is told %v", got, behind.visited)
	}
	p.Doubted(20)
	last = worthAsked
	if visit(); got[7] != 20 || len(behind.doubted) != 1 {
		t.Errorf("after a doubt: %v", got)
	}

	p = planFirst(r.askedIn("sum"), onlyValue, behind)
	p.Limit(15)
	if size, _, _ := p.Next(nil); size != 10 || behind.high != 15 {
		t.Errorf("proposes %d, limited to 15", size)
	}
	p = planFirst(r.askedIn("sum"), onlyValue, nil)
	for range 3 * mostVisits {
		size, _, _ := p.Next(nil)
		p.Visited(size)
	}
	if _, _, worth := p.Next(nil); worth != 0 {
		t.Error("there is more to measure than was asked for")
	}
	if planFirst(r.askedIn("fft"), onlyValue, behind) != behind {
		t.Error("nothing is asked for, and the planner is another one")
	}
}
