package fft

import (
	"fmt"

	"crossover/gpu"
	"crossover/kernels"
)

// launch transforms rows on a GPU.
type launch struct {
	n      int
	device *gpu.Device
	append appendRows
	plans  kernels.Plans[*launchPlan] // by number of rows
}

// appendRows appends the forward transforms of batch rows of n real values to a plan.
type appendRows func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int)

// launchPlan is the launch plan of one number of rows.
type launchPlan struct {
	*gpu.Plan
	src, dst *gpu.Buffer
}

func newLaunch(d *gpu.Device, p Params) (engine, error) {
	return &launch{n: p.N, device: d, append: LaunchReal}, nil
}

// newVendorLaunch returns the engine of a vendor's library.
func newVendorLaunch(d *gpu.Device, library gpu.FFT, p Params) (engine, error) {
	appendVendor := func(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
		b.Encode(func() (gpu.External, error) { return library.NewRealFFT(dst.Region(), src.Region(), n, batch) })
	}
	return &launch{n: p.N, device: d, append: appendVendor}, nil
}

func (l *launch) plan(rows int) (*launchPlan, error) {
	if rows > MostValues/l.n {
		return nil, fmt.Errorf("fft: %d rows of %d samples are too many for one call on a GPU (want at most %d samples)", rows,
			l.n, MostValues)
	}
	b := l.device.NewPlan()
	src, dst := b.Input(gpu.Float, rows*l.n), b.Output(gpu.Float2, rows*(l.n/2+1))
	l.append(b, dst, src, l.n, rows)
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	return &launchPlan{p, src, dst}, nil
}

func (l *launch) transform(dst []complex64, src []float32) error {
	p, err := l.plans.For(len(src)/l.n, l.plan)
	if err != nil {
		return err
	}
	copy(p.src.Floats(), src)
	if err := p.Run(); err != nil {
		return err
	}
	copy(floats(dst), p.dst.Floats())
	return nil
}

// bind returns the call that transforms the rows x, which lie in the plan's own memory already.
func (l *launch) bind(x []float32) (kernels.Call, error) {
	p, err := l.plan(len(x) / l.n)
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.src.Floats(), x)
	return kernels.PlanCall(p.Plan, p.dst.Floats), nil
}

func (l *launch) close() { l.plans.Close() }
