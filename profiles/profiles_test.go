package profiles

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// near reports whether two values differ by rounding alone.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// made returns a profile of calls of two stages, of which the first takes as many milliseconds as first says, and the second one
// twice 2 ms. Between them lies 1 ms.
func made(first ...float64) *Profile {
	var b Builder
	for _, ms := range first {
		a := ms * 1e-3
		b.Add([]Span{
			{Name: "stft", Stages: []string{"stft"}, Place: Processor, Implementation: "go", Begin: 0, End: a, Work: Work{Bytes: 1e6, Operations: 5e6}},
			{Name: "mel", Stages: []string{"mel"}, Place: Processor, Implementation: "go", Begin: a + 1e-3, End: a + 3e-3, Work: Work{Bytes: 4e5, Operations: 1e3}},
			{Name: "mel", Stages: []string{"mel"}, Place: Processor, Implementation: "go", Begin: a + 3e-3, End: a + 5e-3, Work: Work{Bytes: 4e5, Operations: 1e3}},
		}, a+5e-3)
	}
	return b.Profile()
}

func TestBuilder(t *testing.T) {
	p := made(5, 3, 4)
	if len(p.Stages) != 2 || p.Stages[0].Name != "stft" || p.Stages[1].Name != "mel" {
		t.Fatalf("stages %+v", p.Stages)
	}
	mel := p.Stages[1]
	if mel.Times != 2 || mel.Work.Bytes != 8e5 || !near(mel.Wall[2], 4e-3) {
		t.Errorf("a stage of two spans: %+v", mel)
	}
	if !near(p.Between[0], 1e-3) || len(p.Between) != 3 {
		t.Errorf("between the stages %v, want 1 ms", p.Between)
	}
	if !near(p.Median[0].End, 4e-3) {
		t.Errorf("the median call has a first stage of %g s, want 4 ms", p.Median[0].End)
	}
}

// The input of calls is told with the length of the recording if that was repeated.
func TestInput(t *testing.T) {
	for want, p := range map[string]Profile{
		"128 steps":                  {Recording: "128 steps"},
		"song.wav, 10 s at 22050 Hz": {Recording: "song.wav", Samples: 220500, SampleRate: 22050},
		"song.wav, repeated from 0.5 s to 10 s at 22050 Hz": {Recording: "song.wav", Samples: 220500, Recorded: 11025, SampleRate: 22050},
	} {
		if got := p.Input(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A stage that some calls lack has a time of 0 there.
func TestBuilderOfUnlikeCalls(t *testing.T) {
	var b Builder
	list := Span{Name: "a + b", Place: GPU, Begin: 0, End: 1, Device: &Device{Busy: 0.5}}
	stage := Span{Name: "c", Place: Processor, Begin: 0, End: 2}
	for _, s := range []Span{stage, list, stage, list, stage} {
		b.Add([]Span{s}, 2)
	}
	p := b.Profile()
	if got, want := fmt.Sprint(p.Stages[1].Wall), "[0 1 0 1 0]"; got != want {
		t.Errorf("a list in some calls takes %s, want %s", got, want)
	}
	if err := p.check(); err != nil {
		t.Error(err)
	}
	if share, _, ok := p.Stages[1].Efficiency(); !ok || share != 0.5 {
		t.Errorf("its kernels run for %g of its time, want 0.5", share)
	}
}

func TestQuantiles(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	for share, want := range map[float64]float64{0: 1, 0.5: 50.5, 0.95: 95, 0.99: 99, 1: 100} {
		if got := Quantile(hundred, share); got != want {
			t.Errorf("the quantile of %g is %g, want %g", share, got, want)
		}
	}
	if _, ok := Tail(hundred[:99], 0.99); ok {
		t.Error("99 values say what 99 % do not exceed")
	}
	if v, ok := Tail(hundred, 0.99); !ok || v != 99 {
		t.Errorf("of 100 values 99 %% do not exceed %g, want 99", v)
	}
}

// roofed has a copy of 1 GB/s, 2 GFLOP/s on all cores, and half of that on one.
func roofed(p *Profile) *Profile {
	p.Roofs = []Roof{{Place: Processor, Copies: []CopyRate{{1e3, 1e10}, {1e6, 1e9}}, Operations: 2e9, OneCore: 1e9}}
	return p
}

func TestBounds(t *testing.T) {
	p := roofed(made(4, 4, 4))
	for i, want := range []Bound{{5e6 / 2e9, "arithmetic"}, {8e5 / 1e9, "memory"}} {
		if got, ok := p.Bound(&p.Stages[i]); !ok || got.By != want.By || !near(got.Seconds, want.Seconds) {
			t.Errorf("the bound of %s is %+v, want %+v", p.Stages[i].Name, got, want)
		}
	}
	one := p.Stages[0]
	one.Work.Pieces = 1
	if got, _ := p.Bound(&one); !near(got.Seconds, 5e6/1e9) {
		t.Errorf("the bound of work in one piece is %g s, want %g", got.Seconds, 5e6/1e9)
	}
	small := p.Stages[1]
	small.Work = Work{Bytes: 2e3}
	if got, _ := p.Bound(&small); !near(got.Seconds, 2e3/1e10) {
		t.Errorf("the bound of 1 KB in a cache is %g s, want %g", got.Seconds, 2e3/1e10)
	}
	gpu := p.Stages[0]
	gpu.Place = GPU
	if _, ok := p.Bound(&gpu); ok {
		t.Error("a GPU without a roof has a bound")
	}
}

func TestBottlenecks(t *testing.T) {
	worst := roofed(made(4, 4, 4)).Bottlenecks(3)
	if len(worst) != 3 {
		t.Fatalf("%d bottlenecks", len(worst))
	}
	// Calls take 9 ms: mel 4 ms with a bound of 0.8 ms, stft 4 ms with 2.5 ms, and 1 ms between them.
	for i, want := range []struct {
		name string
		at   float64
	}{{"mel", 1 - 3.2/9}, {"stft", 1 - 1.5/9}, {"between the stages", 1 - 1.0/9}} {
		if got := worst[i]; got.Name != want.name || !near(got.At, want.at) {
			t.Errorf("bottleneck %d is %s, at %g, want %s, at %g", i+1, got.Name, got.At, want.name, want.at)
		}
	}
	want := "mel takes 44 % of the call and reaches 20 % of the speed of a copy of as many bytes: at this roof the call would take 0.64 of its time."
	if worst[0].Sentence != want {
		t.Errorf("%s\nwant %s", worst[0].Sentence, want)
	}
}

// A list of kernels that mostly waits is a bottleneck by its launch, and not by its kernels.
func TestBottleneckOfAList(t *testing.T) {
	var b Builder
	b.Add([]Span{{Name: "a + b", Place: GPU, Begin: 0, End: 10e-3, Work: Work{Bytes: 1e6},
		Device: &Device{In: 1e-3, Launch: 2e-3, Wait: 6e-3, Out: 1e-3, Span: 5e-3, Busy: 2e-3, Gaps: 1e-3, Kernels: 3}}}, 10e-3)
	p := b.Profile()
	p.Roofs = []Roof{{Place: GPU, Copies: []CopyRate{{1e6, 1e9}}}}
	worst := p.Bottlenecks(3)
	if worst[0].Name != "a + b (launch, copies and waits)" || !near(worst[0].At, 0.2) || worst[1].Name != "a + b" || !near(worst[1].At, 0.9) {
		t.Errorf("bottlenecks %+v", worst)
	}
	o, ok := p.Stages[0].Overheads()
	if !ok || len(o.Launch) != 1 || !near(o.Launch[0], 2e-3) || !near(o.Copies[0], 4e-3) || !near(o.Wait[0], 2e-3) || !near(o.Kernels[0], 2e-3) {
		t.Errorf("%+v", o)
	}
	if _, gap, _ := p.Stages[0].Efficiency(); !near(gap, 0.5e-3) {
		t.Errorf("a pause of %g s between three kernels, want 0.5 ms", gap)
	}
}

// alone is a stage alone on a GPU: 10 ms, of which kernels are 4 ms.
func alone() Span {
	return Span{Name: "stft", Stages: []string{"stft"}, Place: GPU, Implementation: "cuda", Begin: 0, End: 10e-3, Work: Work{Bytes: 1e6},
		Device: &Device{In: 1e-3, Launch: 1e-3, Wait: 6e-3, Out: 1e-3, Span: 5e-3, Busy: 4e-3, Kernels: 1, Moved: 1e5}}
}

// A stage that a GPU computes in some calls is divided by these, and its bottleneck is that of most calls.
func TestStagesInTwoPlaces(t *testing.T) {
	onProcessor := alone()
	onProcessor.Place, onProcessor.Implementation, onProcessor.Device, onProcessor.End = Processor, "go", nil, 3e-3
	const processor, gpu = false, true
	for _, test := range []struct {
		calls []bool
		worst string
		at    float64
	}{
		{[]bool{gpu, processor, gpu, gpu}, "stft (launch, copies and waits)", 0.4},
		{[]bool{processor, processor, gpu, processor}, "stft", 1},
	} {
		var b Builder
		told := 0
		for _, onGPU := range test.calls {
			s := onProcessor
			if onGPU {
				s = alone()
				told++
			}
			b.Add([]Span{s}, s.End)
		}
		p := b.Profile()
		o, ok := p.Stages[0].Overheads()
		if !ok || len(o.Launch) != told || len(o.Kernels) != told ||
			!near(o.Kernels[0], 4e-3) || !near(o.Copies[0], 3e-3) || !near(o.Wait[0], 1e-3) {
			t.Errorf("%v: divided as %+v", test.calls, o)
		}
		p.Roofs = []Roof{{Place: p.Stages[0].Place, Copies: []CopyRate{{1e6, 1e20}}}}
		worst := p.Bottlenecks(1)[0]
		if worst.Name != test.worst || test.at < 1 && !near(worst.At, test.at) {
			t.Errorf("%v: the worst bottleneck is %+v, want %s", test.calls, worst, test.worst)
		}
	}
}

// What a device does not tell is not divided, and no gain is promised for it.
func TestADeviceThatTellsLittle(t *testing.T) {
	for what, test := range map[string]struct {
		device        Device
		wait, kernels float64
		rest          bool
	}{
		"kernels and pauses together": {Device{Launch: 1e-3, Wait: 8e-3, Span: 5e-3}, 3e-3, 5e-3, true},
		"nothing":                     {Device{Launch: 1e-3, Wait: 8e-3}, 8e-3, 0, false},
	} {
		s := alone()
		s.Device = &test.device
		var b Builder
		b.Add([]Span{s}, s.End)
		p := b.Profile()
		o, ok := p.Stages[0].Overheads()
		if !ok || !near(o.Wait[0], test.wait) || !near(o.Kernels[0], test.kernels) || o.Copies[0] != 0 {
			t.Errorf("%s: divided as %+v", what, o)
		}
		if _, _, told := p.Stages[0].Efficiency(); told {
			t.Errorf("%s: the share of kernels is known", what)
		}
		if rest := len(p.Bottlenecks(3)) > 0; rest != test.rest {
			t.Errorf("%s: bottlenecks %+v", what, p.Bottlenecks(3))
		}
	}
}

// A profile from before stages alone were divided has none of their parts. It loads, and is compared with one that has them.
func TestProfilesFromBeforeStagesWereDivided(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.json")
	text := `{"schema_version": "1.0", "call_seconds": [0.02, 0.02, 0.02, 0.02, 0.02], "between_seconds": [0, 0, 0, 0, 0],
		"stages": [{"name": "stft", "stages": ["stft"], "place": "gpu", "implementation": "cuda", "times": 1, "work": {"bytes": 1e6, "operations": 0},
			"wall_seconds": [0.02, 0.02, 0.02, 0.02, 0.02]}],
		"median_call": [{"name": "stft", "stages": ["stft"], "place": "gpu", "implementation": "cuda", "begin_seconds": 0, "end_seconds": 0.02, "work": {"bytes": 1e6, "operations": 0}}]}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	before, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := before.Stages[0].Overheads(); ok {
		t.Errorf("an undivided stage is divided: %+v", o)
	}
	if got := before.Median[0].Pieces(); len(got) != 1 || got[0].Place != GPU {
		t.Errorf("an undivided stage has pieces %v", got)
	}
	var b Builder
	for range 5 {
		b.Add([]Span{alone()}, 10e-3)
	}
	after := b.Profile()
	if c := Compare(before, after, 1)[1]; c.Name != "stft" || c.Verdict != Faster || !near(c.Ratio, 0.5) {
		t.Errorf("the change is %+v", c)
	}
	save(t, after, path)
	got, err := Load(path)
	if err != nil || !reflect.DeepEqual(got, after) {
		t.Errorf("loaded %+v (%v), want %+v", got, err, after)
	}
}

// noisy returns a profile whose first stage takes about ms milliseconds, with a scatter of 5 %.
func noisy(ms float64, seed uint64) *Profile {
	r := rand.New(rand.NewPCG(seed, 2))
	var all []float64
	for range 60 {
		all = append(all, ms*(1+0.05*r.NormFloat64()))
	}
	return made(all...)
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		after float64
		want  Verdict
	}{{4, Alike}, {4.05, Alike}, {3, Faster}, {6, Slower}} {
		all := Compare(noisy(4, 1), noisy(test.after, 3), 1)
		if len(all) != 4 || all[0].Name != "call" || all[3].Name != "between the stages" {
			t.Fatalf("parts %+v", all)
		}
		stft := all[1]
		if stft.Name != "stft" || stft.Verdict != test.want || !(stft.Low <= stft.Ratio && stft.Ratio <= stft.High) {
			t.Errorf("from 4 to %g ms: %+v, want %s", test.after, stft, test.want)
		}
		if mel := all[2]; mel.Verdict != Alike {
			t.Errorf("a stage that stayed as it was is %s", mel.Verdict)
		}
		if again := Compare(noisy(4, 1), noisy(test.after, 3), 1); !reflect.DeepEqual(again, all) {
			t.Error("the same seed gives another interval")
		}
	}
}

// In 95 of 100 comparisons of calls with a known ratio the interval must hold the ratio. An interval of 90 % would fail.
func TestIntervalsHoldTheRatio(t *testing.T) {
	held := 0
	const trials = 200
	for i := range uint64(trials) {
		before, after := noisy(4, 100+i).Stages[0].Wall, noisy(5, 500+i).Stages[0].Wall
		if c := change("stft", before, after, rand.New(rand.NewPCG(i, 1))); c.Low <= 5.0/4 && 5.0/4 <= c.High {
			held++
		}
	}
	if held < trials*91/100 {
		t.Errorf("%d of %d intervals hold the ratio", held, trials)
	}
}

// That also holds for few calls, of which one tells nothing.
func TestIntervalsOfFewCalls(t *testing.T) {
	for _, n := range []int{fewestCalls, 8, 20} {
		held, alike := 0, 0
		const trials = 200
		for i := range uint64(trials) {
			before, after := noisy(4, 100+i).Stages[0].Wall[:n], noisy(4, 500+i).Stages[0].Wall[:n]
			c := change("stft", before, after, rand.New(rand.NewPCG(i, 1)))
			if c.Low <= 1 && 1 <= c.High {
				held++
			}
			if c.Verdict == Alike {
				alike++
			}
		}
		if held < trials*91/100 || alike < trials*98/100 {
			t.Errorf("of %d comparisons of %d calls, %d intervals hold the ratio, and %d find no change", trials, n, held, alike)
		}
	}
	if c := change("stft", []float64{1}, []float64{2, 2, 2, 2, 2}, rand.New(rand.NewPCG(1, 1))); c.Verdict != TooFew || c.Ratio != 2 || c.High != 0 {
		t.Errorf("one call before: %+v", c)
	}
}

func TestCompareOtherStages(t *testing.T) {
	before, after := made(4, 4), made(4, 4)
	before.Stages[1].Name, after.Stages[1].Name = "old", "new"
	verdicts := map[string]Verdict{}
	for _, c := range Compare(before, after, 1) {
		verdicts[c.Name] = c.Verdict
	}
	if verdicts["new"] != Added || verdicts["old"] != Removed {
		t.Errorf("verdicts %v", verdicts)
	}
}

func TestComparable(t *testing.T) {
	a, b := roofed(made(4)), roofed(made(4))
	if why := Comparable(a, b); why != "" {
		t.Errorf("two like profiles are hard to compare: %s", why)
	}
	b.Roofs[0].Operations *= 2
	if why := Comparable(a, b); !strings.Contains(why, "another speed of the machine") {
		t.Errorf("a machine of twice the speed: %q", why)
	}
	b.Samples = 7
	if why := Comparable(a, b); !strings.Contains(why, "another recording") {
		t.Errorf("a recording of another length: %q", why)
	}
}

// save writes a profile to a file.
func save(t *testing.T, p *Profile, path string) {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWriteAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.json")
	p := roofed(made(5, 3, 4))
	p.Pipeline, p.Plan = "analysis", "best"
	save(t, p, path)
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, p) {
		t.Errorf("loaded %+v, want %+v", got, p)
	}
}

func TestLoadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "not a profile",
		"[1]":                       "not a profile",
		`{}`:                        "schema_version",
		`{"schema_version": "2.0"}`: "schema_version",
		`{"schema_version": "1.0"}`: "no calls",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": []}`:                                                                       "between_seconds has 0 entries",
		`{"schema_version": "1.0", "call_seconds": [-1], "between_seconds": [0]}`:                                                                     "-1 seconds",
		`{"schema_version": "1.0", "call_seconds": [0], "between_seconds": [0]}`:                                                                      "takes no time",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": [0], "stages": [{"wall_seconds": [1, 2]}]}`:                                "2 entries for 1 calls",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": [0], "roofs": [{"copies": [{"bytes": 0}]}]}`:                               "a copy of 0 bytes",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": [0], "median_call": [{"begin_seconds": 2}]}`:                               "lasts from 2 to 0",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": [0], "stages": [{"wall_seconds": [1], "device": [{"wait_seconds": -1}]}]}`: "the device of \"\" has a time of -1 seconds",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": [0], "median_call": [{"device": {"copy_in_seconds": -3}}]}`:                "the device of \"\" has a time of -3 seconds",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": [0], "stages": null}`:                                                      "there are no stages",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": [0], "stages": []}`:                                                        "there are no stages",
		`{"schema_version": "1.0", "call_seconds": [1], "between_seconds": [0]} {}`:                                                                   "after top-level value",
	} {
		path := filepath.Join(t.TempDir(), "p.json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json")); err == nil {
		t.Error("a file that is missing is loaded")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema_version": "1.0", "call_seconds": [1, 2], "between_seconds": [0, 0], "stages": [{"wall_seconds": [1, 2], "device": [{}, {}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse(text)
		if err != nil {
			return
		}
		p.Bottlenecks(3)
		for i := range p.Stages {
			p.Stages[i].Efficiency()
		}
		for i := range p.Median {
			p.Median[i].Pieces()
		}
		Compare(p, p, 1)
	})
}

func TestPieces(t *testing.T) {
	s := Span{Name: "a + b", Place: GPU, Begin: 1, End: 11, Device: &Device{In: 1, Launch: 2, Wait: 5, Out: 1, Span: 4, Busy: 2, Gaps: 1}}
	want := []Piece{{"copy in", Transfer, 2, 3}, {"launch", Processor, 3, 5}, {"wait", Processor, 5, 10}, {"transfers", Transfer, 6, 7},
		{"a + b", GPU, 7, 10}, {"copy out", Transfer, 10, 11}}
	if got := s.Pieces(); !reflect.DeepEqual(got, want) {
		t.Errorf("pieces %v\nwant %v", got, want)
	}
	s.Device = &Device{Launch: 2, Wait: 5, Span: 100, Busy: 90} // a clock that is off
	for _, p := range s.Pieces() {
		if p.Begin < s.Begin || p.End > s.End || p.End < p.Begin {
			t.Errorf("%+v lies outside of its span", p)
		}
	}
}

// Whatever a device tells, the pieces of a place lie in the span beside each other, as a viewer of traces demands.
func TestPiecesDoNotOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := Span{Name: "a", Place: GPU, Begin: 1, End: 2, Device: &Device{In: r.Float64() / 2, Launch: r.Float64() / 4, Wait: r.Float64() / 2,
			Out: r.Float64() / 4, Span: r.Float64(), Busy: r.Float64() / 2, Gaps: r.Float64() / 8}}
		until := map[Place]float64{}
		for _, p := range s.Pieces() {
			if p.Begin < max(until[p.Place], s.Begin) || p.End > s.End || p.End < p.Begin {
				t.Fatalf("of %+v, %+v begins before %g", *s.Device, p, until[p.Place])
			}
			until[p.Place] = p.End
		}
	}
}
