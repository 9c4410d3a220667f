package fft

import (
	"errors"
	"math"
	"slices"
	"sync"

	"crossover/calibration/surface"
	"crossover/kernels"
	"crossover/kernels/fft/launch"
	"crossover/kernels/fft/transform"
	"crossover/native/fftw"
)

// The axes of the operation.
const (
	length = iota
	batch
)

// maxLength is the greatest length that is measured.
const maxLength = 1 << 20

var axes = []kernels.Axis{
	{Name: "n", Unit: "samples", Min: 64, Max: maxLength, Round: roundLength},
	{Name: "batch", Unit: "rows", Min: 1, Max: 1024},
}

// rowLengths are the lengths at which numbers of rows are measured.
var rowLengths = []int{1024, 4096}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:     "fft",
	Formula:  "X[k] = sum over j of x[j]·exp(-2πi·jk/n) for k = 0 … n/2, unscaled, of each real row x",
	Source:   "C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992, section 1.1",
	Axes:     axes,
	Features: features(),
	Draw:     draw,
	Lines:    lines(),
	Params:   func(s kernels.Shape) Params { return Params{N: s[length], Batch: s[batch]} },
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "X", Role: kernels.Out, Type: kernels.Complex64, Dims: []int{s[batch], s[length]/2 + 1}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[batch], s[length]}},
		}
	},
	// Successive rows of a recording.
	Fill:      func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) { in.Fill(a[1]) },
	Reference: referenceOfRows,
	Tolerance: func(kernels.Shape) float64 { return 1e-6 },
	Work:      work,
	Judged:    judged,
	By: []kernels.Makers[Params]{
		kernels.InGo(newSerial, newParallel),
		kernels.Library("fftw", fftw.Probe, fftw.Version, newLibrary),
		kernels.Library("fftw-parallel", fftw.ProbeThreads, fftw.Version, newParallelLibrary),
		kernels.Framework("", newFramework),
		kernels.KernelText("", appendRows),
		kernels.VendorFFT("", newVendor),
	},
})

// lines returns the line of one row over its length, and for each of rowLengths the line over the number of rows.
func lines() []kernels.Line {
	single := kernels.Along(axes, "n", kernels.Param{Name: "batch", Value: 1})
	single.Without = withoutSplit(transform.Splits())
	all := []kernels.Line{single}
	for _, n := range rowLengths {
		all = append(all, kernels.Along(axes, "batch", kernels.Param{Name: "n", Value: n}))
	}
	return all
}

// withoutSplit returns a Line.Without that leaves out go-parallel if this processor does not divide one row among cores.
func withoutSplit(splits bool) func(implementation string) error {
	return func(implementation string) error {
		if implementation == "go-parallel" && !splits {
			return errors.New("fft: one transform is not split over cores on this processor (want amd64 with AVX2 and FMA)")
		}
		return nil
	}
}

func work(s kernels.Shape, _ string) kernels.Work {
	n, rows := float64(s[length]), float64(s[batch])
	w := kernels.Work{
		Bytes:   rows * float64(4*s[length]+8*(s[length]/2+1)),
		Flops:   2.5 * n * math.Log2(n) * rows,
		Pieces:  rows,
		Threads: rows * n / 16,
		Kind:    kernels.Transform,
	}
	if s[length] > launch.LongestReal {
		w.Launches = 3 // columns, rows, and the bins of the real transform
	}
	return w
}

// judged returns the line that decides a call. One row is judged by its length. Several rows are judged on the line of the
// nearest length, at the number of its rows that hold as many samples.
func judged(p Params, s kernels.Shape) (line, size int) {
	if s[batch] == 1 {
		return 0, s[length]
	}
	far := func(i int) float64 { return math.Abs(math.Log(float64(rowLengths[i]) / float64(p.N))) }
	nearest := 0
	for i := range rowLengths {
		if far(i) < far(nearest) {
			nearest = i
		}
	}
	scale := float64(p.N) / float64(rowLengths[nearest])
	return 1 + nearest, max(1, int(math.Round(float64(s[batch])*scale)))
}

// features are what the time of a transform depends on beside its length and the number of rows: all samples, and the
// factors of the length. Powers of two, even lengths and multiples of four have code of their own. Ours go through
// Bluestein's algorithm where a factor is above 5, cuFFT where one is above 127, and FFTW has code of its own for factors
// up to 13.
func features() []surface.Feature {
	ofLength := func(kind surface.Kind, prime int) surface.Feature {
		return surface.Feature{Kind: kind, Prime: prime, Weights: []float64{length: 1, batch: 0}}
	}
	all := []surface.Feature{kernels.Power(1, 1), ofLength(surface.Largest, 0)}
	for _, prime := range []int{2, 5, 7, 13, 127} {
		all = append(all, ofLength(surface.Rough, prime))
	}
	all = append(all, ofLength(surface.Indivisible, 2), ofLength(surface.Indivisible, 4))
	all = append(all, ofLength(surface.Chirp, 5))
	for _, prime := range []int{2, 3, 5, 7} {
		all = append(all, ofLength(surface.Exponent, prime))
	}
	return all
}

// usualLengths are those of audio: hops and frames at the usual rates, seconds and parts of seconds.
var usualLengths = []int{
	100, 160, 200, 240, 320, 400, 441, 480, 600, 640, 800, 882, 960, 1000, 1200, 1323, 1600, 1764, 1920, 2000, 2205, 2400, 3000,
	3200, 3528, 3840, 4410, 4800, 8000, 8820, 9600, 11025, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 192000,
}

// draw returns a length and a number of rows. A quarter of the lengths are powers of two, a quarter has no prime factor
// above 5, a quarter is usual in audio, and a quarter is anything.
func draw(at []float64) kernels.Shape {
	class, u := int(4*at[length]), math.Mod(4*at[length], 1)
	any := int(math.Round(float64(axes[length].Min) * math.Pow(maxLength/float64(axes[length].Min), u)))
	n := any
	switch class {
	case 0:
		n = 1 << int(math.Round(math.Log2(float64(any))))
	case 1:
		n = roundLength(any)
	case 2:
		n = usualLengths[int(u*float64(len(usualLengths)))]
	}
	return kernels.Shape{length: n, batch: int(math.Round(math.Pow(float64(axes[batch].Max), at[batch])))}
}

// lengths are the even numbers up to 2·maxLength without a prime factor above 5, ascending.
var lengths = sync.OnceValue(func() []int {
	var found []int
	for twos := 2; twos <= 2*maxLength; twos *= 2 {
		for threes := twos; threes <= 2*maxLength; threes *= 3 {
			for n := threes; n <= 2*maxLength; n *= 5 {
				found = append(found, n)
			}
		}
	}
	slices.Sort(found)
	return found
})

// roundLength returns the nearest even length without a prime factor above 5, which are the lengths that people choose. Of
// two equally near lengths it returns the greater.
func roundLength(n int) int {
	all := lengths()
	i, exact := slices.BinarySearch(all, n)
	switch {
	case exact || i == 0:
		return all[i]
	case i == len(all) || n-all[i-1] < all[i]-n:
		return all[i-1]
	}
	return all[i]
}
