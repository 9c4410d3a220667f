package thresholds

import (
	"maps"
	"math"
	"slices"

	"crossover/timings"
)

// Finding is the result of an audit for a size or a case.
type Finding int

// The findings.
const (
	Unmeasured Finding = iota // too little was measured to say anything
	Holds                     // the choice is the fastest or nearly so
	Ambiguous                 // it looks slow, but the data do not settle that, or its neighbourhood does not agree
	Drifted                   // it is significantly slower, there and nearby: see Auditor
)

// SizeAudit is the check of the file's choice at one fresh size.
type SizeAudit struct {
	Size      int
	Chosen    int     // implementation that the file chooses, as an index of the set
	Best      int     // the fastest implementation here
	Slowdown  float64 // time of Chosen divided by time of Best, cross-fitted; 1 or less if the choice is right
	Low, High float64 // interval of Slowdown if there were later looks, else 0, 0
	Finding   Finding
	Disturbed bool    // the machine was not quiet in any block, so the audit says nothing about the choice
	Loss      float64 // log-slowdown by looks that nothing selected; NaN if there are none, as at sizes that were not drawn
}

// Audit is the result for a case.
type Audit struct {
	Sizes   []SizeAudit // ascending
	Finding Finding     // of the undisturbed sizes; Ambiguous if there are only disturbed ones
	Quiet   int         // undisturbed sizes
	Regret  float64     // geometric mean of the slowdowns by looks that nothing selected, minus 1; may be negative by noise; NaN if there are none
	Upper   float64     // upper end of a one-sided interval of Regret at Confidence, over sizes; NaN if there are fewer than two
	Worst   float64     // greatest slowdown minus 1, at least 0, over undisturbed sizes like Regret and Upper
	Beyond  float64     // Worst of the slowdowns beyond the tie band; 0 if there are none
}

// Auditor plans and judges the check of a file's choices at fresh sizes. A look is a visit to such a size. First looks, one
// at each size and repeated if the machine was disturbed, nominate sizes that seem slow. Later looks, some time after
// them, decide on blocks of their own. In the end, sizes that seem right get a second look, too, so that their mean
// is not biased: see SizeAudit.Loss.
//
// Away from a threshold, a size has drifted if it is slower than DriftLimit at every later look, and by more than the tie band.
// Within thresholdReach of a threshold, a size has drifted if two things are significant: the mean over its visits is slower by
// more than the tie band, and a witness farther from the threshold is slower, too. In both cases a neighbour must also be slow. So
// no spike, no machine that was busy for a second, and no single awkward size counts as drift. Inside the intervals of an
// unresolved case nothing has drifted.
type Auditor struct {
	committed committed
	near      func(size int) (int, bool)

	first firstLooks
	later laterLooks
	drawn map[int]bool // the sizes to check; neighbours of slow ones are added
	sizes []int        // visited sizes
	high  int          // greatest size that the budget allows
	last  int          // size that was proposed last

	group, turn int // see [Auditor.SetGroup]
	visits      int // number of all visits
}

// NewAuditor returns an auditor of the given sizes. choice returns the name of the implementation that the file chooses at a
// size. near returns another fresh size close to a size. tieBand is that of the case, relative. unsure are the ranges of
// sizes in which the calibration does not know, both ends included: the intervals of the thresholds of an unresolved case.
func NewAuditor(sizes []int, choice func(size int) string, near func(size int) (int, bool), tieBand float64, unsure [][2]int) *Auditor {
	a := &Auditor{
		committed: committed{choice, math.Log1p(min(max(tieBand, MinTieBand), MostTieBand)), unsure},
		near:      near, first: newFirstLooks(sizes), drawn: map[int]bool{}, high: math.MaxInt,
	}
	for _, size := range sizes {
		a.drawn[size] = true
	}
	a.later = laterLooks{&a.committed, map[int]int{}, map[int]int{}}
	return a
}

// SetGroup says in which group of cases the case is checked, counted from 0. The cases of a group get the fresh sizes that a
// finding takes before those of the next group begin, so that a short budget decides some cases. Later looks at sizes that seem
// slow come two groups later, when the machine may be in another state. Everything else comes after all groups.
func (a *Auditor) SetGroup(group int) { a.group = group }

// Turn returns the turn of the visit that was proposed last: a lower one comes first.
func (a *Auditor) Turn() int { return a.turn }

// Begun reports whether a size was visited.
func (a *Auditor) Begun() bool { return a.visits > 0 }

// Settled reports whether the case has had its group's turn: enough sizes show something, or no visit would help.
func (a *Auditor) Settled(set *timings.Set) bool {
	next := a.next(set)
	return next.worth == 0 || next.turn != a.group
}

const (
	laterGroups = 2           // between first and later looks
	afterGroups = math.MaxInt // turn of looks that no finding needs
	// mostTurns is how many times as many visits as a finding takes a case has in its group's turn. Without a limit, a case at which
	// the machine is never quiet, or whose choice cannot be timed, would spend what others need.
	mostTurns = 3
)

// Evidence is the number of undisturbed fresh sizes that are needed to say that choices hold. A case with fewer is unmeasured.
const Evidence = 8

// look is a visit that an audit asks for.
type look struct {
	size, blocks int
	turn         int // of a group: see [Auditor.SetGroup]
	worth        float64
	repetition   bool // of a first look
	confirms     bool // a drift, before all other looks of its turn
}

// before reports whether a look comes before another one of the same case.
func (l look) before(other look) bool {
	switch {
	case l.worth == 0 || other.worth == 0:
		return l.worth > 0 && other.worth == 0
	case l.turn != other.turn:
		return l.turn < other.turn
	case l.confirms != other.confirms:
		return l.confirms
	}
	return l.worth > other.worth
}

// The worths of looks of the same turn. The first looks at as many sizes as a finding takes come before their repetitions, and
// those before later looks. If a budget ends early, what seemed slow has been looked at again, because without later looks nothing
// drifts. Beyond those that a finding takes, later looks take turns with first looks at further sizes, so that they meet other
// states of the machine. Second looks at sizes that seem right come last.
const (
	worthFirst   = 1e6
	worthRepeat  = 1000
	worthLater   = 100
	worthFurther = 400
	worthAgain   = 1
)

// Next returns the next visit: a size, the number of blocks, and the worth. A worth of 0 means that the audit is over. Of
// several cases of a group, the one with the fewest checked sizes comes first.
func (a *Auditor) Next(set *timings.Set) (size, blocks int, worth float64) {
	next := a.next(set)
	a.turn = next.turn
	a.first.repeating = 0
	if next.repetition {
		a.first.repeating = next.size
	}
	a.last = next.size
	return next.size, next.blocks, next.worth
}

// Upcoming returns the size that was proposed last, and those of the next first looks: as many as a finding takes, and one at a time
// after that, because a budget may end before any other.
func (a *Auditor) Upcoming() []int {
	next := min(max(0, Evidence-len(a.sizes)), len(a.first.pending))
	return append([]int{a.last}, a.first.pending[:next]...)
}

// firstTurn returns the turn of first looks and their repetitions: that of the group, until as many sizes show something as a finding
// takes.
func (a *Auditor) firstTurn(set *timings.Set) int {
	if a.visits >= mostTurns*Evidence {
		return afterGroups
	}
	quiet := 0
	for _, size := range a.sizes {
		if s := a.judgeSize(set, size); s.Finding != Unmeasured && !s.Disturbed {
			quiet++
		}
		if quiet == Evidence {
			return afterGroups
		}
	}
	return a.group
}

func (a *Auditor) next(set *timings.Set) look {
	best := look{turn: afterGroups}
	first := a.firstTurn(set)
	if len(a.first.pending) > 0 {
		best = look{size: a.first.pending[0], blocks: firstBlocks, turn: first, worth: worthFirst / float64(1+len(a.sizes))}
		if len(a.sizes) < Evidence {
			return best
		}
		best.worth = worthFurther / float64(1+len(a.sizes))
	}
	for _, size := range a.sizes {
		if wanted := a.nextAt(set, size, first); wanted.before(best) {
			best = wanted
		}
	}
	return best
}

// nextAt returns the look that a visited size needs, if any: a repetition of the first look, which has the turn first, or another
// later look. If the size has drifted, a look at another one may confirm that.
func (a *Auditor) nextAt(set *timings.Set, size, first int) look {
	if size <= a.high && a.first.spoiled(set, size) {
		return look{size: size, blocks: firstBlocks, turn: first, worth: worthRepeat / float64(1+a.first.repeated[size]), repetition: true}
	}
	a.first.end(set, size)
	finding := a.judgeSize(set, size).Finding
	switch {
	case size > a.high || finding == Unmeasured:
		return look{}
	case finding == Holds && a.drawn[size] && a.later.visits[size] == 1:
		return look{size: size, blocks: firstBlocks, turn: afterGroups, worth: worthAgain / float64(1+a.later.twice())}
	case finding == Holds:
		return look{}
	}
	decided := finding == Drifted && a.committed.nearThreshold(size)
	if visits := a.later.visits[size]; visits < a.later.enough(size) && !decided {
		turn := a.group + laterGroups
		if visits > farLooks { // near a threshold, where many looks are needed
			turn = afterGroups
		}
		return look{size: size, blocks: laterBlocks, turn: turn, worth: worthLater / float64(visits)}
	}
	if finding == Drifted {
		return a.confirmation(size)
	}
	return look{}
}

// confirmation returns a look, at a witness or a neighbour, that may confirm that a size has drifted.
func (a *Auditor) confirmation(size int) look {
	confirms := look{turn: a.group + laterGroups, worth: worthLater, confirms: true}
	for _, witness := range a.committed.witnesses(size, a.sizes) {
		if visits := a.later.visits[witness]; visits < nearLooks && witness <= a.high {
			confirms.size, confirms.blocks, confirms.worth = witness, laterBlocks, worthLater/float64(visits)
			return confirms
		}
	}
	other, asked := a.later.neighbour[size]
	if !asked {
		other, _ = a.near(size)
		a.later.neighbour[size] = other
		if other != 0 {
			a.later.neighbour[other] = size // which needs no neighbour itself
		}
	}
	if other != 0 && a.later.visits[other] == 0 && other <= a.high {
		confirms.size, confirms.blocks = other, firstBlocks
		return confirms
	}
	return look{}
}

// Visited says that a size was measured, or cannot be measured.
func (a *Auditor) Visited(size int) {
	a.visits++
	if size == a.first.repeating {
		a.first.repeated[size]++
		return
	}
	a.first.pending = slices.DeleteFunc(a.first.pending, func(p int) bool { return p == size })
	a.later.visits[size]++
	if !slices.Contains(a.sizes, size) {
		a.sizes = append(a.sizes, size)
	}
}

// Doubted says that the machine was disturbed at all visits to a size so far. The first look at the size may then be
// repeated.
func (a *Auditor) Doubted(size int) {
	delete(a.first.blocks, size)
	delete(a.first.repeated, size)
}

// Limit says that the budget does not allow sizes above high.
func (a *Auditor) Limit(high int) {
	a.high = min(a.high, high)
	a.first.pending = slices.DeleteFunc(a.first.pending, func(p int) bool { return p > high })
}

// chosen returns the index of the implementation that the file chooses at a size, or of the one whose times stand for it. It
// returns −1 if the set has no times of it.
func (a *Auditor) chosen(set *timings.Set, size int) int {
	i := slices.Index(set.Implementations, a.committed.choice(size))
	if i < 0 {
		return -1
	}
	return set.TimedAs(set.At(size), i)
}

// judgeSize audits one size by itself: by its later looks, or by all of its blocks if there are none. Without later looks
// the finding is Holds or Ambiguous.
func (a *Auditor) judgeSize(set *timings.Set, size int) SizeAudit {
	out := SizeAudit{Size: size, Chosen: a.chosen(set, size), Loss: math.NaN()}
	out.Disturbed = !slices.ContainsFunc(set.Blocks, func(b timings.Block) bool { return b.Size == size && !b.Disturbed })
	g := groupAt(set, size)
	if len(g.logs) < 2 || out.Chosen < 0 {
		return out
	}
	if first := a.first.part(g); first == 0 || len(g.logs)-first < laterBlocks/2 {
		a.first.judge(g, a.later.doubtful(size), &out)
	} else {
		a.later.judge(g, first, &out)
	}
	return out
}

// Judge returns the audit of the measured sizes.
func (a *Auditor) Judge(set *timings.Set) Audit {
	findings := map[int]SizeAudit{}
	for _, size := range a.sizes {
		if s := a.judgeSize(set, size); s.Finding != Unmeasured {
			findings[size] = s
		}
	}
	var audit Audit
	losses := a.unselected(set)
	for _, size := range slices.Sorted(maps.Keys(findings)) {
		s := findings[size]
		if loss, ok := losses[size]; ok {
			s.Loss = loss
		}
		if s.Finding == Drifted {
			if a.committed.nearThreshold(size) && !a.witnessed(set, s) || !a.confirmed(findings, size) {
				s.Finding = Ambiguous
			}
		}
		audit.Sizes = append(audit.Sizes, s)
	}
	audit.sum(a.committed.band)
	if audit.Finding == Holds && audit.Quiet < Evidence {
		audit.Finding = Unmeasured
	}
	return audit
}

// sum sets the fields that follow from all sizes together. band is the tie band as a log-ratio.
func (a *Audit) sum(band float64) {
	var losses []float64
	for _, s := range a.Sizes {
		if s.Disturbed {
			continue
		}
		a.Finding = max(a.Finding, s.Finding)
		a.Worst = max(a.Worst, s.Slowdown-1)
		if math.Log(s.Slowdown) > band {
			a.Beyond = max(a.Beyond, s.Slowdown-1)
		}
		losses = append(losses, s.Loss)
		a.Quiet++
	}
	a.Regret, a.Upper = MeanLoss(losses)
	if a.Quiet == 0 && len(a.Sizes) > 0 {
		a.Finding = Ambiguous
	}
}

// MeanLoss returns the mean regret for the log-losses of sizes: their geometric mean, minus 1, and the upper end of its
// one-sided interval at Confidence. It ignores NaNs. The mean is NaN if there are no losses, and the upper end is NaN if
// there are fewer than two.
func MeanLoss(logs []float64) (mean, upper float64) {
	var losses []loss
	for _, log := range logs {
		if !math.IsNaN(log) {
			losses = append(losses, loss{log, 1})
		}
	}
	r := regretOf(losses)
	return r.Mean, r.Upper
}

// witnessed reports whether the choice is also significantly slower, at a witness, than the implementation that is faster at
// the size.
func (a *Auditor) witnessed(set *timings.Set, found SizeAudit) bool {
	return slices.ContainsFunc(a.committed.witnesses(found.Size, a.sizes), func(witness int) bool {
		byVisit := map[int][]float64{}
		for _, b := range set.At(witness) {
			if usable(&b, found.Chosen) && usable(&b, found.Best) {
				byVisit[b.Visit] = append(byVisit[b.Visit], math.Log(b.Seconds[found.Chosen]/b.Seconds[found.Best]))
			}
		}
		return behind(byVisit) > 0
	})
}

// confirmed reports whether a slow size is not just an awkward one. It is confirmed if its neighbour is slow or was not
// measured, and if the same choice has drifted at another size not far away.
func (a *Auditor) confirmed(findings map[int]SizeAudit, size int) bool {
	neighbour, measured := findings[a.later.neighbour[size]]
	if !measured || neighbour.Slowdown >= 1+suspicion {
		return true
	}
	for other, f := range findings {
		near := float64(max(size, other)) <= kinship*float64(min(size, other))
		sameChoice := a.committed.choice(other) == a.committed.choice(size)
		if other != size && other != neighbour.Size && near && f.Finding == Drifted && sameChoice {
			return true
		}
	}
	return false
}
