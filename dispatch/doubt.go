package dispatch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"crossover/dispatch/drift"
)

// Doubt is a choice that a [Watch] found to be doubtful.
type Doubt struct {
	Pipeline       string // whose route names the implementation for a stage; "" for calls outside of routes
	Stage          string // of the pipeline, or the stages of a list of kernels
	Case           string // or the operation, if its choices depend on the shape; "" for a list of kernels
	From, To       int    // sizes of the case for which the choice is doubtful, both 0 for an operation
	Shape          []int  // of the last call that was timed, or the size
	Implementation string // that is chosen there
	Against        []string
	Reason         string // in one clause
	// Factor is how many times as long calls take as they usually do beside the other operations, or, if Predicted, as the
	// calibration predicts beside them. If the choice is doubtful because an implementation in Against became faster, Factor is
	// below 1 and about that one. It is 1 for a swap that shall be tested again.
	Factor    float64
	Predicted bool
	Calls     int // number of timed calls since the change began
	// Alone says that the Watch cannot know whether the implementation changed or the machine, because nothing else was called
	// beside it. A duel can tell.
	Alone bool
	Since time.Time // when the change was noticed, or the choice swapped
}

// String writes the doubt as one sentence.
func (d Doubt) String() string {
	at := fmt.Sprintf("%d to %d", d.From, d.To)
	if d.To == 0 {
		at = "shape " + strings.Trim(fmt.Sprint(d.Shape), "[]")
	}
	return fmt.Sprintf("%s at %s: %s is doubtful, because %s; %s may be faster", d.where(), at, d.Implementation, d.Reason, strings.Join(d.Against, " or "))
}

// where names what is called.
func (d *Doubt) where() string { return stageOf{d.Pipeline, d.Stage, d.Case == ""}.before(d.Case) }

// doubt is a Doubt with what a duel needs.
type doubt struct {
	Doubt
	at      site
	last    timed
	tieBand float64
	cause   *series // whose change is the reason; nil for a swap that shall be tested again
	swap    *swap   // of the choice; nil if the calibration decides it
	settled bool    // by a duel
}

// slack is how much longer than the choice an implementation may take by the calibration and be tested all the same, because
// predictions are not exact.
const slack = 1.15

// mostAgainst is the greatest number of implementations that a choice is tested against.
const mostAgainst = 3

// Doubtful returns the choices that are in doubt, the most doubtful first. Choices that are swapped are among them after a
// minute, then after two and so on up to an hour, so that they are tested again. A choice is not in doubt if an implementation
// became slower and would have to become much slower before another one is faster.
func (w *Watch) Doubtful() []Doubt {
	var doubts []Doubt
	for _, d := range w.doubts() {
		doubts = append(doubts, d.Doubt)
	}
	return doubts
}

func (w *Watch) doubts() []*doubt {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	var all []*doubt
	for _, s := range w.series {
		switch c, changed := s.Change(); {
		case !changed:
		case c.Log > 0:
			all = append(all, w.slower(s, c)...)
		case !c.Alone:
			all = append(all, w.faster(s, c)...)
		}
	}
	all = append(all, w.swapsToTest()...)
	all = slices.DeleteFunc(all, func(d *doubt) bool { return w.held(d.at) })
	slices.SortFunc(all, func(a, b *doubt) int {
		return cmp.Or(compareBool(a.Alone, b.Alone), -cmp.Compare(math.Abs(math.Log(a.Factor)), math.Abs(math.Log(b.Factor))),
			cmp.Compare(a.where(), b.where()), cmp.Compare(a.From, b.From), cmp.Compare(a.Implementation, b.Implementation))
	})
	// A site may be doubtful for several reasons. The first one stays.
	seen := map[site]bool{}
	return slices.DeleteFunc(all, func(d *doubt) bool {
		twice := seen[d.at]
		seen[d.at] = true
		return twice
	})
}

// held reports whether a site was dueled for recently.
func (w *Watch) held(at site) bool {
	h := w.holds[at]
	return h != nil && w.d.now().Before(h.until)
}

// newDoubt returns a doubt of the choice of a series.
func (s *series) newDoubt(c drift.Change, against []string, swaps []*swap) *doubt {
	d := &doubt{at: s.site, last: s.last, tieBand: s.forecast.tieBand, cause: s}
	d.Doubt = Doubt{Pipeline: s.in().pipeline, Stage: s.in().stage, Case: s.name(), Shape: slices.Clone(s.last.shape[:s.last.values]), Implementation: s.implementation,
		Against: against, Factor: math.Exp(c.Log), Predicted: c.Predicted, Calls: c.Values, Alone: c.Alone, Since: s.since}
	if s.of != nil {
		d.From, d.To = s.sizes()
	}
	for _, known := range swaps {
		if known.site == s.site && known.to == s.implementation {
			d.swap = known
		}
	}
	return d
}

// slower returns the doubt of a choice whose calls became slower.
func (w *Watch) slower(s *series, c drift.Change) []*doubt {
	if s.stale(w) {
		return nil
	}
	now, _, _ := s.forecast.at(&s.last, s.implementation)
	against := s.rivals(now * math.Exp(c.Log))
	if len(against) == 0 {
		return nil
	}
	d := s.newDoubt(c, against, w.swaps())
	switch {
	case c.Alone:
		d.Reason = fmt.Sprintf("its calls take %.2f times as long as before, and the watch cannot know whether the machine does", d.Factor)
	case c.Predicted:
		d.Reason = fmt.Sprintf("its calls take %.2f times as long as predicted, beside the other operations", d.Factor)
	default:
		d.Reason = fmt.Sprintf("its calls take %.2f times as long as before, beside the other operations", d.Factor)
	}
	return []*doubt{d}
}

// faster returns the doubts of the choices that an implementation may win because its calls became faster: those of the same
// operation that are not for it.
func (w *Watch) faster(s *series, c drift.Change) []*doubt {
	operation, _, placement := splitName(s.name())
	var all []*doubt
	for _, other := range w.series {
		o, _, p := splitName(other.name())
		elsewhere := o != operation || p != placement || s.in().list && other.in() != s.in()
		if elsewhere || other.implementation == s.implementation || other.stale(w) {
			continue
		}
		own, _, _ := other.forecast.at(&other.last, other.implementation)
		its, _, known := other.forecast.at(&other.last, s.implementation)
		if !known || its*math.Exp(c.Log) > slack*own {
			continue
		}
		d := other.newDoubt(c, []string{s.implementation}, w.swaps())
		d.cause, d.Since = s, s.since
		how := "before"
		if c.Predicted {
			how = "predicted"
		}
		d.Reason = fmt.Sprintf("calls of %s take %.2f times as long as %s in %s, beside the other operations", s.implementation, d.Factor, how, s.in().before(s.name()))
		all = append(all, d)
	}
	return all
}

// stale reports whether a series is no longer called, because another implementation is chosen there.
func (s *series) stale(w *Watch) bool {
	for _, other := range w.series {
		if other.site == s.site && other.seen > s.seen && w.timed-s.seen > drift.Enough {
			return true
		}
	}
	return false
}

// rivals returns the implementations that are predicted to take at most slack times as long as some seconds at the last call,
// the fastest first. It asks
// for no obstacle, because that may open a GPU.
func (s *series) rivals(most float64) []string {
	type rival struct {
		name    string
		seconds float64
	}
	known := s.names()
	var all []rival
	for _, name := range s.implementations() {
		if name == s.implementation || known != nil && !slices.Contains(known, name) {
			continue
		}
		if seconds, _, predicted := s.forecast.at(&s.last, name); predicted && seconds <= slack*most {
			all = append(all, rival{name, seconds})
		}
	}
	slices.SortFunc(all, func(a, b rival) int { return cmp.Compare(a.seconds, b.seconds) })
	var names []string
	for _, one := range all[:min(len(all), mostAgainst)] {
		names = append(names, one.name)
	}
	return names
}

// implementations returns those for which something may be predicted.
func (s *series) implementations() (all []string) {
	if s.last.forecast != nil {
		return s.names()
	}
	for _, i := range s.forecast.implementations() {
		all = append(all, i.Name)
	}
	return all
}

// swaps returns the present swaps.
func (w *Watch) swaps() []*swap {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	return w.d.swaps
}

// swapsToTest returns doubts of the swaps, so that they are tested again.
func (w *Watch) swapsToTest() []*doubt {
	var all []*doubt
	for _, s := range w.swaps() {
		d := &doubt{at: s.site, last: s.last, swap: s}
		if now := w.series[seriesKey{s.site, s.to}]; now != nil {
			d.last = now.last // by a plan that may be there when that of the duel is not
		}
		d.Doubt = Doubt{Pipeline: s.in.pipeline, Stage: s.in.stage, Case: s.name, Shape: slices.Clone(d.last.shape[:d.last.values]), Implementation: s.to, Against: []string{s.from},
			Factor: 1, Since: s.made, Reason: "it was swapped " + ago(max(0, w.d.now().Sub(s.made))) + ", in place of " + s.from}
		if s.site.of != nil {
			d.From, d.To = s.site.sizes()
		}
		all = append(all, d)
	}
	return all
}
