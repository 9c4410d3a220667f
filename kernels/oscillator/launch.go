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
}

// From longBlock samples on there are enough for every thread of a GPU, and what is computed once a voice serves several
// of them. Below it the voices have to keep the threads busy.
const longBlock = 1 << 15

func (e *launch) strategy(n int) strategy {
	if n >= longBlock {
		return strategy{threads: 256, width: 16, span: 16}
	}
	by := strategy{threads: 32, width: 4, span: 1}
	for by.threads < 1024 && by.threads/by.width < len(e.voices) {
		by.threads *= 2
	}
	return by
}

func (e *launch) plan(n int) (*launchPlan, error) { return e.planBy(e.strategy(n), n) }

func (e *launch) planBy(by strategy, n int) (*launchPlan, error) {
	b := e.device.NewPlan()
	p := &launchPlan{position: b.Input(gpu.Uint, 2), y: b.Output(gpu.Float, n)}
	source := gpu.Source{Name: "oscillator.metal", Text: text}.
		Define("THREADS", by.threads).Define("WIDTH", by.width).Define("SPAN", by.span)
	var words []uint32
	for i := range e.voices {
		words = e.voices[i].appendWords(words)
	}
	samples := by.width * by.span
	b.Dispatch(b.Kernel(source, "bank"), gpu.Size{X: (n-1)/samples + 1, Y: 1, Z: 1}, gpu.Size{X: by.threads, Y: 1, Z: 1},
		p.y, p.position, b.ConstantUints(words), gpu.Values(len(e.voices)), gpu.Values(n))
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
