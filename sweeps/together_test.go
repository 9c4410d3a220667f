package sweeps

import (
	"testing"
	"time"

	"crossover/pool"
)

// Work of all workers is timed from when the last one came. One that never comes shows in the reading.
func TestCrowd(t *testing.T) {
	workers := pool.Shared().Workers()
	if workers < 2 {
		t.Skip("there is one processor")
	}
	met := false
	for tries := 0; tries < 1000 && !met; tries++ {
		c := &crowd{took: make([]time.Duration, workers)}
		start := time.Now()
		took := c.run()
		if wall := time.Since(start); took <= 0 || took > wall {
			t.Fatalf("work of %v was in a call of %v", took, wall)
		}
		met = !c.missed.Load()
	}
	if !met {
		t.Error("the workers never met")
	}
	c := &crowd{took: make([]time.Duration, workers+1)}
	if took := c.run(); took < meetWithin || !c.missed.Load() {
		t.Errorf("%v without the last worker, want at least the %v of waiting", took, meetWithin)
	}
}

// On two processors a loop waits for the slower one. On sixteen, a pair that shares a core costs a loop little.
func TestTogether(t *testing.T) {
	pair := []time.Duration{200, 100}
	many := make([]time.Duration, 16)
	for k := range many {
		many[k] = 100
	}
	many[3], many[7] = 200, 200
	if got := together(pair); got != 200 {
		t.Errorf("a pair takes %v together, want the time of the slower one", got)
	}
	if got := together(many); got != 112 {
		t.Errorf("sixteen processors take %v together, want the mean of 112", got)
	}
}
