package sweeps_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crossover/kernels"
	"crossover/sweeps"
)

// blockOrders measures one size of three implementations. It returns the order of the implementations in each block, with
// the twin's call.
func blockOrders(t *testing.T, seed uint64, blocks int) ([][]string, *sweeps.Result) {
	t.Helper()
	m := newMachine()
	m.noise = bell(0)
	o := m.options(10 * time.Minute)
	o.Seed = seed
	o.Planner = script{{64, blocks}}.planner
	// Calls of 3 ms are timed one by one and have no untimed call before them.
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64,
		implementation{name: "a", cost: linear(3e-3, 0)}, implementation{name: "b", cost: linear(3e-3, 0)}, implementation{name: "c", cost: linear(3e-3, 0)}))[0]
	if len(r.Samples.Blocks) != blocks {
		t.Fatalf("there are %d blocks, want %d", len(r.Samples.Blocks), blocks)
	}
	if m.calls > len(m.log) {
		t.Fatalf("the log has %d of %d calls", len(m.log), m.calls)
	}
	var orders [][]string
	for calls := m.log[len(m.log)-4*blocks:]; len(calls) > 0; calls = calls[4:] {
		orders = append(orders, calls[:4])
	}
	return orders, r
}

func TestOrderInsideABlockIsRandom(t *testing.T) {
	const blocks = 600
	orders, r := blockOrders(t, 1, blocks)
	twin := r.Samples.Implementations[r.Samples.Blocks[0].Twin]
	count := map[string][4]int{}
	for n, order := range orders {
		sorted := slices.Sorted(slices.Values(order))
		if want := slices.Sorted(slices.Values([]string{"a", "b", "c", twin})); !slices.Equal(sorted, want) {
			t.Fatalf("block %d calls %v, want each of %v once", n, order, want)
		}
		for position, name := range order {
			c := count[name]
			c[position]++
			count[name] = c
		}
	}
	for name, positions := range count {
		calls := blocks
		if name == twin {
			calls *= 2
		}
		for position, got := range positions {
			// The expected numbers are 150, and 300 for the twin. Five standard deviations are 53 and 75.
			want := float64(calls) / 4
			if math.Abs(float64(got)-want) > 5*math.Sqrt(want*0.75) {
				t.Errorf("%s comes at position %d in %d of %d calls, want about %v", name, position, got, calls, want)
			}
		}
	}
	again, _ := blockOrders(t, 1, blocks)
	if !cmp.Equal(orders, again) {
		t.Error("the same seed gives another order")
	}
	if other, _ := blockOrders(t, 2, blocks); cmp.Equal(orders, other) {
		t.Error("another seed gives the same order")
	}
}

func TestTwin(t *testing.T) {
	m := newMachine()
	o := m.options(60 * time.Second)
	var visits script
	for range 40 {
		visits = append(visits, visit{64, 5})
	}
	o.Planner = visits.planner
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64,
		implementation{name: "a", cost: linear(1e-5, 0)},
		implementation{name: "b", cost: linear(2e-5, 0)},
		implementation{name: "hopeless", cost: linear(6e-5, 0)}))[0]
	count := map[int]int{}
	byVisit := map[int]int{}
	for _, b := range r.Samples.Blocks {
		if b.Twin < 0 || b.Twin > 1 || math.Abs(b.TwinSeconds/b.Seconds[b.Twin]-1) > 0.1 {
			t.Fatalf("the twin of a block is %d with a time of %v beside %v", b.Twin, b.TwinSeconds, b.Seconds)
		}
		if other, seen := byVisit[b.Visit]; seen && other != b.Twin {
			t.Errorf("visit %d has the twins %d and %d", b.Visit, other, b.Twin)
		}
		byVisit[b.Visit] = b.Twin
	}
	for _, twin := range byVisit {
		count[twin]++
	}
	if len(byVisit) != 40 || count[0] < 8 || count[1] < 8 {
		t.Errorf("the twins of %d visits are %v, want about as many of each", len(byVisit), count)
	}
	if binds := m.binds["a"] + m.binds["b"]; binds != 3*40 || m.binds["hopeless"] != 40 {
		t.Errorf("binds are %v: the twin needs buffers of its own", m.binds)
	}
}

// If the second set of buffers does not fit, the visit has no twin.
func TestATwinThatCannotBeBound(t *testing.T) {
	m := newMachine()
	one := quickStarter()
	one.bind = func(int) error {
		if m.open > 0 {
			return errors.New("out of device memory")
		}
		return nil
	}
	r := m.sweep(t, m.options(10*time.Second), m.newCase("op/x=1", 64, 4096, one))[0]
	if len(r.Samples.Blocks) == 0 || len(r.Warnings) > 0 {
		t.Fatalf("%d blocks, warnings %q", len(r.Samples.Blocks), r.Warnings)
	}
	for _, b := range r.Samples.Blocks {
		if b.Twin != -1 {
			t.Fatalf("a block has the twin %d", b.Twin)
		}
	}
}

func TestBatches(t *testing.T) {
	for name, c := range map[string]struct {
		tick       float64 // seconds
		cost       float64
		mode       sweeps.Mode
		iterations int // least number
		untimed    int // number of calls before each batch
		blocks     int
	}{
		"short calls":                    {1e-9, 1e-6, sweeps.Latency, 200, 500, 300},
		"a call as long as a batch":      {1e-9, 2e-4, sweeps.Latency, 1, 2, 300},
		"a call longer than the wait":    {1e-9, 1e-3, sweeps.Latency, 1, 1, 300},
		"long calls":                     {1e-9, 5e-3, sweeps.Latency, 1, 0, 300},
		"a coarse clock":                 {1e-6, 1e-5, sweeps.Latency, 95, 50, 300},
		"a clock coarser than the calls": {42e-9, 1e-8, sweeps.Latency, 19900, 50000, 1},
		"short calls in a row":           {1e-9, 1e-6, sweeps.Throughput, 200, 500, 300},
		"long calls in a row":            {1e-9, 5e-3, sweeps.Throughput, 8, 0, 300},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.tick, m.noise = c.tick, bell(0)
			o := m.options(10 * time.Minute)
			o.Mode = c.mode
			o.Planner = script{{64, c.blocks}}.planner
			r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: linear(c.cost, 0)}))[0]
			for _, b := range r.Samples.Blocks {
				n := b.Iterations[0]
				if n < c.iterations || float64(n)*c.cost < 0.9*max(200e-6, 1000*c.tick) || float64(n)*c.cost > 1.3*max(200e-6, 1000*c.tick, float64(c.iterations)*c.cost) {
					t.Fatalf("a batch has %d calls", n)
				}
				if math.Abs(b.Seconds[0]/c.cost-1) > 0.01 {
					t.Fatalf("a call takes %v s, want %v", b.Seconds[0], c.cost)
				}
			}
			last := r.Samples.Blocks[len(r.Samples.Blocks)-1]
			// A block is the batch and its twin, with untimed calls before each. Their number follows from the warm-up's
			// time, which includes a tick of the clock.
			perBlock := 2 * (last.Iterations[0] + c.untimed)
			least := perBlock*len(r.Samples.Blocks) - c.untimed*len(r.Samples.Blocks)/20
			if calls := m.calls; calls < least || calls > perBlock*len(r.Samples.Blocks)+32*last.Iterations[0]+40 {
				t.Errorf("%d calls were made for %d blocks of %d", calls, len(r.Samples.Blocks), perBlock)
			}
		})
	}
}

// Threads that fell asleep while others computed join late. No block may have that delay.
func TestSleepingThreads(t *testing.T) {
	m := newMachine()
	m.noise = bell(0)
	const asleepAfter, awakeAfter = 20e-6, 400e-6
	var last, awake float64
	parallel := func(float64) float64 {
		if m.now-last > asleepAfter {
			awake = m.now + awakeAfter
		}
		cost := 1e-5
		if m.now < awake {
			cost = 2e-5
		}
		last = m.now + cost
		return cost
	}
	o := m.options(time.Minute)
	o.Planner = script{{64, 20}}.planner
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64,
		implementation{name: "serial", cost: linear(1.5e-5, 0)}, implementation{name: "parallel", cost: parallel}))[0]
	for _, b := range r.Samples.Blocks {
		if math.Abs(b.Seconds[1]/1e-5-1) > 0.01 {
			t.Fatalf("a call of many takes %v s, want 1e-05", b.Seconds[1])
		}
	}
}

// Caches and clocks warm up, so calls are slow at first. No block may have such calls.
func TestWarmUp(t *testing.T) {
	m := newMachine()
	m.noise = bell(0)
	calls := 0
	cold := func(float64) float64 {
		calls++
		return 1e-5 * (1 + 3*math.Exp(-float64(calls)/30))
	}
	o := m.options(time.Minute)
	o.Planner = script{{64, 20}}.planner
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: cold}))[0]
	for _, b := range r.Samples.Blocks {
		// A batch that is two percent faster than the one before is not warm yet, which leaves some percent.
		if b.Seconds[0] > 1.1e-5 {
			t.Errorf("a block has a call of %v s, cold it is 4e-5 and warm 1e-5", b.Seconds[0])
		}
	}
}

// Nothing is known of the first size before its visit. Once its cost is known, the visit shrinks to its allowed cost, and to
// two blocks once the budget is spent.
func TestADearFirstVisit(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		want   int
	}{{10 * time.Minute, 20}, {24 * time.Second, 3}, {time.Second, 2}} {
		m := newMachine()
		m.noise = bell(0)
		o := m.options(c.budget)
		o.Planner = script{{64, 20}}.planner
		r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: linear(1, 0)}))[0]
		if n := len(r.Samples.Blocks); n != c.want {
			t.Errorf("a budget of %v buys %d blocks of calls of a second, want %d", c.budget, n, c.want)
		}
	}
}

func TestCollectionsInsideABlock(t *testing.T) {
	for name, c := range map[string]struct {
		every    int // calls
		degraded bool
	}{
		"now and then":   {17, false},
		"in every block": {1, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			calls := 0
			o := m.options(time.Minute)
			o.Planner, o.Virtual = script{{64, 10}}.planner, false
			r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: linear(1e-2, 0), run: func(int) error {
				if calls++; calls%c.every == 0 {
					runtime.GC()
				}
				return nil
			}}))[0]
			if r.Degraded != c.degraded || r.Discarded.Total() == 0 || len(r.Samples.Blocks) != 10 {
				t.Errorf("degraded %v with %d blocks thrown away and %d kept", r.Degraded, r.Discarded.Total(), len(r.Samples.Blocks))
			}
		})
	}
}

// Processors are woken before calls that may spread over them, and not before others.
func TestWhoIsGathered(t *testing.T) {
	m := newMachine()
	o := m.options(2 * time.Second)
	o.Planner = script{{4096, 10}}.planner
	woken, before := map[string]int{}, map[string]int{}
	o.Together = &sweeps.Together{
		Processors: 2, One: func() { m.spend(100e-6) }, HandOver: func() { m.spend(10e-6) },
		All: m.taking(func() float64 { m.log = append(m.log, "all"); return 100e-6 }),
	}
	cost := linear(50e-6, 0)
	implementations := []implementation{
		{name: "go", cost: cost}, {name: "go-parallel", cores: kernels.AllCores, cost: cost},
		{name: "library", cores: kernels.LibraryCores, cost: cost}, {name: "cuda", cores: kernels.AllCores, cost: cost, gpu: &gpuScript{kernels: 1}},
	}
	m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, implementations...))
	for k, name := range m.log[1:] {
		if name == "all" || name == m.log[k] {
			continue
		}
		before[name]++ // a batch of some implementation
		if m.log[k] == "all" {
			woken[name]++
		}
	}
	for name, want := range map[string]bool{
		"go": false, "go-parallel": true, "library": true, "cuda": false,
	} {
		share := float64(woken[name]) / float64(before[name])
		if want && share < 0.5 || !want && share > 0.4 || before[name] == 0 {
			t.Errorf("%s: woken before %d of %d batches", name, woken[name], before[name])
		}
	}
}
