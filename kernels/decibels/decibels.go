// Package decibels converts power to decibels, as librosa's power_to_db does:
//
//	d[i] = 10·log10(max(10⁻¹⁰, x[i])) − 10·log10(max(10⁻¹⁰, ref))
//	y[i] = max(d[i], max_k d[k] − range)
//
// x is power, such as the squared magnitudes of a spectrogram, and y is in dB above the reference power ref. The greatest value
// of the whole call sets the floor, so a call is a whole spectrogram. Source: B. McFee et al., librosa: Audio and Music Signal
// Analysis in Python, SciPy 2015; librosa.power_to_db. The usual steps are New, once, and Convert.
//
// The logarithm grows with its argument, so one pass finds the greatest power, and another one computes the decibels of each
// power or of the floor, whichever is greater. Both passes are divided among cores.
package decibels

import (
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/reduce"
	"crossover/native/accelerate"
	"crossover/pool"
)

// Params are what all calls of a plan have in common. The zero value is librosa's default.
type Params struct {
	Ref    float32 // the power of 0 dB; 0 stands for 1
	RefMax bool    // whether the greatest power of a call is that of 0 dB, as librosa's ref=np.max; Ref is then 0
	Range  float32 // dB from the greatest value of a call down to the floor; 0 stands for 80, +Inf for no floor
}

const (
	elements = 0     // axis
	least    = 1e-10 // power; librosa's amin
)

var axes = []kernels.Axis{{Name: "n", Unit: "elements", Min: 1 << 10, Max: 1 << 24}}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:    "power-to-db",
	Formula: "y[i] = max(d[i], maxₖ d[k] − 80) in dB, d[i] = 10·log10(max(1e-10, x[i]))",
	Source:  "McFee et al., librosa: Audio and Music Signal Analysis in Python, SciPy 2015: power_to_db",
	Axes:    axes,
	Lines:   []kernels.Line{kernels.Along(axes, "n")},
	Params:  func(kernels.Shape) Params { return Params{} },
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		n := []int{s[elements]}
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: n, InPlaceOf: "x"},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: n},
		}
	},
	Fill: func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		in.Fill(a[1])
		for i, v := range a[1] {
			a[1][i] = v * v
		}
	},
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p, a[1]) },
	Judge:     kernels.AbsoluteError,
	Tolerance: func(kernels.Shape) float64 { return 1e-3 }, // dB
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[elements])
		return kernels.Work{Bytes: 8 * n, Flops: 25 * n, Threads: n / 4, Launches: 3}
	},
	By: []kernels.Makers[Params]{
		kernels.Revised(1, kernels.InGo( // shorter calls
			func(p Params) kernels.Runner { return serial(p) },
			func(p Params, workers *pool.Pool) kernels.Runner { return &parallel{params: p, pool: workers} })),
		kernels.Framework("", func(p Params) (kernels.Runner, error) { return byFramework(p), nil }),
		kernels.KernelText("", appendDecibels),
	},
})

// Plan converts slices by the implementation that is fastest at their length. Only one goroutine at a time may use a Plan.
type Plan struct {
	// Explain takes a number of values.
	*kernels.SizedPlan[Params]
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if Ref or Range is negative or NaN,
// if Ref is infinite, or if both Ref and RefMax are set.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if !(p.Ref >= 0 && p.Ref <= math.MaxFloat32) {
		return nil, fmt.Errorf("decibels: the reference power is %g, want a positive number, or 0 for 1", p.Ref)
	}
	if p.RefMax && p.Ref != 0 {
		return nil, fmt.Errorf("decibels: the reference power is %g and RefMax is set, want one of them", p.Ref)
	}
	if !(p.Range >= 0) {
		return nil, fmt.Errorf("decibels: the range is %g dB, want a positive number, or 0 for 80", p.Range)
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(elements, kernels.Shape{})}, nil
}

// Convert sets dst to the decibels of src, which are one call. dst may be src itself and must not overlap it otherwise.
// Negative powers count as 0. If one power is NaN, every result is, even without a floor. If one is +Inf, every result is
// +Inf, because the floor is; with RefMax every result is NaN. Without a floor, an infinity changes no other result, but with
// RefMax it becomes NaN and every finite power −Inf.
//
// Convert allocates nothing at a length at which the implementation has run twice. An implementation on a GPU remembers only
// the last few lengths. Convert panics if the lengths differ. It fails if every implementation does.
func (p *Plan) Convert(dst, src []float32) error {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("decibels: dst has %d values, want as many as src, %d", len(dst), len(src)))
	}
	return kernels.RunSized(p.SizedPlan, len(src), &kernels.Args{dst, src})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(plan *Plan, _ kernels.Shape, a *kernels.Args) error { return plan.Convert(a[0], a[1]) })

// Reference returns the decibels of x in float64.
func Reference(p Params, x []float32) []float64 {
	y := make([]float64, len(x))
	top, most := math.Inf(-1), math.Inf(-1)
	for _, v := range x {
		most = max(most, float64(v))
	}
	ref := float64(p.ref())
	if p.RefMax {
		ref = most
	}
	for i, v := range x {
		if most != most {
			v = float32(most)
		}
		y[i] = 10*math.Log10(max(least, float64(v))) - 10*math.Log10(max(least, ref))
		top = max(top, y[i])
	}
	if p.floored() {
		for i, v := range y {
			y[i] = max(v, top-p.span())
		}
	}
	return y
}

// ref returns the reference power, if that is not the greatest power.
func (p Params) ref() float32 {
	if p.Ref == 0 {
		return 1
	}
	return p.Ref
}

// span returns the range in dB.
func (p Params) span() float64 {
	if p.Range == 0 {
		return 80
	}
	return float64(p.Range)
}

// levels returns the power of the floor, and what is added to the decibels of a power, for a call with the given greatest
// power.
func (p Params) levels(most float32) (floor, offset float32) {
	ref := p.ref()
	floor = max(least, most)
	if p.RefMax {
		ref = floor
	}
	switch {
	case floor <= math.MaxFloat32:
		floor = max(least, floor*p.share())
	case floor == floor && !p.floored(): // otherwise a NaN or an infinity is the floor, too
		floor = least
	}
	return floor, float32(-10 * math.Log10(float64(max(least, ref))))
}

// floored reports whether there is a floor.
func (p Params) floored() bool { return !math.IsInf(p.span(), 1) }

// share returns the power of the floor as a part of the greatest power.
func (p Params) share() float32 { return float32(math.Pow(10, -p.span()/10)) }

func serial(p Params) kernels.Runner {
	return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
		floor, offset := p.levels(reduce.Greatest(a[1]))
		convert(a[0], a[1], floor, offset)
		return nil
	})
}

// leastChunk is the least number of values in a chunk: about a microsecond with AVX2, see pool.Pool.Grain. Chunks
// are multiples of cacheLine: see package elementwise.
const (
	leastChunk = 2 << 10
	cacheLine  = 32
)

// parallel finds the greatest power on the workers of the pool, and then converts on them.
type parallel struct {
	params        Params
	pool          *pool.Pool
	x, y          []float32 // of the current call
	grain         int
	most          []float32 // of each chunk
	converting    bool
	floor, offset float32
}

// Run computes a call.
func (e *parallel) Run(_ kernels.Shape, a *kernels.Args) error {
	e.y, e.x = a[0], a[1]
	n := len(e.x)
	e.grain = e.pool.Grain(n, leastChunk, cacheLine)
	chunks := (n-1)/e.grain + 1
	if chunks > len(e.most) {
		e.most = make([]float32, chunks)
	}
	e.converting = false
	e.pool.Run(n, e.grain, e)
	e.floor, e.offset = e.params.levels(reduce.Greatest(e.most[:chunks]))
	e.converting = true
	e.pool.Run(n, e.grain, e)
	e.x, e.y = nil, nil
	return nil
}

// Do computes the values from lo to hi−1, which are one chunk.
func (e *parallel) Do(_, lo, hi int) {
	if e.converting {
		convert(e.y[lo:hi], e.x[lo:hi], e.floor, e.offset)
	} else {
		e.most[lo/e.grain] = reduce.Greatest(e.x[lo:hi])
	}
}

// byFramework converts by Apple's vDSP and vForce, in three passes over blocks that stay in the first-level cache. The
// framework passes over NaNs. If the sum of the powers is not finite, ours takes the call.
func byFramework(p Params) kernels.Runner {
	ours := serial(p)
	return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
		y, x := a[0], a[1]
		if sum := accelerate.Sum(x); sum-sum != 0 {
			return ours.Run(s, a)
		}
		floor, offset := p.levels(accelerate.Max(x))
		const block = 4096
		for len(x) > 0 {
			n := min(block, len(x))
			accelerate.Raise(y[:n], x[:n], floor)
			accelerate.Log10(y[:n], y[:n])
			accelerate.Scale(y[:n], y[:n], 10, offset)
			x, y = x[n:], y[n:]
		}
		return nil
	})
}
