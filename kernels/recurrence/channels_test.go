package recurrence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// testVectors compares go and go-parallel with a kernel's function one, to the bit: with every number of channels up to more
// than two turns of vectors, and with numbers of samples that are not whole vectors or blocks. Some states and samples are NaN,
// infinite, denormal or huge, and one channel decays to silence. NaNs may have other bits.
func testVectors[P any](t *testing.T, op *kernels.Op[P], p P, build func(p P) kernel) {
	few, many := []int{1, 7, 8, 9, 70, 261, 600}, []int{255, 256, 257, 600}
	for n := range 70 {
		many = append(many, n+1)
	}
	random := rand.New(rand.NewPCG(1, 2))
	plans := kerneltest.Plans(t, op, p)
	k := build(p)
	for count := 1; count <= 2*widest+3; count++ {
		lengths := few
		if count <= widest+1 && !testing.Short() {
			lengths = many
		}
		for _, n := range lengths {
			s := kernels.Shape{count, n}
			values := op.IO(p, s)[before].Numbers() / count
			src, state := make([]float32, count*n), make([]float64, count*values)
			for i := range src {
				src[i] = float32(unusual(random, 0.01))
			}
			for i := range state {
				state[i] = unusual(random, 0.1)
			}
			if silent := count / 2; count > 2 { // which decays
				clear(src[silent*n : (silent+1)*n])
				for i := range values {
					state[silent*values+i] = silence * (1 + 1e-3*float64(i))
				}
			}
			want, end := make([]float32, len(src)), append([]float64(nil), state...)
			for c := range count {
				part := end[c*values : (c+1)*values]
				for lo := 0; lo < n; lo += settleEvery {
					i, j := c*n+lo, c*n+min(lo+settleEvery, n)
					k.one(part, want[i:j], src[i:j])
					settle(part)
				}
			}
			for _, name := range []string{"go", "go-parallel"} {
				for _, place := range []string{"", " in place"} {
					x, y, next := append([]float32(nil), src...), make([]float32, len(src)), kernels.Float64Words(make([]float64, len(state)))
					if place != "" {
						y = x
					}
					before := kernels.Float64Words(append([]float64(nil), state...))
					if err := plans[name].Run(s, kernels.Args{y, next, x, before}); err != nil {
						t.Fatal(err)
					}
					where := fmt.Sprintf("%+v: %s%s, %d channels of %d samples", p, name, place, count, n)
					for i, v := range y {
						if math.Float32bits(v) != math.Float32bits(want[i]) && (v == v || want[i] == want[i]) {
							t.Fatalf("%s: sample %d of channel %d is %g, want %g", where, i%n, i/n, v, want[i])
						}
					}
					for i, v := range kernels.Float64s(next) {
						if math.Float64bits(v) != math.Float64bits(end[i]) && (v == v || end[i] == end[i]) {
							t.Fatalf("%s: value %d of the state of channel %d is %g, want %g", where, i%values, i/values, v, end[i])
						}
					}
				}
			}
		}
	}
}

// unusual returns a number of a usual magnitude, or with some probability one that is not usual.
func unusual(random *rand.Rand, probability float64) float64 {
	v := random.NormFloat64()
	if random.Float64() < probability {
		return []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e-310, 1e-40, -1e-31, v * 1e-20, v * 1e37,
			math.MaxFloat32, 9, -9, v * 20}[random.IntN(14)]
	}
	return v
}

// A NaN in one channel must not reach another one that is computed beside it, nor a channel that the lane has later.
func testApart[P any](t *testing.T, op *kernels.Op[P], p P) {
	const count, n = 2*widest + 3, 40
	s := kernels.Shape{count, n}
	for name, plan := range kerneltest.Plans(t, op, p) {
		for bad := range count {
			src, y := make([]float32, count*n), make([]float32, count*n)
			kernels.Noise(src, 3)
			src[bad*n+n/2] = float32(math.NaN())
			words := op.IO(p, s)[before].Len()
			next := make([]float32, words)
			if err := plan.Run(s, kernels.Args{y, next, src, make([]float32, words)}); err != nil {
				t.Fatal(err)
			}
			for i, v := range y {
				if nan := i/n == bad && i%n >= n/2; (v != v) != nan {
					t.Fatalf("%s: with a NaN in channel %d, sample %d of channel %d is %g", name, bad, i%n, i/n, v)
				}
			}
		}
	}
}

// Channels that are computed in vectors are divided into whole vectors if a few more hardly take longer, and fewer channels into pairs.
func TestUnit(t *testing.T) {
	together, apart := pace{together: lanes, least: lanes}, pace{together: 1, least: lanes}
	for _, c := range []struct {
		of            pace
		rows, workers int
		most, want    int
	}{
		{together, 3, 2, widest, 2}, {together, 4, 2, widest, 4}, {together, 8, 2, widest, 4}, {together, 9, 2, widest, 8}, {together, 8, 16, widest, 4},
		{together, 4, 2, pair, 2}, {together, 1000, 2, widest, widest}, // Go alone; many channels
		{apart, 2, 2, widest, 1}, {apart, 4, 2, widest, 2}, {apart, 8, 16, widest, 1}, {apart, 12, 2, widest, 8},
	} {
		if got := c.of.unit(c.rows, c.workers, c.most); got != c.want {
			t.Errorf("%d channels, %d workers, %+v: units of %d, want %d", c.rows, c.workers, c.of, got, c.want)
		}
	}
}
