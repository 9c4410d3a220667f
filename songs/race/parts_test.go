package race

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
	"crossover/kernels/elementwise"
	"crossover/songs"
	"crossover/sweeps"
)

// gains returns a dispatcher that predicts gains on the processor, and a graph of two with a turned tensor between them.
func gains(t *testing.T) (*dispatch.Dispatcher, *songs.Graph) {
	t.Helper()
	facts := host.Facts{Chip: "AMD EPYC", Family: "amd-epyc", Architecture: "amd64", Cores: 2}
	var of []calibration.Implementation
	for _, name := range []string{"go", "go-parallel"} {
		of = append(of, calibration.Implementation{Name: name, Processor: "cpu", Cost: &calibration.Cost{SizeSeconds: 1e-3, Exponent: 1}})
	}
	d, err := dispatch.New(&calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{{
		ID: facts.ID(), Facts: calibration.Facts(facts), Created: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{OS: "linux", ToolVersion: "made up for tests", Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm", TieBand: 0.03},
		Cases: []calibration.Case{{
			Name: "gain", Operation: "gain", Verdict: calibration.Unresolved, Reason: "made up",
			Axis: calibration.Axis{Name: "n", Unit: "elements", From: 1 << 10, To: 1 << 24}, Implementations: of,
		}},
	}}}, dispatch.WithHost(facts), dispatch.Unforced())
	if err != nil {
		t.Fatal(err)
	}
	step, shape := kernels.StepOfPlan(elementwise.NewGain(d, 2).SizedPlan)
	return d, &songs.Graph{
		Name:   "gains",
		Inputs: []songs.Input{{Name: "x", Type: kernels.Float32, Usual: 640}},
		Stages: []songs.Stage{
			{Name: "a", Step: step, Reads: []string{"x"}, Shape: songs.Along("x", 1, shape)},
			{Name: "b", Step: step, Reads: []string{"columns"}, Shape: songs.Along("x", 1, shape)},
		},
		Derived: []songs.Derived{{Name: "columns", Of: "a", How: songs.Turned, Columns: 64}},
		Outputs: []string{"b"},
	}
}

// Routes are divided into stages, derived tensors and what lies between. A forecast has the parts of the other length, and so is
// far from the made-up surfaces.
func TestMeasureDivides(t *testing.T) {
	d, g := gains(t)
	music := kernels.GeneratedInput().Samples
	var all []Measured
	// On a disturbed machine all routes that have parts may be far slower than one that has none.
	for attempt := 0; attempt == 0 || attempt < 10 && slices.ContainsFunc(all, func(m Measured) bool { return len(m.Parts) == 0 }); attempt++ {
		var err error
		all, err = Measure(t.Context(), kernels.Here(), d,
			[]Session{{g, "short", "", [][][]float32{{music[:6400]}}}, {g, "long", "", [][][]float32{{music[:64000]}}}},
			sweeps.Options{Budget: time.Second, Seed: 1, Input: kernels.GeneratedInput(), Sentinel: func() {}}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range all {
		n := []int{6400, 64000}[i]
		for _, want := range []calibration.Part{{Name: "a", Implementation: "go", PredictedSeconds: 1e-3 * float64(n)}, {Name: "columns", Bytes: 4 * n}} {
			// Either implementation may be in the fastest route.
			at := slices.IndexFunc(m.Parts, func(p calibration.Part) bool {
				return p.Name == want.Name && (p.Implementation == "") == (want.Implementation == "")
			})
			if at < 0 {
				t.Fatalf("%s: no part %s in %+v", m.Length, want.Name, m.Parts)
			}
			if p := m.Parts[at]; !(p.MedianSeconds > 0) || math.Abs(p.PredictedSeconds-want.PredictedSeconds) > 1e-9 || p.Bytes != want.Bytes {
				t.Errorf("%s: %+v, want %+v", m.Length, p, want)
			}
		}
		for _, r := range m.Routes {
			if r.Name != "stages" && !(r.PredictedSeconds > 0 && r.PredictedSeconds < 1e-3*float64(n)) {
				t.Errorf("%s: %s is predicted to take %g s", m.Length, r.Name, r.PredictedSeconds)
			}
		}
		if m.BetweenSeconds < 0 {
			t.Errorf("%s: %g s between", m.Length, m.BetweenSeconds)
		}
	}
}

// The parts of a route and what lies between are as long as its calls, whatever recording costs. Slow routes have no parts.
func TestDivide(t *testing.T) {
	d, g := gains(t)
	r, err := newRace(kernels.Here(), d, &Session{g, "short", "", [][][]float32{{make([]float32, 6400)}, {make([]float32, 6400)}}}, (*songs.Pipeline).Entrants)
	if err != nil {
		t.Fatal(err)
	}
	m := Measured{Session: r.Session, PipelineLength: calibration.PipelineLength{Elements: r.elements, Routes: []calibration.Route{
		{Name: "best-1", Implementations: []string{"go", "go"}, MedianSeconds: 100},
		{Name: "stages", Implementations: []string{"", ""}, MedianSeconds: 200},
		{Name: "best-2", Implementations: []string{"go-parallel", "go-parallel"}, MedianSeconds: 1001},
		{Name: "best-3", Implementations: []string{"fftw", "go"}, MedianSeconds: 100},
	}}}
	if err := r.divide(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	sum := m.BetweenSeconds
	for _, p := range m.Parts {
		sum += p.MedianSeconds
	}
	if len(m.Parts) != 3 || sum < 10 || sum > 1000 { // medians of the parts need not add up to that of the whole
		t.Errorf("%+v and %g s between are %g s, want 100", m.Parts, m.BetweenSeconds, sum)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := r.divide(ended, &m); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// The last round has the best routes of the one before, and those that the dispatcher forecasts which knows that round.
func TestBestRoutesGoOn(t *testing.T) {
	d, g := gains(t)
	sessions := []Session{{g, "short", "song.wav", [][][]float32{{make([]float32, 6400)}}}, {g, "long", "song.wav", [][][]float32{{make([]float32, 64000)}}}}
	o := sweeps.Options{Budget: 4 * time.Second, Seed: 1, Input: kernels.GeneratedInput(), Sentinel: func() {}}
	var known []calibration.Pipeline
	all, err := Measure(t.Context(), kernels.Here(), d, sessions, o, func(p []calibration.Pipeline) (*dispatch.Dispatcher, error) {
		known = p
		return nil, nil // forecasts nothing, so that only routes of the round before have names
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(known) != 1 || known[0].Lengths[0].Audio != "song.wav" {
		t.Fatalf("the round before knows %+v", known)
	}
	for i, m := range all {
		at := slices.IndexFunc(known[0].Lengths, func(l calibration.PipelineLength) bool { return l.Elements[0] == len(sessions[i].Calls[0][0]) })
		if at < 0 || m.Why != "" {
			continue // on a busy machine the budget is too short for both
		}
		first := known[0].Lengths[at]
		for _, best := range first.Routes[:min(2, len(first.Routes))] {
			if !slices.ContainsFunc(m.Routes, func(r calibration.Route) bool { return slices.Equal(r.Implementations, best.Implementations) }) {
				t.Errorf("%s: %v was among the best of the round before, and is not in the last one: %+v", m.Length, best.Implementations, m.Routes)
			}
		}
	}
	refused := errors.New("refused")
	if _, err := Measure(t.Context(), kernels.Here(), d, sessions, o, func([]calibration.Pipeline) (*dispatch.Dispatcher, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("a file that cannot be read again: %v", err)
	}
}
