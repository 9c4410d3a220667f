package drift

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// residuals are what times of real calls scatter by: for each implementation and size of the cases of two calibrated hosts, the
// logarithms of the times divided by their median, a line of testdata/residuals.txt.gz each. Each list has at least 15 values.
var residuals = sync.OnceValues(func() ([][]float64, error) {
	file, err := os.Open("testdata/residuals.txt.gz")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	var all [][]float64
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		var list []float64
		for _, word := range strings.Fields(lines.Text()) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		all = append(all, list)
	}
	return all, lines.Err()
})

// program is a program with several series.
type program struct {
	*rand.Rand
	series []*Series
	bias   []float64        // what predictions are off by
	noise  []func() float64 // of each series: what the next call scatters by
	tail   float64          // probability of a call that is disturbed
	rates  []float64        // how often each series is called beside the others, all 1 if nil
	calls  []int
}

// scatters are what calls may scatter by, as functions of the random numbers of a program that return what its next series does.
// The detector was designed with real ones, and the others look for what it owes to that.
var scatters = map[string]func(r *rand.Rand) (next func() float64){
	"normal": func(r *rand.Rand) func() float64 {
		return func() float64 { return 0.1 * r.NormFloat64() }
	},
	"heavy": func(r *rand.Rand) func() float64 { // Student's distribution with two degrees of freedom, which has no variance
		return func() float64 { return 0.06 * r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }
	},
	"two states": func(r *rand.Rand) func() float64 { // of its own, for three calls each: on one of them all takes 1.25 times as long
		state := 0.0
		return func() float64 {
			if r.Float64() < 1./3 {
				state = math.Log(1.25) - state
			}
			return state + 0.03*r.NormFloat64()
		}
	},
	"autocorrelated": func(r *rand.Rand) func() float64 {
		last := 0.0
		return func() float64 {
			last = 0.7*last + 0.07*r.NormFloat64()
			return last
		}
	},
}

// newProgram returns a program with series whose predictions are off by 10 % and whose calls scatter as real ones do.
func newProgram(t *testing.T, seed uint64, series int) *program {
	t.Helper()
	pool, err := residuals()
	if err != nil {
		t.Fatal(err)
	}
	if len(pool) < 100 {
		t.Fatalf("testdata has %d lists of residuals (want at least 100)", len(pool))
	}
	p := &program{Rand: rand.New(rand.NewPCG(seed, 7)), calls: make([]int, series)}
	var d Detector
	for range series {
		p.series = append(p.series, d.Add(0.13+3*0.1))
		p.bias = append(p.bias, 0.1*p.NormFloat64())
		list := pool[p.IntN(len(pool))]
		p.noise = append(p.noise, func() float64 { return list[p.IntN(len(list))] })
	}
	return p
}

// scattering makes calls scatter by a model, and by what real calls do if it has no name.
func (p *program) scattering(model string) *program {
	if of := scatters[model]; of != nil {
		for i := range p.noise {
			p.noise[i] = of(p.Rand)
		}
	}
	return p
}

// call observes a call of one of the series, which takes exp(load + extra(series)) times as long as usual.
func (p *program) call(load float64, extra func(series int) float64) (series int) {
	i := p.IntN(len(p.series))
	for p.rates != nil && p.Float64() >= p.rates[i] {
		i = p.IntN(len(p.series))
	}
	value := p.bias[i] + p.noise[i]() + load
	if extra != nil {
		value += extra(i)
	}
	if p.Float64() < p.tail { // Pareto: the time grows by a factor with an infinite mean
		value -= math.Log(p.Float64())
	}
	p.calls[i]++
	p.series[i].Observe(value)
	return i
}

// settle lets all series find their usual differences.
func (p *program) settle() { p.usual(3 * settling) }

// usual makes so many calls of each series at least.
func (p *program) usual(calls int) {
	for slices.Min(p.calls) < calls {
		p.call(0, nil)
	}
}

// toCatch returns how many calls of series 0 it takes until its change is reported in the direction of log, at most most.
func (p *program) toCatch(log float64, most int) int {
	before := p.calls[0]
	for p.calls[0]-before < most {
		p.call(0, func(i int) float64 {
			if i == 0 {
				return log
			}
			return 0
		})
		if c, changed := p.series[0].Change(); changed && !c.Alone && c.Log*log > 0 {
			break
		}
	}
	return p.calls[0] - before
}

// TestCaughtWithin64Calls makes a series slower after some calls. The bounds are some twice what was missed when they were
// written.
func TestCaughtWithin64Calls(t *testing.T) {
	const most = 200
	for _, of := range []struct {
		series int
		log    float64
		before int // calls
		model  string
		tail   float64
		missed float64 // share of the runs
	}{
		{2, Matters, 48, "", 0, 0.015}, // few calls say what is usual
		{3, Matters, 48, "", 0, 0.015},
		{2, Matters, 200, "", 0, 0.002},
		{3, Matters, 200, "", 0, 0.006},
		{6, Matters, 48, "", 0, 0.005},
		{6, Matters, 200, "", 0, 0},
		{20, Matters, 200, "", 0, 0},
		{6, -Matters, 200, "", 0, 0.005},
		{6, math.Ln2, 48, "", 0, 0},
		{2, Matters, 200, "", 0.1, 0.1}, // a fifth of the differences is disturbed, and half of these hide the change
		{6, Matters, 200, "", 0.1, 0.005},
		{2, Matters, 200, "normal", 0, 0.005},
		{6, Matters, 200, "normal", 0, 0},
		{2, Matters, 200, "heavy", 0, 0.01},
		{6, Matters, 200, "heavy", 0, 0},
		{2, Matters, 200, "two states", 0, 0.05},
		{6, Matters, 200, "two states", 0, 0.03},
		{2, Matters, 200, "autocorrelated", 0, 0.1},
		{6, Matters, 200, "autocorrelated", 0, 0.03},
	} {
		t.Run(fmt.Sprintf("series=%d/factor=%.2f/before=%d/model=%s/tail=%g", of.series, math.Exp(of.log), of.before, of.model, of.tail), func(t *testing.T) {
			runs := 400
			switch {
			case testing.Short():
				runs = 30
			case of.series <= 3:
				runs = 2000
			}
			var calls []int
			for seed := range uint64(runs) {
				p := newProgram(t, seed, of.series).scattering(of.model)
				p.tail = of.tail
				p.usual(of.before)
				calls = append(calls, p.toCatch(of.log, most))
			}
			slices.Sort(calls)
			within, _ := slices.BinarySearch(calls, 65)
			t.Logf("median %d, 99 %% %d, worst %d calls; %d of %d within 64", calls[runs/2], calls[runs*99/100], calls[runs-1], within, runs)
			if missed := runs - within; float64(missed) > of.missed*float64(runs)+2 {
				t.Errorf("%d of %d runs did not catch it within 64 calls (want at most %.1f %%)", missed, runs, 100*of.missed)
			}
		})
	}
}

// TestAChangeIsNotTakenForUsual has a change of 1.2 times, which takes long to find. In the meantime it must not become usual.
func TestAChangeIsNotTakenForUsual(t *testing.T) {
	runs, missed := 500, 0
	const most = 400
	if testing.Short() {
		runs = 100
	}
	for seed := range uint64(runs) {
		p := newProgram(t, seed, 2).scattering("normal")
		p.usual(64)
		if p.toCatch(math.Log(1.2), most) == most {
			missed++
		}
	}
	t.Logf("%d of %d runs did not catch it within %d calls", missed, runs, most)
	if missed > runs/25 {
		t.Errorf("%d of %d runs did not catch a change of 1.2 times within %d calls (want at most %d)", missed, runs, most, runs/25)
	}
}

// A usual difference follows what speaks for no change, and nothing once it rests on enough differences.
func TestImprove(t *testing.T) {
	const off = 0.05
	for _, test := range []struct {
		name       string
		n          int
		difference float64
		sum        float64 // of a CUSUM
		follows    bool
	}{
		{"a small difference", 2 * settling, off, 0, true},
		{"a difference that matters", 2 * settling, Matters, 0, false},
		{"a series that may have changed", 2 * settling, off, over, false},
		{"enough differences", most, off, 0, false},
	} {
		u := usual{known: true, n: test.n}
		for range 3 * lot {
			u.improve(test.difference, test.sum)
		}
		if (u.difference != 0) != test.follows {
			t.Errorf("%s: the usual difference went from 0 to %g, want a change: %v", test.name, u.difference, test.follows)
		}
	}
}

// falseChanges counts the changes that begin while load makes all calls slower or faster alike.
func falseChanges(p *program, values int, load func() float64) (changes int) {
	p.settle()
	was := make([]bool, len(p.series))
	for range values {
		i := p.call(load(), nil)
		c, changed := p.series[i].Change()
		changed = changed && !c.Alone
		if changed && !was[i] {
			changes++
		}
		was[i] = changed
	}
	return changes
}

// TestUniformLoad doubles and halves the times of all calls together. A program that times one call in a thousand has 1000
// values in 10⁶ calls. A change is a reason for a duel, and no switch yet. If the load changes after every second timed call,
// there is no usual state, and the bound is one change in 10⁶ calls.
func TestUniformLoad(t *testing.T) {
	values := 100_000
	if testing.Short() {
		values = 3_000
	}
	check := func(series int, stay float64, model string, tail float64) { // stay is the mean number of values until the load changes
		t.Run(fmt.Sprintf("series=%d/stay=%g/model=%s/tail=%g", series, stay, model, tail), func(t *testing.T) {
			p := newProgram(t, uint64(series)+uint64(stay), series).scattering(model)
			p.tail = tail
			level := 0.0
			changes := falseChanges(p, values, func() float64 {
				if p.Float64() < 1/stay {
					level = math.Ln2 - level
				}
				return level
			})
			most := 1 // a load that stays for a while
			if stay <= 10 {
				most = max(values/1000, 3) // one in 10⁶ calls
			}
			t.Logf("%d false changes in %d values", changes, values)
			if changes > most {
				t.Errorf("%d false changes in %d values (want at most %d)", changes, values, most)
			}
		})
	}
	for _, series := range []int{2, 3, 6, 20} {
		for _, stay := range []float64{2, 10, 100, 1000} {
			for _, tail := range []float64{0, 0.05} {
				check(series, stay, "", tail)
			}
		}
	}
	for _, series := range []int{2, 6} {
		for _, model := range []string{"normal", "heavy", "two states", "autocorrelated"} {
			check(series, 2, model, 0)
			check(series, 10, model, 0)
		}
	}
}

// TestOneOperationAlone says that nobody can know what changed if nothing is beside a series.
func TestOneOperationAlone(t *testing.T) {
	p := newProgram(t, 1, 1)
	for range 200 {
		p.call(0, nil)
	}
	if c, changed := p.series[0].Change(); changed {
		t.Fatalf("nothing changed, and %+v is reported", c)
	}
	if p.series[0].Compared() {
		t.Error("the only series was compared with others")
	}
	for range 100 {
		p.call(math.Ln2, nil)
	}
	c, changed := p.series[0].Change()
	if !changed || !c.Alone || math.Abs(c.Log-math.Ln2) > 0.2 {
		t.Errorf("calls take twice as long, and %+v is reported, %v (want a change of %.2f, alone)", c, changed, math.Ln2)
	}
	for range 200 {
		p.call(0, nil)
	}
	if c, changed := p.series[0].Change(); changed {
		t.Errorf("the change is over, and %+v is reported", c)
	}
}

// TestSlowDrift makes one implementation slower by a thousandth of the way at each of its calls.
func TestSlowDrift(t *testing.T) {
	const runs, way = 50, 1000
	var at []float64 // log-ratio at which it is caught
	for seed := range uint64(runs) {
		p := newProgram(t, seed, 6)
		p.settle()
		before, log := p.calls[0], 0.0
		for log < 2*Matters {
			log = 2 * Matters * float64(p.calls[0]-before) / way
			p.call(0, func(i int) float64 {
				if i == 0 {
					return log
				}
				return 0
			})
			if _, changed := p.series[0].Change(); changed {
				break
			}
		}
		at = append(at, log)
	}
	slices.Sort(at)
	t.Logf("caught when calls took %.2f times as long, worst %.2f", math.Exp(at[runs/2]), math.Exp(at[runs-1]))
	if at[runs*9/10] > Matters {
		t.Errorf("in a tenth of the runs it was not caught before calls took %.2f times as long (want %.2f)", math.Exp(at[runs*9/10]), math.Exp(Matters))
	}
}

// TestTwoStates has a machine with two states. In one of them all calls take 1.6 times as long, as on cores that are shared
// with a neighbour.
func TestTwoStates(t *testing.T) {
	for _, stay := range []float64{30, 300, 3000} {
		p := newProgram(t, 3, 6)
		log := 0.0
		if n := falseChanges(p, 50_000, func() float64 {
			if p.Float64() < 1/stay {
				log = math.Log(1.6) - log
			}
			return log
		}); n > 1 {
			t.Errorf("with states of %g values, %d false changes in 50 000 values (want at most 1)", stay, n)
		}
	}
}

// TestOnlyTheOneThatChanged looks at all series after a change of one.
func TestOnlyTheOneThatChanged(t *testing.T) {
	for _, series := range []int{3, 6} {
		others := 0
		for seed := range uint64(100) {
			p := newProgram(t, seed, series)
			p.settle()
			p.toCatch(2*Matters, 64)
			for _, s := range p.series[1:] {
				if c, changed := s.Change(); changed && !c.Alone && !c.Predicted {
					others++
				}
			}
		}
		if others > 2 {
			t.Errorf("%d of %d other series are reported (want at most 2)", others, 100*(series-1))
		}
	}
}

// TestUnequalRates has one series that is called a hundred times as often as the other. The rare one says little about the
// machine, and stale values must not count.
func TestUnequalRates(t *testing.T) {
	p := newProgram(t, 5, 2)
	p.rates = []float64{1, 0.01}
	for p.calls[1] < 3*settling {
		p.call(0, nil)
	}
	level := 0.0
	changes := 0
	was := [2]bool{}
	for n := range 100_000 {
		if n%1000 == 0 {
			level = math.Ln2 - level
		}
		i := p.call(level, nil)
		c, changed := p.series[i].Change()
		changed = changed && !c.Alone
		if changed && !was[i] {
			changes++
		}
		was[i] = changed
	}
	if changes > 5 {
		t.Errorf("%d false changes in 100 000 values (want at most 5)", changes)
	}
}

// TestPrediction has a series that is slow from its first call on.
func TestPrediction(t *testing.T) {
	for _, at := range []int{0, 2, 4} {
		for _, of := range []struct {
			log     float64
			changed bool
		}{{0, false}, {0.2, false}, {math.Ln2, true}, {-math.Ln2, true}} {
			p := newProgram(t, 2, 5)
			p.bias = []float64{0, 0.05, 0, -0.05, 0}
			p.bias[at] = of.log
			p.settle()
			c, changed := p.series[at].Change()
			if changed != of.changed || changed && (!c.Predicted || math.Abs(c.Log-of.log) > 0.15) {
				t.Errorf("series %d, a prediction that is off by %.2f: %+v, %v (want %v)", at, of.log, c, changed, of.changed)
			}
			p.series[at].Forget()
			for range 500 {
				p.call(0, nil)
			}
			if c, changed := p.series[at].Change(); changed {
				t.Errorf("series %d, a prediction that is off by %.2f and forgotten: %+v", at, of.log, c)
			}
		}
	}
}

// TestForget makes a change the usual state, for the series itself and for the others.
func TestForget(t *testing.T) {
	p := newProgram(t, 4, 2)
	p.settle()
	slower := func(i int) float64 { return []float64{2 * Matters, 0}[i] }
	for range 200 {
		p.call(0, slower)
	}
	for i, s := range p.series {
		if c, changed := s.Change(); !changed || (c.Log > 0) != (i == 0) {
			t.Fatalf("series %d: %+v, %v (want the first slower and the second faster, as nobody can tell which it was)", i, c, changed)
		}
		s.Forget()
	}
	for range 500 {
		p.call(0, slower)
	}
	for i, s := range p.series {
		if c, changed := s.Change(); changed {
			t.Errorf("series %d after Forget: %+v", i, c)
		}
	}
}

// TestForgetIsSeenByOthers makes the change of one series its usual state. The other one must not go on to compare with before.
func TestForgetIsSeenByOthers(t *testing.T) {
	p := newProgram(t, 4, 2)
	p.settle()
	slower := func(i int) float64 { return []float64{2 * Matters, 0}[i] }
	for range 200 {
		p.call(0, slower)
	}
	p.series[0].Forget()
	for range 500 {
		p.call(0, slower)
	}
	if c, changed := p.series[1].Change(); changed {
		t.Errorf("the other series after Forget: %+v", c)
	}
}

func TestHostileValues(t *testing.T) {
	var d Detector
	a, b := d.Add(1), d.Add(1)
	for range 3 * settling {
		a.Observe(0)
		b.Observe(0)
	}
	for range 100 {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			a.Observe(v)
		}
		a.Observe(math.MaxFloat64)
		a.Observe(-math.MaxFloat64)
		b.Observe(0)
	}
	if c, changed := b.Change(); changed {
		t.Errorf("values that are no numbers change another series: %+v", c)
	}
	for d.Add(1) != nil {
	}
	a.Remove()
	if d.Add(1) == nil {
		t.Error("the place of a series that was removed is not free")
	}
}

func BenchmarkObserve(b *testing.B) {
	for _, series := range []int{2, 10, MostSeries} {
		b.Run(fmt.Sprintf("series=%d", series), func(b *testing.B) {
			var d Detector
			for range series {
				d.Add(1)
			}
			n := 0
			for b.Loop() {
				d.series[n%series].Observe(float64(n & 7))
				n++
			}
		})
	}
}
