package biquad

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

var (
	//go:embed section.metal
	sectionText string // that the other two begin with
	//go:embed channels.metal
	channelsText string
	//go:embed scan.metal
	scanText string
)

// launch runs a section on a GPU.
type launch struct {
	near
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
	return &launch{near: s.near(), device: d}, nil
}

// vectors returns how many vectors of four samples a row takes.
func (x extent) vectors() int { return divideUp(x.n, 4) }

func divideUp(a, b int) int { return (a + b - 1) / b }

// strategy is how a launch plan divides the work.
type strategy struct {
	// perChannel has a thread a channel, in threadgroups that hold width vectors of four samples a channel at a time.
	perChannel bool
	width      int

	// Otherwise the rows are scanned: a row has groups threadgroups, which each walk tiles of threads·chunk vectors,
	// one after the other. chunk is odd.
	threads, chunk, groups, tiles int
}

const (
	lanesWide = 32 // channels of a threadgroup where each has a thread

	// In rows shorter than shortRow samples most threads of a scan have nothing to do. From manyChannels on it is better
	// for each channel to have one.
	shortRow     = 320
	manyChannels = 2048
	// Up to quickRow vectors in few channels a thread takes one vector, and else longChunk.
	quickRow  = 128
	longChunk = 5
	// A row of at most mostWalked tiles of mostThreads is walked: another kernel would cost more than it saves.
	mostThreads = 256
	mostWalked  = 2
)

// strategy returns how to divide the work on a GPU of some cores. The numbers are those of an H200.
func (x extent) strategy(cores int) strategy {
	vectors := x.vectors()
	if x.channels >= manyChannels && x.n < shortRow {
		if vectors < 64 {
			return strategy{perChannel: true, width: 8}
		}
		return strategy{perChannel: true, width: 16}
	}
	if x.channels < manyChannels && vectors <= quickRow {
		return scanOf(vectors, quickRow, 1).walk(x)
	}
	if x.channels >= cores {
		return scanOf(vectors, mostThreads/2, longChunk).walk(x)
	}
	if vectors <= mostWalked*mostThreads*longChunk {
		return scanOf(vectors, mostThreads, longChunk).walk(x)
	}
	// A row in parts: small threadgroups, unless that takes more parts than one of them can compose.
	if by := (strategy{threads: mostThreads / 2, chunk: longChunk - 2}).parts(x); by.tiles == 1 {
		return by
	}
	return strategy{threads: mostThreads, chunk: longChunk}.parts(x)
}

// scanOf returns a scan by the fewest threads, a power of two from 32 to most, whose chunks hold a row, or by most.
func scanOf(vectors, most, chunk int) strategy {
	by := strategy{threads: 32, chunk: chunk}
	for by.threads < most && by.threads*by.chunk < vectors {
		by.threads *= 2
	}
	return by
}

// walk has one threadgroup a row.
func (by strategy) walk(x extent) strategy {
	by.groups, by.tiles = 1, divideUp(x.vectors(), by.threads*by.chunk)
	return by
}

// parts has a threadgroup a tile, or as many as one of them has threads.
func (by strategy) parts(x extent) strategy {
	tiles := divideUp(x.vectors(), by.threads*by.chunk)
	by.tiles = divideUp(tiles, by.threads)
	by.groups = divideUp(tiles, by.tiles)
	return by
}

func (e *launch) plan(x extent) (*launchPlan, error) {
	return e.planBy(x.strategy(e.device.Facts().Cores), x)
}

func (e *launch) planBy(by strategy, x extent) (*launchPlan, error) {
	b := e.device.NewPlan()
	p := &launchPlan{
		extent: x,
		x:      b.Input(gpu.Float4, x.channels*x.vectors()), y: b.Output(gpu.Float4, x.channels*x.vectors()),
		before: b.Input(gpu.Float2, x.channels), after: b.Output(gpu.Float2, x.channels),
	}
	if by.perChannel {
		e.channels(b, p, by)
	} else {
		e.scan(b, p, by)
	}
	plan, err := b.Build()
	if err != nil {
		return nil, err
	}
	p.Plan = plan
	return p, nil
}

// values returns the section and the extent as the kernels take them.
func (e *launch) values(x extent) (section, shape gpu.Argument) {
	return gpu.Values(e.b0, e.c1, e.c2, e.e1, e.e2, e.turn), gpu.Values(x.channels, x.n, x.vectors())
}

// channels appends the kernel that has a thread a channel.
func (e *launch) channels(b *gpu.Builder, p *launchPlan, by strategy) {
	section, shape := e.values(p.extent)
	source := gpu.Source{Name: "channels.metal", Text: sectionText + channelsText}.Define("WIDTH", by.width)
	b.Dispatch(b.Kernel(source, "channels"), gpu.Size{X: divideUp(p.extent.channels, lanesWide), Y: 1, Z: 1},
		gpu.Size{X: lanesWide, Y: 1, Z: 1}, p.y, p.x, p.after, p.before, section, shape)
}

// scan appends the kernels that have many threads a channel.
func (e *launch) scan(b *gpu.Builder, p *launchPlan, by strategy) {
	section, shape := e.values(p.extent)
	walk, channels := gpu.Values(by.groups, by.tiles), p.extent.channels
	source := gpu.Source{Name: "scan.metal", Text: sectionText + scanText}.
		Define("CHUNK", by.chunk).Define("THREADS", by.threads)
	threads := gpu.Size{X: by.threads, Y: 1, Z: 1}
	powers := b.Constant(gpu.Float4, e.powers(4*by.chunk))
	left, partPowers := p.before, powers // neither is read where a row has one threadgroup
	if by.groups > 1 {
		left = b.Scratch(gpu.Float2, channels*by.groups)
		partPowers = b.Constant(gpu.Float4, e.powers(4*by.chunk*by.threads*by.tiles))
		b.Dispatch(b.Kernel(source, "ends"), gpu.Size{X: by.groups - 1, Y: channels, Z: 1}, threads,
			left, p.x, powers, section, shape, walk)
	}
	b.Dispatch(b.Kernel(source, "scan"), gpu.Size{X: channels * by.groups, Y: 1, Z: 1}, threads,
		p.y, p.x, p.after, p.before, left, powers, partPowers, section, shape, walk)
}

// powers returns the powers of the state matrix that a scan over steps of some samples takes, in the order that
// scan.metal names.
func (f *near) powers(samples int) []float32 {
	steps := []int{1, 2, 4, 8, 16, 32}
	for lane := range 32 {
		steps = append(steps, lane)
	}
	var out []float32
	for _, step := range steps {
		for _, v := range power(float64(f.turn), float64(f.e1), float64(f.e2), step*samples) {
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
	e.write(p, state, src)
	if err := p.Run(); err != nil {
		return err
	}
	e.read(p, state, dst)
	return nil
}

// write puts the call's input into the plan's memory.
func (e *launch) write(p *launchPlan, state []state, src []float32) {
	before, x := p.before.Floats(), p.x.Floats()
	for c, s := range state {
		s = s.turned(float64(e.turn))
		before[2*c], before[2*c+1] = float32(s.s1), float32(s.s2)
	}
	for c, stride := 0, len(x)/p.channels; c < p.channels; c++ {
		copy(x[c*stride:], src[c*p.n:(c+1)*p.n])
	}
}

// read takes the call's output out of it. states may be nil.
func (e *launch) read(p *launchPlan, states []state, dst []float32) {
	after, y := p.after.Floats(), p.y.Floats()
	for c := range states {
		states[c] = state{float64(after[2*c]), float64(after[2*c+1])}.back(float64(e.turn))
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
	e.write(p, make([]state, channels), src)
	output := p.y.Floats
	if p.n%4 != 0 {
		dst := make([]float32, len(src))
		output = func() []float32 {
			e.read(p, nil, dst)
			return dst
		}
	}
	return kernels.PlanCall(p.Plan, output), nil
}
