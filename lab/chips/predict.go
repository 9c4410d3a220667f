package chips

import "math"

// Versus compares one processor core with Apple's library and the GPU in one operation. Others have published times of the
// operation. It is not a case of the catalogue.
type Versus struct {
	Name  string
	About string // what is computed, and by which functions
	Axis  string // unit of Sizes
	Sizes []int  // ascending; the page prints them, and Crossover searches from the first to the last

	work      func(size float64) work
	transform bool // whether the kernels are Fourier transforms
}

// FFTLength is the number of complex values of a row in the prediction of Fourier transforms.
const FFTLength = 4096

const (
	convolved = 32768 // samples of the signal in the prediction of convolutions
	simdgroup = 32    // threads that add together
)

// Predictions returns the operations that the model predicts in addition to the catalogue's cases.
func Predictions() []Versus {
	return []Versus{
		{"dot", "Σ x[i]·y[i]; vDSP_dotpr, a reduction in two kernels", "elements",
			[]int{64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20},
			func(n float64) work {
				return work{bytes: 8 * n, flops: 2 * n, pieces: 1, threads: n / simdgroup, launches: 2}
			}, false},
		{"sgemv", "y = A·x, A n×n; cblas_sgemv, a simdgroup a row", "rows",
			[]int{256, 512, 1024, 2048, 4096, 8192},
			func(n float64) work {
				return work{bytes: 4*n*n + 8*n, flops: 2 * n * n, pieces: 1, threads: simdgroup * n, launches: 1}
			}, false},
		{"FFT", "batches of complex transforms of 4 096; vDSP_fft_zop, one kernel", "transforms",
			[]int{1, 4, 16, 64, 256, 1024},
			func(rows float64) work {
				return work{bytes: 16 * FFTLength * rows, flops: FFTFlops * rows, pieces: 1, threads: FFTLength / 8 * rows, launches: 1}
			}, true},
		{"conv1d", "32 768 samples by the definition; vDSP_conv, one kernel", "taps",
			[]int{16, 64, 256, 1024, 4096, 32768},
			func(taps float64) work {
				return work{
					bytes: 4 * (2*convolved + 2*taps), flops: 2 * convolved * taps, pieces: 1, threads: (convolved + taps) / 4, launches: 1,
				}
			}, false},
	}
}

// FFTFlops is the usual number of operations of one transform of FFTLength, 5·n·log₂ n.
var FFTFlops = 5 * FFTLength * math.Log2(FFTLength)

// CPU returns the seconds of a call of Apple's library on one core.
func (v Versus) CPU(c Chip, size int) float64 { return c.callCPU(v.work(float64(size)), vector(), 1) }

// GPU returns the seconds of a call to the GPU. roundTrip is in seconds. busy says that the GPU's clock is up.
func (v Versus) GPU(c Chip, size int, roundTrip float64, busy bool) float64 {
	fit := Fitted()
	s, rise := shares{fit.GPUShare, kernelShare}, fit.Rise
	if v.transform {
		s.bandwidth = transformShare
	}
	if busy {
		rise = 0
	}
	return c.callGPU(v.work(float64(size)), s, roundTrip, rise)
}

// Crossover returns the least size from which on the GPU is faster at every size up to the greatest. It returns false
// if there is none.
func (v Versus) Crossover(c Chip, roundTrip float64, busy bool) (int, bool) {
	wins := func(size int) bool { return v.GPU(c, size, roundTrip, busy) < v.CPU(c, size) }
	low, high := v.Sizes[0], v.Sizes[len(v.Sizes)-1]
	if !wins(high) {
		return 0, false
	}
	// Caches make steps in the times, so a bisection over the whole range could miss the edge. The search goes down from the
	// top by small ratios, and then bisects the last step.
	for high > low {
		below := max(low, min(high-1, high*49/50))
		if !wins(below) {
			for high-below > 1 {
				if middle := (high + below) / 2; wins(middle) {
					high = middle
				} else {
					below = middle
				}
			}
			return high, true
		}
		high = below
	}
	return low, true
}
