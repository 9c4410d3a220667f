package songs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/profiles"
)

// listener notes the intervals of all kinds.
type listener struct {
	t     *testing.T
	began []string // kind and text, in the order of their begins
	open  []uint64
	last  uint64
}

// noted is a kind of interval that a listener notes.
type noted struct {
	*listener
	kind string
}

func (n noted) Begin(text string) uint64 {
	n.last++
	n.began, n.open = append(n.began, n.kind+" "+text), append(n.open, n.last)
	return n.last
}

func (n noted) End(id uint64) {
	if len(n.open) == 0 || n.open[len(n.open)-1] != id {
		n.t.Fatalf("interval %d ends, and %v are open", id, n.open)
	}
	n.open = n.open[:len(n.open)-1]
}

func listen(t *testing.T) (*listener, *Marks) {
	l := &listener{t: t}
	return l, &Marks{Text: "a call", Calls: noted{l, "call"}, Stages: noted{l, "stage"}, Lists: noted{l, "list"}, Moves: noted{l, "move"}}
}

// marksOf returns the intervals that the spans of a call stand for.
func marksOf(spans []profiles.Span) []string {
	all := []string{"call a call"}
	for _, s := range spans {
		kind := "stage "
		switch {
		case s.Place == profiles.Transfer:
			kind = "move "
		case s.Device != nil:
			kind = "list "
		}
		all = append(all, kind+s.Name)
	}
	return all
}

// The intervals of a call are those of its spans, in their order, and all end.
func TestMarksAreThoseOfTheSpans(t *testing.T) {
	kinds := map[string]bool{}
	check := func(name string, call func() error, record func(*Recorder)) {
		t.Helper()
		l, marks := listen(t)
		r := Recorder{Marks: marks}
		record(&r)
		for i := range 3 {
			l.began = nil
			spans, _, err := r.Call(call)
			if err != nil {
				t.Fatal(err)
			}
			if want := marksOf(spans); !slices.Equal(l.began, want) || len(l.open) > 0 {
				t.Errorf("%s, call %d: intervals\n%s\nwant\n%s\nopen are %v", name, i, strings.Join(l.began, "\n"), strings.Join(want, "\n"), l.open)
			}
			for _, m := range l.began {
				kind, _, _ := strings.Cut(m, " ")
				kinds[kind] = true
			}
		}
		record(nil)
	}
	b := kerneltest.Backends(t)
	for g, calls := range graphs(t) {
		for _, onGPU := range []bool{false, true} {
			if onGPU && len(b.GPUs) == 0 {
				continue
			}
			p := must2(NewOn(b, nil, g))
			if onGPU {
				if err := p.Follow(onEmulator(b, g)); err != nil {
					t.Fatal(err)
				}
			}
			next := 0
			check(fmt.Sprintf("%s on a GPU: %v", g.Name, onGPU), func() error {
				if g.Name == "analysis" {
					return p.Run(calls[0]...)
				}
				if next == len(calls) {
					p.Reset()
					next = 0
				}
				next++
				return p.Run(calls[next-1]...)
			}, p.Record)
			p.Close()
		}
	}
	a, err := NewAnalysisOn(b, nil, AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	inPartsOf(a, 8)
	check("parts", func() error { _, err := a.Run(kernels.GeneratedInput().Samples[:600]); return err }, a.Record)
	for _, kind := range []string{"call", "stage", "move"} {
		if !kinds[kind] {
			t.Errorf("no call has a %s", kind)
		}
	}
	if len(b.GPUs) > 0 && !kinds["list"] {
		t.Error("no call has a list")
	}
}

// A list that fails ends, and so do the stages that are computed instead, and a call that fails.
func TestMarksOfFailures(t *testing.T) {
	b, c := countedBackends(t, false)
	p := onCounted(t, b, must(DecoderGraph(testDecoder())))
	defer p.Close()
	l, marks := listen(t)
	r := Recorder{Marks: marks}
	p.Record(&r)
	call := func() error { return p.Run(noise(1, 24, 1), []float32{0.5}) }
	if _, _, err := r.Call(call); err != nil {
		t.Fatal(err)
	}
	before := len(l.began)
	p.backends.GPUs, c.fails = nil, true
	spans, _, err := r.Call(call)
	if err != nil {
		t.Fatal(err)
	}
	after := l.began[before:]
	if !p.Failed() || !strings.HasPrefix(after[1], "list ") || len(after) <= len(spans) || len(l.open) > 0 {
		t.Errorf("intervals %q of %d spans, open are %v", after, len(spans), l.open)
	}
	if _, _, err := r.Call(func() error { return p.Run() }); err == nil || len(l.open) > 0 {
		t.Errorf("a call that fails (%v) leaves %v open", err, l.open)
	}
}

func TestMarksDoNotAllocate(t *testing.T) {
	g := must(SynthesiserGraph(testSynthesiser(t, 48)))
	p := must2(New(nil, g))
	defer p.Close()
	input := kernels.Uint32Words([]uint32{0, 0})
	quiet := counter(0)
	r := Recorder{Marks: &Marks{Calls: &quiet, Stages: &quiet, Lists: &quiet, Moves: &quiet}}
	p.Record(&r)
	run := func() { _ = p.Run(input) }
	call := func() { _, _, _ = r.Call(func() error { run(); return nil }) }
	call()
	call()
	if n := testing.AllocsPerRun(20, call); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
	if quiet == 0 {
		t.Error("nobody is told anything")
	}
}

// counter counts intervals.
type counter uint64

func (c *counter) Begin(string) uint64 { *c++; return uint64(*c) }
func (c *counter) End(uint64)          {}
