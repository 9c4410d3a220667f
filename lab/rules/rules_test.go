package rules

import (
	"math"
	"slices"
	"testing"

	"crossover/timings"
)

// set returns samples without noise, ten blocks for each size, of implementations with the given times. A time of 0 s means
// that the implementation was not timed at that size.
func set(sizes []int, seconds ...func(n float64) float64) *timings.Set {
	s := &timings.Set{Case: "c", Implementations: []string{"a", "b", "c"}[:len(seconds)]}
	for _, size := range sizes {
		for range 10 {
			b := timings.Block{Size: size, Twin: -1}
			for _, time := range seconds {
				b.Seconds = append(b.Seconds, time(float64(size)))
				b.Iterations = append(b.Iterations, 1)
			}
			s.Blocks = append(s.Blocks, b)
		}
	}
	return s
}

var sizes = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

func linear(fixed, each float64) func(float64) float64 {
	return func(n float64) float64 { return fixed + each*n }
}

// switchOf returns the size from which a choice takes the second implementation, or 0 if it never does.
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
	for _, r := range append(Others(), Ours(), Obvious()) {
		got := switchOf(r.Choose(plain))
		switch r.Name {
		case "always one":
			continue
		case "best per fixed bucket":
			if got != 21 && got != 101 {
				t.Errorf("%s switches at %d, want the edge of a bucket", r.Name, got)
			}
		default:
			if got < 33 || got > 64 {
				t.Errorf("%s switches at %d, want 33 to 64", r.Name, got)
			}
		}
	}
}

// A lucky win at a small size and one loss at a great size show the differences between the rules.
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
		"wins for all larger sizes":  64, // a single loss is ignored
		"fewest misclassified sizes": 64,
		"least summed loss":          64,
		"least geometric mean":       64,
	} {
		if got := switchOf(rule(t, name).Choose(odd)); got != want {
			t.Errorf("%s switches at %d, want %d", name, got, want)
		}
	}
}

func rule(t *testing.T, name string) Rule {
	t.Helper()
	for _, r := range Others() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no rule %q", name)
	return Rule{}
}

// These details of the rules come from the programs' sources, not from the rules' names. The second implementation
// takes ratio(n) times as long as the first.
func TestRulesFollowTheirSources(t *testing.T) {
	for _, c := range []struct {
		about, rule string
		ratio       func(n float64) float64
		want        int
	}{
		{"two losses in a row start over", "wins for all larger sizes", func(n float64) float64 {
			if n < 64 || n == 256 || n == 512 {
				return 2
			}
			return 0.5
		}, 1024},
		{"of equally good switches the last", "fewest misclassified sizes", func(n float64) float64 {
			if n < 64 || n == 128 {
				return 2
			}
			return 0.5
		}, 256},
		{"a loss is at most the whole time", "least summed loss", func(n float64) float64 {
			switch {
			case n < 16:
				return 2
			case n == 256:
				return 100
			}
			return 0.5
		}, 16},
		{"the best, whatever is within 5 %", "least geometric mean", func(n float64) float64 {
			if n < 16 {
				return 1.05
			}
			return 1 / 1.1
		}, 16},
		{"the one that wins between has a chance", "least summed loss", func(n float64) float64 {
			switch {
			case n < 16:
				return 2
			case n > 256:
				return 1.1
			}
			return 0.2
		}, 16},
		{"a bucket holds its upper edge", "best per fixed bucket", func(n float64) float64 {
			if n <= 100 {
				return 2
			}
			return 0.5
		}, 101},
		{"speeds are averaged, not slowdowns", "best per fixed bucket", func(n float64) float64 {
			switch n {
			case 128, 200:
				return 0.1
			case 256:
				return 1000
			}
			return 2
		}, 101},
	} {
		at := sizes
		if c.rule == "best per fixed bucket" {
			at = []int{1, 10, 20, 50, 100, 128, 200, 256, 1000}
		}
		both := set(at, linear(1, 1), func(n float64) float64 { return c.ratio(n) * (1 + n) })
		if got := switchOf(rule(t, c.rule).Choose(both)); got != c.want {
			t.Errorf("%s, %s: switches at %d, want %d", c.rule, c.about, got, c.want)
		}
	}
}

// RunMat's challenger is the GPU, even if another implementation beats the processor first.
func TestFirstWinWaitsForTheChallenger(t *testing.T) {
	three := set(sizes, linear(1, 1), linear(20, 0.5), linear(100, 0.05))
	choice := rule(t, "first win").Choose(three)
	if choice.At(64) != 0 || choice.At(127) != 0 || choice.At(128) != 2 {
		t.Errorf("it chooses %v, want the third from 128 on", choice)
	}
}

// A size at which only a third implementation was timed says nothing about the two.
func TestSplitsSkipSizesWithoutEither(t *testing.T) {
	except := func(n float64, time func(float64) float64) func(float64) float64 {
		return func(size float64) float64 {
			if size == n {
				return 0
			}
			return time(size)
		}
	}
	s := set(sizes, except(64, linear(1, 1)), except(64, linear(50, 0.1)), linear(1000, 1))
	for _, name := range []string{
		"first win", "wins for all larger sizes", "fewest misclassified sizes", "least summed loss", "least geometric mean",
	} {
		choice := rule(t, name).Choose(s)
		if choice.At(32) != 0 || choice.At(128) != 1 {
			t.Errorf("%s chooses %v, want the second from 64 or 128 on", name, choice)
		}
	}
}

// The obvious rule follows every winner. It switches where straight lines through the log-ratios cross.
func TestTheWinnerAtEachSize(t *testing.T) {
	// b is faster only at 4, by as much as it is slower at 2 and at 8. c wins from 512 on, and is not timed below.
	b := func(n float64) float64 {
		if n == 4 {
			return 4 / 1.2
		}
		return 1.2 * n
	}
	c := func(n float64) float64 {
		if n < 512 {
			return 0
		}
		return 0.5 * n
	}
	got := Obvious().Choose(set(sizes, linear(0, 1), b, c))
	if !slices.Equal(got.Implementation, []int{0, 1, 0, 2}) || !slices.Equal(got.From, []int{1, 3, 6, 512}) || got.Thresholds() != 3 {
		t.Errorf("it chooses %+v with %d thresholds", got, got.Thresholds())
	}
	early := set(sizes, linear(1, 1), linear(30, 0.1)) // equal at 32.2
	late := set(sizes, linear(1, 1), linear(60, 0.1))  // equal at 65.6
	if got := switchOf(Obvious().Choose(early, late)); got < 40 || got > 56 {
		t.Errorf("of two runs that switch at 33 and 66 it makes %d", got)
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
		return Rule{Name: "test", Choose: func(...*timings.Set) Choice { return Choice{[]int{1}, []int{i}} }}
	}
	score, ok := HeldOut(s, always(1))
	if !ok || score.Sizes != len(sizes)-2 {
		t.Fatalf("%+v, %v: want every size but the ends", score, ok)
	}
	// The worst held-out size is 2: 50.2 instead of 3.
	if math.Abs(score.Worst-(50.2/3-1)) > 1e-9 {
		t.Errorf("worst is %v, want %v", score.Worst, 50.2/3-1)
	}
	if score.Thresholds != 0 {
		t.Errorf("a rule that never switches has %v thresholds", score.Thresholds)
	}
	if score, _ := HeldOut(s, Ours()); score.Regret > 0.02 || score.Thresholds != 1 {
		t.Errorf("our rule regrets %v with %v thresholds", score.Regret, score.Thresholds)
	}
	if _, ok := HeldOut(set([]int{1, 2, 3}, linear(1, 1), linear(2, 1)), always(0)); ok {
		t.Error("three sizes were enough")
	}
	if _, ok := HeldOut(s, Rule{Choose: func(...*timings.Set) Choice { return Choice{} }}); ok {
		t.Error("a rule without a choice got a score")
	}
}
