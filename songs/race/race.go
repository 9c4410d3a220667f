// Package race measures pipelines: whole calls by several routes, interleaved in one sweep. It keeps no clock of its own.
//
// The usual steps are [Usual], or Sessions of a program's own, then Measure, and then calibration.Update with
// [calibration.Host.SetPipeline], so that pipelines of package songs follow the route that won. On another day, [Judge] times that
// route against the others again.
package race

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/songs"
	"crossover/sweeps"
	"crossover/timings"
)

// Session is calls of a pipeline that follow each other. The first one begins as after Reset.
type Session struct {
	Graph  *songs.Graph
	Length string        // for people: "10 s", "128 steps"
	Audio  string        // "generated", or the name of the recording from which the inputs are; may be ""
	Calls  [][][]float32 // the inputs of each call
}

// Measured is what was measured of a session.
type Measured struct {
	*Session
	calibration.PipelineLength
	Why string // why no route was timed; "" if one was

	work float64 // seconds that all routes together are forecast to take; 0 if nothing is
}

// TooShort is why a session was not timed for which the budget was too short.
const TooShort = "the budget is too short"

// Enough returns a budget by which all sessions can be timed, of whom so little time was too short for some. A sweep visits each
// session once before it visits one again, so what is left out takes as much of the budget as its part in the forecast times
// is. The budget is in half minutes, and greater than the one before.
func Enough(all []Measured, budget time.Duration) time.Duration {
	timed, whole := 0.0, 0.0
	for _, m := range all {
		switch {
		case m.Why == "":
			timed, whole = timed+m.work, whole+m.work
		case m.Why == TooShort:
			whole += m.work
		}
	}
	const step, most = 30 * time.Second, 10 // times the budget: a forecast may be wrong
	times := 2.0
	if timed > 0 && whole > timed {
		times = min(whole/timed, most)
	}
	return (time.Duration(times*float64(budget))/step + 1) * step
}

// Measure measures sessions, each by the routes that are worth it, and returns what was measured in the same order. o has the
// budget, for all sessions together, and everything else that a sweep needs but its planner. A session for which the budget is
// too short has no routes. Measure fails if a graph or an input is wrong, or if ctx ends.
//
// There are several rounds. What the stages of one took in their pipelines changes the forecasts, and so the routes that are worth
// measuring. The next round measures those, and the best ones of the round before again. After one round beside an H200, a new forecast
// named routes that took 6 to 11 % less than the best measured ones of the analysis of 10 and 30 seconds, and after two rounds routes
// that took 6 to 10 % less than those. On two cores one took a third less, for a decoder of width 512.
//
// know returns a dispatcher that also knows some pipelines. Without it there is one round.
func Measure(ctx context.Context, b *kernels.Backends, d *dispatch.Dispatcher, sessions []Session, o sweeps.Options, know Know) (all []Measured, err error) {
	shares := shares
	if know == nil {
		shares = []float64{1}
	}
	for i, share := range shares {
		if i > 0 {
			if d, err = know(Pipelines(all, time.Now())); err != nil {
				return nil, err
			}
		}
		within := o
		within.Budget = time.Duration(share * float64(o.Budget))
		if all, err = round(ctx, b, d, sessions, within, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Know returns a dispatcher that also knows what was measured of pipelines.
type Know func([]calibration.Pipeline) (*dispatch.Dispatcher, error)

// shares are what rounds have of the budget.
var shares = []float64{0.25, 0.25, 0.5}

// goOn is the number of routes of a session that come into the next round.
const goOn = 2

// best returns the best routes that were measured, as entrants of another round.
func (m *Measured) best() (all []songs.Entrant) {
	for i, r := range m.Routes[:min(goOn, len(m.Routes))] {
		all = append(all, songs.Entrant{Name: fmt.Sprintf("first-%d", i+1), Route: r.Implementations})
	}
	return all
}

// remember adds what an earlier round measured: the parts that this one has not, because a route that proved slow is not measured again.
// If the budget was too short for this round, the earlier one counts.
func (m *Measured) remember(earlier *Measured) {
	if m.Why == TooShort && earlier.Why == "" {
		*m = *earlier
		return
	}
	for _, p := range earlier.Parts {
		if m.Why == "" && !slices.ContainsFunc(m.Parts, func(of calibration.Part) bool { return of.Name == p.Name && of.Implementation == p.Implementation }) {
			m.Parts = append(m.Parts, p)
		}
	}
}

// round measures sessions once, by the routes that are worth it and by the best ones of an earlier round, of which there may be none.
func round(ctx context.Context, b *kernels.Backends, d *dispatch.Dispatcher, sessions []Session, o sweeps.Options, earlier []Measured) ([]Measured, error) {
	o.Budget -= o.Budget / partsShare
	session := 0
	races, results, err := run(ctx, b, d, sessions, o, func(p *songs.Pipeline, calls int, elements ...int) ([]songs.Entrant, error) {
		all, err := p.Entrants(calls, elements...)
		if err == nil && earlier != nil {
			all, err = p.WithEntrants(all, earlier[session].best(), calls, elements...)
		}
		session++
		return all, err
	})
	if err != nil {
		return nil, err
	}
	var all []Measured
	for i, r := range races {
		m := r.result(results[i])
		if err := r.divide(ctx, &m); err != nil {
			return nil, err
		}
		if earlier != nil {
			m.remember(&earlier[i])
		}
		all = append(all, m)
	}
	return all, forecast(races, all)
}

// run times sessions, each by its entrants.
func run(ctx context.Context, b *kernels.Backends, d *dispatch.Dispatcher, sessions []Session, o sweeps.Options, entrants entering) ([]*race, []*sweeps.Result, error) {
	var races []*race
	var cases []kernels.Case
	for i := range sessions {
		r, err := newRace(b, d, &sessions[i], entrants)
		if err != nil {
			return nil, nil, err
		}
		races, cases = append(races, r), append(cases, r.kernelsCase())
	}
	o.Planner = func(c *kernels.Case) sweeps.Planner { return &visits{size: c.Axis.Min} }
	results, err := sweeps.Run(ctx, cases, o)
	return races, results, err
}

// entering returns the entrants of a race, for calls of a pipeline with inputs of so many elements, after so many others.
type entering func(p *songs.Pipeline, calls int, elements ...int) ([]songs.Entrant, error)

// partsShare is the part of the budget that is left for recording what routes consist of: one in so many.
const partsShare = 5

// Pipelines returns what was measured in the form of a calibration file, a pipeline for each name of a graph. Sessions without
// times are left out.
func Pipelines(all []Measured, created time.Time) (pipelines []calibration.Pipeline) {
	for _, m := range all {
		if m.Why != "" {
			continue
		}
		at := slices.IndexFunc(pipelines, func(p calibration.Pipeline) bool { return p.Name == m.Graph.Name })
		if at < 0 {
			p := calibration.Pipeline{Name: m.Graph.Name, Created: created.UTC().Truncate(time.Second)}
			for i := range m.Graph.Stages {
				p.Stages = append(p.Stages, m.Graph.Stages[i].Name)
			}
			at, pipelines = len(pipelines), append(pipelines, p)
		}
		pipelines[at].Lengths = append(pipelines[at].Lengths, m.PipelineLength)
	}
	return pipelines
}

// visits plans a few visits to the only size of a case.
type visits struct{ size, made int }

const (
	mostVisits = 8
	blocks     = 5 // a visit
)

func (v *visits) Next(*timings.Set) (size, n int, worth float64) {
	if v.made == mostVisits {
		return v.size, 0, 0
	}
	return v.size, blocks, 1 / float64(1+v.made)
}

func (v *visits) Visited(int) { v.made++ }
func (v *visits) Doubted(int) {}
func (v *visits) Limit(high int) {
	if v.size > high {
		v.made = mostVisits
	}
}

// race is a session with its entrants. It is the problem of a sweep.
type race struct {
	*Session
	backends   *kernels.Backends
	dispatcher *dispatch.Dispatcher
	elements   []int // of the inputs and the outputs
	entrants   []songs.Entrant
	revisions  []calibration.StageRevision
}

func newRace(b *kernels.Backends, d *dispatch.Dispatcher, s *Session, entrants entering) (*race, error) {
	p, err := songs.NewOn(b, d, s.Graph)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if len(s.Calls) == 0 || len(s.Graph.Inputs) == 0 {
		return nil, fmt.Errorf("songs: %s, %s: no calls or no inputs (want at least one of each)", s.Graph.Name, s.Length)
	}
	var inputs []int
	for i, data := range s.Calls[0] {
		each := 1
		if i < len(s.Graph.Inputs) {
			each = kernels.Tensor{Type: s.Graph.Inputs[i].Type}.Len()
		}
		inputs = append(inputs, len(data)/each)
	}
	r := &race{Session: s, backends: b, dispatcher: d, revisions: p.Revisions()}
	if r.elements, err = p.Elements(inputs...); err != nil {
		return nil, err
	}
	r.entrants, err = entrants(p, r.middle(), inputs...)
	return r, err
}

// inputs returns the elements of the inputs.
func (r *race) inputs() []int { return r.elements[:len(r.Graph.Inputs)] }

// middle returns the calls before the one in the middle, which takes the mean time if that grows from call to call as a decoder's
// does.
func (r *race) middle() int { return (len(r.Calls) - 1) / 2 }

// kernelsCase returns the race as a case of a sweep, with an implementation for each entrant.
func (r *race) kernelsCase() kernels.Case {
	bytes := 0
	for _, inputs := range r.Calls {
		for _, data := range inputs {
			bytes += 4 * len(data)
		}
	}
	in := r.Graph.Inputs[0].Name
	c := kernels.Case{
		Name: r.Graph.Name + ", " + r.Length, Operation: r.Graph.Name,
		Axis:      kernels.Axis{Name: in, Unit: "elements", Min: r.elements[0], Max: r.elements[0]},
		Tolerance: func(int) float64 { return tolerance },
		Bytes:     func(int) float64 { return float64(bytes) },
		Work:      func(int, string) kernels.Work { return kernels.Work{Bytes: float64(bytes)} },
		Placement: kernels.Caller,
		Problem:   func(int, kernels.Input) kernels.Problem { return r },
	}
	for _, e := range r.entrants {
		i := kernels.Implementation{Name: e.Name, Processor: kernels.CPU, Cores: kernels.AllCores}
		if e.OnGPU {
			i.Processor = kernels.GPU
		}
		c.Implementations = append(c.Implementations, i)
	}
	return c
}

// tolerance is the greatest relative error of an output. Errors of stages add up.
const tolerance = 1e-3

// Reference computes the outputs of the last call by the references of all stages. It returns them as numbers, one output after the other.
func (r *race) Reference() []float64 {
	p, err := songs.NewReference(r.Graph)
	if err != nil {
		return nil // no output is as long, so that nothing counts
	}
	defer p.Close()
	if err := r.run(p); err != nil {
		return nil
	}
	return p.Numbers()
}

// run computes the session.
func (r *race) run(p *songs.Pipeline) error {
	p.Reset()
	for _, inputs := range r.Calls {
		if err := p.Run(inputs...); err != nil {
			return err
		}
	}
	return nil
}

// Bind makes a pipeline that follows an entrant's route.
func (r *race) Bind(implementation string) (kernels.Call, error) {
	at := slices.IndexFunc(r.entrants, func(e songs.Entrant) bool { return e.Name == implementation })
	if at < 0 {
		return kernels.Call{}, fmt.Errorf("%w: %q", kernels.ErrUnknownImplementation, implementation)
	}
	p, err := songs.NewOn(r.backends, r.dispatcher, r.Graph)
	if err != nil {
		return kernels.Call{}, err
	}
	if err := p.Follow(r.entrants[at].Route); err != nil {
		p.Close()
		return kernels.Call{}, err
	}
	return kernels.Call{
		Run: func() error { return r.run(p) },
		Output: func() []float32 {
			var all []float32
			for _, v := range p.Numbers() {
				all = append(all, float32(v))
			}
			return all
		},
		Numbers: p.Numbers,
		Error:   p.ErrorAgainst,
		Close:   p.Close,
	}, nil
}

// result returns what was measured, the fastest route first.
func (r *race) result(of *sweeps.Result) Measured {
	m := Measured{Session: r.Session, work: r.work()}
	l := &m.PipelineLength
	l.Elements, l.Audio, l.Blocks, l.Revisions = r.elements, r.Audio, len(of.Samples.Blocks), r.revisions
	for i, seconds := range r.medians(&of.Samples) {
		if e := &r.entrants[i]; !math.IsNaN(seconds) {
			l.Routes = append(l.Routes, calibration.Route{Name: e.Name, Implementations: e.Route,
				MedianSeconds: seconds / float64(len(r.Calls)), PredictedSeconds: e.Seconds})
		}
	}
	if len(l.Routes) == 0 {
		m.Why = why(of)
		return m
	}
	slices.SortStableFunc(l.Routes, func(a, b calibration.Route) int { return cmp.Compare(a.MedianSeconds, b.MedianSeconds) })
	if len(l.Routes) > 1 {
		l.Margin = l.Routes[1].MedianSeconds/l.Routes[0].MedianSeconds - 1
	}
	return m
}

// medians returns what a session takes by each entrant; NaN for one that was not timed. The machine's speed changes from block to block, and
// changes all times of a block. So entrants are compared within blocks: the median ratio to one of them counts, the one that was timed
// most often. Disturbed blocks count only if there are no others.
func (r *race) medians(samples *timings.Set) []float64 {
	blocks := undisturbed(samples)
	times := make([][]float64, len(r.entrants)) // by block
	most, base := 0, -1
	for e := range r.entrants {
		times[e] = slices.Repeat([]float64{math.NaN()}, len(blocks))
		at, n := slices.Index(samples.Implementations, r.entrants[e].Name), 0
		for k := range blocks {
			if at >= 0 && blocks[k].Timed(at) {
				times[e][k], n = blocks[k].Seconds[at], n+1
			}
		}
		if n > most {
			most, base = n, e
		}
	}
	timed := func(of []float64) []float64 { return slices.DeleteFunc(of, math.IsNaN) }
	all := make([]float64, len(r.entrants))
	for e := range all {
		if all[e] = median(timed(slices.Clone(times[e]))); base < 0 {
			continue
		}
		var ratios []float64
		for k, t := range times[e] {
			ratios = append(ratios, t/times[base][k])
		}
		if ratio := median(timed(ratios)); !math.IsNaN(ratio) {
			all[e] = ratio * median(timed(slices.Clone(times[base])))
		}
	}
	return all
}

// undisturbed returns the blocks that were not disturbed, or all if there are no others.
func undisturbed(samples *timings.Set) []timings.Block {
	blocks := slices.DeleteFunc(slices.Clone(samples.Blocks), func(b timings.Block) bool { return b.Disturbed })
	if len(blocks) == 0 {
		return samples.Blocks
	}
	return blocks
}

// work returns the seconds that a session by all routes is forecast to take.
func (r *race) work() (seconds float64) {
	for _, e := range r.entrants {
		seconds += e.Seconds * float64(len(r.Calls))
	}
	return seconds
}

// why says why no route was timed.
func why(of *sweeps.Result) string {
	all := slices.Clone(of.Warnings)
	for _, s := range of.Implementations {
		if s.Excluded != "" {
			all = append(all, s.Name+": "+s.Excluded)
		}
	}
	if len(all) == 0 {
		return TooShort
	}
	return strings.Join(all, "; ")
}
