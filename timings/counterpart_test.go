package timings

import (
	"math"
	"slices"
	"testing"
)

func TestOnOne(t *testing.T) {
	for name, want := range map[string]string{"go": "go", "go-parallel": "go", "go-parallel/direct": "go/direct", "fftw/fft": "fftw/fft"} {
		if got := OnOne(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestCounterparts(t *testing.T) {
	names := []string{"go/fft", "go-parallel/direct", "go/direct", "openblas-parallel"}
	if got, want := Counterparts(names), []int{-1, 2, -1, -1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The time of the counterpart stands for an implementation that was not timed in any block, and for no other one.
func TestTimedAs(t *testing.T) {
	none := math.NaN()
	s := &Set{Implementations: []string{"go", "go-parallel", "fftw-parallel"}}
	for name, c := range map[string]struct {
		seconds [][]float64
		want    []int
	}{
		"all were timed":             {[][]float64{{1, 2, 3}}, []int{0, 1, 2}},
		"the counterpart stands":     {[][]float64{{1, none, 3}}, []int{0, 0, 2}},
		"it was timed in some block": {[][]float64{{1, none, 3}, {1, 2, 3}}, []int{0, 1, 2}},
		"there is no counterpart":    {[][]float64{{1, 2, none}}, []int{0, 1, -1}},
		"neither was timed":          {[][]float64{{none, none, 3}}, []int{-1, -1, 2}},
		"no block":                   {nil, []int{-1, -1, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			var blocks []Block
			for _, seconds := range c.seconds {
				b := Block{Seconds: seconds}
				for _, x := range seconds {
					b.Iterations = append(b.Iterations, map[bool]int{true: 1}[x == x])
				}
				blocks = append(blocks, b)
			}
			for i, want := range c.want {
				if got := s.TimedAs(blocks, i); got != want {
					t.Errorf("%s: %d, want %d", s.Implementations[i], got, want)
				}
			}
		})
	}
}

// Where a call is divided is the same in every run, and the first run that knows it speaks for all.
func TestShareDivides(t *testing.T) {
	sets := []*Set{{}, {Divides: map[string]int{"go-parallel": 64}}, {Divides: map[string]int{"go-parallel": 65, "fftw-parallel": 8}}}
	for n, s := range ShareDivides(sets) {
		if s.Divides["go-parallel"] != 64 || s.Divides["fftw-parallel"] != 8 {
			t.Errorf("run %d divides %v", n, s.Divides)
		}
	}
	if sets[0].Divides != nil || sets[2].Divides["go-parallel"] != 65 {
		t.Error("the sets themselves have changed")
	}
}
