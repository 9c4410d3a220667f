package songs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/gpu/msl"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// counted is the emulated GPU, and counts what it is asked for.
type counted struct {
	gpu.Driver
	mu sync.Mutex
	counts
	fails bool      // the next submission, once
	tells gpu.Times // of each timed submission, in place of the emulator's times; zero for those
}

// counts are what a driver was asked for.
type counts struct {
	compiled, allocated, recorded, submitted, timed, waited int

	bytes int // that submissions have copied between host and device
}

func (c *counted) count(f func(c *counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.counts)
}

// take returns what was counted since the last take.
func (c *counted) take() counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.counts = counts{} }()
	return c.counts
}

func (c *counted) Compile(src gpu.Source, functions []msl.Function) (gpu.Library, error) {
	c.count(func(c *counts) { c.compiled++ })
	return c.Driver.Compile(src, functions)
}

func (c *counted) Allocate(bytes int, s gpu.Storage) (gpu.Memory, error) {
	c.count(func(c *counts) { c.allocated++ })
	return c.Driver.Allocate(bytes, s)
}

func (c *counted) Record(commands []gpu.Command) (gpu.Recording, error) {
	r, err := c.Driver.Record(commands)
	of := &countedRecording{Recording: r, by: c}
	for _, command := range commands {
		if command.Kind == gpu.Copy && (command.Source.Memory.Host() == nil) != (command.Target.Memory.Host() == nil) {
			of.bytes += command.Bytes
		}
	}
	c.count(func(c *counts) { c.recorded++ })
	return of, err
}

type countedRecording struct {
	gpu.Recording
	by    *counted
	bytes int
	timed bool
}

func (r *countedRecording) Submit(timed bool) error {
	fails := false
	r.by.count(func(c *counts) {
		c.submitted++
		c.bytes += r.bytes
		if timed {
			c.timed++
		}
		fails, r.by.fails = r.by.fails, false
	})
	if fails {
		return fmt.Errorf("no luck: %w", gpu.ErrOutOfMemory)
	}
	r.timed = timed
	return r.Recording.Submit(timed)
}

func (r *countedRecording) Wait() (gpu.Times, error) {
	r.by.count(func(c *counts) { c.waited++ })
	t, err := r.Recording.Wait()
	if told := r.by.tells; err == nil && r.timed && told != (gpu.Times{}) {
		t = told
	}
	return t, err
}

// countedBackends returns backends with an emulated GPU that is counted.
func countedBackends(t *testing.T, unified bool) (*kernels.Backends, *counted) {
	t.Helper()
	driver, err := emulator.New(emulator.Unified(unified))
	if err != nil {
		t.Skip(err)
	}
	c := &counted{Driver: driver}
	return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{
		gpu.NewBackend("cuda", func() (gpu.Driver, error) { return c, nil }),
	}}, c
}

// onCounted returns a pipeline with every stage on the counted GPU.
func onCounted(t *testing.T, b *kernels.Backends, g *Graph) *Pipeline {
	t.Helper()
	p, err := NewOn(b, nil, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Follow(onEmulator(b, g)); err != nil {
		t.Fatal(err)
	}
	return p
}

// carriedBytes returns the bytes of the tensors that the lists of a pipeline's route transfer in a call.
func carriedBytes(p *Pipeline) (bytes int) {
	for _, g := range p.groups {
		if g.list == nil {
			continue
		}
		for _, t := range g.list.hosted() {
			bytes += 4 * p.layout.words[t]
		}
		if g.list.grows() {
			bytes += 4 // how many rows there are
		}
	}
	return bytes
}

// vectors is how many bytes more a tensor may take: whole vectors, where it lies in no shared memory.
const vectors = 16 * gpu.MostHosted

// A warm call of a pipeline on a GPU compiles nothing, allocates nothing, records nothing, and waits once for each list. It carries
// its inputs and outputs.
func TestWarmCalls(t *testing.T) {
	for _, unified := range []bool{false, true} {
		b, c := countedBackends(t, unified)
		for g, calls := range graphs(t) {
			p := onCounted(t, b, g)
			inputs := calls[len(calls)-1]
			run := func() {
				if err := p.Run(inputs...); err != nil {
					t.Fatal(err)
				}
			}
			const cold = 3 // the memory of a Last tensor takes turns with another one
			for range cold {
				run()
			}
			for range 2 {
				c.take()
				run()
				got, lists, want := c.take(), 0, 0
				for _, g := range p.groups {
					if g.list != nil {
						lists++
					}
				}
				if !unified {
					want = carriedBytes(p)
				}
				if got.compiled+got.allocated+got.recorded > 0 || got.submitted != lists || got.waited != lists || got.bytes < want || got.bytes > want+vectors {
					t.Errorf("%s, unified %v: a warm call of %d lists with %d bytes: %+v", g.Name, unified, lists, want, got)
				}
			}
			if p.Failed() {
				t.Errorf("%s: an implementation has failed", g.Name)
			}
		}
	}
}

// steps runs steps of a decoder from one on, and compares each with a pipeline on the processor.
func steps(t *testing.T, p, reference *Pipeline, from, to int) {
	t.Helper()
	for step := from; step < to; step++ {
		inputs := [][]float32{noise(uint64(10+step), 24, 1), {float32(step%7) / 7}}
		for _, p := range []*Pipeline{p, reference} {
			if err := p.Run(inputs...); err != nil {
				t.Fatal(err)
			}
		}
		if e := relative(p.Floats("best"), reference.Floats("best")); !(e <= 1e-4) || !slices.Equal(p.Uint32s("best.token"), reference.Uint32s("best.token")) {
			t.Fatalf("step %d: token %v, want %v, relative error %.2g", step, p.Uint32s("best.token"), reference.Uint32s("best.token"), e)
		}
	}
}

// A decoder on a GPU plans once for each power of two of steps. Every other step launches one list of kernels, carries a row of keys
// and one of values, and is right. So it is after Reset.
func TestDecoderPlansForRoom(t *testing.T) {
	g := must(DecoderGraph(testDecoder()))
	for _, unified := range []bool{false, true} {
		b, c := countedBackends(t, unified)
		p, reference := onCounted(t, b, g), must2(NewOn(b, nil, g))
		if err := reference.FollowPlan(Processor, 24, 1); err != nil {
			t.Fatal(err)
		}
		const first = leastRoom - 3 // the steps before are computed on the processor
		steps(t, reference, must2(New(nil, g)), 0, first)
		if err := p.GoOn(reference); err != nil {
			t.Fatal(err)
		}
		for _, step := range []int{first, first + 1, first + 2, leastRoom, leastRoom + 1, 0, 1, 2} {
			if step == 0 {
				p.Reset()
				reference.Reset()
			}
			c.take()
			steps(t, p, reference, step, step+1)
			got, want := c.take(), 0
			if step == first || step == leastRoom {
				if got.recorded == 0 {
					t.Errorf("step %d has no plan of its own: %+v", step, got)
				}
				continue
			}
			if !unified {
				want = carriedBytes(p)
			}
			if got.compiled+got.allocated+got.recorded > 0 || got.submitted != 1 || got.waited != 1 || got.bytes < want || got.bytes > want+vectors {
				t.Fatalf("unified %v, step %d: %+v, want one launch and %d bytes", unified, step, got, want)
			}
		}
		if p.Failed() {
			t.Error("an implementation has failed")
		}
	}
}

// Steps of a decoder on a GPU allocate nothing after Reset.
func TestDecoderStepsOnGPUDoNotAllocate(t *testing.T) {
	if kerneltest.UnderRace() {
		t.Skip("sync.Pool drops items at random under the race detector")
	}
	b, _ := countedBackends(t, false)
	p := onCounted(t, b, must(DecoderGraph(testDecoder())))
	x, u := noise(1, 24, 1), []float32{0.5}
	step := func() {
		if err := p.Run(x, u); err != nil {
			t.Fatal(err)
		}
	}
	const steps = 8
	for range steps {
		step()
	}
	p.Reset()
	if n := testing.AllocsPerRun(steps-1, step); n > 0 { // and one run before
		t.Errorf("%v allocations a step", n)
	}
}

// A decoder whose GPU fails in a step goes on there on the processor, and after Follow on the GPU again.
func TestDecoderWhoseGPUFails(t *testing.T) {
	g := must(DecoderGraph(testDecoder()))
	b, c := countedBackends(t, false)
	p, reference := onCounted(t, b, g), must2(NewOn(b, nil, g))
	if err := reference.FollowPlan(Processor, 24, 1); err != nil {
		t.Fatal(err)
	}
	steps(t, p, reference, 0, 5)
	p.backends.GPUs = nil // what the dispatcher chooses instead is on the processor
	c.fails = true
	steps(t, p, reference, 5, 9)
	if !p.Failed() {
		t.Error("nothing has failed")
	}
}

// Decoders on a GPU and on the processor take turns at one sequence.
func TestDecodersTakeTurns(t *testing.T) {
	g := must(DecoderGraph(testDecoder()))
	b, c := countedBackends(t, false)
	turns := []*Pipeline{onCounted(t, b, g), must2(NewOn(b, nil, g)), onCounted(t, b, g)}
	reference := must2(NewOn(b, nil, g))
	for _, p := range []*Pipeline{turns[1], reference} {
		if err := p.FollowPlan(Processor, 24, 1); err != nil {
			t.Fatal(err)
		}
	}
	last := turns[0]
	for turn, at := range []int{0, 1, 0, 2, 0, 1, 2} {
		if err := turns[at].GoOn(last); err != nil {
			t.Fatal(err)
		}
		last = turns[at]
		steps(t, last, reference, 3*turn, 3*turn+3)
	}
	// The second decoder on the GPU leaves a sequence for another one that is shorter.
	other := turns[1]
	other.Reset()
	reference.Reset()
	steps(t, other, reference, 100, 104)
	if err := turns[2].GoOn(other); err != nil {
		t.Fatal(err)
	}
	steps(t, turns[2], reference, 104, 107)
	if err := other.GoOn(turns[2]); err != nil {
		t.Fatal(err)
	}
	steps(t, other, reference, 107, 109)

	// A step that fails behind the GPU did not happen.
	mixed := turns[0]
	if err := mixed.Follow(Route{"cuda", "cuda", "cuda", "cuda", "cuda", "cuda", "go"}); err != nil {
		t.Fatal(err)
	}
	reference.Reset()
	steps(t, mixed, reference, 0, 4)
	i := len(mixed.plans) - 1
	plan := mixed.plans[i]
	mixed.plans[i], mixed.broken[i] = failing{plan}, true
	if err := mixed.Run(noise(99, 24, 1), []float32{0.5}); err == nil {
		t.Fatal("the step has not failed")
	}
	mixed.plans[i], mixed.broken[i] = plan, false
	c.take()
	steps(t, mixed, reference, 4, 6)
	if got := c.take(); got.recorded > 0 {
		t.Errorf("after a failed step: %+v", got)
	}
	if err := other.GoOn(mixed); err != nil {
		t.Fatal(err)
	}
	steps(t, other, reference, 6, 8)
}

// A forecast knows that no processor appends keys where they grow on the GPU.
func TestDerivingIsForecast(t *testing.T) {
	w, err := must(DecoderGraph(testDecoder())).wire()
	if err != nil {
		t.Fatal(err)
	}
	c := &costs{w: w, derived: make([]float64, len(w.tensors))}
	c.derived[w.find("keys")], c.derived[w.find("values")] = 1, 2
	for stages, want := range map[string]float64{"": 3, "attention": 0, "norm query key value attention logits best": 0, "norm logits": 3} {
		onGPU := make([]bool, len(w.Stages))
		for i := range w.Stages {
			onGPU[i] = slices.Contains(strings.Fields(stages), w.Stages[i].Name)
		}
		if got := c.deriving(w.group(onGPU)); got != want {
			t.Errorf("with %q on the GPU: %v seconds, want %v", stages, got, want)
		}
	}
}
