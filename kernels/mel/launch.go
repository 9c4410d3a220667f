package mel

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed mel.metal
var text string

const (
	simdgroup         = 32 // lanes
	bandsPerSimdgroup = simdgroup - 1
	leastSimdgroups   = 4 // in a threadgroup, so that the frames of a few bands are copied by enough threads too
	mostSimdgroups    = 32
)

// launch transforms frames on a GPU.
type launch struct {
	Params
	build func(frames int) (*launchPlan, error)
	plans kernels.Plans[*launchPlan]
}

// launchPlan is the launch plan of one number of frames.
type launchPlan struct {
	*gpu.Plan
	power, mels *gpu.Buffer
}

// newSparse returns the engine of our own kernel, whose filterbank is a table of segments.
func newSparse(d *gpu.Device, p Params) (engine, error) {
	e := &launch{Params: p}
	e.build = func(frames int) (*launchPlan, error) {
		return e.plan(d, frames, func(b *gpu.Builder, mels, power *gpu.Buffer) {
			together, copied := framesTogether(p.bins(), d.Facts().ThreadgroupBytes)
			source := gpu.Source{Name: "mel.metal", Text: text}.Define("FRAMES", together).Define("BINS", copied)
			simdgroups := (p.Bands + bandsPerSimdgroup - 1) / bandsPerSimdgroup
			b.Dispatch(b.Kernel(source, "mel"),
				gpu.Size{X: (frames + together - 1) / together, Y: 1, Z: 1},
				gpu.Size{X: simdgroup * min(max(simdgroups, leastSimdgroups), mostSimdgroups), Y: 1, Z: 1},
				mels, power, b.ConstantUints(segments(p)), gpu.Values(frames, p.bins(), p.Bands))
		})
	}
	return e, nil
}

// framesTogether returns how many frames a threadgroup takes, and how many of their bins it copies to threadgroup
// memory: all of them, or where not even one frame fits, none.
func framesTogether(bins, threadgroupBytes int) (frames, copied int) {
	for frames = 4; frames > 0; frames /= 2 {
		if 4*frames*bins <= threadgroupBytes {
			return frames, bins
		}
	}
	return 1, 0
}

// newMultiplied returns the engine that multiplies frames×bins by the filterbank, dense and transposed, with the matrix
// multiplication of the GPU's vendor.
func newMultiplied(d *gpu.Device, library gpu.GEMM, p Params) (engine, error) {
	e := &launch{Params: p}
	e.build = func(frames int) (*launchPlan, error) {
		return e.plan(d, frames, func(b *gpu.Builder, mels, power *gpu.Buffer) {
			weights := b.Constant(gpu.Float, Filterbank(p.SampleRate, p.NFFT, p.Bands))
			b.Encode(func() (gpu.External, error) {
				return library.NewGEMM(mels.Region(), power.Region(), weights.Region(), frames, p.Bands, p.bins(), true, 1, 0)
			})
		})
	}
	return e, nil
}

// plan returns the launch plan of a number of frames, in which describe is the work.
func (e *launch) plan(d *gpu.Device, frames int, describe func(b *gpu.Builder, mels, power *gpu.Buffer)) (*launchPlan, error) {
	b := d.NewPlan()
	power, mels := b.Input(gpu.Float, frames*e.bins()), b.Output(gpu.Float, frames*e.Bands)
	describe(b, mels, power)
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	return &launchPlan{p, power, mels}, nil
}

func (e *launch) transform(dst, power []float32) error {
	p, err := e.plans.For(len(power)/e.bins(), e.build)
	if err != nil {
		return err
	}
	copy(p.power.Floats(), power)
	if err := p.Run(); err != nil {
		return err
	}
	copy(dst, p.mels.Floats())
	return nil
}

// bind returns the call that transforms power, which lies in the plan's own memory already.
func (e *launch) bind(power []float32) (kernels.Call, error) {
	p, err := e.build(len(power) / e.bins())
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.power.Floats(), power)
	return kernels.PlanCall(p.Plan, p.mels.Floats), nil
}
