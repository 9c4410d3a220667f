package rules

import (
	"math"
	"testing"

	"crossover/samples"
)

// set makes samples of two implementations without noise: ten blocks a size.
func set(sizes []int, a, b func(n float64) float64) *samples.Set {
	s := &samples.Set{Case: "c", Implementations: []string{"a", "b"}}
	for _, size := range sizes {
		n := float64(size)
		for range 10 {
			s.Blocks = append(s.Blocks, samples.Block{Size: size, Seconds: []float64{a(n), b(n)}, Iterations: []int{1, 1}, Twin: -1})
		}
	}
	return s
}

var sizes = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

func linear(fixed, each float64) func(float64) float64 {
	return func(n float64) float64 { return fixed + each*n }
}

// switchOf returns the size from which a choice takes the second implementation, 0 where it never does.
func switchOf(c Choice) int {
	for k, i := range c.Implementation {
		if i == 1 {
			return c.From[k]
		}
	}
	return 0
}

func TestRulesAgreeOnAPlainCrossover(t *testing.T) {
	plain := set(sizes, linear(1, 1), linear(50, 0.1)) // equal at 54
	for _, r := range append(Others(), Ours()) {
		got := switchOf(r.Choose(plain))
		switch r.Name {
		case "always one":
			continue
		case "best per fixed bucket":
			if got != 20 && got != 100 {
				t.Errorf("%s switches at %d, want the edge of a bucket", r.Name, got)
			}
		case "geometric mean, 5 % band":
			if got < 32 || got > 128 {
				t.Errorf("%s switches at %d, want about 54", r.Name, got)
			}
		default:
			if got < 33 || got > 64 {
				t.Errorf("%s switches at %d, want 33 to 64", r.Name, got)
			}
		}
	}
}

// Each rule is known by what it makes of a lucky win at a small size and of one loss at a great one.
func TestRulesDifferWhereTheirProgramsDo(t *testing.T) {
	b := func(n float64) float64 {
		switch n {
		case 4: // one lucky win
			return 0.9 * (1 + n)
		case 512: // one bad size
			return 3 * (1 + n)
		}
		return 50 + 0.1*n
	}
	odd := set(sizes, linear(1, 1), b)
	for name, want := range map[string]int{
		"first win":                  4,
		"wins for all larger sizes":  1024,
		"fewest misclassified sizes": 64,
	} {
		found := false
		for _, r := range Others() {
			if r.Name != name {
				continue
			}
			found = true
			if got := switchOf(r.Choose(odd)); got != want {
				t.Errorf("%s switches at %d, want %d", name, got, want)
			}
		}
		if !found {
			t.Errorf("there is no rule %q", name)
		}
	}
}

func TestChoiceAt(t *testing.T) {
	c := Choice{From: []int{10, 100}, Implementation: []int{3, 5}}
	for size, want := range map[int]int{1: 3, 10: 3, 99: 3, 100: 5, 5000: 5} {
		if got := c.At(size); got != want {
			t.Errorf("at %d it chooses %d, want %d", size, got, want)
		}
	}
}

func TestHeldOut(t *testing.T) {
	s := set(sizes, linear(1, 1), linear(50, 0.1))
	always := func(i int) Rule {
		return Rule{Name: "test", Choose: func(*samples.Set) Choice { return Choice{[]int{1}, []int{i}} }}
	}
	score, ok := HeldOut(s, always(1))
	if !ok || score.Sizes != len(sizes)-2 {
		t.Fatalf("%+v, %v: want every size but the ends", score, ok)
	}
	// The worst held-out size is 2: 50.2 instead of 3.
	if math.Abs(score.Worst-(50.2/3-1)) > 1e-9 {
		t.Errorf("worst is %v, want %v", score.Worst, 50.2/3-1)
	}
	if score, _ := HeldOut(s, Ours()); score.Regret > 0.02 {
		t.Errorf("our rule regrets %v", score.Regret)
	}
	if _, ok := HeldOut(set([]int{1, 2, 3}, linear(1, 1), linear(2, 1)), always(0)); ok {
		t.Error("three sizes were enough")
	}
	if _, ok := HeldOut(s, Rule{Choose: func(*samples.Set) Choice { return Choice{} }}); ok {
		t.Error("a rule without a choice got a score")
	}
}
