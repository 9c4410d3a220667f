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

// faulted plays a run with faults on the emulated GPU.
func faulted(t *testing.T, seconds float64, f *faults, o Options) *Report {
	t.Helper()
	condition := cool
	return play(t, seconds, f, o, &condition, func(float64) {})
}

// Each fault is made when it is due, and streams leave the GPU for it, lose no block, and go back once.
func TestFaults(t *testing.T) {
	b, f := emulated(t)
	slow := func(context.Context) (func() error, error) {
		f.takes = 120 * time.Millisecond
		return func() error { f.takes = time.Millisecond; return nil }, nil
	}
	lose := func(context.Context) (func() error, error) { f.dead = f.opened; return nil, nil }
	r := faulted(t, 60, f, Options{Backends: b, Faults: []Fault{
		{Cause: Lost, At: 36, Begin: lose}, // the order does not matter
		{Cause: Heat, At: 2, Lasts: 1}, {Cause: Memory, At: 12, Lasts: 1}, {Cause: Busy, At: 24, Lasts: 1, Begin: slow},
	}})
	if len(r.Faults) != 4 {
		t.Fatalf("%d reports: %+v", len(r.Faults), r.Faults)
	}
	for i, want := range []FaultReport{
		{Cause: "heat", BeganSeconds: 2, LeftSeconds: ptr(2), OverSeconds: ptr(3), BackSeconds: ptr(8)},
		{Cause: "memory pressure", BeganSeconds: 12, LeftSeconds: ptr(12), OverSeconds: ptr(13), BackSeconds: ptr(18)},
		{Cause: "busy GPU", BeganSeconds: 24, LeftSeconds: ptr(24), OverSeconds: ptr(25), BackSeconds: ptr(31)},
		{Cause: "lost GPU", BeganSeconds: 36, LeftSeconds: ptr(36), BackSeconds: ptr(52)},
	} {
		got := r.Faults[i]
		near := func(got, want *float64) bool {
			return got == nil && want == nil || got != nil && want != nil && math.Abs(*got-*want) < 1.6
		}
		if got.Cause != want.Cause || math.Abs(got.BeganSeconds-want.BeganSeconds) > 0.2 || !near(got.LeftSeconds, want.LeftSeconds) ||
			!near(got.OverSeconds, want.OverSeconds) || !near(got.BackSeconds, want.BackSeconds) {
			t.Errorf("%+v, want %+v", got, want)
		}
		if got.LateLeaving+got.LateAway+got.LateBack != 0 || got.Changes != 2 || got.Failure != "" {
			t.Errorf("%s: %+v, want no late block and two changes", got.Cause, got)
		}
	}
	if r.Deviation == nil || !(*r.Deviation < 1e-4) {
		t.Errorf("a deviation of %v", r.Deviation)
	}
}

func ptr(seconds float64) *float64 { return &seconds }

// A fault that cannot be made is reported, and so is one that does not end as it should. One that lasts is ended with the run.
func TestFaultsThatFail(t *testing.T) {
	b, f := emulated(t)
	ended := 0
	r := faulted(t, 3, f, Options{Backends: b, Faults: []Fault{
		{Cause: Busy, At: 0.5, Begin: func(context.Context) (func() error, error) { return nil, errors.New("no program") }},
		{Cause: Lost, At: 1, Begin: func(context.Context) (func() error, error) { return func() error { ended++; return nil }, nil }},
		{Cause: Busy, At: 1.5, Lasts: 1, Begin: func(context.Context) (func() error, error) {
			return func() error { ended++; return errors.New("it goes on") }, nil
		}},
	}})
	if ended != 2 || len(r.Faults) != 3 || r.Faults[0].Failure != "no program" || r.Faults[1].OverSeconds != nil || r.Faults[2].Failure != "it goes on" {
		t.Errorf("%d ended, %+v", ended, r.Faults)
	}
}

// In real time, a fault that is being made when the run ends is given up.
func TestFaultsEndWithTheRun(t *testing.T) {
	b, _ := emulated(t)
	source, began := testSource(t), false
	r, err := Run(t.Context(), Options{Backends: b, Source: source, Seconds: 0.5, Streams: 1, Routes: []songs.Entrant{onEmulator}, Spare: onGo(Serial),
		Guard: NewGuard(nil, func() host.Condition { return cool }), Faults: []Fault{{Cause: Busy, At: 0.1, Begin: func(ctx context.Context) (func() error, error) {
			began = true
			<-ctx.Done()
			return nil, ctx.Err()
		}}}})
	if err != nil || !began || len(r.Faults) != 1 || r.Faults[0].Failure != "" {
		t.Errorf("%+v, %v, %v", r, began, err)
	}
}

// Blocks that are not computed are late, and the spare route that the output is compared with loses them, too.
func TestFaultsCountBlocksThatAreNotComputed(t *testing.T) {
	b, f := emulated(t)
	blocks := 0
	r, err := Run(t.Context(), Options{Backends: b, Source: testSource(t), Seconds: 2, Streams: 1, Routes: []songs.Entrant{onEmulator},
		Spare: onGo(Serial), Guard: NewGuard(nil, func() host.Condition { return cool }), Faults: []Fault{{Cause: Heat}}, clock: f.virtual,
		after: func(uint64) {},
		end: func([]float32) {
			if blocks++; blocks == 5 {
				f.at += 350 * time.Millisecond // which the system takes
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if late := r.Faults[0].LateLeaving; r.Skipped == 0 || late != r.Skipped {
		t.Errorf("%d late blocks, want the %d that were not computed, and some", late, r.Skipped)
	}
	if r.Deviation == nil || !(*r.Deviation < 1e-4) {
		t.Errorf("a deviation of %v", r.Deviation)
	}
}

// The report has what lies between two changes, and the deviation sees what another sound does.
func TestJournal(t *testing.T) {
	second := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	j := &journal{}
	for i := range 40 {
		at := second(float64(i) / 10)
		switch i {
		case 13, 24:
			j.begins(at, true)
		case 18, 29:
			j.begins(at, false)
		}
		if slices.Contains([]int{5, 11, 12, 15, 16, 17, 20}, i) {
			j.blocks = append(j.blocks, noted{at: at + 1, late: true, latency: second(float64(i))})
			continue
		}
		j.blocks = append(j.blocks, noted{at: at + 1, latency: 1})
	}
	got := j.report([]*injected{{report: FaultReport{BeganSeconds: 1.1}}, {report: FaultReport{BeganSeconds: 3}}})
	if r := got[0]; r.LateLeaving != 2 || r.LateAway != 3 || r.LateBack != 1 || r.Changes != 4 || *r.LeftSeconds != 1.3 || *r.BackSeconds != 1.8 || r.WorstLeaving != 12 {
		t.Errorf("%+v", r)
	}
	if r := got[1]; r.LateLeaving != 0 || r.Changes != 0 || r.LeftSeconds != nil {
		t.Errorf("%+v", r)
	}
	source := testSource(t)
	o := &Options{Source: source, Spare: onGo(Serial), Streams: 2, Seconds: 0.3}
	m := machine{kernels.Here(), nil, source, t.Context().Err}
	var whole []float32
	if _, err := Run(t.Context(), Options{Source: source, Seconds: 0.3, Streams: 2, Fast: true, Routes: []songs.Entrant{onGo(Serial)},
		end: func(block []float32) { whole = append(whole, block...) }}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(x []float32)
		least  float64
		most   float64
	}{
		"the same":      {func([]float32) {}, 0, 1e-6},
		"a wrong block": {func(x []float32) { clear(x[400:800]) }, 0.1, 1},
		"a NaN":         {func(x []float32) { x[3] = float32(math.NaN()) }, math.MaxFloat64, math.MaxFloat64},
	} {
		j := &journal{output: slices.Clone(whole), blocks: make([]noted, 3)}
		test.change(j.output)
		if d, err := j.deviation(&m, o); err != nil || !(*d >= test.least && *d <= test.most) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

func TestFaultsAreChecked(t *testing.T) {
	b, _ := emulated(t)
	guard := NewGuard(nil, func() host.Condition { return cool })
	good := Options{Backends: b, Source: testSource(t), Routes: []songs.Entrant{onEmulator}, Spare: onGo(Serial), Streams: 1, Seconds: 1, Guard: guard,
		Faults: []Fault{{Cause: Heat}}}
	for want, change := range map[string]func(o *Options){
		"waits for no block's time":        func(o *Options) { o.Fast = true },
		"3601 seconds with faults":         func(o *Options) { o.Seconds = 3601 },
		"faults without a guard":           func(o *Options) { o.Guard = nil },
		"without a route on a GPU":         func(o *Options) { o.Routes = []songs.Entrant{onGo("other")} },
		`a fault that is "" (want one c`:   func(o *Options) { o.Faults[0].Cause = 0 },
		`"heat, memory pressure" (want`:    func(o *Options) { o.Faults[0].Cause = Heat | Memory },
		"a busy GPU that nobody makes":     func(o *Options) { o.Faults[0].Cause = Busy },
		"a fault from 1 s for 0 s":         func(o *Options) { o.Faults[0].At = 1 },
		"a fault from NaN s for 0 s":       func(o *Options) { o.Faults[0].At = math.NaN() },
		"from 0.5 s for 1 s (want one wit": func(o *Options) { o.Faults[0].At, o.Faults[0].Lasts = 0.5, 1 },
	} {
		o := good
		o.Faults = slices.Clone(good.Faults)
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A run whose notes on faults do not fit into half of the memory does not begin.
func TestNotesThatDoNotFit(t *testing.T) {
	o := Options{Source: testSource(t), Routes: []songs.Entrant{onGo(Serial)}, Spare: onGo(Serial), Streams: 1, Seconds: 1e6, Faults: []Fault{{}}, memory: 512 << 20}
	m := machine{kernels.Here(), nil, o.Source, t.Context().Err}
	if _, err := o.affordable(&m); err == nil || !strings.Contains(err.Error(), "1e+06 seconds with faults are written down in") {
		t.Errorf("a long run with faults: %v", err)
	}
	for _, change := range []func(){func() { o.Faults = nil }, func() { o.Faults, o.Seconds = []Fault{{}}, 1 }} {
		change()
		if _, err := o.affordable(&m); err != nil {
			t.Error(err)
		}
	}
}
