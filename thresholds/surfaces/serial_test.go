package surfaces

import (
	"math"
	"testing"

	"crossover/calibration/surface"
)

// onAll returns a problem with times on one core at some shapes, and with times on all cores, 0.6 less in log-time, at the last ones.
func onAll(onOne, onAll int) *Problem {
	p := &Problem{Axes: axes, Features: features, Implementations: []string{"go", "go-parallel"}}
	for n := range onOne {
		rows, columns := 1<<n, 64+n
		serial := math.Log(1e-9 * float64(rows*columns))
		point := Point{Shape: []int{rows, columns}, LogSeconds: []float64{serial, math.NaN()}}
		if n >= onOne-onAll {
			point.LogSeconds[1] = serial - 0.6
		}
		p.Points = append(p.Points, point)
	}
	return p
}

// predicted returns the number of predicted implementations of a problem.
func predicted(p *Problem) int {
	fit, err := New(p)
	if err != nil {
		return 0
	}
	return len(fit.Surface.Implementations)
}

// A few times on all cores are enough if the times on one core are predicted. Those of another operation do not count.
func TestFewOnAll(t *testing.T) {
	fit, err := New(onAll(2*leastPoints, leastOnAll))
	if err != nil {
		t.Fatal(err)
	}
	of := fit.Predict([]int{1 << 12, 70})
	if len(of) != 2 {
		t.Fatalf("%d predictions, want 2", len(of))
	}
	if ratio := of[1].LogSeconds - of[0].LogSeconds; math.Abs(ratio+0.6) > 0.2 {
		t.Errorf("the logarithm of the ratio is predicted to be %.2f, want -0.6", ratio)
	}
	relatives := onAll(2*leastPoints, leastOnAll)
	relatives.Points[len(relatives.Points)-1].Relative = 1
	for name, c := range map[string]struct {
		p    *Problem
		want int
	}{
		"one time too few":                       {onAll(2*leastPoints, leastOnAll-1), 1},
		"one of them is of another operation":    {relatives, 1},
		"too few times on one core":              {onAll(leastPoints-1, leastOnAll), 0},
		"just enough times on one core":          {onAll(leastPoints, leastOnAll), 2},
		"enough times on all cores, few on one":  {onAll(leastPoints-1, leastPoints-1), 0},
		"as many times on all cores as on one":   {onAll(leastPoints, leastPoints), 2},
		"more than enough times on both of them": {onAll(3*leastPoints, 2*leastPoints), 2},
	} {
		if got := predicted(c.p); got != c.want {
			t.Errorf("%s: %d implementations are predicted, want %d", name, got, c.want)
		}
	}
}

// A time that is left out leaves an implementation on all cores enough to be predicted.
func TestFewOnAllAreNotTrimmedAway(t *testing.T) {
	p := onAll(2*leastPoints, leastOnAll)
	p.Points[len(p.Points)-1].LogSeconds[1] += 3 * mostError
	if got := predicted(p); got != 2 {
		t.Errorf("%d implementations are predicted, want 2", got)
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
