package catalogue_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/catalogue"
	"crossover/kernels/conv1d"
	"crossover/kernels/decibels"
	"crossover/kernels/elementwise"
	"crossover/kernels/fft"
	"crossover/kernels/linear"
	"crossover/kernels/matmul"
	"crossover/kernels/mel"
	"crossover/kernels/oscillator"
	"crossover/kernels/reduce"
	"crossover/kernels/softmax"
	"crossover/kernels/stft"
)

// strange returns random signals that no sweep has: constants, zeros, huge and tiny values, a NaN, an infinity.
type strange struct{ *rand.Rand }

func (r strange) signal(n int) (x []float32, kind string) {
	x = make([]float32, n)
	kernels.Noise(x, r.Uint64())
	scale := func(by float64) {
		for i := range x {
			x[i] *= float32(by)
		}
	}
	put := func(v float64) { x[r.IntN(n)] = float32(v) }
	switch kind := r.IntN(8); kind {
	case 0:
		by := math.Pow(10, 60*r.Float64()-30)
		scale(by)
		return x, fmt.Sprintf("noise of %.1g", by)
	case 1:
		value := float32(math.Pow(10, 20*r.Float64()-10))
		for i := range x {
			x[i] = value
		}
		return x, fmt.Sprintf("constant %g", value)
	case 2:
		clear(x)
		return x, "zeros"
	case 3:
		for i := range x {
			x[i] *= float32(r.IntN(2))
		}
		put(math.NaN())
		return x, "zeros, noise and a NaN"
	case 4:
		put(math.Inf(1))
		return x, "noise and +Inf"
	case 5:
		put(math.Inf(-1))
		return x, "noise and -Inf"
	case 6:
		scale(1e-42)
		return x, "denormals"
	}
	return x, "noise"
}

// verdict compares values with float64 references. each is the greatest difference that an element may have.
func verdict(got []float32, want []float64, each func(i int) float64) string {
	for i, w := range want {
		g, w32 := float64(got[i]), float64(float32(w))
		switch {
		case math.IsNaN(w32) || math.IsInf(w32, 0) || math.IsNaN(g) || math.IsInf(g, 0):
			if math.IsNaN(g) != math.IsNaN(w32) || !math.IsNaN(g) && g != w32 {
				return fmt.Sprintf("element %d is %g, want %g", i, g, w)
			}
		case math.Abs(g-w) > each(i):
			return fmt.Sprintf("element %d is %g, want %g, which may be off by %.2g", i, g, w, each(i))
		}
	}
	return ""
}

// within returns the same difference for every element.
func within(most float64) func(int) float64 { return func(int) float64 { return most } }

// least is seven of the smallest steps of float32.
const least = 1e-44

func absolutes(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(math.Abs(float64(v)))
	}
	return y
}

// broken reports whether x holds a NaN or an infinity, and whether it holds nothing else.
func broken(x []float32) (some, whole bool) {
	count := 0
	for _, v := range x {
		if v-v != 0 {
			count++
		}
	}
	return count > 0, count == len(x)
}

// loudest returns the greatest magnitude.
func loudest(x []float32) float64 {
	var most float64
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	return most
}

// TestStrangeInput compares typed plans with the float64 references on signals that no sweep has.
func TestStrangeInput(t *testing.T) {
	implementations, rounds := []string{"go", "go-parallel"}, 60
	if testing.Short() {
		implementations, rounds = implementations[1:], 6 // the race detector looks at what runs at once, and not at values
	}
	for _, implementation := range implementations {
		t.Run(implementation, func(t *testing.T) {
			force := ""
			for _, operation := range []string{"scale", "gain", "abs", "soft-clip", "exp", "log", "log1p", "pow", "power", "magnitude", "sum", "mean", "max", "min", "argmax", "power-to-db",
				"softmax", "matmul", "linear", "fft", "stft", "mel", "biquad", "oscillator-bank"} {
				force += operation + "=" + implementation + ","
			}
			r := strange{rand.New(rand.NewPCG(7, 11))}
			for round := range rounds {
				t.Setenv("CROSSOVER_FORCE", force+"conv1d="+implementation+"/direct")
				r.elementwise(t, round)
				r.rows(t, round)
				r.products(t, round)
				r.spectra(t, round)
				r.filters(t, round)
				r.voices(t, round)
				r.fast(t, implementation)
				r.graph(t, implementation)
			}
		})
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func done(err error) {
	if err != nil {
		panic(err)
	}
}

func report(t *testing.T, what, kind, verdict string) {
	t.Helper()
	if verdict != "" {
		t.Errorf("%s of %s: %s", what, kind, verdict)
	}
}

func (r strange) elementwise(t *testing.T, round int) {
	x, kind := r.signal(1 + r.IntN(3000))
	y := make([]float32, len(x))
	a, b := float32(math.Pow(10, 6*r.Float64()-3)), float32(r.Float64()-0.5)
	done(elementwise.NewScale(nil, a, b).Apply(y, x))
	want := elementwise.Scale.Reference(elementwise.Params{A: a, B: b}, kernels.Shape{}, &kernels.Args{1: x})
	report(t, "scale", kind, verdict(y, want, func(i int) float64 {
		return 2e-7*(math.Abs(float64(a)*float64(x[i]))+math.Abs(float64(b))) + least
	}))

	exponent := float32(len(x)%61-30) / 10
	for _, f := range []struct {
		name   string
		plan   *elementwise.Plan
		op     *kernels.Op[elementwise.Params]
		params elementwise.Params
	}{
		{"gain", elementwise.NewGain(nil, a), &elementwise.Gain, elementwise.Params{A: a}},
		{"abs", elementwise.NewAbs(nil), &elementwise.Abs, elementwise.Params{}},
		{"soft-clip", elementwise.NewSoftClip(nil, a), &elementwise.SoftClip, elementwise.Params{A: a}},
		{"exp", elementwise.NewExp(nil), &elementwise.Exp, elementwise.Params{}},
		{"log1p", elementwise.NewLog1p(nil), &elementwise.Log1p, elementwise.Params{}},
		{fmt.Sprintf("pow %g", exponent), elementwise.NewPow(nil, exponent), &elementwise.Pow, elementwise.Params{A: exponent}},
	} {
		done(f.plan.Apply(y, x))
		want := f.op.Reference(f.params, kernels.Shape{}, &kernels.Args{1: x})
		report(t, f.name, kind, verdict(y, want, func(i int) float64 { return 3e-7*math.Abs(want[i]) + least }))
	}
	if loudest(x) < 1e18 || loudest(x) > math.MaxFloat32 {
		pairs := x[:len(x)/2*2]
		done(elementwise.NewPower(nil).Apply(y[:len(pairs)/2], kernels.Complex(pairs)))
		want := elementwise.Power.Reference(elementwise.Params{}, kernels.Shape{}, &kernels.Args{1: pairs})
		report(t, "power", kind, verdict(y[:len(pairs)/2], want, func(i int) float64 { return 3e-7*want[i] + least }))
		done(elementwise.NewMagnitude(nil).Apply(y[:len(pairs)/2], kernels.Complex(pairs)))
		want = elementwise.Magnitude.Reference(elementwise.Params{}, kernels.Shape{}, &kernels.Args{1: pairs})
		report(t, "magnitude", kind, verdict(y[:len(pairs)/2], want, func(i int) float64 { return 3e-7*want[i] + 1e-22 }))
	}

	if round%2 == 0 {
		x = absolutes(x)
	}
	done(elementwise.NewLog(nil).Apply(y, x))
	want = elementwise.Log.Reference(elementwise.Params{}, kernels.Shape{}, &kernels.Args{1: x})
	report(t, "log", kind, verdict(y, want, func(i int) float64 { return 1e-6*math.Abs(want[i]) + 1e-7 }))

	for _, f := range []struct {
		plan *reduce.Plan
		op   *kernels.Op[reduce.Params]
		off  float64
	}{
		{reduce.NewSum(nil), &reduce.Sum, 1e-6*reduce.Reference(absolutes(x)) + least},
		{reduce.NewMean(nil), &reduce.Mean, 1e-6*reduce.Reference(absolutes(x))/float64(len(x)) + least},
		{reduce.NewMax(nil), &reduce.Max, 0},
		{reduce.NewMin(nil), &reduce.Min, 0},
	} {
		want := f.op.Reference(reduce.Params{}, kernels.Shape{}, &kernels.Args{1: x})
		report(t, f.op.Name, kind, verdict([]float32{must(f.plan.Of(x))}, want, within(f.off)))
	}
	if at, want := must(reduce.NewArgMax(nil).Of(x)), reduce.ArgMax.Reference(reduce.Params{}, kernels.Shape{}, &kernels.Args{1: x})[0]; float64(at) != want {
		t.Errorf("argmax of %s: %d, want %g", kind, at, want)
	}
}

func (r strange) rows(t *testing.T, _ int) {
	columns := 1 + r.IntN(300)
	x, kind := r.signal(columns * (1 + r.IntN(9)))
	y := make([]float32, len(x))
	done(must(softmax.New(nil, softmax.Params{Columns: columns})).Apply(y, x))
	want := softmax.Reference(x, columns)
	report(t, "softmax", kind, verdict(y, want, func(i int) float64 { return 2e-6*want[i] + 1e-37 }))
}

func (r strange) products(t *testing.T, _ int) {
	m, k, n := 1+r.IntN(40), 1+r.IntN(60), 1+r.IntN(40)
	a, kind := r.signal(m * k)
	b, other := r.signal(k * n)
	c := make([]float32, m*n)
	sizes := matmul.Reference(absolutes(a), absolutes(b), m, k, n)
	if loudest(a)*loudest(b) < 1e30 || math.IsInf(loudest(a)*loudest(b), 1) || math.IsNaN(loudest(a)*loudest(b)) {
		done(matmul.New(nil).Multiply(c, a, b, m, k, n))
		report(t, "matmul", kind+" and "+other, verdict(c, matmul.Reference(a, b, m, k, n), func(i int) float64 {
			return 1e-6*sizes[i] + 100*least
		}))
	}

	weights, bias := make([]float32, n*k), make([]float32, n)
	kernels.Noise(weights, r.Uint64())
	kernels.Noise(bias, r.Uint64())
	layer := must(linear.New(nil, weights, bias, k, n))
	done(layer.Forward(c, a))
	report(t, "linear", kind, verdict(c, linear.Reference(a, weights, bias, k, n), within(1e-6*float64(k)*max(1, loudest(a))+least)))
}

func (r strange) spectra(t *testing.T, _ int) {
	n := 1 + r.IntN(600)
	x, kind := r.signal(n)
	bins := make([]complex64, n/2+1)
	done(must(fft.New(nil, fft.Params{N: n})).Transform(bins, x))
	spectrum := floats(bins)
	if some, _ := broken(x); some {
		for k, v := range bins { // one part of a bin may be finite, but not both
			if _, whole := broken(spectrum[2*k : 2*k+1]); !whole {
				if _, whole := broken(spectrum[2*k+1 : 2*k+2]); !whole {
					t.Errorf("fft of %d of %s: bin %d is %v", n, kind, k, v)
					break
				}
			}
		}
	} else {
		report(t, fmt.Sprintf("fft of %d", n), kind, verdict(spectrum, parts(fft.Reference(x)), within(1e-6*math.Sqrt(float64(n))*loudest(x)*math.Sqrt(float64(n))+1e-37)))
	}

	p := stft.Params{NFFT: 2 << r.IntN(9), Hop: 1 + r.IntN(200)}
	if some, _ := broken(x); !some {
		frames := must(must(stft.New(nil, p)).Transform(nil, x))
		report(t, fmt.Sprintf("stft %+v", p), kind, verdict(floats(frames), parts(stft.Reference(p, x)), within(1e-6*float64(p.NFFT)*loudest(x)+1e-37)))
	}

	toDB := decibels.Params{RefMax: n%2 == 0, Range: float32(n % 100)}
	db := make([]float32, n)
	done(must(decibels.New(nil, toDB)).Convert(db, x))
	report(t, fmt.Sprintf("power-to-db %+v", toDB), kind, verdict(db, decibels.Reference(toDB, x), within(1e-4)))

	bands := mel.Params{SampleRate: 22050, NFFT: 512, Bands: 40}
	plan := must(mel.New(nil, bands))
	power, kind := r.signal(3 * plan.Bins())
	if some, _ := broken(power); !some {
		report(t, "mel", kind, verdict(must(plan.Transform(nil, power)), mel.Reference(bands, power), within(1e-6*loudest(power)+1e-37)))
	}
}

func (r strange) filters(t *testing.T, _ int) {
	x, kind := r.signal(1 + r.IntN(3000))
	cutoff := math.Pow(10, 4.2*r.Float64()-1)
	c := must(biquad.Lowpass(cutoff, 48000))
	y := make([]float32, len(x))
	done(must(biquad.New(nil, c, 1)).Process(y, x))
	want := biquad.Reference(c, x, 1)
	if some, _ := broken(x); some { // implementations differ behind an infinity, but none is finite again
		for i, w := range want {
			if math.IsNaN(w) || math.IsInf(w, 0) {
				if _, whole := broken(y[i:]); !whole {
					t.Errorf("biquad of %s: finite values after element %d", kind, i)
				}
				want, y = want[:i], y[:i]
				break
			}
		}
	}
	report(t, fmt.Sprintf("biquad at %g Hz", cutoff), kind, verdict(y, want, within(1e-6*min(loudest(x), math.MaxFloat32)+1e-29)))

	taps := make([]float32, 1+r.IntN(200))
	kernels.Noise(taps, r.Uint64())
	convolved := must(must(conv1d.New(nil, taps)).Convolve(nil, x))
	report(t, "conv1d", kind, verdict(convolved, conv1d.Reference(x, taps), within(1e-6*float64(len(taps))*min(loudest(x), math.MaxFloat32)+float64(len(taps))*least)))
}

func (r strange) voices(t *testing.T, _ int) {
	rates := []float64{8000, 44100, 48000, 96000}
	p := oscillator.Params{SampleRate: rates[r.IntN(len(rates))]}
	for range 1 + r.IntN(9) {
		v := oscillator.Voice{Sustain: r.Float64(), Gate: 10 * r.Float64(), Attack: 0.001 * r.Float64(), Release: r.Float64()}
		switch r.IntN(4) {
		case 0:
			v.Frequency = math.Pow(10, 5*r.Float64()-6)
		case 1:
			v.Frequency = 100 * float64(1+r.IntN(39)) // wraps exactly
		case 2:
			v.Frequency = float64(r.IntN(2000))
		case 3:
			v.Frequency, v.Detune = 3000*r.Float64(), 100*(r.Float64()-0.5)
		}
		p.Voices = append(p.Voices, v)
	}
	y := make([]float32, 1+r.IntN(2000))
	done(must(oscillator.New(nil, p)).Render(y))
	report(t, "oscillator", fmt.Sprintf("%+v", p), verdict(y, oscillator.Reference(p, len(y)), within(2e-6)))
}

// fast convolves by algorithms with transforms. Their errors are relative to the loudest output.
func (r strange) fast(t *testing.T, implementation string) {
	x, kind := r.signal(1 + r.IntN(3000))
	if some, _ := broken(x); some {
		return
	}
	algorithm := "/partitioned"
	if implementation == "go" && r.IntN(2) == 0 {
		algorithm = "/fft"
	}
	t.Setenv("CROSSOVER_FORCE", "conv1d="+implementation+algorithm)
	taps := make([]float32, 1+r.IntN(900))
	kernels.Noise(taps, r.Uint64())
	report(t, "conv1d by "+implementation+algorithm, kind, verdict(must(must(conv1d.New(nil, taps)).Convolve(nil, x)), conv1d.Reference(x, taps),
		within(1e-6*float64(len(taps))*loudest(x)+1e-37)))
}

// graph runs the stage graph. Each node passes its signal through four recursions.
func (r strange) graph(t *testing.T, implementation string) {
	x, kind := r.signal(512)
	if some, _ := broken(x); some {
		return
	}
	for _, c := range catalogue.Cases(kernels.Here()) {
		if c.Operation != "stage-graph" {
			continue
		}
		width := 1 + r.IntN(9)
		problem := c.Problem(width, kernels.Input{Samples: x})
		call := must(problem.Bind(implementation))
		done(call.Run())
		report(t, c.Name, kind, verdict(call.Output(), problem.Reference(), within(2e-6*float64(width)*loudest(x)+1e-37)))
		call.Release()
	}
}
