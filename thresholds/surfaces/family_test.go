package surfaces

import (
	"math"
	"testing"

	"crossover/calibration/surface"
)

// Lengths that are slow for a transform are predicted to be slow for its inverse, which was timed at few lengths and takes longer
// by another factor for each implementation. What the operation's own points say is not lost.
func TestFamily(t *testing.T) {
	names := []string{"go/a", "go-parallel/a", "cuda"}
	truth := func(shape []int) []float64 {
		slow := math.Log(1e-6+1e-9*float64(shape[0]*shape[1])) + 0.8*math.Sin(1.5*math.Log2(float64(shape[1])))
		return []float64{slow, slow - 0.5, math.Log(2e-5)}
	}
	factors := []float64{0.3, -0.2, 0.1} // of the relative, as logarithms
	p := &Problem{Axes: axes, Features: features, Implementations: names}
	for columns := 1; columns <= 4096; columns *= 2 {
		for rows := 1; rows <= 256; rows *= 4 {
			shape := []int{rows, columns}
			if columns == 1 || columns == 4096 {
				p.Points = append(p.Points, Point{Shape: shape, LogSeconds: truth(shape)})
			}
			relative := truth(shape)
			for i, f := range factors {
				relative[i] += f
			}
			p.Points = append(p.Points, Point{Shape: shape, LogSeconds: relative, Relative: 1})
		}
	}
	fit, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	out, predictor := make([]float64, 3), surface.NewPredictor(fit.Surface)
	for columns := 1; columns <= 4096; columns *= 2 {
		shape := []int{16, columns}
		predictor.Predict(shape, out)
		predictions := fit.Predict(shape)
		for i, want := range truth(shape) {
			if off := out[i] - want; math.Abs(off) > 0.1 {
				t.Errorf("%s at %v: predicted %.2f above the truth", names[i], shape, off)
			}
			if off := predictions[i].LogSeconds - out[i]; math.Abs(off) > 1e-6 {
				t.Errorf("%s at %v: the fit and its surface differ by %g", names[i], shape, off)
			}
		}
	}
}

// An implementation that was timed at too few points of the operation itself is not predicted, however many its relatives have.
func TestFamilyAlone(t *testing.T) {
	p := &Problem{Axes: axes, Features: features, Implementations: []string{"a", "b"}}
	for n := range 40 {
		point := Point{Shape: []int{1 + n, 7}, LogSeconds: []float64{-10, -9}, Relative: min(n/10, 1)}
		if n > 4 && n < 10 {
			point.LogSeconds[1] = math.NaN()
		}
		p.Points = append(p.Points, point)
	}
	fit, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	if all := fit.Surface.Implementations; len(all) != 1 || all[0].Name != "a" {
		t.Errorf("predicted: %+v", all)
	}
}

// What other operations' times scatter by is no risk of the operation.
func TestFamilyRisk(t *testing.T) {
	p := &Problem{Axes: axes, Features: features, Implementations: []string{"a"}}
	for n := range 60 {
		point := Point{Shape: []int{1 + n, 7}, LogSeconds: []float64{-10}, Relative: n % 2}
		if point.Relative == 1 && n*n%7 == 1 {
			point.LogSeconds[0] += 1.5
		}
		p.Points = append(p.Points, point)
	}
	fit, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	if risk := fit.Surface.Implementations[0].Risk; risk > 0.05 {
		t.Errorf("a risk of %.2f of times that do not scatter", risk)
	}
}

// A time far above its prediction is kept if the operation has hardly enough times of its own. Its relatives' times do not count
// as such.
func TestFamilyIsNotTrimmedAway(t *testing.T) {
	p := &Problem{Axes: axes, Features: features, Implementations: []string{"a"}}
	for n := range 40 {
		point := Point{Shape: []int{1 + n, 7}, LogSeconds: []float64{-10}, Relative: min(n/leastPoints, 1)}
		if n == 3 {
			point.LogSeconds[0] += 2 * mostError
		}
		p.Points = append(p.Points, point)
	}
	if fit, err := New(p); err != nil || len(fit.Surface.Implementations) != 1 {
		t.Errorf("no fit of %d own points: %v", leastPoints, err)
	}
}
