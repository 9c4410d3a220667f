package kernels

import (
	"testing"

	"crossover/pool"
)

// A loop that does not say how many rows take a microsecond is divided as if one row did.
func TestLoopWithoutPerMicrosecond(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	l := Loop{}
	for rows, want := range map[int]int{3: 3, 4: 2} {
		if got := l.grain(&Shape{}, rows, p); got != want {
			t.Errorf("%d rows: grain %d, want %d", rows, got, want)
		}
	}
}

// Calls that run on the pool tell how often it divided a loop.
func TestCallsTellWhetherTheyAreDivided(t *testing.T) {
	b := &Backends{Pool: pool.New(2)}
	defer b.Pool.Close()
	const longLoop = 5
	axes := []Axis{{Name: "n", Unit: "rows", Min: 1, Max: 10}}
	op := Op[struct{}]{
		Name: "loop", Axes: axes, Lines: []Line{Along(axes, "n")},
		Tolerance: func(Shape) float64 { return 1e-6 },
		Params:    func(Shape) struct{} { return struct{}{} },
		IO:        func(_ struct{}, s Shape) []Tensor { return []Tensor{{Name: "y", Role: Out, Dims: []int{s[0]}}} },
		Work:      func(s Shape, _ string) Work { return Work{Bytes: 4 * float64(s[0])} },
		Reference: func(_ struct{}, s Shape, _ *Args) []float64 { return make([]float64, s[0]) },
		By: []Makers[struct{}]{OverRows(func(struct{}, int) (Loop, error) {
			return Loop{
				Rows: func(s *Shape) int { return s[0] },
				Do:   func(int, *Shape, *Args, int, int) {},
			}, nil
		})},
	}
	for _, n := range []int{longLoop - 2, longLoop} {
		p := op.Problem(b, Shape{n}, Caller, Input{})
		for _, name := range []string{"go", "go-parallel"} {
			c, err := p.Bind(name)
			if err != nil {
				t.Fatal(err)
			}
			if (c.Divided != nil) != (name == "go-parallel") {
				t.Fatalf("%s: tells %v", name, c.Divided != nil)
			}
			if c.Divided == nil {
				continue
			}
			before := c.Divided()
			if err := c.Run(); err != nil {
				t.Fatal(err)
			}
			if divided := c.Divided() > before; divided != (n == longLoop) {
				t.Errorf("%d rows: divided is %v", n, divided)
			}
		}
	}
}

// Rows of few values take some time too. FewInRow is true of all shapes that this divides otherwise than by values alone.
func TestRowsPerMicrosecond(t *testing.T) {
	for columns, want := range map[int]float64{1: 16, 255: 16, 256: 16, 512: 8, 8192: 0.5} {
		if got := RowsPerMicrosecond(columns, 4096); got != want {
			t.Errorf("%g rows of %d values in a microsecond, want %g", got, columns, want)
		}
	}
	changed := 0
	for _, workers := range []int{2, 16} {
		p := pool.New(workers)
		for _, columns := range []int{1, 8, 31, 64, 200, 255, 256, 300, 5000} {
			for _, rows := range []int{1, 2, 15, 63, 64, 65, 100, 500, 4097, 70_000} {
				before, now := p.Grain(rows, 4096/float64(columns), 1), p.Grain(rows, RowsPerMicrosecond(columns, 4096), 1)
				if before == now {
					continue
				}
				if changed++; !FewInRow(rows, columns, 4096) {
					t.Errorf("%d rows of %d values are divided otherwise, and that is not said", rows, columns)
				}
			}
		}
		p.Close()
	}
	if changed == 0 || FewInRow(63, 8, 4096) || FewInRow(500, 256, 4096) {
		t.Errorf("%d shapes are divided otherwise, and it is said of others, too", changed)
	}
}
