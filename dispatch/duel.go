package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Verdict is what a duel found.
type Verdict string

// The verdicts of a duel.
const (
	Kept      Verdict = "kept"      // no other implementation is clearly faster
	Changed   Verdict = "changed"   // another one is, and is chosen from now on
	Undecided Verdict = "undecided" // there was too little time, or nothing could be timed
)

// Duel is a doubt and what a duel found.
type Duel struct {
	Doubt
	Verdict Verdict
	Chosen  string // from now on
	Blocks  int    // in each, all implementations were timed
	// Ratio is the time of the doubtful choice divided by that of the best other implementation, as a median over blocks, within
	// Low and High by a 99.9 % interval. All are 0 if nothing was timed. A duel times calls alone, and so it multiplies times by
	// [Timed].Factors.
	Ratio, Low, High float64
	Other            string // the best other implementation
	Err              error  // why an implementation could not be timed, nil if all could
}

// String writes the result as one sentence.
func (r Duel) String() string {
	text := fmt.Sprintf("%s, %s: %s", r.where(), r.Implementation, r.Verdict)
	if r.Verdict == Changed {
		text += " to " + r.Chosen
	}
	if r.Other != "" {
		text += "; " + r.found()
	}
	if r.Err != nil {
		text += "; " + r.Err.Error()
	}
	return text
}

// found says what a duel measured.
func (r *Duel) found() string {
	return fmt.Sprintf("in %d blocks it took %.2f times as long as %s (%.2f–%.2f)", r.Blocks, r.Ratio, r.Other, r.Low, r.High)
}

const (
	// hysteresis is the least saving for which a choice is swapped, or swapped back: another implementation must be faster by
	// more than this, and by more than the tie band of its case. What lies between changes nothing.
	hysteresis = 0.05
	// leastBatch is how long an implementation computes in a block at least, so that the clock's resolution does not matter.
	leastBatch = 20 * time.Microsecond
	mostBatch  = 1000
	warming    = 3 // calls before the first block
)

// looks are the numbers of blocks after which a duel may end. At each look the interval of a median holds with 99.9 %.
var looks = []int{11, 22, 44, 88, 176}

// Duel times the implementations that are in doubt next to each other, in random order and in turn, and swaps a choice if
// another implementation is faster by more than 5 % and by more than the tie band of its case. It computes on inputs of its
// own, in the goroutine that calls it, and takes about budget. Programs call it at a quiet moment, when a few milliseconds do
// not matter. The calls of other goroutines go on and disturb it.
//
// A choice that was tested is not in doubt again for a minute, after the next test for two minutes, and so on up to an hour. So
// an implementation that is fast and slow by turns does not make choices flutter. Duel returns what it found, and an error if
// ctx ended it early. It does nothing if nothing is in doubt.
func (w *Watch) Duel(ctx context.Context, budget time.Duration) ([]Duel, error) {
	if w == nil || w.ended.Load() {
		return nil, nil
	}
	w.dueling.Lock()
	defer w.dueling.Unlock()
	doubts := w.doubts()
	defer w.forgetCauses(doubts)
	end := w.clock() + budget
	var results []Duel
	for i, d := range doubts {
		left := end - w.clock()
		if err := ctx.Err(); err != nil || left <= 0 {
			return results, err
		}
		until := w.clock() + left/time.Duration(len(doubts)-i)
		r := Duel{Doubt: d.Doubt, Chosen: d.Implementation, Verdict: Undecided}
		w.fight(ctx, d, &r, until)
		w.conclude(d, &r)
		results = append(results, r)
	}
	return results, ctx.Err()
}

// fighter is an implementation in a duel.
type fighter struct {
	name  string
	run   func() error
	end   func()
	batch int
	times float64   // as long as alone it takes where the program calls it
	logs  []float64 // of the choice's time divided by this one's, by block
}

// fight times the implementations of a doubt, and gives the verdict.
func (w *Watch) fight(ctx context.Context, d *doubt, r *Duel, until time.Duration) {
	all, err := w.enter(d)
	defer func() {
		for _, f := range all {
			f.end()
		}
	}()
	r.Err = err
	switch {
	case len(all) == 0:
		return
	case len(all) == 1:
		r.Verdict = Kept // nothing else can be used
		return
	}
	random := rand.New(rand.NewPCG(uint64(d.last.size), uint64(w.timing)))
	times := make([]float64, len(all))
	margin := math.Log1p(max(hysteresis, d.tieBand))
	for _, look := range looks {
		for r.Blocks < look {
			for _, i := range random.Perm(len(all)) {
				if times[i], err = w.time(all[i]); err != nil {
					r.Err = fmt.Errorf("%s: %w", all[i].name, err)
					return
				}
			}
			for i := range all[1:] {
				all[1+i].logs = append(all[1+i].logs, math.Log(times[0]/times[1+i]))
			}
			r.Blocks++
			if ctx.Err() != nil || w.clock() > until {
				r.judge(all[1:], margin)
				return
			}
		}
		if r.judge(all[1:], margin); r.Verdict != Undecided {
			return
		}
	}
	r.Verdict = Kept // none is clearly faster
}

// enter makes the calls of a doubt's implementations, the choice first, without those that cannot be used. The choice must be
// there: without it nothing is returned.
func (w *Watch) enter(d *doubt) (all []*fighter, err error) {
	if d.last.trial == nil {
		return nil, errors.New("the program gave no Trial with its calls")
	}
	for i, name := range append([]string{d.Implementation}, d.Against...) {
		if why := w.d.obstacleAt(d.at, name); why != "" && i > 0 {
			continue
		}
		factor, known := d.last.factor(name)
		switch {
		case known:
		case i > 0:
			continue
		default:
			return nil, fmt.Errorf("nobody knows how long %s takes in stage %s", name, d.Stage)
		}
		f := &fighter{name: name, end: func() {}, times: factor}
		run, end, failed := d.last.trial(name, d.last.shape[:d.last.values])
		if end != nil {
			f.end = end
		}
		if failed == nil {
			f.run = run
			failed = w.warm(f)
		}
		if failed == nil {
			all = append(all, f)
			continue
		}
		f.end()
		err = fmt.Errorf("%s: %w", name, failed)
		if i == 0 {
			return nil, err
		}
	}
	return all, err
}

// warm runs the first calls, and finds how many calls are timed at once.
func (w *Watch) warm(f *fighter) error {
	var took time.Duration
	for range warming {
		start := w.clock()
		if err := f.run(); err != nil {
			return err
		}
		took = w.clock() - start
	}
	f.batch = int(min(max(leastBatch/max(took, 1), 1), mostBatch))
	return nil
}

// time returns the seconds of a call, as long as it would take where the program makes it.
func (w *Watch) time(f *fighter) (float64, error) {
	start := w.clock()
	for range f.batch {
		if err := f.run(); err != nil {
			return 0, err
		}
	}
	return f.times * max((w.clock()-start).Seconds(), 1e-12) / float64(f.batch), nil
}

// obstacleAt says why the program cannot use an implementation, "" if it can.
func (d *Dispatcher) obstacleAt(at site, name string) string {
	operation, _, placement := splitName(at.name())
	d.mu.Lock()
	defer d.mu.Unlock()
	b := builder{d: d, otherGPU: d.entryFor(operation).otherGPU}
	if at.of != nil {
		b.names, b.lacks, b.recorded = at.of.names, at.of.obstacle, d.sourceOf(at.of).recorded
	} else {
		b.names, b.lacks = at.over.names, at.over.obstacle
	}
	if p := d.knownFor(operation, placement); b.recorded == nil && p != nil {
		b.recorded = p.record()
	}
	if at.in().list {
		b.recorded = noRecord
	}
	if b.recorded == nil {
		return NotThere
	}
	return b.obstacle(name)
}

// judge gives the verdict by the blocks until now.
func (r *Duel) judge(others []*fighter, margin float64) {
	faster, allBelow := false, true
	for i, f := range others {
		middle, low, high := medianOf(f.logs)
		allBelow = allBelow && high < margin
		wins := low > margin
		if i == 0 || wins && !faster || wins == faster && middle > math.Log(r.Ratio) {
			r.Other, r.Ratio, r.Low, r.High = f.name, math.Exp(middle), math.Exp(low), math.Exp(high)
		}
		faster = faster || wins
	}
	switch {
	case faster:
		r.Verdict, r.Chosen = Changed, r.Other
	case allBelow:
		r.Verdict = Kept
	}
}

// medianOf returns the median of some values and its 99.9 % interval, which has no ends if there are fewer than 11 values.
func medianOf(values []float64) (middle, low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	middle = (sorted[(n-1)/2] + sorted[n/2]) / 2
	k := outside(n)
	if k == 0 {
		return middle, math.Inf(-1), math.Inf(1)
	}
	return middle, sorted[k-1], sorted[n-k]
}

// outside returns the greatest k such that the k-th least of n values lies above their distribution's median with a
// probability of at most 0.05 %, 0 if there is none.
func outside(n int) int {
	const most = 0.0005
	term := math.Exp2(-float64(n)) // the binomial distribution of the number of values below the median
	sum := 0.0
	for k := range n {
		if sum += term; sum > most {
			return k
		}
		term *= float64(n-k) / float64(k+1)
	}
	return 0
}

// conclude acts by a result.
func (w *Watch) conclude(d *doubt, r *Duel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.d.mu.Lock()
	fresh := w.d.calibrations != w.calibrations
	w.d.mu.Unlock()
	if fresh || r.Verdict == Undecided {
		return
	}
	h := w.holds[d.at]
	if h == nil {
		h = &hold{}
		w.holds[d.at] = h
	}
	h.next(w.d.now())
	d.settled = true
	if r.Verdict != Changed {
		return
	}
	from := d.Implementation
	if d.swap != nil {
		from = d.swap.from
	}
	if from == r.Chosen {
		w.d.takeSwap(d.swap, nil) // as the calibration has it
		return
	}
	reason := strings.Replace(r.found(), "it took", d.Implementation+" took", 1)
	w.d.takeSwap(d.swap, &swap{name: d.Case, over: d.at.over != nil, in: d.at.in(), octaves: d.at.octaves, from: from, to: r.Chosen,
		reason: reason, made: w.d.now(), site: d.at, last: d.last})
}

// forgetCauses makes changes the usual state whose doubts are all settled.
func (w *Watch) forgetCauses(doubts []*doubt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := map[*series]bool{}
	for _, d := range doubts {
		open[d.cause] = open[d.cause] || !d.settled
	}
	for s, still := range open {
		if s != nil && !still && w.series[s.seriesKey] == s {
			s.Forget()
		}
	}
}
