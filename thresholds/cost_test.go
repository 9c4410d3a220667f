package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFitCostRecoversTheModel(t *testing.T) {
	sizes := []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}
	for name, want := range map[string]Cost{
		"linear":                            {Fixed: 2e-5, PerSize: 1e-8, Exponent: 1},
		"no fixed part":                     {Fixed: 0, PerSize: 3e-9, Exponent: 1.25},
		"cubic":                             {Fixed: 1e-6, PerSize: 1e-12, Exponent: 3},
		"the square root":                   {Fixed: 1e-6, PerSize: 1e-7, Exponent: 0.5},
		"between the exponents of the grid": {Fixed: 1e-6, PerSize: 1e-10, Exponent: 1.51},
	} {
		for _, noise := range []float64{0, 0.01} {
			rng := rand.New(rand.NewPCG(3, 3))
			seconds := make([]float64, len(sizes))
			for s, n := range sizes {
				seconds[s] = want.At(float64(n)) * math.Exp(noise*rng.NormFloat64())
			}
			got := fitCost(sizes, seconds)
			// Exponents of the grid are 0.025 apart. At large sizes the factor makes up for the difference.
			if math.Abs(got.Exponent-want.Exponent) > 0.0126+3*noise {
				t.Errorf("%s, noise %v: exponent is %v, want %v", name, noise, got.Exponent, want.Exponent)
			}
			if math.Abs(got.Fixed-want.Fixed) > (0.05+5*noise)*want.At(16) {
				t.Errorf("%s, noise %v: fixed part is %v, want %v", name, noise, got.Fixed, want.Fixed)
			}
			for _, n := range sizes {
				if ratio := got.At(float64(n)) / want.At(float64(n)); math.Abs(ratio-1) > 0.025+2*noise {
					t.Errorf("%s, noise %v: model at %d is off by a factor of %v", name, noise, n, ratio)
				}
			}
			if got.Residual > 0.01+noise {
				t.Errorf("%s, noise %v: residual is %v", name, noise, got.Residual)
			}
		}
	}
}

// Where a launch takes nearly all of the time, the sizes do not tell how the rest grows. The times are those of a spectrogram on a
// GPU.
func TestFitCostBeyondTheSizes(t *testing.T) {
	c := fitCost([]int{1024, 6373, 65536}, []float64{8.99e-6, 8.99e-6, 9.033e-6})
	if s := c.At(5_292_000); s < 9e-6 || s > 2e-4 {
		t.Errorf("80 times the greatest size takes %v s by %+v (want 9 to 200 µs)", s, c)
	}
}

func TestFitCostOfOddTimes(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		seconds []float64
		valid   bool
	}{
		"nothing":        {[]float64{nan, nan, nan, nan}, false},
		"two sizes":      {[]float64{1e-6, nan, nan, 2e-6}, false},
		"three sizes":    {[]float64{1e-6, 2e-6, nan, 4e-6}, true},
		"constant":       {[]float64{1e-6, 1e-6, 1e-6, 1e-6}, true},
		"falling":        {[]float64{4e-6, 2e-6, 1e-6, 1e-7}, true},
		"far apart":      {[]float64{1e-12, 1e3, 1e-12, 1e3}, true},
		"a fourth power": {[]float64{1, 16, 256, 4096}, true},
	} {
		got := fitCost([]int{1, 2, 4, 8}, c.seconds)
		if got.Valid() != c.valid {
			t.Errorf("%s: valid is %v, want %v", name, got.Valid(), c.valid)
		}
		for _, v := range []float64{got.Fixed, got.PerSize, got.Residual} {
			if !(v >= 0) || math.IsInf(v, 1) {
				t.Errorf("%s: model %+v holds %v", name, got, v)
			}
		}
	}
}

func TestModelCrossing(t *testing.T) {
	slow := Cost{Fixed: 1e-6, PerSize: 1e-8, Exponent: 1}
	fast := Cost{Fixed: 1e-5, PerSize: 1e-9, Exponent: 1}
	for name, c := range map[string]struct {
		before, after Cost
		far           float64 // loss of each implementation on the other's side
		want          float64
		ok            bool
	}{
		"where the models cross":     {slow, fast, 0.1, 1000, true},
		"never, the first wins":      {Cost{PerSize: 1e-9, Exponent: 1}, slow, 0.1, 4000, true},
		"never, the second wins":     {slow, Cost{PerSize: 1e-9, Exponent: 1}, 0.1, 10, true},
		"no model":                   {slow, Cost{}, 0.1, 0, false},
		"unmeasured":                 {slow, fast, inf, 0, false},
		"the second wins in between": {slow, Cost{Fixed: 1e-5, PerSize: 1e-15, Exponent: 3}, 0.1, 1000, true},
	} {
		r := &Result{
			Curves:   Curves{Sizes: []int{10, 90, 110, 4000}, Loss: [][]float64{{0, 0, c.far, 1}, {1, c.far, 0, 0}}},
			Costs:    []Cost{c.before, c.after},
			Segments: []Segment{{Implementation: 0, From: 10, To: 99}, {Implementation: 1, From: 100, To: 4000}},
		}
		got, ok := modelCrossing(r, 1)
		if ok != c.ok || math.Abs(got-c.want) > 0.07*c.want {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, ok, c.want, c.ok)
		}
	}
}
