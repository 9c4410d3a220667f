package conv1d

import (
	"math"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// quietError convolves noise whose samples from loud on are 120 dB quieter. It returns the relative L2 error of the outputs
// from lo to hi−1, to which the loud part must not contribute.
func quietError(t *testing.T, e *kernels.Plan[Params], taps []float32, n, loud, lo, hi int) float64 {
	t.Helper()
	x := make([]float32, n)
	kernels.Noise(x, 2)
	for i := loud; i < n; i++ {
		x[i] *= 1e-6
	}
	y := convolved(t, e, x, len(taps))
	want := make([]float64, hi-lo)
	for i := range want {
		for k, tap := range taps {
			want[i] += float64(tap) * float64(x[lo+i-k])
		}
	}
	return kernels.RelativeError(y[lo:hi], want)
}

func convolved(t *testing.T, e *kernels.Plan[Params], x []float32, count int) []float32 {
	t.Helper()
	y := make([]float32, len(x)+count-1)
	if err := e.Run(kernels.Shape{samples: len(x), taps: count}, kernels.Args{y, x}); err != nil {
		t.Fatal(err)
	}
	return y
}

// The doc comment of Plan says what depends on the algorithm. This test checks its figures.
func TestAlgorithmsDiffer(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	const n, loud = 16384, 4196
	for _, count := range []int{64, 512, 4096} {
		taps := make([]float32, count)
		kernels.Noise(taps, 1)
		for name, e := range kerneltest.Plans(t, &Op, Params{taps}) {
			if strings.HasPrefix(name, kerneltest.GPUName) || strings.HasPrefix(name, "accelerate") {
				continue // the figures are those of our own code on processors, and of FFTW
			}
			block := blockFor(count)
			behind := loud + count - 1 // the first output that depends on the quiet part only
			_, algorithm, _ := strings.Cut(name, "/")
			near := quietError(t, e, taps, n, loud, behind, behind+block/2)
			far := quietError(t, e, taps, n, loud, behind+2*block, n)

			x := make([]float32, n)
			kernels.Noise(x, 3)
			const at = n/2 + 37
			x[at] = float32(math.NaN())
			first, last, lost := reach(convolved(t, e, x, count))

			exact := func(e float64) bool { return e <= 5e-7 }
			rough := func(e float64) bool { return e > 0.01 && e < 0.2 }
			var right bool
			var from, to int
			switch algorithm {
			case "direct":
				right, from, to = exact(near) && exact(far), at, at+count
			case "partitioned":
				right = rough(near) && exact(far)
				from = at / block * block
				to = from + ((count+block-1)/block+1)*block
			case "fft":
				right, from, to = rough(near) && rough(far), 0, n+count-1
			}
			if !right {
				t.Errorf("%s, %d taps: a quiet part is off by %.2g near the loud one and by %.2g far from it", name, count, near, far)
			}
			if first != from || last != to-1 || lost != to-from {
				t.Errorf("%s, %d taps: a NaN at %d reaches %d outputs from %d to %d, want all from %d to %d", name, count, at, lost,
					first, last, from, to-1)
			}
		}
	}
}

// reach returns the places of the first and the last NaN, and the number of NaNs.
func reach(y []float32) (first, last, count int) {
	first = -1
	for i, v := range y {
		if v != v {
			if first < 0 {
				first = i
			}
			last = i
			count++
		}
	}
	return first, last, count
}
