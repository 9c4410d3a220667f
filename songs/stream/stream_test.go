package stream

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/host"
	"crossover/kernels"
	"crossover/songs"
)

// A block that takes too long is an underrun, blocks whose time is over are not computed, and the others keep their times.
func TestUnderruns(t *testing.T) {
	takes := map[uint64]int{3: 120, 6: 350, 15: 99, 17: 100, 19: 101} // ms, by block; blocks are 100 ms apart
	v, source, started := &virtual{}, testSource(t), false
	var begins []int // ms
	fill := source.Fill
	source.Fill = func(inputs [][]float32, k uint64) {
		fill(inputs, k)
		if started {
			begins = append(begins, int(v.at.Milliseconds()))
			v.at += time.Duration(takes[k]) * time.Millisecond
		}
	}
	r, err := Run(t.Context(), Options{Source: source, Seconds: 2, Streams: 1, Routes: []songs.Entrant{onGo(Serial)}, clock: v,
		keeper: func(*keeper) { started = true }})
	if err != nil {
		t.Fatal(err)
	}
	want := []int{0, 100, 200, 300, 420, 500, 600, 950, 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900}
	if !slices.Equal(begins, want) {
		t.Errorf("blocks begin at %v, want %v", begins, want)
	}
	if got := r.Routes[0]; got.Underruns != 3 || r.Skipped != 2 || got.Blocks != 18 {
		t.Errorf("%d underruns, %d blocks that were not computed, and %d that were; want 3, 2 and 18", got.Underruns, r.Skipped, got.Blocks)
	}
	if got := r.Routes[0].Latency.Worst; got != 0.35 {
		t.Errorf("the worst block took %v s, want 0.35", got)
	}
	if got := r.Wake.Worst; got != 0.05 {
		t.Errorf("the latest block began %v s late, want 0.05", got)
	}
}

// A histogram's quantiles are at most 1 % above the sorted values.
func TestQuantiles(t *testing.T) {
	var h histogram
	var all []float64
	for i := range 5000 {
		took := time.Duration(float64(30*time.Microsecond) * math.Exp(3*math.Sin(float64(i*i))))
		all = append(all, took.Seconds())
		h.add(took)
	}
	slices.Sort(all)
	got := h.times()
	for _, q := range []struct {
		p         float64
		got, want float64
	}{
		{0.5, got.P50, all[2499]}, {0.95, got.P95, all[4749]}, {0.99, got.P99, all[4949]}, {0.999, got.P999, all[4994]},
	} {
		if !(q.got >= q.want*(1-1e-9) && q.got <= q.want*ratio*(1+1e-9)) {
			t.Errorf("a share of %v takes %v, want %v", q.p, q.got, q.want)
		}
	}
	if got.Worst != all[4999] {
		t.Errorf("the worst takes %v, want %v", got.Worst, all[4999])
	}
	n := 0
	for _, b := range h.filled() {
		n += b.Count
	}
	if n != 5000 {
		t.Errorf("the buckets have %d values", n)
	}
	for _, took := range []time.Duration{-time.Second, 0, 1, least, time.Hour, math.MaxInt64} {
		var one histogram
		one.add(took)
		if got := one.times(); took > least && got.P50 != took.Seconds() || got.Worst < 0 {
			t.Errorf("%v alone: %+v", took, got)
		}
	}
	if got := new(histogram).times(); got != (Times{}) {
		t.Errorf("nothing: %+v", got)
	}
}

// A block allocates nothing, whichever route is next, and while a guard makes streams leave and go back.
func TestABlockAllocatesNothing(t *testing.T) {
	source := testSource(t)
	m := machine{kernels.Here(), nil, source, t.Context().Err}
	v := &virtual{}
	c := &callback{source: source, clock: v, output: make([]float32, source.Block), rng: randomOrder(1),
		guard: NewGuard(nil, nil)}
	for i, r := range []songs.Entrant{onGo(Serial), onGo("like a GPU"), onGo("other")} {
		p, err := m.player(r, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		r.OnGPU = i == 1
		s := &slot{Entrant: r}
		if r.OnGPU {
			p.help(v, c.guard.failed)
		}
		s.player.Store(p)
		c.slots, c.order = append(c.slots, s), append(c.order, i)
	}
	c.spare, c.next = c.slots[0], 3
	k := uint64(0)
	block := func() {
		c.guard.away.Store(uint32(Heat) * uint32(k/5%2))
		v.at += 30 * time.Millisecond * time.Duration(k%9)
		c.block(k)
		k++
	}
	for range 12 {
		block()
	}
	if n := testing.AllocsPerRun(60, block); n != 0 {
		t.Errorf("%v allocations in a block", n)
	}
	if c.slots[1].blocks == 0 || c.skipped == 0 || c.failure != nil {
		t.Errorf("%d blocks on the GPU, %d skipped, %v", c.slots[1].blocks, c.skipped, c.failure)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := Options{Source: testSource(t), Routes: []songs.Entrant{onGo(Serial)}, Streams: 1, Seconds: 1}
	for want, change := range map[string]func(o *Options){
		"no source or no route":             func(o *Options) { o.Source = nil },
		"no source or no route (want both)": func(o *Options) { o.Routes = nil },
		"0 streams (want 1 to 10000)":       func(o *Options) { o.Streams = 0 },
		"10001 streams":                     func(o *Options) { o.Streams = 10_001 },
		"0 seconds":                         func(o *Options) { o.Seconds = 0 },
		"NaN seconds":                       func(o *Options) { o.Seconds = math.NaN() },
		"+Inf seconds":                      func(o *Options) { o.Seconds = math.Inf(1) },
		"blocks of -1 samples":              func(o *Options) { o.Source = &Source{Block: -1, Rate: 44100} },
		"every route is on a GPU":           func(o *Options) { o.Routes = []songs.Entrant{onEmulator} },
		"a route on a GPU and the spare one are called x": func(o *Options) {
			o.Routes = []songs.Entrant{{Name: "x", Route: onEmulator.Route, OnGPU: true}}
			o.Spare = onGo("x")
		},
		"the guard looks every -1ns (want 0":  func(o *Options) { o.Every = -1 },
		"two routes are called serial":        func(o *Options) { o.Routes = append(o.Routes, onGo(Serial)) },
		"a route of 1 stages (want 3)":        func(o *Options) { o.Routes = []songs.Entrant{{Name: "x", Route: songs.Route{"go"}}} },
		"no such implementation: \"nothing\"": func(o *Options) { o.Routes = []songs.Entrant{{Name: "x", Route: songs.Route{"go", "nothing", "go"}}} },
		"MiB each, and half of the memory here is 0 MiB (want at most": func(o *Options) {
			o.Streams, o.memory = 10_000, 1<<20
		},
	} {
		o := good
		o.Routes = slices.Clone(o.Routes)
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestSourcesAreChecked(t *testing.T) {
	music := kernels.GeneratedInput().Samples
	for want, of := range map[string]struct {
		block     int
		rate      float64
		recording []float32
	}{
		"blocks of 0 samples (want 1 to 65536)":  {0, 44100, music},
		"blocks of -512 samples":                 {-512, 44100, music},
		"blocks of 65537 samples":                {65537, 44100, music},
		"0 samples a second (want 4000":          {512, 0, music},
		"-1 samples a second":                    {512, -1, music},
		"NaN samples a second":                   {512, math.NaN(), music},
		"1e+09 samples a second":                 {512, 1e9, music},
		"the recording is empty":                 {512, 44100, nil},
		"sample 1 of the recording is NaN (want": {512, 44100, []float32{0, float32(math.NaN())}},
	} {
		if _, err := Effects(of.block, of.rate, of.recording); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("effects: %v, want %q", err, want)
		}
		if _, err := Synthesiser(of.block, of.rate); err == nil && !strings.Contains(want, "recording") {
			t.Errorf("synthesiser: no error, want %q", want)
		}
	}
}

// Blocks of any length at any rate are played, silence too, and a recording that is shorter than a block.
func TestSources(t *testing.T) {
	for _, of := range []struct {
		block int
		rate  float64
	}{{1, 8000}, {512, 44100}, {480, 48000}, {441, 8000}, {4096, 192_000}} {
		for name, recording := range map[string][]float32{"music": kernels.GeneratedInput().Samples, "silence": make([]float32, 10), "synthesiser": nil} {
			s, err := Synthesiser(of.block, of.rate)
			if recording != nil {
				s, err = Effects(of.block, of.rate, recording)
			}
			if err != nil {
				t.Fatal(err)
			}
			loudest := float32(0)
			o := Options{Source: s, Streams: 1, Seconds: 6 * float64(of.block) / of.rate, Fast: true, end: func(block []float32) {
				for _, v := range block {
					if v != v {
						t.Fatalf("%s at %+v: a sample is NaN", name, of)
					}
					loudest = max(loudest, v, -v)
				}
			}}
			if o.Routes, err = Routes(o); err != nil {
				t.Fatal(err)
			}
			o.Routes = o.Routes[:1]
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Routes[0].Blocks != 6 || r.Failure != "" {
				t.Errorf("%s at %+v: %d blocks, %s", name, of, r.Routes[0].Blocks, r.Failure)
			}
			if (loudest == 0) != (name == "silence") || loudest > 20 {
				t.Errorf("%s at %+v: the loudest sample is %v", name, of, loudest)
			}
		}
	}
}

// A stream that is interrupted reports what it has.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Run(ctx, Options{Source: testSource(t), Routes: []songs.Entrant{onGo(Serial)}, Streams: 1, Seconds: 1000, clock: &virtual{},
		after: func(block uint64) {
			if block == 9 {
				cancel()
				time.Sleep(20 * time.Millisecond) // the signal comes from another goroutine
			}
		}})
	if err != nil || !r.Interrupted || r.Routes[0].Blocks < 10 || r.AudioSeconds >= 1000 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := Run(ctx, Options{Source: testSource(t), Routes: []songs.Entrant{onGo(Serial)}, Streams: 1, Seconds: 1}); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupt before the first block: %+v, %v", r, err)
	}
}

// All routes have about the same number of turns, in no fixed order.
func TestTurns(t *testing.T) {
	var routes []songs.Entrant
	for _, name := range []string{"a", "b", "c"} {
		routes = append(routes, onGo(name))
	}
	r, err := Run(t.Context(), Options{Source: testSource(t), Routes: routes, Streams: 2, Seconds: 3, Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range r.Routes {
		if route.Blocks != 10 || route.Each.P50 > route.Compute.P50 {
			t.Errorf("%+v", route)
		}
	}
	if r.ProcessorLoad == nil || *r.ProcessorLoad <= 0 || r.ResidentGrowthBytes == nil {
		t.Error("the report lacks the load or the memory")
	}
}

// The guard has a goroutine of its own, beside the audio goroutine.
func TestGuardBesideTheStream(t *testing.T) {
	b, _ := emulated(t)
	looks := 0
	guard := NewGuard(nil, func() host.Condition {
		if looks++; looks == 5 {
			return host.Condition{Memory: "critical"}
		}
		return host.Condition{}
	})
	r, err := Run(t.Context(), Options{Backends: b, Source: testSource(t), Routes: []songs.Entrant{onEmulator}, Spare: onGo(Serial),
		Streams: 1, Seconds: 60, Fast: true, Guard: guard, Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	gpu, spare := r.Routes[0], r.Routes[1]
	if looks < 5 || gpu.Blocks+spare.Blocks != 600 || len(r.Changes) == 0 || r.Changes[0].Cause != "memory pressure" {
		t.Errorf("%d looks, %d and %d blocks, %s", looks, gpu.Blocks, spare.Blocks, changesOf(r))
	}
}

// Tune returns the implementations that were fastest in the stream.
func TestTune(t *testing.T) {
	source := testSource(t)
	o := Options{Source: source, Streams: 20, Seconds: 20, Fast: true}
	best, err := Tune(t.Context(), o, onGo(Serial))
	if err != nil || best.Name != Tuned || len(best.Route) != 3 || best.OnGPU {
		t.Errorf("%+v, %v", best, err)
	}
	for _, base := range []songs.Entrant{onEmulator, {Name: "short", Route: songs.Route{"go"}}} {
		if _, err := Tune(t.Context(), o, base); err == nil || !strings.Contains(err.Error(), "is no base (want one on the processor with 3 stages)") {
			t.Errorf("%v", err)
		}
	}
}

// The audio goroutine leaves the processor twice its usual time and a millisecond, but the GPU half of what is left.
func TestPatience(t *testing.T) {
	c, ms := &callback{}, time.Millisecond
	if got := c.patience(10 * ms); got != 10*ms {
		t.Errorf("without a guard: %v, want all of 10 ms", got)
	}
	c.guard = NewGuard(nil, nil)
	for processor, want := range map[time.Duration]time.Duration{ms: 7 * ms, 2 * ms: 5 * ms, 4 * ms: 5 * ms, 20 * ms: 5 * ms} {
		c.guard.begin(ms, processor)
		if got := c.patience(10 * ms); got != want {
			t.Errorf("where the processor takes %v: %v of 10 ms, want %v", processor, got, want)
		}
	}
}

// The spare player is where the GPU's is before a block's time, so that nothing has to be copied in the block.
func TestTheSparePlayerIsReady(t *testing.T) {
	b, f := emulated(t)
	var c *callback
	if _, err := Run(t.Context(), Options{Backends: b, Source: testSource(t), Seconds: 1, Streams: 1, Routes: []songs.Entrant{onEmulator},
		Spare: onGo(Serial), Guard: NewGuard(nil, func() host.Condition { return cool }), clock: f.virtual,
		keeper: func(k *keeper) { c = k.callback },
		after: func(block uint64) {
			if !c.settled {
				t.Errorf("after block %d the spare player is elsewhere", block)
			}
		}}); err != nil {
		t.Fatal(err)
	}
}
