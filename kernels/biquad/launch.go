package biquad

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed biquad.metal
var text string

// The shapes of the kernels.
const (
	lanesWide  = 32 // channels a threadgroup, where each has a thread
	tileWidth  = 8  // vectors of four samples a channel that a threadgroup holds at a time
	chunk      = 5  // vectors that a thread of the scan filters; odd, see biquad.metal
	scanWidest = 256
	// A row of at most mostWalked tiles is walked by one threadgroup, and so is a longer one among at least crowd rows:
	// two more kernels would cost more than they save.
	mostWalked = 4
	crowd      = 64
	// Rows of fewer samples than this, of which there are more than a few, are filtered by a thread each.
	shortRow = 128
)

// launch runs a section on a GPU.
type launch struct {
	section
	device *gpu.Device
	plans  kernels.PlansBy[extent, *launchPlan]
}

// extent is a number of channels, and the samples in each.
type extent struct{ channels, n int }

// launchPlan is the launch plan of one extent. Rows are padded to whole vectors.
type launchPlan struct {
	*gpu.Plan
	extent
	x, y          *gpu.Buffer
	before, after *gpu.Buffer
}

func newLaunch(d *gpu.Device, s section) (engine, error) {
	return &launch{section: s, device: d}, nil
}

// strategy is how a launch plan divides the work.
type strategy struct {
	perChannel bool // a thread a channel; else a scan:
	threads    int  // in a threadgroup
	groups     int  // threadgroups a row
	walk       int  // tiles that each of them filters, one after the other
}

// vectors returns how many vectors of four samples a row takes.
func (x extent) vectors() int { return (x.n + 3) / 4 }

// strategy returns how to divide the work.
func (x extent) strategy() strategy {
	if x.n < shortRow && x.channels > lanesWide {
		return strategy{perChannel: true, threads: lanesWide}
	}
	vectors := x.vectors()
	threads := 32
	for threads < scanWidest && threads*chunk < vectors {
		threads *= 2
	}
	tiles := (vectors-1)/(threads*chunk) + 1
	if tiles <= mostWalked || x.channels >= crowd {
		return strategy{threads: threads, groups: 1, walk: tiles}
	}
	return strategy{threads: threads, groups: tiles, walk: 1}
}

func (e *launch) plan(x extent) (*launchPlan, error) { return e.planBy(x.strategy(), x) }

func (e *launch) planBy(by strategy, of extent) (*launchPlan, error) {
	channels, vectors := of.channels, of.vectors()
	b := e.device.NewPlan()
	p := &launchPlan{
		extent: of,
		x:      b.Input(gpu.Float4, channels*vectors), y: b.Output(gpu.Float4, channels*vectors),
		before: b.Input(gpu.Float2, channels), after: b.Output(gpu.Float2, channels),
	}
	section := gpu.Values(e.b0, e.c1, e.c2, e.a1, e.a2)
	shape := gpu.Values(channels, of.n, vectors)
	source := gpu.Source{Name: "biquad.metal", Text: text}.
		Define("WIDTH", tileWidth).Define("CHUNK", chunk).Define("THREADS", by.threads)
	threads := gpu.Size{X: by.threads, Y: 1, Z: 1}
	if by.perChannel {
		groups := gpu.Size{X: (channels-1)/lanesWide + 1, Y: 1, Z: 1}
		b.Dispatch(b.Kernel(source, "channels"), groups, threads, p.y, p.x, p.after, p.before, section, shape)
	} else {
		at := p.before
		powers := b.Constant(gpu.Float4, e.powers(4*chunk))
		if by.groups > 1 {
			tile := b.Constant(gpu.Float4, e.powers(4*chunk*by.threads))
			left := b.Scratch(gpu.Float2, channels*by.groups)
			at = b.Scratch(gpu.Float2, channels*by.groups)
			b.Dispatch(b.Kernel(source, "ends"), gpu.Size{X: channels * by.groups, Y: 1, Z: 1}, threads,
				left, p.x, powers, section, shape, gpu.Values(by.groups))
			b.Dispatch(b.Kernel(source, "chain"), gpu.Size{X: channels, Y: 1, Z: 1}, threads,
				at, left, p.before, tile, gpu.Values(by.groups))
		}
		b.Dispatch(b.Kernel(source, "scan"), gpu.Size{X: channels * by.groups, Y: 1, Z: 1}, threads,
			p.y, p.x, p.after, at, powers, section, shape, gpu.Values(by.groups), gpu.Values(by.walk))
	}
	plan, err := b.Build()
	if err != nil {
		return nil, err
	}
	p.Plan = plan
	return p, nil
}

// powers returns the powers of the state matrix that a scan over steps of some samples takes, in the order that
// biquad.metal names.
func (s *section) powers(samples int) []float32 {
	steps := []int{1, 2, 4, 8, 16, 32}
	for lane := range 32 {
		steps = append(steps, lane)
	}
	var out []float32
	for _, step := range steps {
		for _, v := range s.power(step * samples) {
			out = append(out, float32(v))
		}
	}
	return out
}

func (e *launch) process(state []state, dst, src []float32) error {
	p, err := e.plans.For(extent{len(state), len(src) / len(state)}, e.plan)
	if err != nil {
		return err
	}
	p.write(state, src)
	if err := p.Run(); err != nil {
		return err
	}
	p.read(state, dst)
	return nil
}

// write puts the call's input into the plan's memory.
func (p *launchPlan) write(state []state, src []float32) {
	before, x := p.before.Floats(), p.x.Floats()
	for c, s := range state {
		before[2*c], before[2*c+1] = s.s1, s.s2
	}
	for c, stride := 0, len(x)/p.channels; c < p.channels; c++ {
		copy(x[c*stride:], src[c*p.n:(c+1)*p.n])
	}
}

// read takes the call's output out of it. state may be nil.
func (p *launchPlan) read(state []state, dst []float32) {
	after, y := p.after.Floats(), p.y.Floats()
	for c := range state {
		state[c].s1, state[c].s2 = after[2*c], after[2*c+1]
	}
	for c, stride := 0, len(y)/p.channels; c < p.channels; c++ {
		copy(dst[c*p.n:(c+1)*p.n], y[c*stride:])
	}
}

// bind returns the call that filters src from silence, again and again. Its input lies in the plan's own memory
// already, and so does its output where rows need no padding.
func (e *launch) bind(channels int, src []float32) (kernels.Call, error) {
	p, err := e.plan(extent{channels, len(src) / channels})
	if err != nil {
		return kernels.Call{}, err
	}
	p.write(make([]state, channels), src)
	output := p.y.Floats
	if p.n%4 != 0 {
		dst := make([]float32, len(src))
		output = func() []float32 {
			p.read(nil, dst)
			return dst
		}
	}
	return kernels.PlanCall(p.Plan, output), nil
}
