package oscillator

import (
	_ "embed"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed oscillator.metal
var text string

// launch renders a bank on a GPU. A call sends the position and nothing else.
type launch struct {
	voices []voice
	device *gpu.Device
	plans  kernels.Plans[*launchPlan]
}

// launchPlan is the launch plan of one length of block.
type launchPlan struct {
	*gpu.Plan
	position, y *gpu.Buffer
}

func newLaunch(d *gpu.Device, p Params) (engine, error) {
	return &launch{voices: newVoices(p), device: d}, nil
}

// strategy is how a launch plan divides the work: what oscillator.metal is specialised for.
type strategy struct {
	threads int // of a threadgroup
	width   int // threads that have samples of their own; the others share out the voices
	span    int // samples of a thread
	parts   int // threadgroups that share out the voices too
}

const (
	// From manyTones on, which are voices times samples, a thread renders several samples, so that what it computes once
	// a voice serves all of them. Below, as many threads as there are share out the work.
	manyTones = 1 << 20
	// groupsPerCore is how many threadgroups even out what a core has to do.
	groupsPerCore = 8
)

// strategy returns how to divide the work on a GPU of some cores.
//
// On an H200 four threads with samples of their own are best for a block of 512: 3.0 µs with 16 voices and 3.7 µs with
// 256, where 32 such threads take 3.0 and 7.9 µs. For long renderings of many voices 16 threads of 16 samples each are:
// 1.27·10¹² tones a second, where 32 threads of 8 reach 0.95·10¹².
func (e *launch) strategy(n, cores int) strategy {
	by := strategy{threads: 32, width: 4, span: 1, parts: 1}
	most := 1024
	if len(e.voices)*n >= manyTones {
		by.width, by.span, most = 16, 16, 256
	}
	for by.threads < most && by.threads/by.width < len(e.voices) {
		by.threads *= 2
	}
	if by.span > 1 {
		tiles, shares := divideUp(n, by.width*by.span), divideUp(len(e.voices), by.threads/by.width)
		by.parts = max(1, min(shares, groupsPerCore*cores/tiles))
	}
	return by
}

func divideUp(a, b int) int { return (a + b - 1) / b }

func (e *launch) plan(n int) (*launchPlan, error) {
	return e.planBy(e.strategy(n, e.device.Facts().Cores), n)
}

func (e *launch) planBy(by strategy, n int) (*launchPlan, error) {
	b := e.device.NewPlan()
	p := &launchPlan{position: b.Input(gpu.Uint, 2), y: b.Output(gpu.Float, n)}
	source := gpu.Source{Name: "oscillator.metal", Text: text}.
		Define("THREADS", by.threads).Define("WIDTH", by.width).Define("SPAN", by.span)
	var words []uint32
	for i := range e.voices {
		words = e.voices[i].appendWords(words)
	}
	mixes := p.y
	if by.parts > 1 {
		mixes = b.Scratch(gpu.Float, by.parts*n)
	}
	b.Dispatch(b.Kernel(source, "bank"), gpu.Size{X: divideUp(n, by.width*by.span), Y: by.parts, Z: 1},
		gpu.Size{X: by.threads, Y: 1, Z: 1},
		mixes, p.position, b.ConstantUints(words), gpu.Values(len(e.voices)), gpu.Values(n))
	if by.parts > 1 {
		b.Dispatch(b.Kernel(source, "rows"), gpu.Size{X: divideUp(n, 32), Y: 1, Z: 1}, gpu.Size{X: by.threads, Y: 1, Z: 1},
			p.y, mixes, gpu.Values(by.parts), gpu.Values(n))
	}
	plan, err := b.Build()
	if err != nil {
		return nil, err
	}
	p.Plan = plan
	return p, nil
}

// mostStages is how many pieces an envelope has at most.
const mostStages = 4

// appendWords appends the voice as oscillator.metal takes it.
func (v *voice) appendWords(words []uint32) []uint32 {
	var ends [2 * mostStages]uint32
	var levels, slopes [mostStages]uint32
	first := mostStages - len(v.stages)
	for i, s := range v.stages {
		// The stage's first sample is at or after its start. The kernel counts from there, so that float32 holds every
		// count well enough.
		begin := math.Ceil(s.start)
		ends[2*(first+i)], ends[2*(first+i)+1] = uint32(s.end), uint32(s.end>>32)
		levels[first+i] = math.Float32bits(float32(s.level + s.slope*(begin-s.start)))
		slopes[first+i] = math.Float32bits(float32(s.slope))
	}
	words = append(words, uint32(v.sine), uint32(v.sine>>32), uint32(v.saw), uint32(v.saw>>32))
	words = append(words, ends[:]...)
	words = append(words, levels[:]...)
	return append(words, slopes[:]...)
}

func (e *launch) render(dst []float32, position int64) error {
	if len(dst) == 0 {
		return nil
	}
	p, err := e.plans.For(len(dst), e.plan)
	if err != nil {
		return err
	}
	p.start(position)
	if err := p.Run(); err != nil {
		return err
	}
	copy(dst, p.y.Floats())
	return nil
}

// start sets where the next run begins, in samples since Reset.
func (p *launchPlan) start(position int64) {
	words := p.position.Uints()
	words[0], words[1] = uint32(position), uint32(position>>32)
}

// bind returns the call that renders the first n samples, again and again.
func (e *launch) bind(n int) (kernels.Call, error) {
	p, err := e.plan(n)
	if err != nil {
		return kernels.Call{}, err
	}
	p.start(0)
	return kernels.PlanCall(p.Plan, p.y.Floats), nil
}
