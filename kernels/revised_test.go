package kernels

import (
	"slices"
	"testing"

	"crossover/pool"
)

// All implementations of makers have a revision, or those that are named, and what runs on the pool has the revisions of the
// pool too. The case of a sweep has them.
func TestRevised(t *testing.T) {
	loop := LoopNamed("go", "go-parallel", func(struct{}, int) (Loop, error) { return Loop{}, nil })
	for want, by := range map[[2]int]Makers[struct{}]{
		{0, pool.Revision}:     loop,
		{2, pool.Revision + 2}: Revised(2, loop),
		{0, pool.Revision + 3}: Revised(3, loop, "go-parallel"),
		{1, pool.Revision}:     RevisedAt(1, small, loop, "go"),
	} {
		op := &Op[struct{}]{
			Name: "none", Axes: []Axis{{Name: "n", Unit: "elements", Min: 1, Max: 64}},
			Lines: []Line{{Axis: Axis{Name: "n", Unit: "elements", Min: 1, Max: 64}, At: func(size int) Shape { return Shape{size} }}},
			By:    []Makers[struct{}]{by},
		}
		c := op.Cases(&Backends{})[0]
		if got := [2]int{c.Implementations[0].Revision, c.Implementations[1].Revision}; got != want {
			t.Errorf("revisions %v, want %v", got, want)
		}
	}
}

// A change on machines with many processors leaves what was measured on others. A machine of which that is not known may have many.
func TestRevisedOn(t *testing.T) {
	line := Line{Axis: Axis{Name: "n", Unit: "elements", Min: 1, Max: 64}, At: func(size int) Shape { return Shape{size} }}
	op := &Op[struct{}]{Name: "none", Axes: []Axis{line.Axis}, Lines: []Line{line}, By: []Makers[struct{}]{
		RevisedOn(1, func(s Shape, processors int) bool { return processors >= 4 && s[0] <= min(8, processors) },
			Named("go", func(*Backends, struct{}) (Runner, error) { return nil, nil })),
	}}
	c := op.Cases(&Backends{})[0]
	for processors, want := range map[int][]int{0: {9}, 1: {4, 5, 8, 9}, 3: {4, 5, 8, 9}, 4: {5, 8, 9}, 5: {8, 9}, 16: {9}} {
		var got []int
		for _, size := range []int{4, 5, 8, 9} {
			if c.Holds("go", 0, size, processors) {
				got = append(got, size)
			}
			if c.HoldsAt("go", 0, []int{size}, processors) != c.Holds("go", 0, size, processors) || !c.Holds("go", 1, size, processors) {
				t.Errorf("%d processors, size %d: the shape says something else, or the present revision does not hold", processors, size)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d processors: times before the change hold at %v, want %v", processors, got, want)
		}
	}
}

func small(s Shape) bool { return s[0] <= 8 }

// A change of some shapes leaves what was measured at others. A later change of all shapes leaves nothing, and one of other shapes
// leaves what neither concerns.
func TestRevisedAt(t *testing.T) {
	one := Named("go", func(*Backends, struct{}) (Runner, error) { return nil, nil })
	odd := func(s Shape) bool { return s[0]%2 == 1 }
	for name, test := range map[string]struct {
		by    Makers[struct{}]
		holds map[int][]int // sizes among 4, 9 and 10 by revisions
	}{
		"some":            {RevisedAt(4, small, Revised(3, one)), map[int][]int{4: {4, 9, 10}, 3: {9, 10}, 2: nil, 5: nil}},
		"then all":        {Revised(1, RevisedAt(4, small, Revised(3, one))), map[int][]int{5: {4, 9, 10}, 4: nil, 3: nil}},
		"then others":     {RevisedAt(5, odd, RevisedAt(4, small, Revised(3, one))), map[int][]int{4: {4, 10}, 3: {10}, 2: nil}},
		"all":             {Revised(1, one), map[int][]int{1: {4, 9, 10}, 0: nil}},
		"of another name": {RevisedAt(4, small, Revised(3, one), "fftw"), map[int][]int{3: {4, 9, 10}, 2: nil}},
	} {
		line := Line{Axis: Axis{Name: "n", Unit: "elements", Min: 1, Max: 64}, At: func(size int) Shape { return Shape{size} }}
		op := &Op[struct{}]{Name: "none", Axes: []Axis{line.Axis}, Lines: []Line{line}, By: []Makers[struct{}]{test.by}}
		c := op.Cases(&Backends{})[0]
		for revision, want := range test.holds {
			var got []int
			for _, size := range []int{4, 9, 10} {
				if c.Holds("go", revision, size, 2) {
					got = append(got, size)
				}
				if c.HoldsAt("go", revision, []int{size}, 2) != c.Holds("go", revision, size, 2) {
					t.Errorf("%s: revision %d holds at size %d and not at its shape, or the other way round", name, revision, size)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: revision %d holds at %v, want %v", name, revision, got, want)
			}
		}
		if c.Holds("fftw", 1, 9, 2) || c.HoldsAt("go", 1, make([]int, 99), 2) {
			t.Errorf("%s: something holds of which nothing is known", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong number of the revision: no panic")
		}
	}()
	RevisedAt(3, small, Revised(3, one))(&Backends{}, &Op[struct{}]{})
}
