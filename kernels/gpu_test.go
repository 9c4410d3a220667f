package kernels_test

import (
	"errors"
	"slices"
	"testing"

	"crossover/kernels"
)

// sized is a plan that says when it is closed.
type sized struct {
	size   int
	closed *[]int
}

func (s sized) Close() { *s.closed = append(*s.closed, s.size) }

func TestPlans(t *testing.T) {
	var plans kernels.PlansBy[int, sized]
	var built, closed []int
	build := func(size int) (sized, error) {
		if size < 0 {
			return sized{}, errors.New("no such size")
		}
		built = append(built, size)
		return sized{size, &closed}, nil
	}
	for _, size := range []int{1, 2, 1, 3, 4, 1, 5, 2, 1} {
		p, err := plans.For(size, build)
		if err != nil || p.size != size {
			t.Fatalf("the plan for %d is for %d, %v", size, p.size, err)
		}
	}
	// 5 replaces 2, which was not used for the longest time. Then 2 replaces 3.
	if want := []int{1, 2, 3, 4, 5, 2}; !slices.Equal(built, want) {
		t.Errorf("built %v, want %v", built, want)
	}
	if want := []int{2, 3}; !slices.Equal(closed, want) {
		t.Errorf("closed %v, want %v", closed, want)
	}
	if _, err := plans.For(-1, build); err == nil || len(closed) != 2 {
		t.Errorf("a plan that cannot be built: error %v, closed %v", err, closed)
	}
	hit := func() {
		if _, err := plans.For(4, build); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, hit); n != 0 {
		t.Errorf("a plan that is there costs %v allocations", n)
	}
	plans.Close()
	if slices.Sort(closed); !slices.Equal(closed, []int{1, 2, 2, 3, 4, 5}) {
		t.Errorf("closed %v, want every one once", closed)
	}
}
