package songs_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/host"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
	"crossover/songs"
)

// onPacedGPU is y = x + 1 on the emulated GPU, if there is one.
var onPacedGPU = kernels.KernelText("", func(b *gpu.Builder, _ string, s kernels.Shape, t []*gpu.Buffer) {
	b.Dispatch(b.Kernel(addOne, "add"), gpu.Size{X: (s[0] + 31) / 32, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, t[0], t[1], gpu.Values(s[0]))
})

var addOne = gpu.Source{Name: "add.metal", Text: `
#include <metal_stdlib>
using namespace metal;

kernel void add(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = x[i] + 1.0f;
}
`}

// What a launch and a kernel take alone, and how many times as long they take in the pipeline. A list of two kernels takes as long
// alone as its stages on the processor, 4 ms, and in the pipeline 1.8 ms, where they take 2.
const (
	pacedLaunch    = 400 * time.Microsecond
	pacedKernel    = 1800 * time.Microsecond
	listInPipeline = 0.45
)

// pacedDriver is the emulator, whose launches take as long as the pace says.
type pacedDriver struct {
	gpu.Driver
	pace **pace
}

func (d pacedDriver) Record(commands []gpu.Command) (gpu.Recording, error) {
	if *d.pace != nil {
		time.Sleep(20 * time.Millisecond) // a call that makes a launch plan takes long, and says nothing of the others
	}
	r, err := d.Driver.Record(commands)
	n := 0
	for _, c := range commands {
		if c.Kind == gpu.Dispatch {
			n++
		}
	}
	return pacedRecording{r, d.pace, n}, err
}

type pacedRecording struct {
	gpu.Recording
	pace    **pace
	kernels int
}

func (r pacedRecording) Wait() (gpu.Times, error) {
	if p := *r.pace; r.kernels > 0 {
		took := float64(pacedLaunch+time.Duration(r.kernels)*pacedKernel) * p.noise()
		if p.within.Load() {
			took *= listInPipeline
		}
		if f := p.slower["list"]; f > 0 {
			took *= f
		}
		time.Sleep(time.Duration(took))
	}
	return r.Recording.Wait()
}

// pacedGPU is an emulated GPU. It is opened outside of the bubbles of synctest, once for all tests of a kind.
func pacedGPU(t *testing.T) (b *kernels.Backends, at **pace) {
	t.Helper()
	at = new(*pace)
	b = &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend(kerneltest.GPUName, func() (gpu.Driver, error) {
		d, err := emulator.New(emulator.Unified(true))
		return pacedDriver{d, at}, err
	})}}
	if err := b.GPUs[0].Probe(); err != nil {
		t.Skip(err)
	}
	if _, err := b.GPUs[0].OpenFit(); err != nil {
		t.Fatal(err)
	}
	return b, at
}

// listFile is the calibration of a chain whose first two stages are a list.
func listFile(facts host.Facts) *calibration.File {
	file := pacedFile(facts, false)
	h := &file.Hosts[0]
	shared := h.Cases[0]
	shared.Name, shared.Parameters = "paced/shared", map[string]int{"shared": 1}
	shared.Implementations = append(slices.Clone(shared.Implementations), calibration.Implementation{Name: kerneltest.GPUName, Processor: "gpu",
		Cost:     &calibration.Cost{FixedSeconds: (pacedLaunch + pacedKernel).Seconds(), Exponent: 1},
		GPUTimes: []calibration.GPUTimes{{Size: 1, WallSeconds: (pacedLaunch + pacedKernel).Seconds(), GPUSeconds: pacedKernel.Seconds(), LaunchEfficiency: 0.8}}})
	h.Cases = append(h.Cases, shared)
	l := &h.Pipelines[0].Lengths[0]
	l.Routes[0].Implementations = []string{kerneltest.GPUName, kerneltest.GPUName, "first", "first", "first", "first"}
	for _, stage := range []string{"a", "b"} {
		l.Parts = append(l.Parts, calibration.Part{Name: stage, Implementation: kerneltest.GPUName,
			PredictedSeconds: pacedKernel.Seconds(), MedianSeconds: listInPipeline * pacedKernel.Seconds()})
	}
	return file
}

// newListProgram returns a program whose pipeline has a list, by the names of its stages.
func newListProgram(t *testing.T, b *kernels.Backends, at **pace, remembers bool) *program {
	t.Helper()
	facts := host.Facts{Chip: "Made Up", Family: "made-up", Architecture: "amd64", Cores: 2, Vendor: "Nobody", CPUFamily: "1", CPUModel: "1", Stepping: "1",
		GPU: "emulator", GPUMemoryBytes: 1 << 30}
	d, err := dispatch.New(listFile(facts), dispatch.WithHost(facts), dispatch.Unforced())
	if err != nil {
		t.Fatal(err)
	}
	s := &program{T: t, pace: &pace{Rand: rand.New(rand.NewPCG(7, 11)), scatter: 0.08, load: 1, slower: map[string]float64{}}, d: d, x: make([]float32, pacedLength), b: b}
	*at = s.pace
	s.graph = pacedChain(s.pace, false, remembers)
	if s.p, err = songs.NewOn(b, d, s.graph); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.p.Close)
	return s
}

var listRoute = songs.Route{kerneltest.GPUName, kerneltest.GPUName, "first", "first", "first", "first"}

// withLists runs a test in fake time.
func withLists(t *testing.T, remembers bool, test func(t *testing.T, s *program)) {
	t.Helper()
	b, at := pacedGPU(t)
	synctest.Test(t, func(t *testing.T) { test(t, newListProgram(t, b, at, remembers)) })
}

// The calls of a list are timed beside those of the other stages, and compared with what the list takes in the pipeline. While
// nothing changes, or all becomes slower, nothing is in doubt.
func TestAListIsWatched(t *testing.T) {
	for _, late := range []bool{false, true} {
		withLists(t, false, func(t *testing.T, s *program) {
			if late {
				s.calls(10)
			}
			w := s.watch()
			const calls = 100
			s.calls(calls + 1)
			if got := s.p.Chosen(); !slices.Equal(got, listRoute) {
				t.Fatalf("no list: %v, %s", got, s.p.Explain())
			}
			if got := w.State(); got.Timed < calls*5 || got.Timed > calls*5+5 || got.Unpredicted > 0 || got.Series != 5 || got.Blind != "" {
				t.Errorf("late %v: %+v, want some %d timed calls of 5 series", late, got, 5*calls)
			}
			for _, n := range []int{pacedLength + 1, pacedLength} { // makes other launch plans
				s.x = make([]float32, n)
				s.calls(1)
			}
			if got := w.State().Timed; got > calls*5+8+5 {
				t.Errorf("late %v: %d timed calls, want none of a list that made a launch plan", late, got)
			}
			for _, stay := range []int{1, 5, 50} {
				for range 500 / stay {
					s.load = 3 - s.load
					s.calls(stay)
					if doubts := w.Doubtful(); len(doubts) > 0 {
						t.Fatalf("late %v: the load is %v for %d calls, and %v is in doubt", late, s.load, stay, doubts)
					}
				}
			}
		})
	}
}

// One call in a thousand is timed, of a list as of a stage.
func TestFewListsAreTimed(t *testing.T) {
	withLists(t, false, func(t *testing.T, s *program) {
		w, err := s.d.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		const calls = 10_000
		s.calls(calls)
		if got := w.State(); got.Timed < 5*calls/1000*3/4 || got.Timed > 5*calls/1000*5/4 || got.Series != 5 {
			t.Errorf("%+v after %d calls of four stages and a list", got, calls)
		}
	})
}

// A list that became 1.3 times slower is in doubt within 64 timed calls. The duel computes its stages on the processor from then on,
// at about these lengths, in the middle of what calls leave to each other. When the cause is over, the list comes back.
func TestAListIsSwapped(t *testing.T) {
	for _, remembers := range []bool{false, true} {
		withLists(t, remembers, testAListIsSwapped)
	}
}

func testAListIsSwapped(t *testing.T, s *program) {
	remembers := len(s.graph.Derived) > 0
	w := s.watch()
	s.calls(50)
	s.slower["list"] = 1.3
	doubts := s.untilDoubt(w)
	if d := doubts[0]; len(doubts) != 1 || d.Pipeline != "paced" || d.Stage != "a + b" || d.Case != "" || d.Implementation != kerneltest.GPUName ||
		!slices.Equal(d.Against, []string{songs.Processor}) || !slices.Equal(d.Shape, []int{pacedLength}) || d.Predicted || d.Alone || math.Abs(d.Factor-1.3) > 0.1 {
		t.Fatalf("in doubt is %+v (want the list, against the processor)", doubts)
	}
	if text := doubts[0].String(); !strings.HasPrefix(text, "list a + b of paced at shape 1000: emulator is doubtful, because its calls take 1.") {
		t.Errorf("the doubt says %s", text)
	}
	if got := s.p.Chosen(); !slices.Equal(got, listRoute) {
		t.Errorf("before a duel: %v", got)
	}
	if r := s.duel(w); r.Verdict != dispatch.Changed || r.Chosen != songs.Processor || r.Err != nil || math.Abs(r.Ratio-1.3*1.8/2) > 0.06 ||
		!strings.HasPrefix(r.String(), "list a + b of paced, emulator: changed to processor") {
		t.Fatalf("the duel found %v (want a change to the processor)", r)
	}
	before := w.State().Timed
	s.calls(1)
	if got := w.State().Timed - before; got != pacedStages-2 {
		t.Errorf("%d calls were timed while the plans of the stages were made, want those of the other stages", got)
	}
	s.calls(19)
	onProcessor := slices.Repeat(songs.Route{"first"}, pacedStages)
	if got := s.p.Chosen(); !slices.Equal(got, onProcessor) {
		t.Errorf("after the duel: %v, want %v", got, onProcessor)
	}
	for _, text := range []string{"  a: first, instead of list 1: swapped by the watch just now, because in ", "  b: first, instead of list 1: ",
		"the calibration has emulator, as the route of paced says", "  c: first\n"} {
		if !strings.Contains(s.p.Explain(), text) {
			t.Errorf("%q is not in %s", text, s.p.Explain())
		}
	}
	if got := w.State(); got.Series != 6 || got.Unpredicted > 0 {
		t.Errorf("%+v, want a series for the stages on the processor, too", got)
	}
	if doubts := w.Doubtful(); len(doubts) > 0 {
		t.Errorf("in doubt just after the duel: %v", doubts)
	}
	if !remembers {
		s.x = make([]float32, 2*pacedLength)
		s.calls(1)
		if got := s.p.Chosen(); !slices.Equal(got, listRoute) {
			t.Errorf("at another length: %v", got)
		}
		s.x = s.x[:pacedLength]
		s.calls(1)
		if got := s.p.Chosen(); !slices.Equal(got, onProcessor) {
			t.Errorf("at the length again: %v", got)
		}
	}

	delete(s.slower, "list")
	s.calls(20)
	time.Sleep(61 * time.Second)
	if doubts := w.Doubtful(); len(doubts) != 1 || doubts[0].Stage != "a + b" || doubts[0].Implementation != songs.Processor {
		t.Fatalf("a minute later %v is in doubt (want the swap)", doubts)
	}
	s.scatter = 0.04 // the list is 10 % faster, and 176 blocks must show that it is more than 5 %
	if r := s.duel(w); r.Verdict != dispatch.Changed || r.Chosen != kerneltest.GPUName {
		t.Fatalf("the second duel found %v (want a change to the list)", r)
	}
	s.calls(5)
	if got := s.p.Chosen(); !slices.Equal(got, listRoute) || strings.Contains(s.p.Explain(), "swapped") {
		t.Errorf("when the cause is over: %v, %s", got, s.p.Explain())
	}
}

// A list that is slower from its first call on is found, too: it is compared with what the calibration says of it in the pipeline.
func TestAListIsComparedWithThePrediction(t *testing.T) {
	withLists(t, false, func(t *testing.T, s *program) {
		s.slower["list"] = 2
		w := s.watch()
		s.calls(100)
		doubts := w.Doubtful()
		if len(doubts) != 1 || doubts[0].Stage != "a + b" || !doubts[0].Predicted || math.Abs(doubts[0].Factor-2) > 0.1 {
			t.Fatalf("in doubt is %+v (want the list, 2 times slower than predicted)", doubts)
		}
	})
}

// A swap outlives the watch, and other pipelines of the graph go by it. Where the program names the implementations, nothing is
// timed, and nothing swapped.
func TestASwapOfAListStays(t *testing.T) {
	b, at := pacedGPU(t)
	synctest.Test(t, func(t *testing.T) {
		s := newListProgram(t, b, at, false)
		w := s.watch()
		s.calls(50)
		s.slower["list"] = 1.5
		s.untilDoubt(w)
		if r := s.duel(w); r.Verdict != dispatch.Changed {
			t.Fatal(r)
		}
		other := *s
		var err error
		if other.p, err = songs.NewOn(b, s.d, s.graph); err != nil {
			t.Fatal(err)
		}
		defer other.p.Close()
		if err := other.p.Follow(listRoute); err != nil {
			t.Fatal(err)
		}
		before := w.State().Timed
		other.calls(20)
		if got := other.p.Chosen(); !slices.Equal(got, listRoute) || w.State().Timed != before {
			t.Errorf("a route that the program chose: %v, and %d calls were timed", got, w.State().Timed-before)
		}
		w.Close()
		if err := other.p.FollowPlan(songs.Best); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*program{s, &other} {
			p.calls(1)
			if got := p.p.Chosen(); !slices.Equal(got, slices.Repeat(songs.Route{"first"}, pacedStages)) || !strings.Contains(p.p.Explain(), "instead of list 1") {
				t.Errorf("after the watch: %v, %s", got, p.p.Explain())
			}
		}
	})
}

// A list whose time depends on the number of calls is not timed.
func TestAListThatGrowsIsNotWatched(t *testing.T) {
	b, at := pacedGPU(t)
	synctest.Test(t, func(t *testing.T) {
		s := newListProgram(t, b, at, false)
		g := *s.graph
		g.Stages = slices.Clone(g.Stages)
		g.Derived = []songs.Derived{{Name: "all", Of: "e", How: songs.All, Columns: pacedLength}}
		g.Stages[5].Reads = []string{"all"}
		g.Stages[5].Shape = func(of songs.Lengths) kernels.Shape { return kernels.Shape{of("all")} }
		p, err := songs.NewOn(b, s.d, &g)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		w := s.watch()
		for range 5 {
			if err := p.Run(s.x); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.Chosen(); !slices.Equal(got, listRoute) {
			t.Fatalf("no list: %v, %s", got, p.Explain())
		}
		if doubts := w.State(); doubts.Timed == 0 || doubts.Timed > 4*20 {
			t.Errorf("%+v, want timed calls of four stages alone", doubts)
		}
	})
}

// A duel for a list whose pipelines are gone decides nothing.
func TestADuelForAPipelineThatIsGone(t *testing.T) {
	withLists(t, false, func(t *testing.T, s *program) {
		kept := s.p
		var err error
		if s.p, err = songs.NewOn(s.b, s.d, s.graph); err != nil {
			t.Fatal(err)
		}
		w := s.watch()
		s.calls(50)
		s.slower["list"] = 1.3
		s.untilDoubt(w)
		if r := s.duel(w); r.Verdict != dispatch.Changed {
			t.Fatal(r)
		}
		s.p.Close()
		s.p = kept
		runtime.GC()
		runtime.GC()
		time.Sleep(61 * time.Second)
		if r := s.duel(w); r.Verdict != dispatch.Undecided || r.Err == nil || !strings.Contains(r.Err.Error(), "gone") {
			t.Errorf("the duel found %v", r)
		}
	})
}

// A pipeline computes while another goroutine looks and duels. This is for the race detector, in real time.
func TestADuelBesideTheList(t *testing.T) {
	b, at := pacedGPU(t)
	s := newListProgram(t, b, at, true)
	s.slower["list"] = 2
	w := s.watch()
	s.calls(70)
	over, dueled := make(chan struct{}), 0
	go func() {
		defer close(over)
		for range 5 {
			w.State()
			w.Doubtful()
			results, _ := w.Duel(context.Background(), 20*time.Millisecond)
			dueled += len(results)
		}
	}()
	for going := true; going; {
		s.calls(1)
		select {
		case <-over:
			going = false
		default:
		}
	}
	if dueled == 0 {
		t.Errorf("nothing was in doubt: %+v", w.State())
	}
}

// Calls of a pipeline with a list allocate nothing, without a watch, with one, and after a swap.
func TestAWatchedListAllocatesNothing(t *testing.T) {
	withLists(t, false, func(t *testing.T, s *program) {
		s.allocatesNothing(t, 5, "list")
	})
}
