package surfaces

import (
	"math"
	"testing"

	"crossover/calibration/surface"
)

// A few times on all cores are enough, because the time on one core tells most. Without these the implementation is left out.
func TestFewRatios(t *testing.T) {
	for _, timed := range []int{leastRatios - 1, leastRatios} {
		p := &Problem{Axes: axes, Features: features, Implementations: []string{"go", "go-parallel"}}
		for n := range 2 * leastPoints {
			rows, columns := 1<<n, 64+n
			serial := math.Log(1e-9 * float64(rows*columns))
			point := Point{Shape: []int{rows, columns}, LogSeconds: []float64{serial, math.NaN()}}
			if n >= 2*leastPoints-timed {
				point.LogSeconds[1] = serial - 0.6
			}
			p.Points = append(p.Points, point)
		}
		fit, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		of := fit.Predict([]int{1 << 12, 70})
		if timed < leastRatios {
			if len(of) != 1 {
				t.Errorf("%d predictions by %d ratios, want 1", len(of), timed)
			}
			continue
		}
		if len(of) != 2 {
			t.Fatalf("%d predictions by %d ratios, want 2", len(of), timed)
		}
		if ratio := of[1].LogSeconds - of[0].LogSeconds; math.Abs(ratio+0.6) > 0.2 {
			t.Errorf("the logarithm of the ratio is predicted to be %.2f, want -0.6", ratio)
		}
	}
}

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
