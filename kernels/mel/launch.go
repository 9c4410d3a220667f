package mel

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed mel.metal
var text string

// The least numbers were measured on an H200, in resident memory.
const (
	lanes           = 32 // of a simdgroup, which sums one band less
	leastSimdgroups = 8  // in a threadgroup, so that there are enough threads to copy the frames
	mostSimdgroups  = 32
	groupsPerCore   = 2 // at least, else threadgroups take fewer frames
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
			together, copied := framesTogether(frames, p.bins(), d.Facts())
			runs := ceil(p.Bands, lanes-1)
			threads := lanes * min(max(runs, leastSimdgroups), mostSimdgroups)
			source := gpu.Source{Name: "mel.metal", Text: text}.Define("FRAMES", together).Define("BINS", p.bins()).
				Define("COPIED", copied).Define("THREADS", threads)
			b.Dispatch(b.Kernel(source, "mel"),
				gpu.Size{X: ceil(frames, together), Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
				mels, power, b.ConstantUints(segments(p)), gpu.Values(frames, p.Bands, ceil(p.Bands, runs)))
		})
	}
	return e, nil
}

// framesTogether returns how many of the frames a threadgroup takes: four, or fewer where four do not fit into
// threadgroup memory or leave too little for the other cores. copied says whether one fits at all.
func framesTogether(frames, bins int, f gpu.Facts) (together int, copied bool) {
	together = 4
	bytes := 4 * (bins - 1)
	for together > 1 && (together*bytes > f.ThreadgroupBytes || frames < together*groupsPerCore*f.Cores) {
		together /= 2
	}
	return together, together*bytes <= f.ThreadgroupBytes
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }

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
func (e *launch) plan(d *gpu.Device, frames int, describe func(b *gpu.Builder, mels, power *gpu.Buffer),
) (*launchPlan, error) {
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
