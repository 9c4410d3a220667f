package fft

import (
	"errors"
	"math"
	"slices"
	"sync"

	"crossover/calibration/surface"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft/transform"
	"crossover/native/fftw"
	"crossover/pool"
)

// The axes of the operations.
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

const (
	transformSource = "C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992, section 1.1"
	inverseSource   = transformSource + "; scaled as numpy.fft does"
)

// Op declares the transform of real rows.
var Op = declare(declaration[Params]{
	name:       "fft",
	formula:    "X[k] = sum over j of x[j]·exp(-2πi·jk/n) for k = 0 … n/2, unscaled, of each real row x",
	source:     transformSource,
	rowLengths: []int{1024, 4096},
	params:     func(n, batch int) Params { return Params{N: n, Batch: batch} },
	rows:       func(p Params) rows { return rows{n: p.N, batch: p.Batch} },
	// Successive rows of a recording.
	fill:      func(_ int, in kernels.Input, x []float32) { in.Fill(x) },
	reference: referenceOfReal,
})

// InverseOp declares the inverse of Op.
var InverseOp = declare(declaration[Params]{
	name:       "ifft",
	formula:    "x[j] = 1/n·(sum over k = 0 … n-1 of X[k]·exp(2πi·jk/n)), X[n-k] = conj(X[k]), of each row of bins 0 … n/2",
	source:     inverseSource,
	rowLengths: []int{1024},
	params:     func(n, batch int) Params { return Params{N: n, Batch: batch} },
	rows:       func(p Params) rows { return rows{n: p.N, batch: p.Batch, inverse: true} },
	fill:       fillBins,
	reference:  referenceOfBins,
})

// ComplexOp declares the transform of complex rows and its inverse. It is measured forward: the inverse takes as long, but
// some libraries take a pass over the result to scale it.
var ComplexOp = declare(declaration[ComplexParams]{
	name:       "fft-complex",
	formula:    "X[k] = sum over j of x[j]·exp(-2πi·jk/n), unscaled, of each complex row x; the inverse has +2πi and is divided by n",
	source:     inverseSource,
	rowLengths: []int{1024},
	params:     func(n, batch int) ComplexParams { return ComplexParams{N: n, Batch: batch} },
	rows:       func(p ComplexParams) rows { return rows{n: p.N, batch: p.Batch, complex: true, inverse: p.Inverse} },
	// Real and imaginary parts are neighbours in a recording.
	fill:      func(_ int, in kernels.Input, x []float32) { in.Fill(x) },
	reference: referenceOfComplex,
})

// declaration is what the operations of this package differ in.
type declaration[P any] struct {
	name, formula, source string

	rowLengths []int // at which numbers of rows are measured
	params     func(n, batch int) P
	rows       func(p P) rows
	fill       func(n int, in kernels.Input, x []float32)
	reference  func(r rows, x []float32) []float64
}

func declare[P any](d declaration[P]) kernels.Op[P] {
	of := func(s kernels.Shape) rows { return d.rows(d.params(s[length], s[batch])) }
	return kernels.Declare(kernels.Op[P]{
		Name: d.name, Formula: d.formula, Source: d.source,
		Axes:      axes,
		Features:  features(),
		Family:    "fft",
		Draw:      draw,
		Lines:     lines(d.rowLengths),
		Params:    func(s kernels.Shape) P { return d.params(s[length], s[batch]) },
		IO:        func(_ P, s kernels.Shape) []kernels.Tensor { return of(s).tensors(s[batch]) },
		Fill:      func(_ P, s kernels.Shape, in kernels.Input, a *kernels.Args) { d.fill(s[length], in, a[1]) },
		Reference: func(p P, _ kernels.Shape, a *kernels.Args) []float64 { return d.reference(d.rows(p), a[1]) },
		Tolerance: func(kernels.Shape) float64 { return 1e-6 },
		Work:      func(s kernels.Shape, _ string) kernels.Work { return of(s).work(s) },
		Judged: func(p P, s kernels.Shape) (line, size int) {
			return judged(d.rowLengths, d.rows(p).n, s[batch])
		},
		By: []kernels.Makers[P]{
			kernels.RevisedOn(3, func(s kernels.Shape, processors int) bool {
				return transform.SharedSince(s[batch], of(s).samples(), processors)
			},
				kernels.InGo(func(p P) kernels.Runner { return newSerial(d.rows(p)) },
					func(p P, workers *pool.Pool) kernels.Runner { return newParallel(d.rows(p), workers) }), "go-parallel"),
			kernels.Library("fftw", fftw.Probe, fftw.Version,
				func(_ *kernels.Backends, p P) (kernels.Runner, error) { return newLibrary(d.rows(p), 1) }),
			kernels.OnAllCores(kernels.Library("fftw-parallel", fftw.ProbeThreads, fftw.Version,
				func(_ *kernels.Backends, p P) (kernels.Runner, error) { return newParallelLibrary(d.rows(p)) })),
			kernels.Framework("", func(p P) (kernels.Runner, error) { return newFramework(d.rows(p)) }),
			kernels.KernelText("", func(b *gpu.Builder, p P, s kernels.Shape, t []*gpu.Buffer) {
				appendRows(b, d.rows(p), s, t)
			}),
			kernels.VendorFFT("", func(_ *gpu.Device, library gpu.FFT, _ P) (kernels.Append[P], error) {
				return func(b *gpu.Builder, p P, s kernels.Shape, t []*gpu.Buffer) {
					appendVendor(b, library, d.rows(p), s, t)
				}, nil
			}),
		},
	})
}

// lines returns the line of one row over its length, and for each of some lengths the line over the number of rows.
func lines(rowLengths []int) []kernels.Line {
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
			return errors.New("fft: one transform is not split over cores on this processor (want amd64 with AVX2 and FMA, or arm64)")
		}
		return nil
	}
}

// judged returns the line that decides a call of rows of n values. One row is judged by its length. Several rows are judged
// on the line of the nearest length, at the number of its rows that hold as many values.
func judged(rowLengths []int, n, rows int) (line, size int) {
	if rows == 1 {
		return 0, n
	}
	far := func(i int) float64 { return math.Abs(math.Log(float64(rowLengths[i]) / float64(n))) }
	nearest := 0
	for i := range rowLengths {
		if far(i) < far(nearest) {
			nearest = i
		}
	}
	scale := float64(n) / float64(rowLengths[nearest])
	return 1 + nearest, max(1, int(math.Round(float64(rows)*scale)))
}

// features are what the time of a transform depends on beside its length and the number of rows: all samples, and the
// factors of the length. Powers of two, even lengths and multiples of four have code of their own. Ours go through
// Bluestein's algorithm where a factor is above 7, cuFFT where one is above 127, and FFTW has code of its own for factors
// up to 13.
func features() []surface.Feature {
	ofLength := func(kind surface.Kind, prime int) surface.Feature {
		return surface.Feature{Kind: kind, Prime: prime, Weights: []float64{length: 1, batch: 0}}
	}
	all := []surface.Feature{kernels.Power(1, 1), ofLength(surface.Largest, 0)}
	for _, prime := range []int{2, 7, 13, 127} {
		all = append(all, ofLength(surface.Rough, prime))
	}
	all = append(all, ofLength(surface.Indivisible, 2), ofLength(surface.Indivisible, 4))
	all = append(all, ofLength(surface.Chirp, 7))
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
