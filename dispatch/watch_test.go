package dispatch

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"crossover/calibration"
)

// simulated is a program on a machine that is simulated: its calls take times that the test decides.
type simulated struct {
	*testing.T
	*rand.Rand
	d       *Dispatcher
	w       *Watch
	turn    Turn
	now     time.Duration // what the clock of duels shows
	today   time.Time
	load    float64            // of the machine: all calls take so many times as long
	loads   func() float64     // what a call finds as load instead, in the program or in a duel; nil for none
	tail    float64            // probability of a call that is disturbed
	factors map[string]float64 // by implementation, or by implementation and case: "go fft/batch=1"
	off     map[string]float64 // by the same: what predictions are off by
	scatter float64            // standard deviation of the logarithm of a time
	fail    map[string]error   // by implementation: of its calls in duels
}

// watchedFile is a calibration with six cases. In each, b is at first as fast as a, and some 10 % faster at large sizes. c is
// four times as slow.
func watchedFile() *calibration.File {
	h := newHost(epyc)
	for _, name := range []string{"abs", "exp", "log", "scale", "sqrt", "sum"} {
		axis := calibration.Axis{Name: "n", Unit: "values", From: 64, To: 65536}
		cost := func(fixed, size float64) *calibration.Cost {
			return &calibration.Cost{FixedSeconds: fixed, SizeSeconds: size, Exponent: 1, Residual: 0.04}
		}
		next := func(names ...string) (all []calibration.Alternative) {
			for _, n := range names {
				all = append(all, calibration.Alternative{Implementation: n, Slowdown: 1.1})
			}
			return all
		}
		h.Cases = append(h.Cases, calibration.Case{
			Name: name, Operation: name, Axis: axis, Verdict: calibration.Crossover, TieBand: 0.03, Parameters: map[string]int{},
			Implementations: []calibration.Implementation{
				{Name: "a", Processor: "cpu", Cost: cost(10e-6, 10e-9)}, {Name: "b", Processor: "cpu", Cost: cost(12e-6, 9e-9)},
				{Name: "c", Processor: "cpu", Cost: cost(40e-6, 40e-9)}},
			Segments: []calibration.Segment{
				{From: 64, To: 2047, Implementation: "a", Next: next("b", "c")},
				{From: 2048, To: 65536, Implementation: "b", Next: next("a", "c"), Interval: &calibration.Interval{Low: 1900, High: 2200}}},
			Sizes: []int{64, 1024, 65536}, Blocks: 100,
		})
	}
	return &calibration.File{Hosts: []calibration.Host{h}}
}

func simulate(t *testing.T, seed uint64, options ...Option) *simulated {
	t.Helper()
	s := &simulated{T: t, Rand: rand.New(rand.NewPCG(seed, 3)), load: 1, factors: map[string]float64{}, off: map[string]float64{},
		scatter: 0.08, today: calibrated.Add(time.Hour), fail: map[string]error{}}
	options = append(options, WithClock(func() time.Time { return s.today }))
	s.d = newDispatcherFor(t, watchedFile(), epyc, options...)
	var err error
	if s.w, err = s.d.Watch(1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.w.Close)
	s.w.clock = func() time.Duration { return s.now }
	s.turn = s.w.Turn()
	return s
}

// took returns how long a call takes now.
func (s *simulated) took(c *Case, size int, implementation string) time.Duration {
	seconds := map[string]float64{"a": 10e-6 + 10e-9*float64(size), "b": 12e-6 + 9e-9*float64(size), "c": 40e-6 + 40e-9*float64(size)}[implementation]
	for _, key := range []string{implementation, implementation + " " + c.name} {
		if f, is := s.factors[key]; is {
			seconds *= f
		}
		if f, is := s.off[key]; is {
			seconds *= f
		}
	}
	if s.loads != nil {
		s.load = s.loads()
	}
	if s.Float64() < s.tail { // Pareto: the time grows by a factor with an infinite mean
		seconds /= 1 - s.Float64()
	}
	return time.Duration(seconds * s.load * math.Exp(s.scatter*s.NormFloat64()) * 1e9)
}

// call makes a call of a case, times it and hands it over.
func (s *simulated) call(name string, size int) {
	c := s.d.Case(name)
	chosen := c.Choose(size)
	took := s.took(c, size, chosen)
	s.now += took
	trial := func(implementation string, shape []int) (run func() error, end func(), err error) {
		if err := s.fail[implementation]; err != nil {
			return nil, nil, err
		}
		return func() error { s.now += s.took(c, shape[0], implementation); return nil }, func() {}, nil
	}
	s.turn.Case(c, size, Timed{Implementation: chosen, Took: took, Trial: trial})
}

var sixCases = []string{"abs", "exp", "log", "scale", "sqrt", "sum"}

// rounds calls all cases at a size, in random order.
func (s *simulated) rounds(n, size int) {
	for range n {
		for _, i := range s.Perm(len(sixCases)) {
			s.call(sixCases[i], size)
		}
		s.w.State() // as a program that looks now and then
	}
}

func (s *simulated) duel() []Duel {
	s.Helper()
	results, err := s.w.Duel(context.Background(), time.Second)
	if err != nil {
		s.Fatal(err)
	}
	return results
}

func (s *simulated) expectChoice(name string, size int, want string) {
	s.Helper()
	if got := s.d.Case(name).Choose(size); got != want {
		s.Errorf("%s at %d chooses %s (want %s): %v", name, size, got, want, s.d.Case(name).Explain(size))
	}
}

// TestWatchSwaps makes one implementation of one operation slower. It must be found within 64 timed calls, a duel must swap it,
// and when it is fast again, it must come back.
func TestWatchSwaps(t *testing.T) {
	s := simulate(t, 1)
	s.rounds(40, 600)
	if doubts := s.w.Doubtful(); len(doubts) > 0 {
		t.Fatalf("nothing changed, and %v is in doubt", doubts)
	}
	if blind := s.w.Blind(); blind != "" {
		t.Fatalf("six operations are called, and the watch is blind: %s", blind)
	}
	s.factors["a log"] = 1.3
	calls := 0
	for len(s.w.Doubtful()) == 0 {
		if s.rounds(1, 600); calls >= 64 {
			t.Fatal("not found within 64 timed calls")
		}
		calls++
	}
	t.Logf("found after %d calls: %v", calls, s.w.Doubtful())
	d := s.w.Doubtful()[0]
	if d.Case != "log" || d.Implementation != "a" || d.From != 512 || d.To != 1023 || len(d.Against) != 1 || d.Against[0] != "b" || d.Alone || d.Predicted || math.Abs(d.Factor-1.3) > 0.1 {
		t.Errorf("in doubt is %+v (want a of log at 512 to 1023, against b)", d)
	}
	s.expectChoice("log", 600, "a") // nothing is swapped before a duel
	results := s.duel()
	if len(results) != 1 || results[0].Verdict != Changed || results[0].Chosen != "b" || results[0].Err != nil || !(results[0].Low > 1.05) {
		t.Fatalf("the duel found %+v (want a change to b)", results)
	}
	t.Log(results[0])
	for _, of := range []struct {
		size int
		want string
	}{{511, "a"}, {512, "b"}, {600, "b"}, {1023, "b"}, {1024, "a"}, {1025, "a"}, {2048, "b"}} {
		s.expectChoice("log", of.size, of.want)
	}
	s.expectChoice("exp", 600, "a")
	e := s.d.Case("log").Explain(700)
	if e.Answer != Swapped || e.Implementation != "b" || !strings.Contains(e.Reason, "swapped by the watch just now, because in ") || !strings.Contains(e.Reason, " a took ") {
		t.Errorf("Explain: %v", e)
	}
	t.Log(e)
	if e := s.d.Case("log").Explain(511); e.Answer != Measured {
		t.Errorf("Explain at a size that was not swapped: %v", e)
	}
	if doubts := s.w.Doubtful(); len(doubts) > 0 {
		t.Errorf("still in doubt just after the duel: %v", doubts)
	}

	s.factors["a log"] = 0.9
	s.rounds(20, 600)
	s.today = s.today.Add(61 * time.Second)
	if doubts := s.w.Doubtful(); len(doubts) != 1 || doubts[0].Implementation != "b" || doubts[0].Against[0] != "a" {
		t.Fatalf("a minute later %v is in doubt (want the swap)", doubts)
	}
	if results := s.duel(); len(results) != 1 || results[0].Verdict != Changed || results[0].Chosen != "a" {
		t.Fatalf("the second duel found %+v (want a change to a)", results)
	}
	if e := s.d.Case("log").Explain(600); e.Implementation != "a" || e.Answer != Measured {
		t.Errorf("after the swap back: %v", e)
	}
	s.today = s.today.Add(time.Hour)
	if doubts := s.w.Doubtful(); len(doubts) > 0 {
		t.Errorf("in doubt after the swap back: %v", doubts)
	}
}

// TestWatchHysteresis has implementations that differ by less than 5 %, and one that is fast and slow by turns.
func TestWatchHysteresis(t *testing.T) {
	s := simulate(t, 2)
	s.rounds(40, 1024)
	s.factors["a log"], s.factors["b log"] = 1.35, 1.24 // at 1024, b then takes 0.96 times as long as a
	s.rounds(64, 1024)
	results := s.duel()
	if len(results) != 1 || results[0].Verdict != Kept {
		t.Fatalf("a is 4 %% slower, and the duel found %+v (want kept)", results)
	}
	s.rounds(100, 1024)
	if doubts := s.w.Doubtful(); len(doubts) > 0 {
		t.Errorf("what was kept is in doubt again: %v", doubts)
	}

	// From now on a is fast for 40 rounds, and slow for 40: 1.33 times as slow as is usual since the duel. A round lasts a second.
	swaps, chosen := 0, "a"
	delete(s.factors, "b log")
	for n := range 3600 {
		s.factors["a log"] = 0.8 + float64(n/40%2)
		s.rounds(1, 1024)
		s.today = s.today.Add(time.Second)
		s.duel()
		if now := s.d.Case("log").Choose(1024); now != chosen {
			swaps, chosen = swaps+1, now
		}
	}
	t.Logf("%d swaps in an hour", swaps)
	if swaps == 0 || swaps > 6 {
		t.Errorf("%d swaps in an hour of an implementation that is fast and slow by turns (want at most 6, one a step, and some)", swaps)
	}
}

// TestWatchUniformLoad counts swaps while the machine is twice as slow by turns. Whatever is in doubt is dueled for at once.
func TestWatchUniformLoad(t *testing.T) {
	rounds, swaps, doubts := 10_000, 0, 0
	if testing.Short() {
		rounds = 1000
	}
	for _, stay := range []float64{1, 5, 50} { // mean number of rounds until the load changes
		s := simulate(t, 3)
		for _, name := range sixCases {
			s.off["a "+name] = math.Exp(0.1 * s.NormFloat64())
		}
		s.rounds(40, 1024)
		for range rounds {
			if s.Float64() < 1/stay {
				s.load = 3 - s.load
			}
			s.rounds(1, 1024)
			s.today = s.today.Add(time.Minute) // no hold hides a false doubt
			for _, r := range s.duel() {
				doubts++
				if r.Verdict == Changed {
					swaps++
				}
			}
		}
	}
	t.Logf("%d false doubts and %d false swaps in %d timed calls", doubts, swaps, 3*rounds*len(sixCases))
	if swaps > 0 {
		t.Errorf("%d false swaps in %d timed calls, each of a thousand calls (want 0)", swaps, 3*rounds*len(sixCases))
	}
	if most := 3 * rounds * len(sixCases) / 1000; doubts > most {
		t.Errorf("%d false doubts in %d timed calls (want at most %d)", doubts, 3*rounds*len(sixCases), most)
	}
}

// loadsOf are loads that all calls have in common. Each returns a function that returns how many times as long the next call takes.
var loadsOf = []struct {
	name string
	next func(r *rand.Rand) func() float64
}{
	{"doubles or halves at half of the calls", doubling(2)},
	{"doubles or halves every 10 calls or so", doubling(10)},
	{"doubles or halves every 100 calls or so", doubling(100)},
	{"doubles or halves every 10 000 calls or so", doubling(10_000)},
	{"doubles six times, then is over", func(*rand.Rand) func() float64 {
		n := 0
		return func() float64 { n++; return math.Exp2(float64(n / 400 % 7)) }
	}},
	{"rises to twice and falls, in 1000 calls", func(*rand.Rand) func() float64 {
		n := 0
		return func() float64 { n++; return 1 + math.Abs(float64(n%1000)-500)/500 }
	}},
	{"rises slowly to four times, and falls at once", func(*rand.Rand) func() float64 {
		n := 0
		return func() float64 { n++; return math.Exp2(float64(n%5000) / 2500) }
	}},
	{"bursts of some calls that take twice as long", func(r *rand.Rand) func() float64 {
		left := 0
		return func() float64 {
			if left--; left > 0 {
				return 2
			}
			if r.Float64() < 0.01 {
				left = 2 + r.IntN(8)
			}
			return 1
		}
	}},
}

// doubling returns a load that doubles or halves after so many calls in the mean.
func doubling(calls float64) func(r *rand.Rand) func() float64 {
	return func(r *rand.Rand) func() float64 {
		load := 1.0
		return func() float64 {
			if r.Float64() < 1/calls {
				load = 3 - load
			}
			return load
		}
	}
}

// TestAMillionTimedCalls counts false swaps in 10⁶ timed calls of programs with two, three and six operations, under loads of several
// kinds. A program with 10⁹ calls times so many. a and b take equally long, so nothing but a duel keeps them from being swapped.
// Whatever is in doubt is dueled for at once, under the same load.
func TestAMillionTimedCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	const calls = 1_000_000
	for _, operations := range []int{2, 3, 6} {
		swaps := 0
		for k, load := range loadsOf {
			s := simulate(t, uint64(10*operations+k))
			s.loads, s.tail = load.next(s.Rand), 0.02
			for _, name := range sixCases {
				s.off["a "+name] = math.Exp(0.1 * s.NormFloat64()) // what the prediction of both is off by
				s.off["b "+name] = s.off["a "+name]
			}
			doubts, changed, each := 0, 0, calls/len(loadsOf)
			for n := range each {
				s.call(sixCases[s.IntN(operations)], 2000)
				if n%operations > 0 {
					continue
				}
				s.today = s.today.Add(2 * time.Hour) // no hold hides a false doubt
				for _, r := range s.duel() {
					doubts++
					if r.Verdict == Changed {
						changed++
						t.Log(r)
					}
				}
			}
			if st := s.w.State(); st.Timed != int64(each) || st.Missed > 0 {
				t.Errorf("%+v", st)
			}
			t.Logf("%d operations, a load that %s: %d false doubts and %d false swaps in %d timed calls", operations, load.name, doubts, changed, each)
			if most := each / 1000; doubts > most {
				t.Errorf("%d false doubts (want at most %d, one in 10⁶ calls of a program)", doubts, most)
			}
			swaps += changed
		}
		if swaps > 1 {
			t.Errorf("%d operations: %d false swaps in %d timed calls (want at most 1)", operations, swaps, calls)
		}
	}
}

// TestWatchFaster makes an implementation faster at the sizes at which it is chosen. The choices beside it are in doubt.
func TestWatchFaster(t *testing.T) {
	s := simulate(t, 4)
	both := func(n int) {
		for range n {
			s.rounds(1, 1024)
			s.call("log", 8192)
		}
	}
	both(60)
	if doubts := s.w.Doubtful(); len(doubts) > 0 {
		t.Fatalf("nothing changed, and %v is in doubt", doubts)
	}
	s.factors["b log"] = 0.7
	both(64)
	doubts := s.w.Doubtful()
	if len(doubts) != 1 || doubts[0].From != 1024 || doubts[0].Implementation != "a" || doubts[0].Against[0] != "b" || doubts[0].Factor > 0.8 {
		t.Fatalf("b of log takes 0.7 times as long at 8192, and %v is in doubt (want a at 1024)", doubts)
	}
	t.Log(doubts[0])
	if results := s.duel(); len(results) != 1 || results[0].Chosen != "b" {
		t.Fatalf("the duel found %+v", results)
	}
	s.expectChoice("log", 1024, "b")
}

// TestWatchAlone has one operation. The watch cannot know what changed, and says so.
func TestWatchAlone(t *testing.T) {
	s := simulate(t, 5)
	call := func(n int) {
		for range n {
			s.call("log", 1024)
			s.w.State()
		}
	}
	call(100)
	if blind := s.w.Blind(); !strings.Contains(blind, "only log by a is called") {
		t.Errorf("the watch is blind by %q", blind)
	}
	s.load = 2
	call(100)
	doubts := s.w.Doubtful()
	if len(doubts) != 1 || !doubts[0].Alone || !strings.Contains(doubts[0].String(), "cannot know") {
		t.Fatalf("the only operation takes twice as long, and %+v is in doubt (want one, alone)", doubts)
	}
	t.Log(doubts[0])
	if results := s.duel(); len(results) != 1 || results[0].Verdict != Kept {
		t.Errorf("the machine became slower, and the duel found %+v", results)
	}
}

// TestWatchFromTheFirstCall has an implementation that is slow when the watch begins.
func TestWatchFromTheFirstCall(t *testing.T) {
	s := simulate(t, 6)
	s.factors["a sum"] = 2
	s.load = 1.5 // by which the program differs from the calibration
	s.rounds(40, 1024)
	doubts := s.w.Doubtful()
	if len(doubts) != 1 || doubts[0].Case != "sum" || !doubts[0].Predicted || math.Abs(doubts[0].Factor-2) > 0.2 {
		t.Fatalf("a of sum takes twice as long as predicted, and %+v is in doubt", doubts)
	}
	s.duel()
	s.expectChoice("sum", 1024, "b")
}

// TestWatchFarAhead makes an implementation slower that stays the fastest.
func TestWatchFarAhead(t *testing.T) {
	s := simulate(t, 7)
	s.d.Case("log", "a", "c")
	s.rounds(40, 64)
	s.factors["a log"], s.factors["b log"] = 1.3, 9
	s.rounds(64, 64)
	for _, d := range s.w.Doubtful() {
		if d.Against[0] == "c" {
			t.Errorf("c is four times as slow, and %v", d)
		}
	}
	if results := s.duel(); len(results) != 1 || results[0].Verdict != Kept {
		t.Errorf("b is nine times as slow, and the duel found %+v", results)
	}
}

// TestWatchPolicies has a swap to the GPU, which is hot, and then busy.
func TestWatchPolicies(t *testing.T) {
	file := watchedFile()
	for i := range file.Hosts[0].Cases {
		file.Hosts[0].Cases[i].Implementations[1].Processor = "gpu"
	}
	s := simulate(t, 8)
	if err := s.d.Swap(file); err != nil {
		t.Fatal(err)
	}
	s.rounds(40, 1024)
	s.factors["a log"] = 1.4
	s.rounds(64, 1024)
	s.duel()
	s.expectChoice("log", 1024, "b")
	s.d.SetGPUWait(time.Millisecond)
	s.expectChoice("log", 1024, "a")
	if e := s.d.Case("log").Explain(1024); e.Implementation != "a" {
		t.Errorf("while the GPU is busy: %v", e)
	}
	s.d.SetGPUWait(0)
	if err := s.d.SetThermal("critical"); err != nil {
		t.Fatal(err)
	}
	s.expectChoice("log", 1024, "a")
	if err := s.d.SetThermal("nominal"); err != nil {
		t.Fatal(err)
	}
	s.expectChoice("log", 1024, "b")
	s.w.Close()
	s.expectChoice("log", 1024, "b")
	if err := s.d.Swap(file); err != nil {
		t.Fatal(err)
	}
	s.expectChoice("log", 1024, "a")
}

// TestDuelThatCannotDecide has trials that fail, a budget that is too small, and a context that ends.
func TestDuelThatCannotDecide(t *testing.T) {
	s := simulate(t, 9)
	s.rounds(40, 1024)
	s.factors["a log"] = 1.4
	s.rounds(64, 1024)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if results, err := s.w.Duel(canceled, time.Second); !errors.Is(err, context.Canceled) || len(results) > 0 {
		t.Errorf("a context that has ended: %v, %v", results, err)
	}
	if results, err := s.w.Duel(context.Background(), 0); err != nil || len(results) > 0 {
		t.Errorf("no budget: %v, %v", results, err)
	}
	if results, _ := s.w.Duel(context.Background(), time.Microsecond); len(results) != 1 || results[0].Verdict != Undecided {
		t.Errorf("a budget of a microsecond: %v", results)
	}
	s.fail["a"] = errors.New("out of memory")
	if results := s.duel(); len(results) != 1 || results[0].Verdict != Undecided || results[0].Err == nil {
		t.Errorf("the choice fails: %v", results)
	}
	delete(s.fail, "a")
	s.expectChoice("log", 1024, "a")
	s.fail["b"] = errors.New("out of memory")
	if results := s.duel(); len(results) != 1 || results[0].Verdict != Kept || results[0].Err == nil {
		t.Errorf("the other one fails: %v", results)
	}
	s.expectChoice("log", 1024, "a")
}

// TestMedianOf compares the interval with what it promises, on medians that are known.
func TestMedianOf(t *testing.T) {
	for _, of := range []struct{ n, k int }{{1, 0}, {10, 0}, {11, 1}, {22, 4}, {44, 11}, {88, 29}, {176, 66}} {
		if got := outside(of.n); got != of.k {
			t.Errorf("of %d values %d lie outside (want %d)", of.n, got, of.k)
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	const draws = 20_000
	missed := 0
	for range draws {
		values := make([]float64, looks[random.IntN(3)])
		for i := range values {
			values[i] = random.NormFloat64()
		}
		if _, low, high := medianOf(values); low > 0 || high < 0 {
			missed++
		}
	}
	if missed > draws/1000*2 {
		t.Errorf("the interval missed the median %d times in %d (want about %d)", missed, draws, draws/1000)
	}
}

// TestWatchOfShapes watches an operation whose choices depend on the shape.
func TestWatchOfShapes(t *testing.T) {
	file := predictedFile()
	d := newDispatcherFor(t, file, m3Max)
	w, err := d.Watch(1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var now time.Duration
	w.clock = func() time.Duration { return now }
	turn := w.Turn()
	random := rand.New(rand.NewPCG(4, 4))
	stft, fft := d.Operation("stft"), d.Operation("fft")
	shape := []int{2048, 512, 48000}
	axes := d.axesOf("stft")
	shape = shape[:len(axes)]
	chosen := stft.ChooseShape(shape...)
	if chosen == CPU {
		t.Fatalf("nothing is predicted for stft at %v: %v", shape, stft.ExplainShape(shape...))
	}
	factor := 1.0
	call := func(o *Operation, shape []int) {
		implementation := o.ChooseShape(shape...)
		at := timed{over: o, values: len(shape)}
		copy(at.shape[:], shape)
		f := d.forecastOf(at.site())
		seconds := func(name string) float64 {
			s, _, known := f.at(&at, name)
			if !known {
				t.Fatalf("nothing is predicted for %s of %s", name, o.name)
			}
			if o == stft && name == chosen {
				s *= factor
			}
			return s * math.Exp(0.05*random.NormFloat64())
		}
		turn.Operation(o, Timed{Implementation: implementation, Took: time.Duration(1e9 * seconds(implementation)),
			Trial: func(name string, of []int) (func() error, func(), error) {
				return func() error { now += time.Duration(1e9 * seconds(name)); return nil }, nil, nil
			}}, shape...)
		w.State()
	}
	other := make([]int, len(d.axesOf("fft")))
	for i := range other {
		other[i] = 1024
	}
	round := func(n int) {
		for range n {
			call(stft, shape)
			call(fft, other)
			call(fft, append([]int{256}, other[1:]...))
		}
	}
	round(60)
	if doubts := w.Doubtful(); len(doubts) > 0 {
		t.Fatalf("nothing changed, and %v is in doubt", doubts)
	}
	factor = 50
	round(64)
	doubts := w.Doubtful()
	if len(doubts) != 1 || doubts[0].Case != "stft" || doubts[0].To != 0 {
		t.Fatalf("stft is 50 times as slow, and %v is in doubt", doubts)
	}
	results, err := w.Duel(context.Background(), time.Minute)
	if err != nil || len(results) != 1 || results[0].Verdict != Changed {
		t.Fatalf("the duel found %v, %v", results, err)
	}
	if got := stft.ChooseShape(shape...); got != results[0].Chosen {
		t.Errorf("stft chooses %s (want %s)", got, results[0].Chosen)
	}
	if e := stft.ExplainShape(shape...); e.Answer != Swapped || e.Implementation != results[0].Chosen {
		t.Errorf("Explain: %v", e)
	} else {
		t.Log(e)
	}
	elsewhere := append([]int{shape[0] / 4}, shape[1:]...)
	if e := stft.ExplainShape(elsewhere...); e.Answer == Swapped {
		t.Errorf("at %v: %v", elsewhere, e)
	}
	if e := stft.ExplainShape(1); e.Answer != Unknown {
		t.Errorf("at no shape: %v", e)
	}
}

func TestWatchRefuses(t *testing.T) {
	throughput := watchedFile()
	throughput.Hosts[0].Method.Mode, throughput.Hosts[0].Method.InFlight = "throughput", 8
	d := newDispatcherFor(t, watchedFile(), epyc)
	w, err := d.Watch(0)
	if err != nil {
		t.Fatal(err)
	}
	if d.Watching() != w {
		t.Error("Watching does not return the watch")
	}
	var none *Dispatcher
	for _, of := range []struct {
		name  string
		d     *Dispatcher
		every int
		want  string
	}{
		{"nil", none, 0, "nil or zero dispatcher"},
		{"zero", &Dispatcher{}, 0, "nil or zero dispatcher"},
		{"every", d, -1, "want at least 1"},
		{"twice", d, 0, "watches already"},
		{"no calibration", newDispatcherFor(t, nil, epyc), 0, "nothing to compare"},
		{"throughput", newDispatcherFor(t, throughput, epyc), 0, "mode throughput"},
	} {
		if _, err := of.d.Watch(of.every); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v (want %s)", of.name, err, of.want)
		}
	}
	w.Close()
	w.Close()
	if d.Watching() != nil {
		t.Error("Watching returns a watch that is closed")
	}
	if w, err = d.Watch(0); err != nil {
		t.Error(err)
	}
	w.Close()
}

func TestNilWatch(t *testing.T) {
	var w *Watch
	turn := w.Turn()
	for range 10_000 {
		if turn.Due() {
			t.Fatal("a nil watch times a call")
		}
	}
	turn.Case(new(Case), 1, Timed{Implementation: "go", Took: 1})
	if results, err := w.Duel(context.Background(), time.Second); results != nil || err != nil || w.Doubtful() != nil || w.Blind() == "" || w.State().Blind == "" {
		t.Error("a nil watch has seen something")
	}
	w.Close()
}

// TestTurn counts how many calls are timed, and what they cost.
func TestTurn(t *testing.T) {
	d := newDispatcherFor(t, watchedFile(), epyc)
	w, err := d.Watch(0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := d.Case("log")
	for _, took := range []time.Duration{100 * time.Nanosecond, time.Millisecond} {
		turn, due := w.Turn(), 0
		w.cost.Store(1000)
		const calls = 1_000_000
		for range calls {
			if turn.Due() {
				due++
				turn.Case(c, 1024, Timed{Implementation: "a", Took: took})
			}
		}
		want := calls / 1000
		if took < time.Microsecond { // a thousandth of the calls would cost 1 % of the time
			want = calls / 5000
		}
		if math.Abs(float64(due-want)) > 0.15*float64(want) {
			t.Errorf("of %d calls of %v, %d are timed (want about %d)", calls, took, due, want)
		}
	}
	turn := w.Turn()
	w.Close()
	for range 10_000 {
		if turn.Due() {
			t.Fatal("a watch that is closed times a call")
		}
	}
}

// TestQueue pushes more than the queue has places.
func TestQueue(t *testing.T) {
	var q queue
	q.init()
	var one timed
	for round := range 3 {
		for i := range queued + 10 {
			q.push(&timed{size: i})
		}
		if missed := q.missed.Load(); missed != int64(10*(round+1)) {
			t.Fatalf("%d calls are missed (want %d)", missed, 10*(round+1))
		}
		for i := range queued {
			if !q.pop(&one) || one.size != i {
				t.Fatalf("call %d is %d", i, one.size)
			}
		}
		if q.pop(&one) {
			t.Fatal("there is one more call")
		}
	}
}

// TestWatchOfManyGoroutines is for the race detector. All calls must be seen or be missed.
func TestWatchOfManyGoroutines(t *testing.T) {
	const goroutines, calls = 8, 2000
	s := simulate(t, 10)
	var callers sync.WaitGroup
	for g := range goroutines {
		callers.Go(func() {
			turn := s.w.Turn()
			c := s.d.Case(sixCases[g%len(sixCases)])
			for n := range calls {
				if turn.Due() {
					turn.Case(c, 64<<(n%8), Timed{Implementation: c.Choose(64 << (n % 8)), Took: time.Duration(10_000_000 + n%7*1_000_000)})
				}
			}
		})
	}
	looking, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looking)
		for {
			select {
			case <-stop:
				return
			default:
				s.w.Doubtful()
				s.w.Duel(context.Background(), time.Millisecond)
				s.d.Case("log").Explain(1024)
			}
		}
	}()
	callers.Wait()
	close(stop)
	<-looking
	if st := s.w.State(); st.Timed+st.Missed < goroutines*calls/2 {
		t.Errorf("%d calls were seen and %d missed", st.Timed, st.Missed)
	}
}

// TestWatchHostileCalls hands over calls that cannot be.
func TestWatchHostileCalls(t *testing.T) {
	s := simulate(t, 11)
	c, o := s.d.Case("log"), s.d.Operation("log")
	long := make([]int, 100)
	for i := range long {
		long[i] = 1
	}
	for _, call := range []Timed{{}, {Implementation: "a"}, {Implementation: "a", Took: -1}, {Implementation: "nothing", Took: 1000},
		{Implementation: "a", Took: math.MaxInt64}, {Implementation: "a", Took: 1}} {
		for _, shape := range [][]int{nil, {0}, {1}, {1 << 40}, {1, 2, 3}, long} {
			for _, size := range []int{math.MinInt, -1, 0, 1, 1024, math.MaxInt} {
				s.turn.Case(c, size, call, shape...)
				s.turn.Case(new(Case), size, call, shape...)
			}
			s.turn.Operation(o, call, shape...)
			s.turn.Operation(new(Operation), call, shape...)
		}
	}
	s.w.Doubtful()
	s.duel()
}

// TestManySeries has more series than a watch has places.
func TestManySeries(t *testing.T) {
	s := simulate(t, 12)
	for range 3 {
		for _, name := range sixCases {
			for size := 1; size < 1<<20; size *= 2 {
				s.call(name, size)
			}
		}
	}
	if st := s.w.State(); st.Series > 64 || st.LeftOut == 0 {
		t.Errorf("%+v", st)
	}
	for range forgotten {
		s.call("log", 1024)
		s.w.State()
	}
	s.call("sum", 1<<25)
	if _, found := s.w.series[seriesKey{(&timed{of: s.d.Case("sum"), size: 1 << 25}).site(), "b"}]; !found {
		s.w.State()
		if _, found := s.w.series[seriesKey{(&timed{of: s.d.Case("sum"), size: 1 << 25}).site(), "b"}]; !found {
			t.Error("a new series does not take the place of one that is no longer called")
		}
	}
}

func TestWatchAllocatesNothing(t *testing.T) {
	d := newDispatcherFor(t, watchedFile(), epyc)
	w, err := d.Watch(1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c, turn := d.Case("log"), w.Turn()
	trial := Trial(func(string, []int) (func() error, func(), error) { return nil, nil, nil })
	if n := testing.AllocsPerRun(1000, func() {
		if turn.Due() {
			turn.Case(c, 1024, Timed{Implementation: "a", Took: time.Millisecond, Trial: trial}, 1024)
		}
	}); n > 0 {
		t.Errorf("a timed call allocates %v times", n)
	}
}

func BenchmarkTurn(b *testing.B) {
	d, err := New(watchedFile(), WithHost(epyc))
	if err != nil {
		b.Fatal(err)
	}
	w, err := d.Watch(0)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	c := d.Case("log")
	for _, of := range []struct {
		name string
		turn Turn
	}{{"nil", Turn{}}, {"watched", w.Turn()}} {
		b.Run("watch="+of.name, func(b *testing.B) {
			turn, n := of.turn, 0
			b.ReportAllocs()
			for b.Loop() {
				if turn.Due() {
					n++
				}
			}
			sink = n
		})
	}
	b.Run("watch=timed", func(b *testing.B) {
		turn := w.Turn()
		b.ReportAllocs()
		for b.Loop() {
			start := time.Now()
			turn.Case(c, 1024, Timed{Implementation: "a", Took: time.Since(start) + time.Millisecond})
			if w.queue.tail.Load()%512 == 0 {
				var one timed
				for w.queue.pop(&one) {
				}
			}
		}
	})
}
