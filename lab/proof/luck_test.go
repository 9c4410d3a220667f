package proof

import (
	"errors"
	"math"
	"slices"
	"testing"

	"crossover/lab/model"
	"crossover/timings"
)

// visited returns a set of two implementations. Each visit has three blocks, in which b takes exp(luck) times as long as a,
// and b's twin exp(twin) times as long as b.
func visited(visits ...[3]float64) *timings.Set { // size, luck, twin
	set := &timings.Set{Case: "case", Implementations: []string{"a", "b"}}
	for n, v := range visits {
		for range 3 {
			set.Blocks = append(set.Blocks, timings.Block{
				Size: int(v[0]), Visit: n, Seconds: []float64{1, math.Exp(v[1])}, Iterations: []int{1, 1}, Twin: 1, TwinSeconds: math.Exp(v[1] + v[2]),
			})
		}
	}
	return set
}

func same(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	got = slices.Sorted(slices.Values(got))
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestLuckOfVisits(t *testing.T) {
	set := visited([3]float64{10, 0.1, 0.01}, [3]float64{10, 0.2, 0.02}, [3]float64{20, 0.3, 0.03}, [3]float64{30, 2, 0}, [3]float64{30, 3, 0})
	// Two values are ±0.05 from their mean, and √2 times as far from the mean of very many. At 30 the two do not compete,
	// and at 20 there is only one visit.
	same(t, "visits", offVisits(set), -0.05*math.Sqrt2, 0.05*math.Sqrt2)
	same(t, "twins", offTwins(set), 0, 0, 0.01, 0.02, 0.03)
	set.Blocks = set.Blocks[1:] // a visit of two blocks
	same(t, "visits of too few blocks", offVisits(set))
}

// Runs are compared at all sizes, by interpolation at the sizes of the others, if the two implementations compete there.
func TestLuckOfRuns(t *testing.T) {
	at := func(off float64, sizes ...float64) *timings.Set {
		var visits [][3]float64
		for _, size := range sizes {
			visits = append(visits, [3]float64{size, math.Log(size/100)/4 + off, 0})
		}
		return visited(visits...)
	}
	p := past{"case", map[int]*timings.Set{3: at(-0.02, 50, 90, 150, 200), 7: at(0.02, 50, 100, 200), 9: at(0, 60, 110, 190)}}
	same(t, "three runs", p.offRuns(), -0.02*math.Sqrt(1.5), 0, 0.02*math.Sqrt(1.5))
	p = past{"case", map[int]*timings.Set{0: at(0, 50, 100, 200)}}
	same(t, "one run", p.offRuns())
	bent := at(0.1, 50, 200)
	bent.Blocks = append(bent.Blocks, visited([3]float64{100, 0.3, 0}).Blocks...)
	p = past{"case", map[int]*timings.Set{0: at(0, 50, 200), 1: bent}}
	same(t, "a gap, in which 100 lies", p.offRuns(), -0.05*math.Sqrt2, 0.05*math.Sqrt2)
}

// Cases with few values get those of the others. Cases with a single run have no luck to replay.
func TestLuckOfAHost(t *testing.T) {
	many := visited([3]float64{10, 0.1, 0.01}, [3]float64{10, 0.2, 0.01}, [3]float64{20, -0.1, 0.01}, [3]float64{20, -0.2, 0.01})
	few := visited([3]float64{10, 0.1, 0.02}, [3]float64{20, -0.1, 0.02})
	h := &history{runs: []int{0, 1}, cases: []past{
		{"many", map[int]*timings.Set{0: many, 1: many}}, {"few", map[int]*timings.Set{0: few, 1: few}}, {"one", map[int]*timings.Set{0: few}},
	}}
	l := h.lucks()
	if len(l) != 2 || len(l[0].Visits) != 8 || len(l[1].Visits) != 8 || len(l[0].Twins) != 8 || math.Abs(l[1].Twins[0]-0.02) > 1e-9 || len(l[0].Runs) != 2 {
		t.Errorf("%+v", l)
	}
	h.cases = h.cases[1:]
	if l := h.lucks(); len(l[0].Visits) != 6 || math.Abs(l[0].Visits[0]-0.02) > 1e-9 {
		t.Errorf("without returns visits have the luck %v, want that of the twins", l[0].Visits)
	}
}

// The luck that is measured on saved runs is the luck that their machine had.
func TestReplayedLuckIsMeasured(t *testing.T) {
	s := scenarios(t, "launch")[0]
	s.Noise.Luck.Runs, s.Noise.Run = []float64{-0.1, 0.1}, 0
	lucks, err := MeasuredLuck(saved(t, &s, 1, 2, 3, 4, 5))
	if err != nil {
		t.Fatal(err)
	}
	if len(lucks) != 1 || len(lucks[0].Runs) != 5 {
		t.Fatalf("%+v", lucks)
	}
	apart := slices.Max(lucks[0].Runs) - slices.Min(lucks[0].Runs)
	if want := 0.2 * math.Sqrt(1.25); math.Abs(apart-want) > 0.03 {
		t.Errorf("runs are %v apart, want %v", apart, want)
	}
	if _, err := MeasuredLuck(saved(t, &s, 1)); !errors.Is(err, ErrOneRun) {
		t.Errorf("of a single run the error is %v", err)
	}
	lucky := []model.Scenario{s, scenarios(t, "caches")[0]}
	for k := range lucky {
		lucky[k].Noise.Luck, lucky[k].Noise.Lucks = model.Luck{}, lucks
	}
	levels, histories := BetweenRuns, Histories
	Histories = []int{1, 2}
	defer func() { BetweenRuns, Histories = levels, histories }()
	r := rows(StudyBetween(t.Context(), lucky, 4, 1))(t)
	if len(r) != 1 || !math.IsNaN(r[0].Deviation) || r[0].Hold[0].Of != 8 || r[0].Hold[0].Count > 6 {
		t.Errorf("with runs that are 20 %% apart: %+v", r)
	}
}
