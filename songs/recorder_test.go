package songs

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/profiles"
)

// spansOf returns the spans of the second call of a pipeline, which has warmed up.
func spansOf(t *testing.T, p *Pipeline, inputs ...[]float32) []profiles.Span {
	t.Helper()
	var r Recorder
	p.Record(&r)
	var spans []profiles.Span
	for range 2 {
		p.Reset()
		all, seconds, err := r.Call(func() error { return p.Run(inputs...) })
		if err != nil {
			t.Fatal(err)
		}
		end := 0.0
		for _, s := range all {
			if s.Begin < end || s.End < s.Begin || s.End > seconds {
				t.Errorf("%s lasts from %g to %g s, after a span that ended at %g s, in a call of %g s", s.Name, s.Begin, s.End, end, seconds)
			}
			end = s.End
		}
		spans = slices.Clone(all)
	}
	return spans
}

func spanNames(spans []profiles.Span) string {
	var names []string
	for _, s := range spans {
		names = append(names, s.Name+"@"+string(s.Place))
	}
	return strings.Join(names, "|")
}

func TestSpansOfProcessorStages(t *testing.T) {
	g := must(AnalysisGraph(AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32}))
	p, err := New(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	x := kernels.GeneratedInput().Samples[:600]
	spans := spansOf(t, p, x)
	want := "stft|power|mel|chroma|decibels|mfcc|onset|tempogram|tempo|beats"
	if got := strings.ReplaceAll(spanNames(spans), "@processor", ""); got != want {
		t.Errorf("spans %s, want %s", got, want)
	}
	for _, s := range spans {
		if s.Implementation != "go" || s.Work.Bytes <= 0 || !slices.Equal(s.Stages, []string{s.Name}) || s.Device != nil {
			t.Errorf("a stage in Go on one core is recorded as %+v", s)
		}
	}
	if want := 4 * float64(600+19*33*2); spans[0].Work.Bytes != want {
		t.Errorf("%s moves %g bytes, want %g", spans[0].Name, spans[0].Work.Bytes, want)
	}
}

func TestSpansOfLists(t *testing.T) {
	for _, unified := range []bool{false, true} {
		b := kerneltest.Backends(t, emulator.Unified(unified))
		g := must(AnalysisGraph(AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32}))
		p, err := NewOn(b, nil, g)
		if err != nil {
			t.Fatal(err)
		}
		route := onEmulator(b, g)
		route[len(route)-1] = "go" // the beats
		if err := p.Follow(route); err != nil {
			t.Fatal(err)
		}
		spans := spansOf(t, p, kernels.GeneratedInput().Samples[:600])
		want := "stft + power + mel + chroma + decibels + mfcc + onset + tempogram + tempo@gpu|beats@processor"
		if got := spanNames(spans); got != want {
			t.Fatalf("spans %s, want %s", got, want)
		}
		list := spans[0]
		d := list.Device
		if d == nil || d.Kernels < len(list.Stages) || d.Busy <= 0 || d.Span < d.Busy || d.Launch <= 0 || d.Wait < 0 {
			t.Fatalf("the device's account of a list is %+v", d)
		}
		const emulated = 1.01 // the emulator makes the device's times a little longer than they were
		if parts := d.In + d.Launch + d.Wait + d.Out; parts > emulated*list.Seconds() {
			t.Errorf("the parts of a list take %g s, and the list %g s", parts, list.Seconds())
		}
		shared := b.GPUs[0].Opened().Facts().Unified // which a GPU of this machine decides itself
		if moved := d.Moved > 0; moved == shared {
			t.Errorf("unified memory %v: %g bytes are moved", shared, d.Moved)
		}
		sum := 0.0
		for k, i := range p.groups[0].list.stages {
			sum += p.groups[0].list.steps[k].Work(p.layout.shapes[i], "").Bytes
		}
		if math.Abs(list.Work.Bytes-sum) > 1 {
			t.Errorf("the list moves %g bytes, and its stages %g", list.Work.Bytes, sum)
		}
		p.Close()
	}
}

// aloneOn returns a pipeline of a small analysis whose stages are computed one by one, each on the GPU if it can be.
func aloneOn(t *testing.T, b *kernels.Backends, implementation string) *Pipeline {
	t.Helper()
	g := must(AnalysisGraph(AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32}))
	p := must2(NewOn(b, dispatch.Always(implementation), g))
	t.Cleanup(p.Close)
	if err := p.Follow(make(Route, len(g.Stages))); err != nil {
		t.Fatal(err)
	}
	return p
}

// A stage alone on a GPU is divided as a list is: the device tells of each.
func TestSpansOfStagesAloneOnAGPU(t *testing.T) {
	for _, unified := range []bool{false, true} {
		b := kerneltest.Backends(t, emulator.Unified(unified))
		if len(b.GPUs) == 0 {
			t.Skip("there is no GPU")
		}
		spans := spansOf(t, aloneOn(t, b, kerneltest.GPUName), kernels.GeneratedInput().Samples[:600])
		if got := strings.ReplaceAll(spanNames(spans), "@gpu", ""); got != "stft|power|mel|chroma|decibels|mfcc|onset|tempogram|tempo|beats" {
			t.Fatalf("spans %s, want each stage on the GPU", got)
		}
		for _, s := range spans {
			const rounding, emulated = 1e-12, 1.01 // the emulator makes times a little longer than they were
			d := s.Device
			if d == nil || d.Launch <= 0 || d.Wait <= 0 {
				t.Fatalf("unified %v: the device's account of %s is %+v", unified, s.Name, d)
			}
			if parts := d.In + d.Launch + d.Wait + d.Out; parts > emulated*s.Seconds() {
				t.Errorf("unified %v: the parts of %s take %g s, and the stage %g s", unified, s.Name, parts, s.Seconds())
			}
			if s.Implementation != kerneltest.GPUName || !slices.Equal(s.Stages, []string{s.Name}) {
				t.Errorf("%s is recorded as %+v", s.Name, s)
			}
			if !kerneltest.Emulated(s.Implementation) {
				continue // a real one may tell less
			}
			if d.Kernels < 1 || d.Busy <= 0 || d.Span < d.Busy+d.Gaps-rounding || d.Wait < d.Span-rounding {
				t.Errorf("unified %v: the device's account of %s is %+v", unified, s.Name, d)
			}
			if moved := d.Moved > 0; moved == unified {
				t.Errorf("unified %v: %g bytes are moved for %s", unified, d.Moved, s.Name)
			}
			if d.Transfers() > rounding && unified {
				t.Errorf("in unified memory, transfers for %s take %g s", s.Name, d.Transfers())
			}
		}
		if !kerneltest.Emulated(kerneltest.GPUName) {
			continue
		}
		// The parts of all stages, as a profile divides them, are what the host saw.
		var all profiles.Builder
		all.Add(spans, spans[len(spans)-1].End)
		for i, st := range all.Profile().Stages {
			o, ok := st.Overheads()
			if !ok {
				t.Fatalf("%s is not divided", st.Name)
			}
			d := spans[i].Device
			if sum, want := o.Launch[0]+o.Copies[0]+o.Wait[0]+o.Kernels[0], d.In+d.Launch+d.Wait+d.Out; math.Abs(sum-want) > 1e-9 {
				t.Errorf("unified %v: launch, copies, wait and kernels of %s take %g s, want %g", unified, st.Name, sum, want)
			}
		}
	}
}

// What the device tells of a stage alone is recorded as of a list of that stage.
func TestAStageAloneIsDividedAsAList(t *testing.T) {
	b, c := countedBackends(t, false)
	const ms = time.Millisecond
	c.tells = gpu.Times{Encode: 2 * ms, Wall: 62 * ms, Span: 50 * ms, Busy: 30 * ms, Gaps: 5 * ms, Kernel: 3}
	x := kernels.GeneratedInput().Samples[:600]
	told := map[string]*profiles.Device{}
	alone, listed := aloneOn(t, b, "cuda"), aloneOn(t, b, "go")
	route := make(Route, len(listed.names))
	route[0] = "cuda" // a list of one stage
	if err := listed.Follow(route); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*Pipeline{"alone": alone, "list": listed} {
		var r Recorder
		p.Record(&r)
		spans, _, err := r.Call(func() error { return p.Run(x) })
		if err != nil || spans[0].Name != "stft" || spans[0].Device == nil {
			t.Fatalf("%s: spans %s (%v), want a stft that is divided", name, spanNames(spans), err)
		}
		told[name] = spans[0].Device
		told[name].In, told[name].Out = 0, 0 // which the host's clock says
	}
	want := profiles.Device{Launch: 2e-3, Wait: 60e-3, Span: 50e-3, Busy: 30e-3, Gaps: 5e-3, Kernels: 3, Moved: told["list"].Moved}
	for name, got := range told {
		if *got != want || got.Moved < 4*600 {
			t.Errorf("%s: %+v, want %+v and the input moved", name, *got, want)
		}
	}
}

// The GPU times stages alone while somebody records, and neither before nor after. Without a recorder no call allocates.
func TestStagesAloneAreTimedForARecorder(t *testing.T) {
	b, c := countedBackends(t, false)
	p := aloneOn(t, b, "cuda")
	x := kernels.GeneratedInput().Samples[:600]
	run := func() error { return p.Run(x) }
	var r Recorder
	for _, by := range []*Recorder{nil, &r, nil} {
		p.Record(by)
		for range 3 {
			call := run
			if by != nil {
				call = func() error { _, _, err := r.Call(run); return err }
			}
			c.take()
			if err := call(); err != nil {
				t.Fatal(err)
			}
			got, want := c.take(), 0
			if by != nil {
				want = len(p.names)
			}
			if got.timed != want || got.waited < len(p.names) {
				t.Errorf("recorded %v: %d of %d submissions are timed, want %d", by != nil, got.timed, got.submitted, want)
			}
		}
		if by != nil {
			continue
		}
		if n := testing.AllocsPerRun(10, func() { _ = run() }); n != 0 && !emulator.Racing() {
			t.Errorf("a warm call of stages alone on a GPU allocates %v times", n)
		}
	}
}

// A stage that its GPU fails is one of the processor, and is not divided.
func TestAStageWhoseGPUFails(t *testing.T) {
	b, c := countedBackends(t, false)
	p := aloneOn(t, b, "cuda")
	x := kernels.GeneratedInput().Samples[:600]
	var r Recorder
	p.Record(&r)
	for _, fails := range []bool{false, true} {
		c.fails = fails
		spans, _, err := r.Call(func() error { return p.Run(x) })
		if err != nil {
			t.Fatal(err)
		}
		first := spans[0]
		if (first.Device == nil) != fails || (first.Place == profiles.Processor) != fails || spans[1].Device == nil {
			t.Errorf("the first stage fails %v: %+v, and then %+v", fails, first, spans[1])
		}
	}
}

// A call that fails returns its error, and the next call begins anew.
func TestRecorderAfterAFailure(t *testing.T) {
	p, err := New(nil, must(AnalysisGraph(AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32})))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var r Recorder
	p.Record(&r)
	x, fails := kernels.GeneratedInput().Samples[:600], errors.New("it fails")
	_, _, err = r.Call(func() error { return errors.Join(p.Run(x), fails) })
	if !errors.Is(err, fails) {
		t.Errorf("a call that fails returns %v", err)
	}
	spans, _, err := r.Call(func() error { return p.Run(x) })
	if err != nil || len(spans) != 10 {
		t.Errorf("%d spans after a failed call, want 10 (%v)", len(spans), err)
	}
}

// Moves of derived tensors are spans, too.
func TestSpansOfMoves(t *testing.T) {
	g, err := SeparatorGraph(testSeparator())
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := spanNames(spansOf(t, p, kernels.GeneratedInput().Samples[:testSeparator().segment()]))
	if want := "spectra@processor|columns@transfer|encoder@processor"; !strings.HasPrefix(got, want) {
		t.Errorf("spans %s, want %s first", got, want)
	}
}

// An analysis of a long recording is one call.
func TestSpansOfALongAnalysis(t *testing.T) {
	a, err := NewAnalysis(nil, AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	inPartsOf(a, 10)
	var r Recorder
	a.Record(&r)
	spans, _, err := r.Call(func() error {
		_, err := a.Run(kernels.GeneratedInput().Samples[:600])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	part := "cut parts|stft|power|mel|chroma|join parts|"
	want := part + part + "decibels|mfcc|onset|tempogram|tempo|beats"
	got := strings.NewReplacer("@processor", "", "@transfer", "").Replace(spanNames(spans))
	if got != want {
		t.Errorf("spans %s, want %s", got, want)
	}
}

// Without a recorder a warm call allocates nothing; with one it allocates nothing on the processor either.
func TestRecordingAllocatesNothing(t *testing.T) {
	g := must(AnalysisGraph(AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32}))
	p, err := New(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	inputs := [][]float32{kernels.GeneratedInput().Samples[:600]}
	run := func() error { return p.Run(inputs...) }
	for _, r := range []*Recorder{nil, {}} {
		p.Record(r)
		call := run
		if r != nil {
			call = func() error { _, _, err := r.Call(run); return err }
		}
		n := testing.AllocsPerRun(10, func() {
			if err := call(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("a warm call allocates %g times (recorder %v)", n, r != nil)
		}
	}
}
