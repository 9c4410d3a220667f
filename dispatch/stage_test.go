package dispatch

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var ofSong = Stage{Pipeline: "song", Name: "loud", Implementation: "c"}

// A Case and an Operation of a stage answer as the route says, whatever the calibration says, also without one. A record does not
// have their calls.
func TestStageAnswersAsItsRoute(t *testing.T) {
	t.Setenv(ForceVariable, "log=b,fft=go")
	d := newDispatcherFor(t, watchedFile(), epyc)
	shapes := newDispatcherFor(t, askedFile(), m3Max)
	records := map[string]*Recorder{}
	for name, d := range map[string]*Dispatcher{"cases.txt": d, "shapes.txt": shapes} {
		file := filepath.Join(t.TempDir(), name)
		r, err := d.Record(file)
		if err != nil {
			t.Fatal(err)
		}
		records[file] = r
	}
	for name, d := range map[string]*Dispatcher{"with a calibration": d, "with another one": shapes, "without one": nil} {
		c, o := d.CaseIn(&ofSong, "log", "", "", nil, nil), d.OperationIn(&ofSong, "fft", "", nil, nil)
		if d != nil && (c != d.CaseIn(&ofSong, "log", "", "", nil, nil) || c == d.CaseOf("log", "", "", nil, nil) ||
			c == d.CaseIn(&Stage{Pipeline: "song", Name: "quiet", Implementation: "c"}, "log", "", "", nil, nil)) {
			t.Errorf("%s: each stage has a Case of its own, and another one has all other calls", name)
		}
		for _, size := range []int{1, 600, 5000, 1 << 30} {
			if got := c.Choose(size); got != "c" {
				t.Errorf("%s at %d: %s", name, size, got)
			}
			if got := o.ChooseShape(size, 64); got != "c" {
				t.Errorf("%s at %d and 64: %s", name, size, got)
			}
		}
		for _, e := range []Explanation{c.Explain(600), o.ExplainShape(441, 64)} {
			if e.Implementation != "c" || e.Reason != "as the route of song says" {
				t.Errorf("%s: %v", name, e)
			}
		}
	}
	for file, r := range records {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if called, err := ReadShapes(file); err != nil || len(called) > 0 {
			t.Errorf("the record has %v, %v", called, err)
		}
	}
	if got := d.Case("log").Choose(600); got != "b" {
		t.Errorf("outside of the stage, %s is forced, and %s is chosen", "b", got)
	}
}

// What calls take where the program makes them comes into predictions, rivals and duels by factors. An implementation without a
// factor is no rival.
func TestStageFactors(t *testing.T) {
	one := timed{size: 1024, factors: map[string]float64{"a": 0.5, "b": 2, "d": math.NaN()}}
	for name, want := range map[string]float64{"a": 0.5, "b": 2, "c": 0, "d": 0} {
		got, known := one.factor(name)
		if known != (want > 0) || known && got != want {
			t.Errorf("%s: %v, %v, want %v", name, got, known, want)
		}
	}
	s := simulate(t, 11)
	c := s.d.CaseIn(&Stage{Pipeline: "song", Name: "loud", Implementation: "a"}, "log", "", "", nil, nil)
	at := timed{of: c, size: 1024}
	f := s.d.forecastOf(at.site())
	alone, _, known := f.at(&at, "b")
	at.factors = one.factors
	if seconds, _, still := f.at(&at, "b"); !known || !still || math.Abs(seconds/alone-2) > 1e-9 {
		t.Errorf("%g s alone, and %g s with a factor of 2", alone, seconds)
	}
	if _, _, known := f.at(&at, "c"); known {
		t.Error("an implementation without a factor is predicted")
	}
	of := &series{seriesKey: seriesKey{at.site(), "a"}, forecast: f, last: at}
	if got := of.rivals(math.Inf(1)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("rivals are %v, want b", got)
	}
}

// A duel is between implementations of which is known how long they take in the pipeline.
func TestStageDuelsWithFactors(t *testing.T) {
	s := simulate(t, 12)
	c := s.d.CaseIn(&Stage{Pipeline: "song", Name: "loud", Implementation: "a"}, "log", "", "", nil, nil)
	last := timed{of: c, size: 600, values: 1, factors: map[string]float64{"a": 0.5, "b": 2}, trial: func(string, []int) (func() error, func(), error) {
		return func() error { s.now += time.Millisecond; return nil }, nil, nil
	}}
	enter := func(choice string, against ...string) (times []float64, err error) {
		all, err := s.w.enter(&doubt{Doubt: Doubt{Stage: "loud", Implementation: choice, Against: against}, at: last.site(), last: last})
		for _, f := range all {
			seconds, _ := s.w.time(f)
			times = append(times, 1e3*seconds)
		}
		return times, err
	}
	if times, err := enter("a", "c", "b"); err != nil || len(times) != 2 || math.Abs(times[0]-0.5) > 1e-9 || math.Abs(times[1]-2) > 1e-9 {
		t.Errorf("a, b and c, of which no factor is known, take %v ms, %v (want 0.5 and 2)", times, err)
	}
	if times, err := enter("c", "a"); err == nil || len(times) > 0 || !strings.Contains(err.Error(), "how long c takes in stage loud") {
		t.Errorf("c: %v, %v", times, err)
	}
}

// A swap is of the stage alone, whichever pipeline calls the same case. A fresh calibration removes it.
func TestStageIsSwappedAlone(t *testing.T) {
	d := newDispatcherFor(t, watchedFile(), epyc)
	stage := func(pipeline, name, implementation string) *Case {
		return d.CaseIn(&Stage{Pipeline: pipeline, Name: name, Implementation: implementation}, "log", "", "", nil, nil)
	}
	c := stage("song", "loud", "a")
	at := timed{of: c, size: 600, values: 1}
	at.shape[0] = 600
	d.takeSwap(nil, &swap{name: "log", in: c.in.stageOf, octaves: at.site().octaves, from: "a", to: "b", reason: "of a test", made: time.Now(), site: at.site(), last: at})
	for _, of := range []struct {
		c    *Case
		size int
		want string
	}{{c, 511, "a"}, {c, 512, "b"}, {c, 1023, "b"}, {c, 1024, "a"}, {stage("song", "loud", "c"), 600, "c"}, {stage("song", "quiet", "a"), 600, "a"},
		{stage("other", "loud", "a"), 600, "a"}, {d.Case("log"), 600, "a"}} {
		if got := of.c.Choose(of.size); got != of.want {
			t.Errorf("%+v of log at %d: %s, want %s", of.c.in, of.size, got, of.want)
		}
	}
	if e := c.Explain(600); e.Answer != Swapped || !strings.Contains(e.Reason, "the calibration has a, as the route of song says") {
		t.Errorf("%v", e)
	}
	if err := d.Swap(watchedFile()); err != nil {
		t.Fatal(err)
	}
	if got := c.Choose(600); got != "a" {
		t.Errorf("with a fresh calibration: %s", got)
	}
}

// A Forecast may take long, and is asked again only for another call.
func TestForecastOfAList(t *testing.T) {
	asked := 0
	call := func(values ...int) *timed {
		one := &timed{over: new(Operation), values: len(values), factors: map[string]float64{"gpu": 0.5, "processor": 2},
			forecast: func(implementation string, shape []int) (float64, bool) {
				asked++
				return map[string]float64{"gpu": 1, "processor": 10}[implementation] * float64(shape[0]), len(shape) == 2 && implementation != "none"
			}}
		copy(one.shape[:], values)
		return one
	}
	var f forecast
	for _, of := range []struct {
		call           *timed
		implementation string
		want           float64
		asked          int
	}{
		{call(600, 1), "gpu", 300, 1},
		{call(600, 1), "gpu", 300, 1},
		{call(900, 1), "gpu", 450, 2},
		{call(900, 1), "processor", 18_000, 3},
		{call(900, 2), "processor", 18_000, 4},
		{call(900, 2), "none", 0, 5},
		{call(900, 2), "none", 0, 5},
		{call(900), "gpu", 0, 6},
	} {
		seconds, _, known := f.at(of.call, of.implementation)
		if known != (of.want > 0) || known && seconds != of.want || asked != of.asked {
			t.Errorf("%s at %v: %g s, %v after %d questions (want %g after %d)", of.implementation, of.call.shape[:of.call.values], seconds, known, asked, of.want, of.asked)
		}
	}
}

// One list that became faster on the processor says nothing of another list.
func TestAFasterListIsNoOtherList(t *testing.T) {
	d := newDispatcherFor(t, watchedFile(), epyc)
	w, err := d.Watch(1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	random, turn := rand.New(rand.NewPCG(5, 5)), w.Turn()
	list := func(name, implementation string) *Operation {
		return d.ListIn(&Stage{Pipeline: "p", Name: name, Implementation: implementation}, "processor")
	}
	one, other, third := list("a + b", "processor"), list("c + d", "gpu"), list("e + f", "gpu")
	faster := 1.0
	for n := range 200 {
		if n == 100 {
			faster = 0.5
		}
		for _, of := range []*Operation{one, other, third} {
			seconds := math.Exp(0.05 * random.NormFloat64())
			if of == one {
				seconds *= faster
			}
			turn.Operation(of, Timed{Implementation: of.ChooseShape(1000), Took: time.Duration(1e9 * seconds),
				Forecast: func(string, []int) (float64, bool) { return 1, true }}, 1000)
		}
		w.State()
	}
	if doubts := w.Doubtful(); len(doubts) > 0 {
		t.Errorf("a + b became faster on the processor, and %v is in doubt", doubts)
	}
}
