package stream

import (
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/songs"
)

// Stages are tried alone on the processor, and neighbours together on all cores and on a GPU.
func TestTrials(t *testing.T) {
	g := &songs.Graph{Stages: []songs.Stage{{Name: "a", Reads: []string{"x", "c.before", "a.before"}}, {Name: "b", Reads: []string{"a"}}, {Name: "c", Reads: []string{"b.after", "c.before"}}},
		Derived: []songs.Derived{{Name: "c.before", Of: "c.after"}, {Name: "a.before", Of: "c"}}}
	one := kernels.Implementation{Name: "go", Processor: kernels.CPU}
	pooled := kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU, Cores: kernels.AllCores}
	cuda, metal := kernels.Implementation{Name: "cuda", Processor: kernels.GPU}, kernels.Implementation{Name: "metal", Processor: kernels.GPU}
	var got []string
	for _, trial := range trialsOf(g, [][]kernels.Implementation{{one, pooled, cuda}, {one, pooled, cuda, metal}, {one, metal}}, songs.Route{"go", "go", "go"}) {
		got = append(got, trial.name)
		if trial.onGPU != (trial.implementations[0] == "cuda" || trial.implementations[0] == "metal") {
			t.Errorf("%+v", trial)
		}
	}
	if want := []string{"a, go-parallel", "b, go-parallel", "a and b, go-parallel and go-parallel", "a and b, cuda and cuda",
		"b and c, metal and metal"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The trials that gain most are made, each stage once. A pair must gain more than its stages alone.
func TestFastestTrials(t *testing.T) {
	one := func(i int, name string, seconds float64) trial {
		return trial{name: name, stages: []int{i}, implementations: []string{name}, seconds: seconds}
	}
	two := func(i int, name string, seconds float64) trial {
		return trial{name: name, stages: []int{i, i + 1}, implementations: []string{name, name}, seconds: seconds}
	}
	for name, test := range map[string]struct {
		trials []trial
		want   []string
	}{
		"nothing":              {nil, nil},
		"within the margin":    {[]trial{one(0, "a", 98), two(0, "ab", 97.5)}, nil},
		"not timed":            {[]trial{one(0, "a", 0)}, nil},
		"each stage":           {[]trial{one(0, "a", 90), one(0, "A", 80), one(0, "b", 85), one(1, "c", 95)}, []string{"A", "c"}},
		"a pair alone":         {[]trial{one(0, "a", 99), one(1, "b", 105), two(0, "ab", 60)}, []string{"ab"}},
		"a pair no better":     {[]trial{one(0, "a", 80), one(1, "b", 80), two(0, "ab", 62)}, []string{"a", "b"}},
		"a pair that is":       {[]trial{one(0, "a", 80), one(1, "b", 80), two(0, "ab", 50)}, []string{"ab"}},
		"pairs with one stage": {[]trial{two(0, "ab", 70), two(1, "bc", 60), one(0, "a", 90)}, []string{"bc", "a"}},
		"two pairs":            {[]trial{two(0, "ab", 70), two(2, "cd", 60)}, []string{"cd", "ab"}},
	} {
		var got []string
		for _, chosen := range fastest(test.trials, 100) {
			got = append(got, chosen.name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	pair := two(1, "both", 0)
	if got := pair.on(songs.Route{"a", "b", "c"}); !slices.Equal(got, songs.Route{"a", "both", "both"}) {
		t.Errorf("%q", got)
	}
}
