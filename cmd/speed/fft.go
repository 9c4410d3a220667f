package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"crossover/gpu"
	"crossover/kernels/fft/launch"
)

// complexTolerance is the greatest accepted relative L2 difference of our transforms from the vendor's.
const complexTolerance = 1e-5

// complexFFT compares batch forward transforms of n complex values by our kernels and by the vendor's library. A transform
// reads and writes each value, of 8 bytes, at least once.
func complexFFT(n, batch int) row {
	name := fmt.Sprintf("fft/complex,n=%d,batch=%d", n, batch)
	return row{name: name, measure: func(d *gpu.Device, runs int) ([]result, error) {
		library, ok := d.Driver().(gpu.FFT)
		if !ok {
			return nil, fmt.Errorf("the %s driver has no FFT of the vendor's to compare with", d.Facts().API)
		}
		if err := library.FFTMissing(); err != nil {
			return nil, err
		}
		values := random(2 * n * batch)
		ours, output, err := complexSide(d, d.Facts().API, values, func(b *gpu.Builder, dst, src *gpu.Buffer) {
			launch.Complex(b, dst, src, n, batch, false)
		})
		if err != nil {
			return nil, err
		}
		peer, peerOutput, err := complexSide(d, library.FFTVersion(), values, func(b *gpu.Builder, dst, src *gpu.Buffer) {
			b.FFT(library, dst, src, gpu.Transform{N: n, Batch: batch, Complex: true})
		})
		if err != nil {
			ours.close()
			return nil, err
		}
		return comparison{
			name: name, bound: "memory", ours: ours, peer: peer, tolerance: complexTolerance,
			difference: func() (float64, error) {
				x, err := output()
				if err != nil {
					return 0, err
				}
				x = slices.Clone(x)
				y, err := peerOutput()
				return relativeDifference(x, y), err
			},
		}.measure(d, runs)
	}}
}

// complexSide is a plan from complex values to as many others. output runs the plan and returns its results.
func complexSide(d *gpu.Device, name string, values []float32, describe func(b *gpu.Builder, dst, src *gpu.Buffer)) (
	s *side, output func() ([]float32, error), err error) {
	b := d.NewPlan()
	src, dst := b.Input(gpu.Float2, len(values)/2), b.Output(gpu.Float2, len(values)/2)
	describe(b, dst, src)
	p, err := b.Build()
	if err != nil {
		return nil, nil, err
	}
	copy(src.Floats(), values)
	if err := p.Upload(); err != nil {
		p.Close()
		return nil, nil, err
	}
	output = func() ([]float32, error) {
		if err := p.RunResident(); err != nil {
			return nil, err
		}
		return dst.Floats(), p.Download()
	}
	return planSide(name, traffic(8*float64(len(values))), p), output, nil
}

// random returns values between -1 and 1, the same at each call.
func random(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}
