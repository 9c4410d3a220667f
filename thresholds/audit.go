package thresholds

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"crossover/timings"
)

// What an audit calls a difference, beside the tie band.
const (
	// suspicion is the relative slowdown at which a first look asks for a second one.
	suspicion = 0.05
	// DriftLimit is the relative slowdown of a committed choice above which it no longer holds, away from a threshold.
	DriftLimit = 0.10
)

// Blocks of an audit's first look at a size, how many of them must be of a quiet machine or the look is repeated, blocks of
// each later one, and how many later ones a suspicious size gets away from a threshold.
const (
	firstLook  = 5
	quietLook  = 3
	secondLook = 9
	laterLooks = 3
)

// Finding is what an audit says of a size or of a case.
type Finding int

// The findings.
const (
	Unmeasured Finding = iota // nothing was measured
	Holds                     // the choice is the fastest or nearly so
	Ambiguous                 // it looks slow, and the data do not settle it or its neighbourhood does not agree
	Drifted                   // it is slower beyond doubt, there and nearby: see Auditor
)

// SizeAudit is one fresh size held against the committed choice.
type SizeAudit struct {
	Size      int
	Chosen    int     // implementation that the file chooses, as an index of the set
	Best      int     // fastest one here
	Slowdown  float64 // time of Chosen over time of Best, cross-fitted; 1 or less where the choice is right
	Low, High float64 // interval of Slowdown where a second look was taken, else 0, 0
	Finding   Finding
	Disturbed bool // the machine was not quiet at any block: that says nothing of the choice
}

// Audit is the answer of an audited case.
type Audit struct {
	Sizes   []SizeAudit // ascending
	Finding Finding     // of the undisturbed sizes; Ambiguous where there are others only
	Regret  float64     // geometric mean of the slowdowns, minus 1, at least 0; of the undisturbed sizes, too
	Worst   float64     // greatest slowdown minus 1, at least 0; of the undisturbed sizes, too
	Beyond  float64     // the same of those slowdowns that are no ties, because they exceed the tie band; 0 where all are
}

// Auditor plans and judges the check of committed choices at fresh sizes. A first look at every size, repeated where the
// machine was not quiet, nominates those that seem slow; later looks, spread over the rest of the check, decide on blocks
// of their own.
//
// Away from a threshold a size is drifted when it is slower than DriftLimit at every later look. Near one, within
// thresholdReach, it is drifted when the mean over its visits is behind by more than the tie band, beyond doubt, and a
// witness further off is behind beyond doubt too. Either way a neighbour must be slow as well: neither a spike, nor a
// machine that was busy for a second, nor a single awkward size is drift. Where the calibration said itself that it does
// not know nothing is.
type Auditor struct {
	choice func(size int) string
	near   func(size int) (int, bool)
	band   float64  // tie band as a log-ratio
	unsure [][2]int // sizes, from and to

	pending   []int       // sizes not yet visited
	looks     map[int]int // visits
	first     map[int]int // number of blocks of the first look
	neighbour map[int]int // fresh size that must confirm a slow one; 0 where there is none
	repeated  map[int]int // how often the first look was
	repeating int         // the size proposed for that; 0 for none
	sizes     []int
	high      int // greatest size that can be afforded
}

// NewAuditor returns an auditor of the given sizes. choice returns the name of the implementation that the file
// chooses; near returns another fresh size close to one; tieBand is the case's, relative. unsure is where
// the calibration does not know: the intervals of the thresholds of an unresolved case.
func NewAuditor(sizes []int, choice func(size int) string, near func(size int) (int, bool), tieBand float64, unsure [][2]int) *Auditor {
	return &Auditor{
		choice: choice, near: near, band: math.Log1p(max(tieBand, MinTieBand)), unsure: unsure,
		pending: inPasses(sizes), looks: map[int]int{}, first: map[int]int{}, neighbour: map[int]int{}, repeated: map[int]int{},
		high: math.MaxInt,
	}
}

// inPasses returns the sizes in the order of several passes upwards through all of them, so that a check that runs out of
// its budget has still seen the whole range.
func inPasses(sizes []int) []int {
	const passes = 4
	sizes = slices.Clone(sizes)
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	var order []int
	for _, first := range [passes]int{0, 2, 1, 3} {
		for k := first; k < len(sizes); k += passes {
			order = append(order, sizes[k])
		}
	}
	return order
}

// Next returns the next visit: a fresh size, or a second look at a suspicious one. Of several cases the one with the
// fewest sizes checked comes first.
func (a *Auditor) Next(set *timings.Set) (proposed, blocks int, worth float64) {
	const worthFirst, worthRepeat, worthSecond = 1e6, 1000.0, 100.0
	a.repeating = 0
	if len(a.pending) > 0 {
		return a.pending[0], firstLook, worthFirst / float64(1+len(a.sizes))
	}
	repeating := false
	for _, size := range a.sizes {
		if _, ok := a.first[size]; !ok {
			if a.unclear(set, size) {
				if w := worthRepeat / float64(1+a.repeated[size]); w > worth {
					proposed, blocks, worth, repeating = size, firstLook, w, true
				}
				continue
			}
			a.first[size] = len(set.At(size))
		}
		s := a.judgeSize(set, size)
		if s.Finding != Ambiguous && s.Finding != Drifted || size > a.high {
			continue
		}
		if later := a.looks[size]; later < a.enough(size) && !(s.Finding == Drifted && a.nearThreshold(size)) {
			if w := worthSecond / float64(later); w > worth {
				proposed, blocks, worth, repeating = size, secondLook, w, false
			}
			continue
		}
		if s.Finding == Drifted {
			for _, witness := range a.witnesses(size) {
				if looks := a.looks[witness]; looks < witnessLooks && witness <= a.high {
					return witness, secondLook, worthSecond / float64(looks)
				}
			}
			other, asked := a.neighbour[size]
			if !asked {
				other, _ = a.near(size)
				a.neighbour[size] = other
				if other != 0 {
					a.neighbour[other] = size // which needs no neighbour of its own
				}
			}
			if other != 0 && a.looks[other] == 0 && other <= a.high {
				return other, firstLook, worthSecond
			}
		}
	}
	if repeating {
		a.repeating = proposed
	}
	return proposed, blocks, worth
}

// unclear reports whether a first look should be repeated, because it has few quiet blocks.
func (a *Auditor) unclear(set *timings.Set, size int) bool {
	blocks := set.At(size)
	quiet := len(blocks)
	for _, b := range blocks {
		if b.Disturbed {
			quiet--
		}
	}
	return quiet < quietLook && len(blocks) > 0 && a.repeated[size] < quietVisits-1 && size <= a.high
}

// Visited tells that a size was measured, or could not be.
func (a *Auditor) Visited(size int) {
	if size == a.repeating {
		a.repeated[size]++
		return
	}
	a.pending = slices.DeleteFunc(a.pending, func(p int) bool { return p == size })
	a.looks[size]++
	if !slices.Contains(a.sizes, size) {
		a.sizes = append(a.sizes, size)
	}
}

// Limit tells that sizes above high cannot be afforded.
func (a *Auditor) Limit(high int) {
	a.high = min(a.high, high)
	a.pending = slices.DeleteFunc(a.pending, func(p int) bool { return p > high })
}

// judgeSize audits one size by itself. A first look can only hold or be ambiguous.
func (a *Auditor) judgeSize(set *timings.Set, size int) SizeAudit {
	out := SizeAudit{Size: size, Chosen: slices.Index(set.Implementations, a.choice(size))}
	var logs [][]float64
	var visits []int
	out.Disturbed = true
	for _, b := range set.At(size) {
		out.Disturbed = out.Disturbed && b.Disturbed
		if l := logRatios(&b, len(set.Implementations)); l != nil {
			logs, visits = append(logs, l), append(visits, b.Visit)
		}
	}
	if len(logs) < 2 || out.Chosen < 0 {
		return out
	}
	first := min(a.first[size], len(logs))
	second := logs[first:]
	if first == 0 || len(second) < secondLook/2 {
		out.Best = fastest(logs)
		loss, ok := halfLoss(logs, out.Chosen)
		if !ok {
			return out
		}
		out.Slowdown, out.Finding = math.Exp(loss), Holds
		if loss > a.doubtful(size) {
			out.Finding = Ambiguous
		}
		return out
	}
	// The winner is picked on the first look and timed on the later ones.
	out.Best = fastest(logs[:first])
	var diffs []float64
	byVisit := map[int][]float64{}
	for n, l := range second {
		if d := l[out.Chosen] - l[out.Best]; !math.IsNaN(d) {
			diffs = append(diffs, d)
			byVisit[visits[first+n]] = append(byVisit[visits[first+n]], d)
		}
	}
	if len(diffs) == 0 {
		return out
	}
	low, high := medianInterval(slices.Clone(diffs))
	middle, least := median(diffs), math.Inf(1)
	for _, look := range byVisit {
		least = min(least, median(look))
	}
	out.Slowdown, out.Low, out.High = math.Exp(middle), math.Exp(low), math.Exp(high)
	drifted := least > math.Log1p(DriftLimit) && low > a.band
	if a.nearThreshold(size) {
		drifted = behind(byVisit) > a.band
	}
	switch {
	case drifted && !a.unknown(size):
		out.Finding = Drifted
	case middle > a.doubtful(size):
		out.Finding = Ambiguous
	default:
		out.Finding = Holds
	}
	return out
}

// enough returns how many looks a suspicious size gets in all. Near a threshold it takes more: what a moved threshold
// costs may be little everywhere, and it is told from the luck of a visit's buffers by the mean of many visits.
func (a *Auditor) enough(size int) int {
	if a.nearThreshold(size) {
		return witnessLooks
	}
	return 1 + laterLooks
}

// doubtful returns the log-slowdown above which a size does not simply hold: beyond the tie band, but while a size near a
// threshold can still be looked at, any that is suspicious.
func (a *Auditor) doubtful(size int) float64 {
	if a.nearThreshold(size) && a.looks[size] < a.enough(size) {
		return math.Log1p(suspicion)
	}
	return max(a.band, math.Log1p(suspicion))
}

// fastest returns the implementation with the least median log-ratio.
func fastest(logs [][]float64) int {
	best, _ := bestTwo(logs)
	return max(best, 0)
}

// thresholdReach is the factor around a threshold within which a slow choice alone does not make it wrong. What two
// implementations take is close there, and how close moves with the state of the machine from one minute to the next. A
// threshold is wrong where the choice is still not the best one beyond that reach: see witness.
const thresholdReach = 1.5

// kinship is the factor within which two sizes may speak for each other.
const kinship = 2

// A witness is asked often, because what it has to show may be a few percent, and there are two, because one may be an
// awkward size.
const (
	witnessLooks  = 14
	mostWitnesses = 2
)

// witnesses returns the audited sizes, nearest first, of which one must agree before a slow size near a threshold counts as drift: those
// further from the threshold, beyond thresholdReach of it, with the same choice. There are none where the size is not
// near a threshold or lies between two.
func (a *Auditor) witnesses(size int) []int {
	below, above := a.differsBelow(size), a.differsAbove(size)
	if below == above {
		return nil
	}
	var found []int
	for _, other := range slices.Sorted(slices.Values(a.sizes)) {
		beyond := below && other > size && float64(other) <= kinship*float64(size) ||
			above && other < size && float64(other)*kinship >= float64(size)
		if beyond && !a.nearThreshold(other) && !a.unknown(other) && a.choice(other) == a.choice(size) {
			found = append(found, other)
		}
	}
	if above {
		slices.Reverse(found)
	}
	return found[:min(len(found), mostWitnesses)]
}

// differsBelow and differsAbove report whether the file chooses something else at thresholdReach below, or above.
func (a *Auditor) differsBelow(size int) bool {
	return a.choice(int(math.Ceil(float64(size)/thresholdReach))) != a.choice(size)
}

func (a *Auditor) differsAbove(size int) bool {
	return a.choice(int(float64(size)*thresholdReach)) != a.choice(size)
}

// unknown reports whether a size lies where the calibration does not know.
func (a *Auditor) unknown(size int) bool {
	return slices.ContainsFunc(a.unsure, func(sizes [2]int) bool { return sizes[0] <= size && size <= sizes[1] })
}

// nearThreshold reports whether the file chooses something else within thresholdReach of a size.
func (a *Auditor) nearThreshold(size int) bool { return a.differsBelow(size) || a.differsAbove(size) }

// Judge returns the audit of what was measured.
func (a *Auditor) Judge(set *timings.Set) Audit {
	var audit Audit
	findings := map[int]SizeAudit{}
	sizes := slices.Clone(a.sizes)
	slices.Sort(sizes)
	for _, size := range sizes {
		if s := a.judgeSize(set, size); s.Finding != Unmeasured {
			findings[size] = s
		}
	}
	var sum float64
	quiet := 0
	for _, size := range sizes {
		s, ok := findings[size]
		if !ok {
			continue
		}
		if s.Finding == Drifted {
			if a.nearThreshold(size) && !a.witnessed(set, s) || !a.confirmed(findings, size) {
				s.Finding = Ambiguous
			}
		}
		audit.Sizes = append(audit.Sizes, s)
		if s.Disturbed {
			continue
		}
		audit.Finding = max(audit.Finding, s.Finding)
		audit.Worst = max(audit.Worst, s.Slowdown-1)
		if math.Log(s.Slowdown) > a.band {
			audit.Beyond = max(audit.Beyond, s.Slowdown-1)
		}
		sum += math.Log(s.Slowdown)
		quiet++
	}
	if quiet > 0 {
		audit.Regret = max(0, math.Expm1(sum/float64(quiet)))
	} else if len(audit.Sizes) > 0 {
		audit.Finding = Ambiguous
	}
	return audit
}

// witnessed reports whether at a witness, too, the choice is slower beyond doubt than what beats it at the size.
func (a *Auditor) witnessed(set *timings.Set, found SizeAudit) bool {
	return slices.ContainsFunc(a.witnesses(found.Size), func(witness int) bool {
		byVisit := map[int][]float64{}
		for _, b := range set.At(witness) {
			if usable(&b, found.Chosen) && usable(&b, found.Best) {
				byVisit[b.Visit] = append(byVisit[b.Visit], math.Log(b.Seconds[found.Chosen]/b.Seconds[found.Best]))
			}
		}
		return behind(byVisit) > 0
	})
}

// behind returns the lower end of the interval of the mean over visits of their median log-ratios. Visits are the datum:
// what the buffers of a visit are worth is common to all of its blocks. It is −Inf with fewer than three visits.
func behind(byVisit map[int][]float64) float64 {
	if len(byVisit) < 3 {
		return math.Inf(-1)
	}
	visits := make([]float64, 0, len(byVisit))
	for _, visit := range slices.Sorted(maps.Keys(byVisit)) {
		visits = append(visits, median(byVisit[visit]))
	}
	mean, deviation := stat.MeanStdDev(visits, nil)
	n := float64(len(visits))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + Confidence) / 2)
	return mean - t*deviation/math.Sqrt(n)
}

// confirmed reports whether a slow size is no awkward one: its neighbour is slow as well, or was not measured, or the
// choice is drifted at another size not far away.
func (a *Auditor) confirmed(findings map[int]SizeAudit, size int) bool {
	neighbour, measured := findings[a.neighbour[size]]
	if !measured || neighbour.Slowdown >= 1+suspicion {
		return true
	}
	for other, f := range findings {
		near := float64(max(size, other)) <= kinship*float64(min(size, other))
		if other != size && other != neighbour.Size && near && f.Finding == Drifted && a.choice(other) == a.choice(size) {
			return true
		}
	}
	return false
}
