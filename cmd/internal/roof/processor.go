package roof

import (
	"context"
	"slices"
	"time"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/matmul"
	"crossover/pool"
	"crossover/profiles"
)

// Sizes are the bytes that copies read and write in all.
var Sizes = []float64{64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 128 << 20}

const (
	repeats   = 5                    // of which the fastest counts, because others only disturb
	leastTime = 2 * time.Millisecond // of a repeat
)

// Processor measures what the processor can do, in about half a second. Copies are made by Go on one core and on all, and
// multiply-adds by the fastest implementation of a product of two 512×512 matrices. The faster way counts.
func Processor(ctx context.Context, b *kernels.Backends) (profiles.Roof, error) {
	r := profiles.Roof{Place: profiles.Processor}
	for _, bytes := range Sizes {
		c := newCopying(int(bytes / 8))
		alone, err := fastest(ctx, func() error { c.Do(0, 0, c.units()); return nil })
		if err != nil {
			return r, err
		}
		shared, err := fastest(ctx, func() error {
			pool.Shared().Run(c.units(), pool.Shared().Grain(c.units(), 1, 1), c)
			return nil
		})
		if err != nil {
			return r, err
		}
		r.Copies = append(r.Copies, profiles.CopyRate{Bytes: bytes, Rate: bytes / min(alone, shared)})
	}
	const edge = 512
	for _, c := range matmul.Op.Cases(b) {
		if c.Name != "matmul/square" {
			continue
		}
		problem := c.Problem(edge, kernels.GeneratedInput())
		defer kernels.Release(problem)
		for _, i := range c.Implementations {
			if i.Processor != kernels.CPU || i.Missing() != nil {
				continue
			}
			seconds, err := product(ctx, problem, i.Name)
			if err != nil {
				return r, err
			}
			rate := 2 * edge * edge * edge / seconds
			r.Operations = max(r.Operations, rate)
			if i.Cores == kernels.OneCore {
				r.OneCore = max(r.OneCore, rate)
			}
		}
	}
	return r, nil
}

// product returns the least time of a matrix product by an implementation.
func product(ctx context.Context, problem kernels.Problem, implementation string) (float64, error) {
	call, err := problem.Bind(implementation)
	if err != nil {
		return 0, err
	}
	defer call.Release()
	return fastest(ctx, call.Run)
}

// GPU measures what a GPU can do, by its own clock.
func GPU(ctx context.Context, d *gpu.Device) (profiles.Roof, error) {
	r := profiles.Roof{Place: profiles.GPU}
	for _, bytes := range Sizes {
		p, moved, err := CopyPlan(d, bytes)
		if err != nil {
			return r, err
		}
		seconds, err := span(ctx, p)
		if err != nil {
			return r, err
		}
		if seconds > 0 {
			r.Copies = append(r.Copies, profiles.CopyRate{Bytes: moved, Rate: moved / seconds})
		}
	}
	p, operations, err := MultiplyAddPlan(d, 16*RoundOperations)
	if err != nil {
		return r, err
	}
	seconds, err := span(ctx, p)
	if err == nil && seconds > 0 {
		r.Operations = operations / seconds
	}
	return r, err
}

// span returns the least time of a plan by the device's clock, and closes the plan. It returns 0 if the device does not tell.
func span(ctx context.Context, p *gpu.Plan) (least float64, err error) {
	defer p.Close()
	for range 3 * repeats {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		t, err := p.Time(true)
		if err != nil {
			return 0, err
		}
		if s := t.Span.Seconds(); s > 0 && (least == 0 || s < least) {
			least = s
		}
	}
	return least, nil
}

// fastest returns the least time of a call in seconds. Short calls are timed several at a time.
func fastest(ctx context.Context, call func() error) (float64, error) {
	var times []float64
	for calls := 1; len(times) < repeats; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		begin := time.Now()
		for range calls {
			if err := call(); err != nil {
				return 0, err
			}
		}
		took := time.Since(begin)
		if took < leastTime && calls < 1<<20 {
			calls *= 2
			continue
		}
		times = append(times, took.Seconds()/float64(calls))
	}
	return slices.Min(times), nil
}

// copying is a copy in units of 16 KiB.
type copying struct{ dst, src []float32 }

const unit = 4 << 10 // values

// newCopying returns a copy of n values, each of which has been written. Memory that was only read may be one page of zeros again
// and again, which stays in the fastest cache.
func newCopying(n int) *copying {
	c := &copying{dst: make([]float32, n), src: make([]float32, n)}
	for i := range c.src {
		c.src[i] = float32(i + 1)
	}
	return c
}

func (c *copying) units() int { return (len(c.dst) + unit - 1) / unit }

// Do copies the units from lo to hi−1.
func (c *copying) Do(_, lo, hi int) { copy(c.dst[lo*unit:min(hi*unit, len(c.dst))], c.src[lo*unit:]) }
