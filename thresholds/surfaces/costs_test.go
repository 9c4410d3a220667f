package surfaces

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/calibration/surface"
)

// costly returns a problem of two implementations that cost a constant and a time for each unit of work, timed at some random
// shapes. The second one is timed at the first few shapes only.
func costly(shapes, few int) *Problem {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &Problem{Axes: axes, Features: features, Implementations: []string{"one", "two"}}
	for k := range shapes {
		shape := []int{int(math.Exp2(10 * rng.Float64())), int(math.Exp2(10 * rng.Float64()))}
		times := costlyTimes(shape)
		if k >= few {
			times[1] = math.NaN()
		}
		p.Points = append(p.Points, Point{Shape: shape, LogSeconds: times})
	}
	return p
}

func costlyTimes(shape []int) []float64 {
	work := float64(shape[0] * shape[1])
	return []float64{math.Log(2e-6 + 3e-9*work), math.Log(4e-6 + 1e-9*work)}
}

// costsOf returns the cost models of both implementations of a problem.
func costsOf(p *Problem) [][]float64 {
	var z [][]float64
	for _, point := range p.Points {
		var features []float64
		for k := range p.Features {
			features = append(features, p.Features[k].Of(point.Shape))
		}
		z = append(z, features)
	}
	return costs(p, []int{0, 1}, z)
}

// A cost model finds the costs of times that follow one. Axes alone have no costs.
func TestCosts(t *testing.T) {
	for i, of := range costsOf(costly(200, 200)) {
		want := [][2]float64{{2e-6, 3e-9}, {4e-6, 1e-9}}[i]
		if math.Abs(of[0]/want[0]-1) > 0.02 || math.Abs(of[3]/want[1]-1) > 0.02 || of[1] != 0 || of[2] != 0 {
			t.Errorf("costs %v, want %v and nothing for the axes", of, want)
		}
	}
}

// An axis has costs if it is declared once more, and other functions of it have none.
func TestCostsOfSteps(t *testing.T) {
	p := costly(200, 200)
	p.Features = append(slices.Clone(p.Features), surface.Feature{Kind: surface.Logarithm, Weights: []float64{0, 1}},
		surface.Feature{Kind: surface.Logarithm, Weights: []float64{0, 2}}, surface.Feature{Kind: surface.Rough, Prime: 2, Weights: []float64{0, 1}})
	const step = 2e-7
	for _, point := range p.Points {
		for i, log := range point.LogSeconds {
			point.LogSeconds[i] = math.Log(math.Exp(log) + step*float64(point.Shape[1]))
		}
	}
	for _, of := range costsOf(p) {
		if got := of[1+len(features)]; math.Abs(got/step-1) > 0.05 {
			t.Errorf("a step costs %v, want %v", got, step)
		}
		if of[1] != 0 || of[2] != 0 || of[len(of)-2] != 0 || of[len(of)-1] != 0 {
			t.Errorf("costs %v, want nothing for the axes, for a square and for the rough length", of)
		}
	}
}

// An implementation that was timed at six small shapes is predicted to grow with the work as the other one does, far outside
// of its shapes.
func TestCostsOfFewShapes(t *testing.T) {
	p := costly(60, 60)
	for k := range p.Points {
		if k%10 > 0 || p.Points[k].Shape[0]*p.Points[k].Shape[1] > 1<<14 {
			p.Points[k].LogSeconds[1] = math.NaN()
		}
	}
	for k := range leastPoints {
		p.Points[k].Shape = []int{1 << k, 16}
		p.Points[k].LogSeconds = costlyTimes(p.Points[k].Shape)
	}
	fit, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 2)
	shape := []int{4096, 4096}
	surface.NewPredictor(fit.Surface).Predict(shape, out)
	for i, want := range costlyTimes(shape) {
		if off := math.Abs(out[i] - want); off > []float64{0.1, 1.2}[i] {
			t.Errorf("implementation %d is off by a factor of %.2f", i, math.Exp(off))
		}
	}
}

// Points at which nothing was timed, and times that are all equal, do no harm.
func TestCostsOfOddTimes(t *testing.T) {
	p := costly(12, 12)
	for k := range p.Points {
		p.Points[k].LogSeconds = []float64{-10, -10}
	}
	p.Points[3].LogSeconds = []float64{math.NaN(), math.NaN()}
	for _, of := range costsOf(p) {
		for _, c := range of {
			if math.IsNaN(c) || math.IsInf(c, 0) || c < 0 {
				t.Fatalf("costs %v", of)
			}
		}
		if of[0] <= 0 {
			t.Errorf("a call without work costs %v s", of[0])
		}
	}
}
