package plans

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/cmd/internal/scripted"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/timings"
)

// compare runs Compare on a scripted machine.
func compare(t *testing.T, m *scripted.Machine, o Options) []Row {
	t.Helper()
	o.Machine = m.Command()
	rows, err := Compare(t.Context(), o.Machine.Cases(), o)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// costs returns the costs of an implementation on the processor, and of one that is far slower.
func costs() map[string]scripted.Cost {
	return map[string]scripted.Cost{"go": scripted.Linear(1e-6, 2e-10), "slow": scripted.Linear(5e-5, 1e-8)}
}

// If a program's plan does the same as a sweep, both take the same time. This also holds for implementations that are far
// slower than the best.
func TestTheSame(t *testing.T) {
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", costs(), nil)
	rows := compare(t, m, Options{Sizes: 3, Blocks: 40, Budget: 20 * time.Second, Seed: 1})
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 2 implementations at 3 sizes", len(rows))
	}
	for _, r := range rows {
		if r.Finding != Inside || r.Blocks < 40 || r.Visits < LeastVisits || !(r.Low <= r.Ratio && r.Ratio <= r.High) {
			t.Errorf("%+v", r)
		}
	}
	if s := Sum(rows); s.Finding != Inside || s.Inside != 6 {
		t.Errorf("%+v", s)
	}
}

// The sweep computes in place. The program copies its input and its output on one thread, to and from memory that the
// GPU reaches. The comparison finds the difference.
func TestACopyThatTheSweepLeavesOut(t *testing.T) {
	const bytesPerSecond = 10e9
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", map[string]scripted.Cost{"cuda": scripted.Linear(2e-5, 1e-10)},
		func(n float64) float64 { return 2 * 4 * n / bytesPerSecond })
	rows := compare(t, m, Options{Sizes: 3, Blocks: 40, Budget: 20 * time.Second, Seed: 1})
	want := []Finding{Inside, Outside, Outside} // a small call is nearly all launch
	for i, r := range rows {
		at := float64(r.Size)
		truth := 1 + 2*4*at/bytesPerSecond/(2e-5+1e-10*at)
		if r.Finding != want[i] || math.Abs(r.Ratio/truth-1) > 0.03 {
			t.Errorf("%+v, want %s and a ratio of %.3f", r, want[i], truth)
		}
	}
	if s := Sum(rows); s.Finding != Outside || s.Outside != 2 || !strings.Contains(s.Line(), "2 of 3 comparisons outside") {
		t.Errorf("%+v: %s", s, s.Line())
	}
}

// If the sweep pays for more than a program, the plan is faster than the sweep says. The comparison finds that too.
func TestAnExtraThatIsTheSweepsOwn(t *testing.T) {
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", costs(), func(n float64) float64 { return -0.3 * (1e-6 + 2e-10*n) })
	rows := compare(t, m, Options{Sizes: 1, Blocks: 40, Budget: 20 * time.Second, Seed: 1})
	if rows[0].Implementation != "go" || rows[0].Finding != Outside || rows[1].Finding != Inside {
		t.Errorf("%+v", rows)
	}
}

// On a machine whose times scatter by a half, few findings are wrong. Unsettled rows are visited again. They are undecided if
// the interval still holds a limit, or if few blocks of a quiet machine remain.
func TestNoise(t *testing.T) {
	const machines = 20
	rows, visits, outside := map[float64]int{}, map[float64]int{}, map[float64]int{}
	for _, scatter := range []float64{0.02, 0.5} {
		for seed := range uint64(machines) {
			m := scripted.New(seed, scatter)
			m.AddPlanned("fft", costs(), nil)
			for _, r := range compare(t, m, Options{Sizes: 3, Budget: 10 * time.Minute, Seed: 1}) {
				rows[scatter]++
				visits[scatter] += r.Visits
				if r.Finding == Outside {
					outside[scatter]++
				}
				if scatter < 0.1 && r.Finding != Inside {
					t.Errorf("%+v", r)
				}
			}
		}
	}
	if most := rows[0.5] * 4 / 100; outside[0.5] > most {
		t.Errorf("%d of %d rows are outside where times scatter, want %d at most", outside[0.5], rows[0.5], most)
	}
	if visits[0.02] != rows[0.02]*LeastVisits || 6*visits[0.5] <= 8*LeastVisits*rows[0.5] {
		t.Errorf("%d visits on quiet machines, %d where times scatter", visits[0.02], visits[0.5])
	}
}

// Rows that the budget does not reach are reported.
func TestTooSmallABudget(t *testing.T) {
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", map[string]scripted.Cost{"go": scripted.Linear(0.2, 0)}, nil)
	rows := compare(t, m, Options{Sizes: 3, Budget: 5 * time.Second, Seed: 1})
	short := 0
	for _, r := range rows {
		if r.Finding != Undecided && r.Finding != Unmeasured || r.Why == "" || r.High != 0 {
			t.Errorf("%+v", r)
		}
		if r.Finding == Undecided {
			short++
		}
	}
	if s := Sum(rows); short == 0 || s.Finding != Undecided || s.Median != 0 {
		t.Errorf("%d rows have some blocks, %+v", short, s)
	}
}

// A second comparison measures what the first one left, and keeps what it settled.
func TestEarlier(t *testing.T) {
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", costs(), nil)
	// After so short a time only the cheapest rows are settled.
	first := compare(t, m, Options{Sizes: 3, Budget: 150 * time.Millisecond, Seed: 1})
	s := Sum(first)
	if s.Inside == 0 || s.Inside == len(first) {
		t.Fatalf("%d of %d rows inside, want some", s.Inside, len(first))
	}
	k := slices.IndexFunc(first, func(r Row) bool { return r.Finding == Inside })
	first[k].Finding, first[k].Ratio = Outside, 2 // what is settled is believed, whatever it is
	k = slices.IndexFunc(first, func(r Row) bool { return r.Finding == Unmeasured })
	first[k].Finding = Undecided
	second := compare(t, m, Options{Sizes: 3, Budget: 20 * time.Second, Seed: 2, Earlier: first})
	if len(second) != len(first) {
		t.Fatalf("%d rows, want %d", len(second), len(first))
	}
	for i, r := range second {
		switch was := first[i]; {
		case was.Finding == Inside || was.Finding == Outside:
			if !reflect.DeepEqual(r, was) {
				t.Errorf("%+v, settled as %+v", r, was)
			}
		case r.Finding != Inside:
			t.Errorf("%+v", r)
		}
	}
	before := m.Now()
	again := compare(t, m, Options{Sizes: 3, Budget: 20 * time.Second, Seed: 3, Earlier: second})
	if took := m.Now() - before; !reflect.DeepEqual(again, second) || took > 100*time.Millisecond { // the sentinel's baselines
		t.Errorf("%+v after %v, want %+v at once", again, took, second)
	}
}

// Visits of an earlier comparison count together with new ones.
func TestEarlierVisits(t *testing.T) {
	p := pair{of: kernels.Case{Name: "scale", Axis: kernels.Axis{Unit: "elements"}}, implementation: "go"}
	half := p.row(result(1, 1.01, 0.99), 10, Row{})
	if half.Finding != Undecided || half.Visits != 3 || !slices.Equal(half.Ratios, []float64{1, 1.01, 0.99}) {
		t.Fatalf("%+v", half)
	}
	whole := p.row(result(1, 1.02, 1.4), 10, half)
	// Six visits lie between their extremes, of which one is 1.4.
	if whole.Finding != Undecided || whole.Visits != 6 || whole.Blocks != 18 || whole.Low != 0.99 || math.Abs(whole.High-1.4) > 1e-9 {
		t.Errorf("%+v", whole)
	}
	if got, want := whole.Seconds, half.Seconds; math.Abs(got/want-1) > 0.1 {
		t.Errorf("a visit takes %v s, and %v s before", got, want)
	}
	if again := p.row(result(), 10, half); !reflect.DeepEqual(again, half) {
		t.Errorf("%+v without a new visit, want %+v", again, half)
	}
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", map[string]scripted.Cost{"go": scripted.Linear(0.2, 0)}, nil)
	size := compare(t, m, Options{Sizes: 1, Budget: time.Nanosecond, Seed: 1})[0].Size
	half = Row{Case: "fft", Implementation: "go", Size: size, Finding: Undecided, Visits: 4, Blocks: 4, Seconds: 0.4, Ratios: []float64{1, 1, 1, 1}}
	// What is known to be long has one block a visit from the first one on.
	if r := compare(t, m, Options{Sizes: 1, Budget: time.Minute, Seed: 1, Earlier: []Row{half}})[0]; r.Finding != Inside || r.Visits != 6 || r.Blocks != 6 {
		t.Errorf("%+v", r)
	}
}

// The reference of a size is computed once for all implementations.
func TestOneReference(t *testing.T) {
	computed := 0
	c := kernels.Case{Problem: func(int, kernels.Input) kernels.Problem { return counter{&recorder{}, &computed} }}
	known := &references{of: map[place][]float64{}}
	for _, implementation := range []string{"go", "fftw"} {
		of := pair{of: c, computes: "fft", implementation: implementation, programs: []kernels.Implementation{{Name: implementation}}}.together(known, 1)
		for _, size := range []int{8, 16, 8} {
			if got := of.Problem(size, kernels.Input{}).Reference(); len(got) != 1 {
				t.Errorf("%v", got)
			}
		}
	}
	if computed != 2 {
		t.Errorf("computed %d references of two sizes", computed)
	}
	known.values = mostKept
	for range 2 {
		known.get(place{"fft", 32}, counter{nil, &computed}.Reference)
	}
	if computed != 4 || known.values != mostKept {
		t.Errorf("more is kept than %d values", mostKept)
	}
}

type counter struct {
	kernels.Problem
	computed *int
}

func (c counter) Reference() []float64 {
	*c.computed++
	return []float64{1}
}

// A long call needs one block a visit.
func TestLongCalls(t *testing.T) {
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", map[string]scripted.Cost{"go": scripted.Linear(0.2, 0)}, nil)
	rows := compare(t, m, Options{Sizes: 1, Budget: time.Minute, Seed: 1})
	// The first visit has three, because nothing was known of the call.
	if r := rows[0]; r.Finding != Inside || r.Visits != LeastVisits || r.Blocks != LeastVisits+2 {
		t.Errorf("%+v", r)
	}
}

func TestWrongValues(t *testing.T) {
	c := kernels.Case{Name: "fft", Axis: kernels.Axis{Min: 1, Max: 8, Unit: "samples"}}
	wrong := &sweeps.Result{Case: &c, Implementations: []sweeps.Status{{Name: "program:go", Excluded: "wrong at 4", Wrong: true}}}
	if r := (pair{of: c, implementation: "go"}).row(wrong, 4, Row{}); r.Finding != Unmeasured || r.Why != "program:go: wrong at 4" {
		t.Errorf("%+v", r)
	}
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", costs(), nil)
	machine := m.Command()
	broken := machine.Cases()
	broken[0].Tolerance = func(int) float64 { return -1 } // no output is accepted
	if _, err := Compare(t.Context(), broken, Options{Machine: machine, Sizes: 1, Budget: time.Second}); !errors.Is(err, ErrWrong) {
		t.Errorf("%v, want wrong values", err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := scripted.New(1, 0.02)
	m.AddPlanned("fft", costs(), nil)
	machine := m.Command()
	if _, err := Compare(ctx, machine.Cases(), Options{Machine: machine, Sizes: 1, Budget: time.Second}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A few pairs cover as many implementations as possible.
func TestDraw(t *testing.T) {
	m := scripted.New(1, 0)
	for k := range 10 {
		of := costs()
		if k == 0 {
			of["rare"] = scripted.Linear(1, 1)
		}
		m.AddPlanned(fmt.Sprintf("fft/batch=%d", k), of, nil)
	}
	all := pairsOf(m.Command().Cases())
	if len(all) != 21 {
		t.Fatalf("%d pairs, want 21", len(all))
	}
	count := map[string]int{}
	for _, p := range draw(slices.Clone(all), 5, 1) {
		count[p.implementation]++
	}
	if count["go"] != 2 || count["slow"] != 2 || count["rare"] != 1 {
		t.Errorf("%v", count)
	}
	named := func(pairs []pair) (names []string) {
		for _, p := range pairs {
			names = append(names, p.of.Name)
		}
		return names
	}
	if a, b := named(draw(slices.Clone(all), 5, 1)), named(draw(slices.Clone(all), 5, 2)); slices.Equal(a, b) {
		t.Errorf("two seeds draw the same: %v", a)
	}
}

// The implementation that is bound first changes from visit to visit. Everything that was bound is released.
func TestInTurn(t *testing.T) {
	var bound []string
	open := 0
	c := kernels.Case{Problem: func(int, kernels.Input) kernels.Problem { return &recorder{bound: &bound, open: &open} }}
	p := pair{of: c, implementation: "go", programs: []kernels.Implementation{{Name: "go"}, {Name: "program:go"}}}
	together := p.together(&references{of: map[place][]float64{}}, 4)
	for range 2 {
		problem := together.Problem(8, kernels.Input{})
		for _, name := range []string{"go", "program:go", "go"} {
			call, err := problem.Bind(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := int(call.Output()[0]); got != len(name) {
				t.Errorf("%s is the call of another", name)
			}
			call.Release()
		}
		kernels.Release(problem)
	}
	// What is bound first is run before the other is bound, because a plan takes memory on a GPU in its first call.
	if want := []string{"program:go", "run program:go", "go", "go", "go", "program:go", "go"}; !slices.Equal(bound, want) {
		t.Errorf("bound in the order %v, want %v", bound, want)
	}
	problem := together.Problem(8, kernels.Input{})
	if _, err := problem.Bind("go"); err != nil {
		t.Fatal(err)
	}
	kernels.Release(problem)
	if open != 1 { // one is the test's own
		t.Errorf("%d calls are open", open)
	}
}

// Each is bound first in one of two visits, and not in turn: an allocator gives out a few addresses in turn, and then one of
// the two would always get the same ones.
func TestWhichIsFirstIsRandom(t *testing.T) {
	var bound []string
	open := 0
	c := kernels.Case{Problem: func(int, kernels.Input) kernels.Problem { return &recorder{bound: &bound, open: &open} }}
	p := pair{of: c, implementation: "go", programs: []kernels.Implementation{{Name: "go"}, {Name: "program:go"}}}
	together := p.together(&references{of: map[place][]float64{}}, 1)
	const visits = 40
	order := ""
	for range visits {
		bound = nil
		if _, err := together.Problem(8, kernels.Input{}).Bind("go"); err != nil {
			t.Fatal(err)
		}
		order += string(bound[0][0])
	}
	if got := strings.Count(order, "p"); got != visits/2 {
		t.Errorf("the program is first in %d of %d visits", got, visits)
	}
	for n := 0; n < visits; n += 2 {
		if order[n] == order[n+1] {
			t.Errorf("the same is first in both visits of a pair: %s", order)
		}
	}
	if alternating := strings.Repeat("pg", visits/2); order == alternating || order == strings.Repeat("gp", visits/2) {
		t.Errorf("the two take turns: %s", order)
	}
}

// recorder is a problem that records what was bound.
type recorder struct {
	bound *[]string
	open  *int
}

func (r *recorder) Reference() []float64 { return nil }

func (r *recorder) Bind(name string) (kernels.Call, error) {
	*r.bound = append(*r.bound, name)
	*r.open++
	return kernels.Call{
		Output: func() []float32 { return []float32{float32(len(name))} },
		Run:    func() error { *r.bound = append(*r.bound, "run "+name); return nil },
		Close:  func() { *r.open-- },
	}, nil
}

// result returns the samples of a sweep at one size, in visits of 3 blocks. In each visit the program takes the given ratio
// of the sweep's time.
func result(ratios ...float64) *sweeps.Result {
	r := &sweeps.Result{Samples: timings.Set{Implementations: []string{"go", "program:go"}}}
	for visit, ratio := range ratios {
		for k := range 3 {
			sweep := 1e-3 * float64(1+k) // a drift, which the ratios of a block do not have
			r.Samples.Blocks = append(r.Samples.Blocks, timings.Block{
				Size: 10, Visit: visit, Twin: -1, Seconds: []float64{sweep, sweep * ratio}, Iterations: []int{1, 1},
			})
		}
	}
	return r
}

func TestRow(t *testing.T) {
	p := pair{of: kernels.Case{Name: "scale", Axis: kernels.Axis{Unit: "elements"}}, implementation: "go"}
	for name, test := range map[string]struct {
		ratios []float64
		want   Finding
		ratio  float64
	}{
		"the same":            {[]float64{0.98, 0.99, 1, 1, 1.01, 1.02}, Inside, 1},
		"too few visits":      {[]float64{1, 1, 1, 1, 1}, Undecided, 1},
		"slower":              {[]float64{1.3, 1.3, 1.3, 1.3, 1.3, 1.3}, Outside, 1.3},
		"faster":              {[]float64{0.7, 0.7, 0.8, 0.8, 0.7, 0.7}, Outside, 0.7},
		"slower, it seems":    {[]float64{1.1, 1.2, 1.2, 1.2, 1.2, 1.2}, Undecided, 1.2},
		"the same, it seems":  {[]float64{1, 1, 1, 1, 1, 1.2}, Undecided, 1},
		"one visit out of 12": {[]float64{1, 1, 1, 1, 1, 1.9, 1, 1, 1, 1, 1, 1}, Inside, 1},
		"nothing":             {nil, Unmeasured, 0},
	} {
		r := p.row(result(test.ratios...), 10, Row{})
		if r.Finding != test.want || math.Abs(r.Ratio-test.ratio) > 1e-9 || r.Visits != len(test.ratios) || r.Blocks != 3*r.Visits {
			t.Errorf("%s: %+v, want %s", name, r, test.want)
		}
		if undecided := test.want == Undecided || test.want == Unmeasured; (r.Why != "") != undecided {
			t.Errorf("%s: why is %q", name, r.Why)
		}
	}
	short := result(1, 1, 1, 1, 1, 1)
	short.Samples.Blocks[0].Seconds[1] = math.NaN()
	if r := p.row(short, 10, Row{}); r.Finding != Undecided || r.Blocks != LeastBlocks-1 {
		t.Errorf("a block too few: %+v", r)
	}
}

func TestSum(t *testing.T) {
	rows := func(n int, ratio float64, f Finding) []Row {
		return slices.Repeat([]Row{{Ratio: ratio, Low: ratio, High: ratio, Finding: f}}, n)
	}
	for name, test := range map[string]struct {
		rows []Row
		want Finding
	}{
		"the same":              {rows(9, 1, Inside), Inside},
		"one row is off":        {slices.Concat(rows(99, 1, Inside), rows(1, 1.2, Outside)), Outside},
		"all a little too dear": {rows(9, 1.07, Inside), Outside},
		"all a little too fast": {rows(9, 0.93, Inside), Outside},
		"most are undecided":    {slices.Concat(rows(6, 1, Inside), rows(7, 1, Undecided)), Undecided},
		"a few are undecided":   {slices.Concat(rows(6, 1, Inside), rows(2, 1, Undecided)), Inside},
		"too few for a median":  {rows(5, 1.1, Inside), Inside},
		"the median straddles":  {slices.Concat(rows(5, 1, Inside), rows(4, 1.1, Inside)), Undecided},
		"nothing":               {nil, Undecided},
	} {
		if s := Sum(test.rows); s.Finding != test.want || s.Rows != len(test.rows) {
			t.Errorf("%s: %+v, want %s", name, s, test.want)
		}
	}
}

// Rows that are all inside have not shown too little, even if the interval of their median is too wide.
func TestLine(t *testing.T) {
	for want, s := range map[string]Summary{
		"calls by a program's plans may take another time than the timings say: median ratio 1.03, which may lie outside 0.95 to 1.05, 0 of 24 comparisons outside 0.85 to 1.15, 1 undecided, 0 unmeasured": {
			Rows: 24, Inside: 23, Undecided: 1, Median: 1.03, Finding: Undecided},
		"whether calls by a program's plans take as long as the timings say is open: 2 of 24 comparisons inside 0.85 to 1.15, 0 undecided, 22 unmeasured": {
			Rows: 24, Inside: 2, Unmeasured: 22, Median: 1.03, Finding: Undecided},
	} {
		if got := s.Line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	if got, want := spread(kernels.Axis{Min: 1, Max: 1000000}, 3), []int{9, 999, 100000}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := spread(kernels.Axis{Min: 1, Max: 2}, 3); len(got) != 1 {
		t.Errorf("%v of an axis from 1 to 2", got)
	}
}

// What slows programs at first only is no fault of theirs. What slows them throughout is, and is named.
func TestBriefLooksAgain(t *testing.T) {
	for lasts, want := range map[time.Duration]string{
		400 * time.Millisecond: "calls by a program's plans take as long as the timings say: median ratio 1.0",
		time.Hour:              "1 of 8 comparisons outside 0.85 to 1.15 (fft/batch=3 by ",
	} {
		m := scripted.New(1, 0.02)
		machine := m.Command()
		extra := func(n float64) float64 {
			if machine.Clock.Now() > lasts || n < 1000 {
				return 0
			}
			return 1e-9 * n
		}
		for k := range 5 {
			cost := scripted.Linear(0, 0)
			if k == 3 {
				cost = extra
			}
			m.AddPlanned(fmt.Sprintf("fft/batch=%d", k), costs(), cost)
		}
		s, err := Brief(t.Context(), m.Command().Cases(), Options{Machine: machine, Budget: 4 * time.Second, Seed: 1})
		if err != nil || !strings.Contains(s.Line(), want) || (s.Farthest != nil) != (s.Outside > 0) {
			t.Errorf("%v, %+v: %q, want %q", err, s, s.Line(), want)
		}
	}
}

func TestBrief(t *testing.T) {
	for budget, want := range map[time.Duration]time.Duration{
		3 * time.Minute: 18 * time.Second, 10 * time.Second: 2 * time.Second, time.Second: 500 * time.Millisecond,
	} {
		if got := BriefBudget(budget); got != want {
			t.Errorf("%v of %v, want %v", got, budget, want)
		}
	}
	for extra, want := range map[float64]string{
		0:    "calls by a program's plans take as long as the timings say: median ratio 1.00, 0 of 8 comparisons outside 0.85 to 1.15",
		1e-9: "calls by a program's plans take another time than the timings say: median ratio ",
	} {
		m := scripted.New(1, 0.02)
		for k := range 5 {
			m.AddPlanned(fmt.Sprintf("fft/batch=%d", k), costs(), scripted.Linear(0, extra))
		}
		machine := m.Command()
		s, err := Brief(t.Context(), machine.Cases(), Options{Machine: machine, Budget: 4 * time.Second, Seed: 1})
		if err != nil || s.Rows != 8 || !strings.HasPrefix(s.Line(), want) {
			t.Errorf("%v, %+v: %q, want %q", err, s, s.Line(), want)
		}
	}
	if s, err := Brief(t.Context(), nil, Options{Budget: time.Second}); err != nil || s.Rows != 0 || !strings.HasPrefix(s.Line(), "no plan of a program") {
		t.Errorf("%v, %q", err, s.Line())
	}
}
