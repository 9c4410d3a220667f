package conv1d

import "crossover/native/accelerate"

// accelerateTransform is a transform of vDSP, for one goroutine.
type accelerateTransform struct{ *accelerate.Real }

func (t accelerateTransform) Inverse(dst []float32, src []complex64) { t.InverseUnscaled(dst, src) }

func accelerateTransforms(length, count int) (transforms, error) {
	each := make([]transform, count)
	for i := range each {
		t, err := accelerate.NewReal(length)
		if err != nil {
			return transforms{}, err
		}
		each[i] = accelerateTransform{t}
	}
	return transforms{each: each, gain: float32(length)}, nil
}

// accelerateDirect sums up the definition by vDSP. It slides the longer of signal and filter, padded with zeros, over the
// shorter one.
type accelerateDirect struct {
	taps   []float32
	padded []float32
	part   [4096]float32 // sums of one stretch of taps for a block of outputs, which stays in the first-level cache
}

func (e *accelerateDirect) prepare(n int) error {
	if size := max(n, len(e.taps)) + 2*(min(n, len(e.taps))-1); size > len(e.padded) {
		e.padded = make([]float32, size)
	}
	return nil
}

func (e *accelerateDirect) convolve(y, x []float32) {
	long, short := x, e.taps
	if len(long) < len(short) {
		long, short = short, long
	}
	margin := len(short) - 1
	padded := e.padded[:len(long)+2*margin]
	clear(padded[:margin])
	copy(padded[margin:], long)
	clear(padded[margin+len(long):])

	for first := 0; first < len(y); first += len(e.part) {
		out := y[first:min(first+len(e.part), len(y))]
		// Output i multiplies tap k by padded[i+margin−k]. Stretches of taps are summed up separately, as in direct, because
		// vDSP may have only one accumulator for each output.
		for k := 0; k < len(short); k += run {
			stretch := short[k:min(k+run, len(short))]
			from := first + margin - (k + len(stretch) - 1)
			in := padded[from : from+len(out)+len(stretch)-1]
			if k == 0 {
				accelerate.Convolve(out, in, stretch)
				continue
			}
			part := e.part[:len(out)]
			accelerate.Convolve(part, in, stretch)
			accelerate.AddTo(out, part)
		}
	}
}
