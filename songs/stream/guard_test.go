package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/host"
	"crossover/songs"
)

// play plays seconds of the test source on the emulated GPU, with the processor to spare. script may inject faults before a block.
// The guard looks every three blocks. All output is compared with one route's.
func play(t *testing.T, seconds float64, f *faults, o Options, condition *host.Condition, script func(second float64)) *Report {
	t.Helper()
	o.Source, o.Seconds, o.clock, o.Streams = testSource(t), seconds, f.virtual, max(o.Streams, 1)
	o.Routes, o.Spare = []songs.Entrant{onEmulator}, onGo(Serial)
	o.Guard = NewGuard(o.Dispatcher, func() host.Condition { return *condition })
	var k *keeper
	o.keeper = func(of *keeper) { k = of }
	var output []float32
	o.end = func(block []float32) { output = append(output, block...) }
	o.after = func(block uint64) {
		if block%3 == 0 && f.stuck == nil { // a probe would be stuck, too
			now := f.now()
			k.step()
			f.at = now // the guard's goroutine takes nobody's time
		}
		script(float64(block+1) / 10)
	}
	script(0)
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Silent > 0 || report.Failure != "" {
		t.Errorf("%d silent blocks: %s", report.Silent, report.Failure)
	}
	if report.Skipped == 0 {
		sameAsOneRoute(t, output, report)
	}
	return report
}

// sameAsOneRoute compares what was played with the same blocks by one route.
func sameAsOneRoute(t *testing.T, got []float32, of *Report) {
	t.Helper()
	var want []float32
	_, err := Run(context.Background(), Options{Source: testSource(t), Seconds: of.AudioSeconds, Streams: of.Streams, Fast: true,
		Routes: []songs.Entrant{onGo(Serial)}, end: func(block []float32) { want = append(want, block...) }})
	if err != nil {
		t.Fatal(err)
	}
	var e, n float64
	for i := range want {
		e += math.Pow(float64(got[i]-want[i]), 2)
		n += math.Pow(float64(want[i]), 2)
	}
	if len(got) != len(want) || !(math.Sqrt(e/n) < 1e-4) {
		t.Errorf("%d samples with an error of %.2g, want %d", len(got), math.Sqrt(e/n), len(want))
	}
}

// changesOf writes the changes of a report in tenths of a second: "heat 2.1–7.2".
func changesOf(r *Report) string {
	var words []string
	for _, c := range r.Changes {
		sign := "+"
		if !c.Begins {
			sign = "-"
		}
		words = append(words, fmt.Sprintf("%s%s %.1f", sign, c.Cause, c.Seconds))
	}
	return strings.Join(words, ", ")
}

func underruns(r *Report) (n int) {
	for _, route := range r.Routes {
		n += route.Underruns
	}
	return n + r.Skipped
}

var cool = host.Condition{Thermal: "nominal", Memory: "normal"}

// For each cause: it begins in second 1 and ends in second 2. The stream goes on, misses at most the block in which it happened,
// stays off the GPU while it lasts, and is back five seconds after it is over.
func TestCauses(t *testing.T) {
	for _, test := range []struct {
		cause     string
		inject    func(f *faults, c *host.Condition)
		underruns int
		free      bool // nothing is left on the GPU
	}{
		{"heat", func(_ *faults, c *host.Condition) { c.Thermal = "serious" }, 0, false},
		{"memory pressure", func(_ *faults, c *host.Condition) { c.Memory = "critical" }, 0, true},
		{"busy GPU", func(f *faults, _ *host.Condition) { f.takes = 120 * time.Millisecond }, 0, false},
		{"busy GPU", func(f *faults, _ *host.Condition) { f.takes = 20 * time.Second }, 0, false},
		{"busy GPU", func(f *faults, _ *host.Condition) { f.takes = 10 * time.Millisecond }, 0, false},
		{"lost GPU", func(f *faults, _ *host.Condition) { f.lost = true }, 0, true},
	} {
		t.Run(test.cause, func(t *testing.T) {
			b, f := emulated(t)
			condition := cool
			leaves := false
			r := play(t, 10, f, Options{Backends: b}, &condition, func(second float64) {
				switch {
				case second == 1:
					test.inject(f, &condition)
				case second == 1.9:
					leaves = b.GPUs[0].Opened().Memory().Used == 0
				case second == 2:
					condition, f.takes, f.lost = cool, time.Millisecond, false
				}
			})
			if underruns(r) > test.underruns {
				t.Errorf("%d underruns, want at most %d", underruns(r), test.underruns)
			}
			if leaves != test.free {
				t.Errorf("streams leave the GPU's memory: %v, want %v", leaves, test.free)
			}
			got := r.Changes
			if len(got) != 2 || got[0].Cause != test.cause || !got[0].Begins || got[1].Begins {
				t.Fatalf("%s, want that it begins and ends once", changesOf(r))
			}
			if got[0].Seconds < 1 || got[0].Seconds > 2.1 || got[1].Seconds < 6.9 || got[1].Seconds > 9 {
				t.Errorf("%s, want from 1 to 7", changesOf(r))
			}
			gpu, spare := r.Routes[0], r.Routes[1]
			if away := got[1].Seconds - got[0].Seconds; math.Abs(float64(spare.Blocks)-10*away) > 6 {
				t.Errorf("%d blocks on the processor in %.1f seconds", spare.Blocks, away)
			}
			if gpu.Blocks+spare.Blocks+r.Skipped < 100 {
				t.Errorf("%d blocks on the GPU and %d on the processor, want 100", gpu.Blocks, spare.Blocks)
			}
			t.Log(changesOf(r), underruns(r), gpu.Blocks, spare.Blocks)
		})
	}
}

// A GPU that says only after many blocks that it is lost costs no block: the processor computes what the GPU does not.
func TestLostGPUThatHangs(t *testing.T) {
	b, f := emulated(t)
	condition := cool
	r := play(t, 10, f, Options{Backends: b}, &condition, func(second float64) {
		if second == 1 {
			f.takes, f.lost = 1400*time.Millisecond, true
		}
	})
	if n := underruns(r); n != 0 || r.Routes[0].Blocks != 11 || r.Routes[1].Blocks != 89 {
		t.Errorf("%d underruns, %d blocks on the GPU and %d on the processor; want 0, 11 and 89", n, r.Routes[0].Blocks, r.Routes[1].Blocks)
	}
	if got := changesOf(r); got != "+busy GPU 1.2, +lost GPU 1.2" {
		t.Errorf("%s", got)
	}
}

// A probe that ends because the run has says nothing of the GPU.
func TestProbesThatEnd(t *testing.T) {
	g := NewGuard(nil, func() host.Condition { return host.Condition{} })
	g.begin(10*time.Millisecond, time.Millisecond)
	g.set(Busy, true, 0)
	m := machine{ended: func() error { return context.Canceled }, source: testSource(t)}
	g.look(time.Minute, func() (time.Duration, error) {
		_, err := m.player(onGo(Serial), 1)
		return 0, err
	}, nil)
	if away := g.Away(); away&Lost != 0 {
		t.Errorf("away because of %v, want no lost GPU", away)
	}
	g.look(2*time.Minute, func() (time.Duration, error) { return 0, errors.New("lost") }, nil)
	if away := g.Away(); away&Lost == 0 {
		t.Errorf("away because of %v, want a lost GPU", away)
	}
	g = NewGuard(nil, func() host.Condition { return cool })
	g.begin(time.Millisecond, 2*time.Millisecond)
	for range busyCalls {
		g.onGPU(9*time.Millisecond, true)
	}
	g.look(time.Minute, idle, func() (time.Duration, error) { return 0, errEnded })
	if away := g.Away(); away != 0 {
		t.Errorf("away because of %v, though the run ended before the processor was timed", away)
	}
}

// A run does not wait for a call that never returns.
func TestCallsThatNeverReturn(t *testing.T) {
	h := &helper{blocks: make(chan uint64, 1), ended: make(chan struct{})}
	p := &player{helper: h}
	p.closeWithin(time.Millisecond)
	if _, open := <-h.blocks; open || p.helper == nil {
		t.Error("the helper is not told to end, or is thought to have ended")
	}
	done := &player{helper: &helper{blocks: make(chan uint64, 1), ended: make(chan struct{})}}
	close(done.helper.ended)
	if done.closeWithin(time.Hour); done.helper != nil {
		t.Error("a helper that has ended is still there")
	}
}

// A run ends although a look at the machine does not.
func TestLooksThatNeverReturn(t *testing.T) {
	b, _ := emulated(t)
	var looking atomic.Bool
	forever := make(chan struct{})
	defer close(forever)
	g := NewGuard(nil, func() host.Condition {
		looking.Store(true)
		<-forever
		return cool
	})
	r, err := Run(t.Context(), Options{Backends: b, Source: testSource(t), Seconds: 1, Streams: 1, Routes: []songs.Entrant{onEmulator}, Spare: onGo(Serial), Guard: g,
		Every: time.Millisecond})
	if err != nil || r.Interrupted || !looking.Load() || len(r.Changes) > 0 {
		t.Errorf("%+v, %v, looked %v", r, err, looking.Load())
	}
	k := &keeper{callback: &callback{}, over: make(chan struct{})}
	close(k.over)
	if _, err := k.probe(); !errors.Is(err, errEnded) {
		t.Errorf("a probe after the last block: %v", err)
	}
}

// impatient is a clock for several goroutines, by which a stuck GPU is late at once, and nothing else is.
type impatient struct {
	at    atomic.Int64
	stuck func() bool
}

func (c *impatient) now() time.Duration    { return time.Duration(c.at.Load()) }
func (c *impatient) until(t time.Duration) { c.at.Store(max(c.at.Load(), int64(t))) }

func (c *impatient) await(over <-chan uint64, block uint64, until time.Duration) bool {
	for !c.stuck() {
		if <-over == block {
			return true
		}
	}
	c.until(until)
	return false
}

// While a call to the GPU does not return, nobody uses its player, also if no cause keeps streams away. Then streams go back. If the
// call began in a block that began late, the GPU is not blamed for that one, but for the next.
func TestStuckGPU(t *testing.T) {
	for name, late := range map[string]int64{"in time": 0, "late": int64(140 * time.Millisecond)} {
		t.Run(name, func(t *testing.T) {
			b, f := emulated(t)
			source := testSource(t)
			g := NewGuard(nil, func() host.Condition { return cool })
			clock := &impatient{stuck: func() bool { return f.stuck != nil }}
			var output []float32
			var c *callback
			o := Options{Backends: b, Source: source, Seconds: 4, Streams: 1, Routes: []songs.Entrant{onEmulator}, Spare: onGo(Serial), Guard: g,
				clock: clock, end: func(block []float32) { output = append(output, block...) },
				keeper: func(k *keeper) { c = k.callback }}
			onGPU, away := map[uint64]int{}, map[uint64]Cause{} // by block
			o.after = func(block uint64) {
				onGPU[block], away[block] = c.slots[0].blocks, g.Away()
				switch block {
				case 9:
					f.stuck = make(chan struct{})
					clock.at.Add(late) // the goroutine wakes late
				case 11, 15:
					g.away.Store(0) // as if the cause were over
				case 19:
					close(f.stuck)
					for !c.slots[0].player.Load().free() {
						time.Sleep(time.Millisecond)
					}
					f.stuck = nil
					g.away.Store(0)
				}
			}
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if underruns(r) != 0 || onGPU[9] != 10 || onGPU[10] != 11 || onGPU[19] != 11 || onGPU[39] != 31 {
				t.Errorf("%d underruns, and blocks on the GPU until blocks 9, 10, 19 and 39: %d, %d, %d and %d; want 0, 10, 11, 11 and 31", underruns(r),
					onGPU[9], onGPU[10], onGPU[19], onGPU[39])
			}
			if blamed := away[10] != 0; blamed != (late == 0) || away[11] == 0 {
				t.Errorf("away after blocks 10 and 11 for %q and %q", away[10], away[11])
			}
			sameAsOneRoute(t, output, r)
		})
	}
}

// The guard's goroutine does not wait for a call to the GPU that does not return, to close the player that made it.
func TestReleaseWaitsForNoCall(t *testing.T) {
	c := &callback{}
	c.done.Store(9)
	p := &player{helper: &helper{blocks: make(chan uint64), ended: make(chan struct{})}}
	k := &keeper{callback: c, guard: NewGuard(nil, nil), retired: []retired{{p, 0}}}
	close(p.helper.ended)
	p.helper.running.Store(true)
	if k.release(); len(k.retired) != 1 {
		t.Error("a player that is in a call is closed")
	}
	p.helper.running.Store(false)
	if k.release(); len(k.retired) != 0 {
		t.Error("a player that is free is not closed")
	}
}

// forgetful is a clock by which every helper is late, and that takes nothing of what is over.
type forgetful struct{ virtual }

func (*forgetful) await(<-chan uint64, uint64, time.Duration) bool { return false }

// A helper waits for nobody to take what it computed, so that its player can be closed.
func TestHelperWaitsForNobody(t *testing.T) {
	p, v, closed := &player{}, &forgetful{}, make(chan struct{})
	p.help(v, func() {})
	go func() {
		defer close(closed)
		for k := range uint64(9) {
			p.within(v, k, 0)
			for !p.free() {
				time.Sleep(time.Microsecond)
			}
		}
		p.close()
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the helper is still there")
	}
}

// When memory is short, what streams held on the GPU goes back to the system, and is not kept for later plans.
func TestMemoryGoesBack(t *testing.T) {
	b, f := emulated(t)
	d := dispatcher(t)
	d.OnMemoryPressure(func() { b.Trim() })
	condition := cool
	var before, after gpu.PoolUse
	play(t, 2, f, Options{Backends: b, Dispatcher: d}, &condition, func(second float64) {
		switch second {
		case 1:
			condition.Memory = "critical"
			before = b.GPUs[0].Opened().Memory()
		case 1.9:
			after = b.GPUs[0].Opened().Memory()
		}
	})
	if before.Used == 0 || after.Used != 0 || after.Cached != 0 {
		t.Errorf("before %+v, and after %+v, want that nothing is held", before, after)
	}
}

// A GPU that takes its time before the first block takes it from no block.
func TestProbesTakeNoBlocks(t *testing.T) {
	b, f := emulated(t)
	f.takes = 90 * time.Millisecond // a probe makes several calls, and blocks are 100 ms apart
	condition := cool
	r := play(t, 2, f, Options{Backends: b}, &condition, func(float64) {})
	if n := underruns(r); n != 0 || r.Routes[0].Blocks != 20 || r.Wake.Worst != 0 {
		t.Errorf("%d underruns, %d blocks on the GPU, the latest %g s late; want 0, 20 and 0", n, r.Routes[0].Blocks, r.Wake.Worst)
	}
}

// A run without a GPU leaves its guard alone: the guard keeps what it saw in an earlier run, and the report has none of it.
func TestGuardWithoutAGPU(t *testing.T) {
	g := NewGuard(nil, func() host.Condition { return cool })
	g.changes = []Change{{Seconds: 1, Cause: Heat.String(), Begins: true}}
	r, err := Run(t.Context(), Options{Source: testSource(t), Seconds: 0.2, Streams: 1, Fast: true, Guard: g, Routes: []songs.Entrant{onGo(Serial)}})
	if err != nil || len(r.Changes) != 0 || len(g.changes) != 1 {
		t.Errorf("%d changes in the report and %d in the guard, %v; want 0 and 1", len(r.Changes), len(g.changes), err)
	}
}

// A cause that comes and goes does not make the stream come and go: it holds, and for longer each time.
func TestNoFlapping(t *testing.T) {
	b, f := emulated(t)
	condition := cool
	r := play(t, 120, f, Options{Backends: b}, &condition, func(second float64) {
		condition.Thermal = []string{"nominal", "serious"}[int(second)%2]
	})
	if len(r.Changes) != 1 {
		t.Errorf("every second: %s, want that it begins", changesOf(r))
	}
	b, f = emulated(t)
	condition = cool
	r = play(t, 120, f, Options{Backends: b}, &condition, func(second float64) { // six cool seconds, a hot one
		condition.Thermal = "nominal"
		if int(second)%7 == 1 {
			condition.Thermal = "critical"
		}
	})
	// It begins at 1, ends after 5 seconds, begins at 8, and then a hold of 10 seconds never ends.
	if len(r.Changes) != 3 {
		t.Errorf("every seven seconds: %s, want three changes", changesOf(r))
	}
}

// The guard tells the dispatcher what it sees. A thermal state that becomes better is told when it has held.
func TestGuardTells(t *testing.T) {
	d := dispatcher(t)
	released := 0
	d.OnMemoryPressure(func() { released++ })
	condition := cool
	g := NewGuard(d, func() host.Condition { return condition })
	g.begin(time.Millisecond, time.Millisecond)
	look := func(second float64) {
		g.look(time.Duration(second*float64(time.Second)), func() (time.Duration, error) { return 60 * time.Millisecond, nil }, idle)
	}
	choice := func() string { return d.Case("fft/batch=1", "go", "metal").Choose(1 << 20) }
	if look(0); choice() != "metal" {
		t.Fatal("the GPU is not chosen on a cool machine")
	}
	condition.Thermal = "serious"
	if look(1); choice() == "metal" {
		t.Error("the GPU is chosen on a hot machine")
	}
	condition.Thermal = "fair"
	if look(3); choice() == "metal" {
		t.Error("two seconds later the GPU is chosen again")
	}
	if look(6.1); choice() != "metal" {
		t.Error("the GPU is not chosen again")
	}
	condition.Memory = "critical"
	look(7)
	look(8)
	if released != 1 {
		t.Errorf("memory was given back %d times, want once", released)
	}
	condition = host.Condition{}
	look(20)
	g.onGPU(time.Second, false)
	look(21)
	if g.Away() != Busy {
		t.Errorf("away for %v, want a busy GPU", g.Away())
	}
	if look(22); choice() == "metal" {
		t.Error("the GPU is chosen although calls wait 59 ms")
	}
}

// idle is a processor on which a callback takes a millisecond.
func idle() (time.Duration, error) { return time.Millisecond, nil }

// A median of the last calls shows that the GPU is busy, a single slow one does not.
func TestBusyByMedian(t *testing.T) {
	g := NewGuard(nil, func() host.Condition { return cool })
	g.begin(time.Millisecond, 2*time.Millisecond)
	run := func(second int, took ...time.Duration) Cause {
		for _, d := range took {
			g.onGPU(d*time.Millisecond, true)
		}
		g.look(time.Duration(second)*time.Second, func() (time.Duration, error) { return 50 * time.Millisecond, nil }, idle)
		return g.Away()
	}
	if away := run(0, 1, 1, 1, 1, 1, 1, 1, 1); away != 0 {
		t.Errorf("usual calls: away for %v", away)
	}
	if away := run(1, 1, 1, 90, 1, 1, 90, 1, 1); away != 0 {
		t.Errorf("two slow calls: away for %v", away)
	}
	if away := run(2, 9, 9, 9); away != 0 {
		t.Errorf("three calls, which are too few: away for %v", away)
	}
	if away := run(3, 9, 9, 9, 9, 9); away != Busy {
		t.Errorf("eight slow calls: away for %v", away)
	}
	if away := run(30); away != Busy {
		t.Errorf("a slow probe: away for %v", away)
	}
}

// A probe is over after about a second, although the GPU is slow.
func TestProbesEnd(t *testing.T) {
	for streams, most := range map[int]int{1: 8, 5: 12} {
		b, f := emulated(t)
		condition := cool
		var before, calls int
		play(t, 2, f, Options{Backends: b, Streams: streams}, &condition, func(second float64) {
			switch second {
			case 1:
				f.takes, before = 700*time.Millisecond, f.calls
			case 1.9:
				calls = f.calls - before
			}
		})
		if calls < 6 || calls > most { // of each stream one or two, of the probe's preparation three, and two of the probe
			t.Errorf("%d streams: %d calls to a slow GPU, want at most %d", streams, calls, most)
		}
	}
}

// Where the processor is slow, too, the GPU is not busy. The processor is timed only when the GPU is slow, and once a second.
func TestEverythingIsSlow(t *testing.T) {
	g := NewGuard(nil, func() host.Condition { return cool })
	g.begin(time.Millisecond, 2*time.Millisecond)
	timed, takes := 0, 9*time.Millisecond
	look := func(at, took time.Duration) Cause {
		for range busyCalls {
			g.onGPU(took, true)
		}
		g.look(at, idle, func() (time.Duration, error) {
			timed++
			return takes, nil
		})
		return g.Away()
	}
	for _, step := range []struct {
		at, took, processor time.Duration
		away                Cause
		timed               int
	}{{0, 1, 9, 0, 0}, {1000, 5, 9, 0, 1}, {1250, 5, 9, 0, 1}, {2000, 5, 9, 0, 2}, {3000, 5, 4, Busy, 3}} {
		takes = step.processor * time.Millisecond
		if away := look(step.at*time.Millisecond, step.took*time.Millisecond); away != step.away || timed != step.timed {
			t.Errorf("%+v: away for %q, and the processor was timed %d times", step, away, timed)
		}
	}
}

// A block that is over counts as that, also if nobody looked until it was too late.
func TestAwaitTakesWhatIsOver(t *testing.T) {
	c := newSystemClock()
	for range 50 {
		over := make(chan uint64, 2)
		over <- 6
		over <- 7
		if !c.await(over, 7, 0) {
			t.Fatal("a block that is over is not taken")
		}
	}
	over := make(chan uint64, 2)
	over <- 6
	if c.await(over, 7, 0) {
		t.Error("an earlier block is taken for it")
	}
}

func TestCauseString(t *testing.T) {
	if got := (Heat | Lost).String(); got != "heat, lost GPU" {
		t.Errorf("%q", got)
	}
	if got := Cause(0).String(); got != "" {
		t.Errorf("%q", got)
	}
}

// dispatcher chooses a GPU for long transforms.
func dispatcher(t *testing.T) *dispatch.Dispatcher {
	t.Helper()
	file, err := calibration.Load("../../dispatch/testdata/calibration.json")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(file.Hosts, func(h calibration.Host) bool { return h.ID == "apple-m3-max-40" })
	d, err := dispatch.New(file, dispatch.WithHost(host.Facts(file.Hosts[at].Facts)), dispatch.Unforced())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A device that is lost for good is opened anew after ten seconds, and streams go back to the GPU. If the next one is lost soon, it
// takes twice as long.
func TestLostForGood(t *testing.T) {
	b, f := emulated(t)
	condition := cool
	r := play(t, 60, f, Options{Backends: b}, &condition, func(second float64) {
		switch second {
		case 1:
			f.dead = 1
		case 25:
			f.dead = 2
		}
	})
	want := []float64{1.2, 16.5, 25.2, 57}
	if len(r.Changes) != 4 || f.opened != 3 || f.closed != 2 {
		t.Fatalf("%s, and %d devices, of which %d were closed, want 3 and 2", changesOf(r), f.opened, f.closed)
	}
	for i, c := range r.Changes {
		if c.Cause != "lost GPU" || math.Abs(c.Seconds-want[i]) > 3 {
			t.Errorf("%s, want changes at about %v", changesOf(r), want)
		}
	}
}

// Where the runtime opens no other device, streams stay on the processor, and it is not asked for ever.
func TestLostAndRefused(t *testing.T) {
	b, f := emulated(t)
	condition := cool
	r := play(t, 680, f, Options{Backends: b}, &condition, func(second float64) {
		if second == 1 {
			f.dead, f.refuses = 1, true
		}
		if second == 340 {
			f.refuses = false
		}
	})
	if len(r.Changes) != 1 || f.opened != 1 || r.Routes[0].Blocks > 20 {
		t.Errorf("%s, %d devices and %d blocks on the GPU", changesOf(r), f.opened, r.Routes[0].Blocks)
	}
}
