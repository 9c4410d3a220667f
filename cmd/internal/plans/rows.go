package plans

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/timings"
)

// The two times count as the same if the ratio program ÷ sweep lies within these limits. There are limits for one row
// and for the median of the rows.
const (
	Least, Most             = 0.85, 1.15
	LeastMedian, MostMedian = 0.95, 1.05
)

const (
	// LeastVisits is the least number of visits of a row that is judged. Fewer visits have no 95 % interval.
	LeastVisits = 6
	// LeastBlocks is the least number of blocks of these visits together.
	LeastBlocks = 3 * LeastVisits
	// longBlock is the number of seconds of a block's two batches from which on one block a visit is enough. Batches of short
	// calls take less than a millisecond each, and are repeated because the machine may be disturbed for as long.
	longBlock = 0.02
)

// Finding is the result of a comparison of times.
type Finding string

// The findings.
const (
	Inside     Finding = "inside"     // the interval lies within the limits
	Outside    Finding = "outside"    // the interval lies beyond one of the limits
	Undecided  Finding = "undecided"  // the interval holds a limit, or there are too few visits for an interval
	Unmeasured Finding = "unmeasured" // there is no block
)

// finding compares an interval with limits.
func finding(low, high, least, most float64) Finding {
	switch {
	case low >= least && high <= most:
		return Inside
	case low > most || high < least:
		return Outside
	}
	return Undecided
}

// interval returns a distribution-free 95 % interval of the median. It is infinite for too few values.
func interval(values []float64) (low, high float64) {
	if len(values) < LeastVisits {
		return math.Inf(-1), math.Inf(1)
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	summary := benchmath.AssumeNothing.Summary(sample, 0.95)
	return summary.Lo, summary.Hi
}

// Row is one implementation of one case at one size.
type Row struct {
	Case           string  `json:"case"`
	Implementation string  `json:"implementation"`
	Size           int     `json:"size"`
	Unit           string  `json:"unit"`
	Sweep          float64 `json:"sweep_seconds"`        // time of a call in the sweep: the median of the newest blocks
	Program        float64 `json:"program_seconds"`      // time of a call of the typed plan: the median of the newest blocks
	Ratio          float64 `json:"ratio"`                // program ÷ sweep: the median over visits of the medians over a visit's blocks
	Low            float64 `json:"ratio_low,omitempty"`  // Low to High is the 95 % interval of Ratio; both are 0 if there are too few visits
	High           float64 `json:"ratio_high,omitempty"` //
	Visits         int     `json:"visits"`
	Blocks         int     `json:"blocks"`
	Seconds        float64 `json:"visit_seconds"` // of the batches of a visit, in the mean
	// Ratios are those of the visits, in their order, if the row is undecided. A later comparison goes on from them.
	Ratios  []float64 `json:"visit_ratios,omitempty"`
	Finding Finding   `json:"finding"`
	Why     string    `json:"why,omitempty"` // reason if it is undecided or unmeasured
}

// settled reports whether the row needs no more visits.
func (r *Row) settled() bool { return r.Finding == Inside || r.Finding == Outside }

// row judges the pair at a size, together with what an earlier comparison found there.
func (p pair) row(r *sweeps.Result, size int, earlier Row) Row {
	m := measured(&r.Samples, size, earlier)
	if earlier.settled() || len(m.sweep) == 0 && len(earlier.Ratios) > 0 {
		return earlier
	}
	row := Row{
		Case: p.of.Name, Implementation: p.implementation, Size: size, Unit: p.of.Axis.Unit,
		Visits: len(m.ratios), Blocks: m.blocks, Finding: m.finding(),
	}
	if row.Finding == Unmeasured {
		row.Why = whyUnmeasured(r)
		return row
	}
	row.Seconds = m.seconds / float64(row.Visits)
	if row.Finding == Undecided {
		for _, ratio := range m.ratios {
			row.Ratios = append(row.Ratios, math.Round(1e4*ratio)/1e4)
		}
	}
	row.Sweep, row.Program, row.Ratio = median(m.sweep), median(m.program), median(m.ratios)
	if m.enough() {
		row.Low, row.High = interval(m.ratios)
	}
	switch {
	case row.Finding != Undecided:
	case !m.enough():
		row.Why = fmt.Sprintf("%s in %s, want %d in %d (a larger --budget helps)",
			command.Plural(row.Blocks, "block"), command.Plural(row.Visits, "visit"), m.leastBlocks(), LeastVisits)
	default:
		row.Why = "the interval holds a limit"
	}
	return row
}

// whyUnmeasured says why a size of a pair has no block.
func whyUnmeasured(r *sweeps.Result) string {
	for _, status := range r.Implementations {
		if status.Excluded != "" {
			return status.Name + ": " + status.Excluded
		}
	}
	return "out of reach of the budget (a larger --budget helps)"
}

// measurement holds the times of a pair at one size.
type measurement struct {
	sweep, program []float64 // seconds of a call, by new block
	ratios         []float64 // the median over the blocks, by visit, also by earlier ones
	blocks         int       // with earlier ones
	seconds        float64   // that the batches took, also earlier ones
}

// measured collects the blocks of a size in which both were timed, and adds what an earlier comparison found there.
func measured(set *timings.Set, size int, earlier Row) measurement {
	m := measurement{ratios: slices.Clone(earlier.Ratios)}
	if len(m.ratios) > 0 {
		m.blocks, m.seconds = earlier.Blocks, earlier.Seconds*float64(earlier.Visits)
	}
	program := slices.IndexFunc(set.Implementations, func(name string) bool {
		_, isProgram := kernels.ProgramOf(name)
		return isProgram
	})
	if program < 0 || len(set.Implementations) < 2 {
		return m
	}
	sweep := 1 - program
	var visits []int
	byVisit := map[int][]float64{}
	for i := range set.Blocks {
		b := &set.Blocks[i]
		if b.Size != size || !b.Timed(sweep) || !b.Timed(program) {
			continue
		}
		if byVisit[b.Visit] == nil {
			visits = append(visits, b.Visit)
		}
		byVisit[b.Visit] = append(byVisit[b.Visit], b.Seconds[program]/b.Seconds[sweep])
		m.sweep, m.program = append(m.sweep, b.Seconds[sweep]), append(m.program, b.Seconds[program])
		m.blocks++
		for k, n := range b.Iterations {
			if b.Timed(k) {
				m.seconds += b.Seconds[k] * float64(n)
			}
		}
	}
	for _, visit := range visits {
		m.ratios = append(m.ratios, median(byVisit[visit]))
	}
	return m
}

// long reports whether a block takes so long that one a visit is enough.
func (m *measurement) long() bool {
	return m.blocks > 0 && m.seconds/float64(m.blocks) >= longBlock
}

// leastBlocks returns the least number of blocks to judge the row.
func (m *measurement) leastBlocks() int {
	if m.long() {
		return LeastVisits
	}
	return LeastBlocks
}

// enough reports whether there are enough visits and blocks to judge the row.
func (m *measurement) enough() bool {
	return len(m.ratios) >= LeastVisits && m.blocks >= m.leastBlocks()
}

func (m *measurement) finding() Finding {
	switch {
	case len(m.ratios) == 0:
		return Unmeasured
	case !m.enough():
		return Undecided
	}
	low, high := interval(m.ratios)
	return finding(low, high, Least, Most)
}

// Summary is the result of all rows. The ratios are of the rows with enough visits and blocks.
type Summary struct {
	Rows       int     `json:"rows"`
	Median     float64 `json:"median_ratio"` // 0 if no row has enough
	Lowest     float64 `json:"lowest_ratio"`
	Highest    float64 `json:"highest_ratio"`
	Inside     int     `json:"inside"`
	Outside    int     `json:"outside"`
	Undecided  int     `json:"undecided"`
	Unmeasured int     `json:"unmeasured"`

	// Farthest is the row that is farthest outside; nil if there is none.
	Farthest *Row `json:"farthest_outside,omitempty"`

	// Finding is Outside if a row is Outside, or if the interval of the median lies beyond its own limits. It is Inside
	// if that interval lies within them and most rows are Inside, and Undecided otherwise. Fewer than LeastVisits rows
	// have no such interval, and then the rows alone decide.
	Finding Finding `json:"finding"`
}

// Sum returns the summary of rows.
func Sum(rows []Row) Summary {
	s := Summary{Rows: len(rows), Finding: Undecided}
	var ratios []float64
	for _, r := range rows {
		switch r.Finding {
		case Inside:
			s.Inside++
		case Outside:
			s.Outside++
			if s.Farthest == nil || math.Abs(math.Log(r.Ratio)) > math.Abs(math.Log(s.Farthest.Ratio)) {
				s.Farthest = &r
			}
		case Undecided:
			s.Undecided++
		case Unmeasured:
			s.Unmeasured++
		}
		if r.High > 0 {
			ratios = append(ratios, r.Ratio)
		}
	}
	if len(ratios) == 0 {
		return s
	}
	s.Median, s.Lowest, s.Highest = median(ratios), slices.Min(ratios), slices.Max(ratios)
	ofMedian := Inside // too few rows for an interval: the rows alone decide
	if low, high := interval(ratios); !math.IsInf(high, 1) {
		ofMedian = finding(low, high, LeastMedian, MostMedian)
	}
	switch {
	case s.Outside > 0:
		s.Finding = Outside
	case 2*s.Inside > s.Rows || ofMedian == Outside:
		s.Finding = ofMedian
	}
	return s
}

// Line returns the summary as one line.
func (s Summary) Line() string {
	if s.Rows == 0 {
		return "no plan of a program was compared with the timings: no case has one"
	}
	rest := ""
	if s.Undecided+s.Unmeasured > 0 {
		rest = fmt.Sprintf(", %d undecided, %d unmeasured", s.Undecided, s.Unmeasured)
	}
	switch s.Finding {
	case Inside:
		return fmt.Sprintf("calls by a program's plans take as long as the timings say: median ratio %.2f, 0 of %s outside %.2f to %.2f%s",
			s.Median, command.Plural(s.Rows, "comparison"), Least, Most, rest)
	case Outside:
		return fmt.Sprintf("calls by a program's plans take another time than the timings say: median ratio %.2f, %d of %s outside %.2f to %.2f%s%s",
			s.Median, s.Outside, command.Plural(s.Rows, "comparison"), Least, Most, s.farthest(), rest)
	}
	if 2*s.Inside > s.Rows { // the rows suffice, and the interval of their median does not
		return fmt.Sprintf("calls by a program's plans may take another time than the timings say: median ratio %.2f, which may lie outside %.2f to %.2f, 0 of %s outside %.2f to %.2f%s",
			s.Median, LeastMedian, MostMedian, command.Plural(s.Rows, "comparison"), Least, Most, rest)
	}
	return fmt.Sprintf("whether calls by a program's plans take as long as the timings say is open: %d of %s inside %.2f to %.2f%s",
		s.Inside, command.Plural(s.Rows, "comparison"), Least, Most, rest)
}

// farthest names the row that is farthest outside, and says its ratio.
func (s Summary) farthest() string {
	r := s.Farthest
	if r == nil {
		return "" // the median alone is outside
	}
	return fmt.Sprintf(" (%s by %s at %s %s: %.2f)", r.Case, r.Implementation, command.Thousands(r.Size), calibration.UnitOf(r.Size, r.Unit), r.Ratio)
}

// median returns the median of values, which it sorts.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
