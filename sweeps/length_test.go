package sweeps_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"crossover/sweeps"
)

// visited sweeps 200 blocks of implementations whose calls take the given seconds. early is by what share calls are slower
// when a batch begins; it fades within 300 µs. perPlace is by what share calls are slower for each call since the last look
// at the machine.
func visited(t *testing.T, early, perPlace float64, calls ...float64) *sweeps.Result {
	t.Helper()
	m := newMachine()
	looked, places := 0.0, 0.0
	m.noise = func(rng *rand.Rand) float64 {
		looked = m.now
		return math.Exp(0.002 * rng.NormFloat64())
	}
	var implementations []implementation
	for k, seconds := range calls {
		implementations = append(implementations, implementation{name: string(rune('a' + k)), cost: func(float64) float64 {
			places++
			const fades = 300e-6
			slow := early * fades * (1 - math.Exp(-seconds/fades)) * math.Exp(-(m.now-looked)/fades)
			return (seconds + slow) * (1 + perPlace*places)
		}})
	}
	o := m.options(10 * time.Minute)
	o.Sentinel = func() { m.sentinel(); places = 0 }
	o.Planner = script{{64, 200}}.planner
	return m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementations...))[0]
}

// The batches of a block last equally long on average, if calls take at most a millisecond. Otherwise the length of a batch
// would depend on the speed of its implementation.
func TestBatchesAreAsLong(t *testing.T) {
	for name, c := range map[string]struct {
		calls  []float64
		length float64 // seconds of the shortest batch, on average
	}{
		"short calls":               {[]float64{1e-6, 1.3e-6, 3.7e-6}, 200e-6},
		"calls of half a batch":     {[]float64{70e-6, 110e-6, 190e-6}, 380e-6},
		"calls of whole batches":    {[]float64{210e-6, 350e-6, 800e-6}, 800e-6},
		"one that is longer":        {[]float64{500e-6, 1800e-6}, 1000e-6},
		"calls that are too long":   {[]float64{5e-3, 9e-3}, 5e-3},
		"one hopelessly behind":     {[]float64{100e-6, 150e-6, 900e-6}, 200e-6},
		"lengths that are no ratio": {[]float64{300e-6, 700e-6}, 700e-6},
	} {
		r := visited(t, 0, 0, c.calls...)
		var lengths []float64
		for i, seconds := range c.calls {
			sum, blocks := 0.0, 0.0
			for _, b := range r.Samples.Blocks {
				if b.Timed(i) {
					sum += float64(b.Iterations[i]) * seconds
					blocks++
				}
			}
			if lengths = append(lengths, sum/blocks); blocks < 50 {
				continue // hopelessly slow
			}
			even := seconds <= 1e-3
			if got := sum / blocks; even && math.Abs(got/c.length-1) > 0.1 && (name != "one hopelessly behind" || got > 1.7*c.length) {
				t.Errorf("%s: batches of calls of %v s last %v s, want %v", name, seconds, got, c.length)
			}
		}
		if name == "calls that are too long" && (math.Abs(lengths[0]/5e-3-1) > 0.01 || math.Abs(lengths[1]/9e-3-1) > 0.01) {
			t.Errorf("%s: batches last %v s, want one call each", name, lengths)
		}
	}
}

// slope regresses the log-times of implementation i on a property of their blocks.
func slope(r *sweeps.Result, i int, of func(block int) float64) float64 {
	var n, x, y, xx, xy float64
	for k, b := range r.Samples.Blocks {
		if b.Timed(i) {
			at, took := of(k), math.Log(b.Seconds[i])
			n, x, y, xx, xy = n+1, x+at, y+took, xx+at*at, xy+at*took
		}
	}
	return (n*xy - x*y) / (n*xx - x*x)
}

// meanRatio is the geometric mean of the times of implementation 1 divided by those of implementation 0.
func meanRatio(r *sweeps.Result) float64 {
	sum, n := 0.0, 0.0
	for _, b := range r.Samples.Blocks {
		if b.Timed(0) && b.Timed(1) {
			sum += math.Log(b.Seconds[1] / b.Seconds[0])
			n++
		}
	}
	return math.Exp(sum / n)
}

// An effect of the place in a block shows in the samples. It cancels in the ratios, because the order is random.
func TestAnEffectOfTheOrderShows(t *testing.T) {
	for _, perPlace := range []float64{0, 0.01} {
		r := visited(t, 0, perPlace, 5e-3, 6e-3, 7e-3) // one call in a batch, and so long that the machine is looked at in each block
		for i := range 3 {
			got := slope(r, i, func(k int) float64 { return float64(r.Samples.Blocks[k].Position(i)) })
			if math.Abs(got-perPlace) > 0.004 {
				t.Errorf("a place costs %.4f, want %.4f", got, perPlace)
			}
		}
		if ratio := meanRatio(r); math.Abs(ratio/1.2-1) > 0.003 {
			t.Errorf("at %v a place the ratio is %.4f, want 1.2", perPlace, ratio)
		}
	}
}

// An effect of the length of a batch shows in the samples, if a length is not a whole number of calls. It makes no
// implementation look faster. With one call in a batch, calls of 300 µs would seem 2.3 % slower beside those of 700 µs.
func TestAnEffectOfTheLengthShows(t *testing.T) {
	for _, early := range []float64{0, 0.1} {
		r := visited(t, early, 0, 300e-6, 700e-6)
		got := slope(r, 0, func(k int) float64 { return float64(r.Samples.Blocks[k].Iterations[0]) })
		if early == 0 && math.Abs(got) > 0.002 || early > 0 && math.Abs(got+0.011) > 0.004 {
			t.Errorf("early calls are slower by %v: a call more in a batch changes the time by %.4f", early, got)
		}
		if ratio := meanRatio(r) * 3 / 7; math.Abs(ratio-1) > 0.005 {
			t.Errorf("early calls are slower by %v: the ratio is off by %.2f %%", early, 100*(ratio-1))
		}
	}
}
