package recurrence

import (
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

func TestLadder(t *testing.T)         { testOp(t, Ladder) }
func TestLadderBarriers(t *testing.T) { testBarriers(t, &Ladder) }

func TestLadderBlocks(t *testing.T) {
	for _, p := range []LadderParams{{1000, 0.5, 44100}, {20, 0, 48000}, {20, 0.9, 96000}, {8000, 0.3, 44100}, {23000, 0, 48000}} {
		testBlocks(t, &Ladder, p, 3e-6)
	}
}

func TestLadderPlan(t *testing.T) {
	testPlan(t, &Ladder, NewLadder, Ladder.Params(kernels.Shape{}))
	testSilence(t, &Ladder, LadderParams{Cutoff: 3, SampleRate: 1000}, 1e-20)
	nan := math.NaN()
	refused(t, NewLadder, "less than half of the rate", LadderParams{0, 0, 48000}, LadderParams{24000, 0, 48000}, LadderParams{nan, 0, 48000},
		LadderParams{1000, 0, nan}, LadderParams{1000, 0, math.Inf(1)}, LadderParams{1000, 0, -1})
	refused(t, NewLadder, "want 0 to 1", LadderParams{1000, -0.1, 48000}, LadderParams{1000, 1.1, 48000}, LadderParams{1000, nan, 48000})
}

func TestLadderVectors(t *testing.T) {
	for _, p := range []LadderParams{{1000, 0.5, 44100}, {23000, 1, 48000}} {
		testVectors(t, &Ladder, p, func(p LadderParams) kernel { return newLadder(p.step(), 4*p.Resonance) })
	}
	testApart(t, &Ladder, Ladder.Params(kernels.Shape{}))
}

// A quiet signal passes through four linear one-poles, whose gain at the cutoff is 1/4 and at 0 Hz 1. A loud one is bounded.
func TestLadderModel(t *testing.T) {
	const rate, cutoff, n = 480000, 1000, 48000
	gain := func(frequency, level float64) float64 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(level * math.Cos(2*math.Pi*frequency*float64(i)/rate))
		}
		var most float64
		for _, v := range outputs(t, NewLadder, LadderParams{Cutoff: cutoff, SampleRate: rate}, x...)[n/2:] {
			most = max(most, math.Abs(float64(v)))
		}
		return most / level
	}
	for _, test := range []struct{ frequency, level, want float64 }{{0, 1e-3, 1}, {cutoff, 1e-3, 0.25}, {cutoff, 1e-12, 0.25}, {10 * cutoff, 1e-3, 1e-4}} {
		if got := gain(test.frequency, test.level); math.Abs(got/test.want-1) > 0.05 {
			t.Errorf("%g Hz at %g: gain %g, want %g", test.frequency, test.level, got, test.want)
		}
	}
	x := []float32{float32(math.Inf(1)), -math.MaxFloat32, float32(math.Inf(-1)), 0, 1}
	for i, y := range outputs(t, NewLadder, LadderParams{Cutoff: 10000, Resonance: 1, SampleRate: 44100}, x...) {
		if !(math.Abs(float64(y)) < 2) {
			t.Errorf("output %d of a loud signal is %g", i, y)
		}
	}
}

// A slow ladder moves by less than float32 holds.
func TestSlowLadder(t *testing.T) {
	p, x := LadderParams{Cutoff: 0.01, SampleRate: 192000}, make([]float32, 4000)
	for i := range x {
		x[i] = 1
	}
	state := []float64{0.9, 0.5, 0.5, 0.5}
	want := append([]float64(nil), state...)
	y := make([]float64, len(x))
	reference := Ladder.Reference(p, kernels.Shape{1, len(x)}, &kernels.Args{in: x, before: kernels.Float64Words(want)})
	copy(want, reference[len(y):])
	for name, plan := range kerneltest.Plans(t, &Ladder, p) {
		next := kernels.Float64Words(make([]float64, stages))
		if err := plan.Run(kernels.Shape{1, len(x)}, kernels.Args{make([]float32, len(x)), next, x, kernels.Float64Words(state)}); err != nil {
			t.Fatal(err)
		}
		for k, v := range kernels.Float64s(next) {
			if moved := want[k] - state[k]; math.Abs(v-want[k]) > 1e-5*math.Abs(moved)+1e-10 {
				t.Errorf("%s: stage %d moves by %g, want %g", name, k+1, v-state[k], moved)
			}
		}
	}
}

func TestTangent(t *testing.T) {
	for x := 1e-20; x < 1e5; x *= 1.01 {
		for _, v := range []float64{x, -x} {
			if got, want := tangent(v), math.Tanh(v); math.Abs(got/want-1) > 3.1e-8 {
				t.Fatalf("tangent(%g) = %.9g, want %.9g", v, got, want)
			}
		}
	}
	if v := tangent(math.NaN()); v == v || tangent(0) != 0 || math.Abs(tangent(math.Inf(-1))+1) > 1e-7 {
		t.Errorf("tangents of NaN, 0, −Inf: %g, %g, %g", v, tangent(0), tangent(math.Inf(-1)))
	}
}

func BenchmarkLadder(b *testing.B) { benchmark(b, &Ladder) }
