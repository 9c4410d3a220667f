package kernels

import (
	"fmt"

	"crossover/dispatch"
)

// StatePlan is the typed plan of an operation that filters channels of samples and leaves a state to the next call. Its
// tensors are y, the state after the call, x, and the state before the call, in this order. y and x are channels×n. Only one
// goroutine at a time may use a StatePlan.
type StatePlan[P any] struct {
	// Explain takes a number of samples in each channel.
	*SizedPlan[P]

	channels, words int
	states          [2][]float32 // of all channels, before a call and after it; nil before the first call
}

// The tensors of such an operation.
const (
	stateOut = iota
	stateAfter
	stateIn
	stateBefore
)

// mostStateChannels is the greatest number of channels of a StatePlan, and mostStateWords that of words of their states together.
// So many take 1 GiB, and a plan has them twice.
const (
	mostStateChannels = 1 << 20
	mostStateWords    = 1 << 28
)

// NewStatePlan returns a plan for channels that chooses by d, which may be nil: see [NewPlan]. samples and channels are axes
// of the operation. The values of the other axes are in fixed. NewStatePlan fails if count is not 1 to 1 Mi, or if the states of
// all channels have more than 256 Mi words together.
func NewStatePlan[P any](d *dispatch.Dispatcher, op *Op[P], p P, samples, channels int, fixed Shape, count int) (*StatePlan[P], error) {
	if count < 1 || count > mostStateChannels {
		return nil, fmt.Errorf("%s: %d channels: want 1 to %d", op.Name, count, mostStateChannels)
	}
	one := fixed
	one[samples], one[channels] = 1, 1
	each := op.IO(p, one)[stateAfter].Len() // the product with count might overflow
	if most := mostStateWords / max(1, each); count > most {
		return nil, fmt.Errorf("%s: %d channels with states of %d words: want at most %d channels, or %d words in all", op.Name, count, each,
			most, mostStateWords)
	}
	fixed[channels] = count
	plan := &StatePlan[P]{SizedPlan: NewPlan(d, op, p).Along(samples, fixed), channels: count}
	plan.words = count * each
	return plan, nil
}

// Process filters the next samples of every channel. src and dst are channels×n, row-major: all n samples of the first
// channel, then those of the second. dst may be src but must not overlap it otherwise. The state carries over from call to
// call. So a signal in blocks gives the same output as in one piece, up to rounding.
//
// The first call decides where the state lies: in shared memory ([Backends.Alloc]) if dst and src do. The times that the
// calibration predicts decide on the implementation. In a calibration without predictions, n decides for one channel, and
// for several the number of channels, as measured at n = 512. Process allocates nothing at a length at which the
// implementation has run twice. An implementation on a GPU remembers only the last few lengths.
//
// Process panics if dst and src differ in length or the length is not a multiple of the number of channels. It fails only if
// every implementation fails, and then leaves the state unchanged.
func (p *StatePlan[P]) Process(dst, src []float32) error {
	Made(p.SizedPlan)
	if len(dst) != len(src) || len(src)%p.channels != 0 {
		panic(fmt.Sprintf("%s: dst has %d values and src %d, want as many in both, a multiple of the number of channels, %d", p.plan.op.Name,
			len(dst), len(src), p.channels))
	}
	if len(src) == 0 {
		return nil
	}
	if p.states[0] == nil {
		for i := range p.states {
			p.states[i] = Keep(p.SizedPlan, p.words, dst, src)
		}
	}
	err := RunSized(p.SizedPlan, len(src)/p.channels, &Args{dst, p.states[1], src, p.states[0]})
	if err == nil {
		p.states[0], p.states[1] = p.states[1], p.states[0]
	}
	return err
}

// Reset forgets what came before, as if it had been silence.
func (p *StatePlan[P]) Reset() { clear(p.states[0]) }

// Close releases what the implementations hold, such as GPU memory, and the state. The garbage collector does the same for a
// dropped plan. A call after Close begins after silence.
func (p *StatePlan[P]) Close() {
	p.SizedPlan.Close()
	p.states = [2][]float32{}
}

// StateProgram returns the [Program] of the plans that build makes for a number of channels, an axis of the operation.
func StateProgram[P any](channels int, build func(d *dispatch.Dispatcher, p P, count int) (*StatePlan[P], error)) Program[P] {
	return func(d *dispatch.Dispatcher, p P) (run func(s Shape, a *Args) error, end func(), err error) {
		plan, err := build(d, p, 1)
		if err != nil {
			return nil, nil, err
		}
		run = func(s Shape, a *Args) error {
			if s[channels] != plan.channels {
				next, err := build(d, p, s[channels])
				if err != nil {
					return err
				}
				plan.Close()
				plan = next
			}
			plan.states = [2][]float32{a[stateBefore], a[stateAfter]}
			return plan.Process(a[stateOut], a[stateIn])
		}
		return run, func() { plan.Close() }, nil
	}
}
