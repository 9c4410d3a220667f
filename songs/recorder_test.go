package songs

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

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
		if moved := d.Moved > 0; moved == unified {
			t.Errorf("unified memory %v: %g bytes are moved", unified, d.Moved)
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
