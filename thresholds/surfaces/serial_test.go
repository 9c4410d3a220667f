package surfaces

import (
	"math"
	"testing"

	"crossover/calibration/surface"
)

// A library that is slow at some lengths on one core is predicted to be slow there on all cores too, where only the
// implementation on one core was timed.
func TestParallelFollowsSerial(t *testing.T) {
	p := &Problem{Axes: axes, Features: features, Implementations: []string{"go/a", "go-parallel/a", "cuda"}}
	truth := func(shape []int) float64 {
		return math.Log(1e-6+1e-9*float64(shape[0]*shape[1])) + 0.8*math.Sin(1.5*math.Log2(float64(shape[1])))
	}
	for rows := 1; rows <= 256; rows *= 4 {
		for columns := 1; columns <= 4096; columns *= 2 {
			shape := []int{rows, columns}
			point := Point{Shape: shape, LogSeconds: []float64{truth(shape), truth(shape) + 0.3, math.Log(2e-5)}}
			if columns > 64 {
				point.LogSeconds[1] = math.NaN()
			}
			p.Points = append(p.Points, point)
		}
	}
	fit, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 3)
	predictor := surface.NewPredictor(fit.Surface)
	for columns := 128; columns <= 4096; columns *= 2 {
		shape := []int{16, columns}
		predictor.Predict(shape, out)
		if off := out[1] - truth(shape) - 0.3; math.Abs(off) > 0.2 {
			t.Errorf("%v: predicted %.2f above the truth", shape, off)
		}
	}
	for _, point := range p.Points {
		predictor.Predict(point.Shape, out)
		if off := out[1] - point.LogSeconds[1]; math.Abs(off) > 0.05 {
			t.Errorf("%v: predicted %.2f above the time that was fitted", point.Shape, off)
		}
	}
}
