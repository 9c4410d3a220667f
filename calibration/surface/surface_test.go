package surface

import (
	"math"
	"testing"
)

// twoLines is a surface of one axis: "small" takes 1 µs and grows with n, and "large" takes 100 µs at every n. They cross at
// n = 100.
func twoLines() *Surface {
	return &Surface{
		Axes: []string{"n"}, Features: []Feature{{Kind: Logarithm, Weights: []float64{1}}},
		Scales: []float64{1}, Shapes: []int{1},
		Implementations: []Implementation{
			{Name: "small", Linear: []float64{math.Log(1e-6), math.Ln2}, Weights: []float64{0}},
			{Name: "large", Linear: []float64{math.Log(1e-4), 0}, Weights: []float64{0}},
		},
	}
}

func TestLinearPart(t *testing.T) {
	s := twoLines()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	p := NewPredictor(s)
	out := make([]float64, 2)
	for _, n := range []int{1, 10, 99, 101, 1 << 20} {
		p.Predict([]int{n}, out)
		if want := 1e-6 * float64(n); math.Abs(math.Exp(out[0])/want-1) > 1e-12 {
			t.Errorf("small at %d: %v s, want %v", n, math.Exp(out[0]), want)
		}
		if (out[0] < out[1]) != (n < 100) {
			t.Errorf("at %d: small %v, large %v", n, out[0], out[1])
		}
	}
}

// A weight adds its whole value at its own shape, and less at shapes farther away.
func TestKernelPart(t *testing.T) {
	s := twoLines()
	s.Shapes = []int{64}
	s.Implementations[1].Weights[0] = 0.5
	p := NewPredictor(s)
	last := math.Inf(1)
	for _, n := range []int{64, 128, 256, 4096, 1 << 30} {
		out := make([]float64, 2)
		p.Predict([]int{n}, out)
		added := out[1] - math.Log(1e-4)
		if n == 64 && math.Abs(added-0.5) > 1e-12 || added >= last || added < 0 {
			t.Errorf("at %d the weight adds %v, nearer %v", n, added, last)
		}
		last = added
	}
	if last > 1e-6 {
		t.Errorf("far away the weight adds %v", last)
	}
}

// If times of an implementation scatter, its expected time is longer than its median.
func TestRiskCounts(t *testing.T) {
	s := twoLines()
	s.Implementations[0].Risk = 0.4
	out := make([]float64, 2)
	NewPredictor(s).Predict([]int{1}, out)
	if want := math.Log(1e-6) + 0.4; math.Abs(out[0]-want) > 1e-12 {
		t.Errorf("predicted %v, want %v", out[0], want)
	}
}

// The log-time is that of the sum of the costs, and the linear part is added to it. An implementation without costs is
// predicted as before.
func TestCosts(t *testing.T) {
	s, before, out := twoLines(), make([]float64, 2), make([]float64, 2)
	NewPredictor(s).Predict([]int{1 << 20}, before)
	s.Implementations[0].Costs = []float64{3e-6, 2e-9}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	NewPredictor(s).Predict([]int{1 << 20}, out)
	if want := before[0] + math.Log(3e-6+2e-9*(1<<20)); math.Abs(out[0]-want) > 1e-12 || out[1] != before[1] {
		t.Errorf("predicted %v, want %v and %v", out, want, before[1])
	}
	s.Features[0].Weights[0] = 100 // the work is too much for a number
	NewPredictor(s).Predict([]int{1 << 20}, out)
	if !math.IsInf(out[0], 1) {
		t.Errorf("predicted %v for endless work", out[0])
	}
}

func TestPredictAllocatesNothing(t *testing.T) {
	s := twoLines()
	s.Implementations[0].Costs = []float64{3e-6, 2e-9}
	p, out, shape := NewPredictor(s), make([]float64, 2), []int{480}
	if n := testing.AllocsPerRun(100, func() { p.Predict(shape, out) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFeatures(t *testing.T) {
	of := func(kind Kind, prime int) Feature { return Feature{Kind: kind, Weights: []float64{1, 0}, Prime: prime} }
	sum := func(kind Kind) Feature { return Feature{Kind: kind, Weights: []float64{1, 1}, Offset: -1} }
	for _, c := range []struct {
		f     Feature
		shape []int
		want  float64
	}{
		{Feature{Kind: Logarithm, Weights: []float64{1, -1}}, []int{64, 4}, 4},
		{Feature{Kind: Logarithm, Weights: []float64{0, 0.5}}, []int{0, 16}, 2},
		{sum(Length), []int{30, 3}, 5},
		{sum(Padding), []int{30, 3}, 0},
		{sum(Padding), []int{16, 1}, 0},
		{sum(Padding), []int{16, 2}, math.Log2(32.0 / 17)},
		{of(Rough, 5), []int{480, 1}, 0},
		{of(Rough, 5), []int{441, 1}, 1},
		{of(Rough, 7), []int{441, 1}, 0},
		{of(Rough, 127), []int{127 * 8, 1}, 0},
		{of(Rough, 127), []int{131 * 8, 1}, 1},
		{of(Chirp, 5), []int{480, 1}, 0},
		{of(Chirp, 5), []int{7, 1}, math.Log2(16.0 / 13)},
		{of(Indivisible, 4), []int{6, 1}, 1},
		{of(Indivisible, 4), []int{8, 1}, 0},
		{of(Exponent, 3), []int{81, 1}, 1},
		{of(Exponent, 2), []int{81, 1}, 0},
		{of(Exponent, 2), []int{1, 1}, 0},
		{of(Largest, 0), []int{1 << 20, 1}, 1},
		{of(Largest, 0), []int{441, 1}, math.Log2(7)},
		{of(Largest, 0), []int{509 * 2, 1}, math.Log2(509)},
		{of(Largest, 0), []int{1, 1}, 0},
		{of(Largest, 0), []int{1<<31 - 1, 1}, 16},
	} {
		if got := c.f.Of(c.shape); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v of %v is %v, want %v", c.f, c.shape, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, spoil := range map[string]func(s *Surface){
		"no axes":            func(s *Surface) { s.Axes = nil },
		"no features":        func(s *Surface) { s.Features = nil },
		"too many features":  func(s *Surface) { s.Features = make([]Feature, MostFeatures+1) },
		"scales":             func(s *Surface) { s.Scales = nil },
		"scale that is none": func(s *Surface) { s.Scales[0] = math.NaN() },
		"no shapes":          func(s *Surface) { s.Shapes = nil },
		"half a shape":       func(s *Surface) { s.Axes = []string{"n", "m"} },
		"a shape of 0":       func(s *Surface) { s.Shapes[0] = 0 },
		"no implementations": func(s *Surface) { s.Implementations = nil },
		"one of them twice":  func(s *Surface) { s.Implementations[1].Name = "small" },
		"linear":             func(s *Surface) { s.Implementations[0].Linear = []float64{1} },
		"weights":            func(s *Surface) { s.Implementations[0].Weights = nil },
		"weight infinite":    func(s *Surface) { s.Implementations[0].Weights[0] = math.Inf(1) },
		"risk":               func(s *Surface) { s.Implementations[0].Risk = -1 },
		"half of the costs":  func(s *Surface) { s.Implementations[0].Costs = []float64{1} },
		"a cost below 0":     func(s *Surface) { s.Implementations[0].Costs = []float64{1, -1} },
		"no constant cost":   func(s *Surface) { s.Implementations[0].Costs = []float64{0, 1} },
		"cost that is none":  func(s *Surface) { s.Implementations[0].Costs = []float64{1, math.NaN()} },
		"endless cost":       func(s *Surface) { s.Implementations[0].Costs = []float64{1, math.Inf(1)} },
		"kind":               func(s *Surface) { s.Features[0].Kind = "cube" },
		"feature's weights":  func(s *Surface) { s.Features[0].Weights = nil },
		"prime":              func(s *Surface) { s.Features[0] = Feature{Kind: Rough, Weights: []float64{1}} },
	} {
		s := twoLines()
		spoil(s)
		if s.Check() == nil {
			t.Errorf("%s: passes", name)
		}
	}
}

// FuzzFeature tests that features are finite at every shape.
func FuzzFeature(f *testing.F) {
	f.Add(uint8(0), 480, 64, 1.0, 1.0, -1.0, 5)
	f.Fuzz(func(t *testing.T, kind uint8, n, m int, a, b, offset float64, prime int) {
		feature := Feature{Kind: kinds[int(kind)%len(kinds)], Weights: []float64{a, b}, Offset: offset, Prime: prime}
		if feature.check(2) != nil || n < 1 || m < 1 || math.Abs(a) > 1e3 || math.Abs(b) > 1e3 {
			return
		}
		if v := feature.Of([]int{n, m}); math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%v of %d, %d is %v", feature, n, m, v)
		}
	})
}
