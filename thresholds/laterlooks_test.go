package thresholds

import (
	"math"
	"slices"
	"testing"

	"crossover/timings"
)

// splitAt1000 is a file that chooses a below 1000 and b from there on.
func splitAt1000(unsure ...[2]int) *committed {
	return &committed{
		choice: func(size int) string {
			if size < 1000 {
				return "a"
			}
			return "b"
		},
		band: math.Log1p(0.03), unsure: unsure,
	}
}

func TestWitnesses(t *testing.T) {
	audited := []int{2600, 2300, 2000, 1700, 1300, 1200, 900, 800, 650, 600, 500}
	for name, c := range map[string]struct {
		file *committed
		size int
		want []int
	}{
		"above the threshold":     {splitAt1000(), 1200, []int{1700, 2000}},
		"below it":                {splitAt1000(), 900, []int{650, 600}},
		"far from it":             {splitAt1000(), 1700, nil},
		"where nothing is known":  {splitAt1000([2]int{1600, 1800}), 1200, []int{2000, 2300}},
		"none is near enough":     {splitAt1000([2]int{1600, 2400}), 1200, nil},
		"between two thresholds":  {&committed{choice: func(size int) string { return map[bool]string{true: "b", false: "a"}[size/100 == 12] }}, 1200, nil},
		"no threshold in the way": {&committed{choice: func(int) string { return "a" }}, 1200, nil},
	} {
		if got := c.file.witnesses(c.size, audited); !slices.Equal(got, c.want) {
			t.Errorf("%s: the witnesses are %v, want %v", name, got, c.want)
		}
	}
}

// Away from a threshold, a choice has drifted if every look is slow. Near one, it has drifted if the mean is significantly
// slow.
func TestLaterLooksDecide(t *testing.T) {
	const near, far = 1200, 5000
	for name, c := range map[string]struct {
		size int
		logs []float64 // by looks
		want bool
	}{
		"far, every look is slow":          {far, []float64{0.2, 0.3, 0.15}, true},
		"far, one look is not":             {far, []float64{0.2, 0.3, 0.05}, false},
		"far, by little":                   {far, []float64{0.06, 0.06, 0.061, 0.06, 0.06}, false},
		"near, by little and beyond doubt": {near, []float64{0.06, 0.06, 0.061, 0.06, 0.06}, true},
		"near, one look is not slow":       {near, []float64{0.1, 0.11, 0.1, 0.1, 0.02, 0.1, 0.11}, true},
		"near, not beyond doubt":           {near, []float64{0.3, 0.0, 0.3, -0.1}, false},
		"near, two looks":                  {near, []float64{0.3, 0.3}, false},
		"near, inside the tie band":        {near, []float64{0.02, 0.02, 0.021, 0.02}, false},
	} {
		l := laterLooks{splitAt1000(), map[int]int{}, map[int]int{}}
		byVisit := map[int][]float64{}
		for visit, log := range c.logs {
			byVisit[visit] = []float64{log, log, log}
		}
		if got := l.drifted(c.size, byVisit, slices.Min(c.logs)); got != c.want {
			t.Errorf("%s: drifted is %v, want %v", name, got, c.want)
		}
	}
}

// The first look picks the implementation with which the choice is compared, and later looks time it.
func TestLaterLooksDoNotPick(t *testing.T) {
	set := &timings.Set{Implementations: []string{"a", "b", "c"}}
	for n := range firstBlocks + 2*laterBlocks {
		seconds := []float64{0.9, 1, 1.5} // a is the best at first
		if n >= firstBlocks {
			seconds = []float64{0.7, 1, 0.5}
		}
		set.Blocks = append(set.Blocks, timings.Block{Size: 5000, Visit: n / firstBlocks, Seconds: seconds, Twin: -1})
	}
	l := laterLooks{splitAt1000(), map[int]int{}, map[int]int{}}
	out := SizeAudit{Size: 5000, Chosen: 1}
	l.judge(groupAt(set, 5000), firstBlocks, &out)
	if out.Best != 0 || math.Abs(out.Slowdown-1/0.7) > 1e-9 {
		t.Errorf("b is %v times slower than %d, want %v times slower than 0", out.Slowdown, out.Best, 1/0.7)
	}
}
