package oscillator

import (
	_ "embed"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed oscillator.metal
var text string

const (
	mostParts = 32 // simdgroups of a threadgroup, which share out the voices
	// longBlock is the number of samples from which on a thread renders longSpan of them: there are threads enough, and
	// what is computed once a voice is shared.
	longBlock  = 1 << 15
	longSpan   = 8
	mostStages = 4 // of an envelope
)

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

// strategy is how a launch plan divides the work.
type strategy struct {
	parts int // simdgroups of a threadgroup
	span  int // samples of a thread
}

func (e *launch) strategy(n int) strategy {
	by := strategy{parts: 1, span: 1}
	for by.parts < mostParts && by.parts < len(e.voices) {
		by.parts *= 2
	}
	if n >= longBlock {
		by = strategy{parts: min(by.parts, 4), span: longSpan}
	}
	return by
}

func (e *launch) plan(n int) (*launchPlan, error) { return e.planBy(e.strategy(n), n) }

func (e *launch) planBy(by strategy, n int) (*launchPlan, error) {
	b := e.device.NewPlan()
	p := &launchPlan{position: b.Input(gpu.Uint, 2), y: b.Output(gpu.Float, n)}
	source := gpu.Source{Name: "oscillator.metal", Text: text}.
		Define("STAGES", mostStages).Define("PARTS", by.parts).Define("SPAN", by.span)
	steps, envelopes := e.words()
	samples := 32 * by.span
	b.Dispatch(b.Kernel(source, "bank"), gpu.Size{X: (n-1)/samples + 1, Y: 1, Z: 1}, gpu.Size{X: 32 * by.parts, Y: 1, Z: 1},
		p.y, p.position, b.ConstantUints(steps), b.ConstantUints(envelopes), gpu.Values(len(e.voices)), gpu.Values(n))
	plan, err := b.Build()
	if err != nil {
		return nil, err
	}
	p.Plan = plan
	return p, nil
}

// words returns the voices as oscillator.metal declares a Voice and a Stage.
func (e *launch) words() (steps, envelopes []uint32) {
	for _, v := range e.voices {
		steps = append(steps, uint32(v.sine), uint32(v.sine>>32), uint32(v.saw), uint32(v.saw>>32))
		for i := range mostStages {
			if i >= len(v.stages) {
				envelopes = append(envelopes, 0, 0, 0, 0, 0, 0)
				continue
			}
			s := v.stages[i]
			// The kernel counts from the stage's first sample, so that float32 holds every count well enough.
			begin := math.Ceil(s.start)
			level := s.level + s.slope*(begin-s.start)
			envelopes = append(envelopes, uint32(uint64(begin)), uint32(uint64(begin)>>32),
				uint32(s.end), uint32(s.end>>32),
				math.Float32bits(float32(level)), math.Float32bits(float32(s.slope)))
		}
	}
	return steps, envelopes
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
