package race

import (
	"context"
	"math"
	"slices"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/profiles"
	"crossover/songs"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// Judged says what the route costs that pipelines follow, by fresh times of it and of the routes that are worth measuring. All
// ratios are geometric means over visits, in each of which the other visits name the route that is the best one.
type Judged struct {
	*Session
	Followed string // what the route was measured as, in words: see [calibration.Route.Title]
	Reason   string // why it is followed
	Visits   int    // that count; of a single visit, its blocks
	Why      string // why nothing is known; "" if something is

	// Regret is how much longer a call takes by the route than by the best one, as a part. It is negative where noise is greater
	// than the difference. Lower and Upper are bounds of it, each with 95 % confidence.
	Regret, Lower, Upper float64
	// OneSide is how many times as long a call takes by the better one of two routes: everything on the processor, or everything
	// on the GPU. It is NaN if neither was timed.
	OneSide float64
}

// followed is the name of an entrant that is in the race only because it is followed: see [songs.Pipeline.Followed].
const followed = "followed"

// Limit is the greatest regret of a route that holds. Unsure is the greatest upper bound of it.
const (
	Limit  = 0.02
	Unsure = 0.05
)

// Finding is the verdict. The route has drifted if it takes longer than the best one by more than the limit, with 95 % confidence.
func (j *Judged) Finding() thresholds.Finding {
	switch {
	case j.Why != "":
		return thresholds.Unmeasured
	case j.Lower > Limit:
		return thresholds.Drifted
	case j.Regret <= Limit && j.Upper <= Unsure:
		return thresholds.Holds
	}
	return thresholds.Ambiguous
}

// Judge times sessions by the routes that pipelines follow by d, and by the others that are worth measuring, and writes nothing. It
// returns the findings in the same order. o has the budget, for all sessions together, and everything else that a sweep needs but
// its planner. Judge fails if a graph or an input is wrong, or if ctx ends.
func Judge(ctx context.Context, b *kernels.Backends, d *dispatch.Dispatcher, sessions []Session, o sweeps.Options) ([]Judged, error) {
	var reasons []string
	races, results, err := run(ctx, b, d, sessions, o, func(p *songs.Pipeline, calls int, elements ...int) ([]songs.Entrant, error) {
		all, err := p.Entrants(calls, elements...)
		if err != nil {
			return nil, err
		}
		route, reason, err := p.Followed(elements...)
		reasons = append(reasons, reason)
		at := slices.IndexFunc(all, func(e songs.Entrant) bool { return slices.Equal(e.Route, route.Route) })
		if at < 0 {
			at, all = len(all), append(all, route)
		}
		all[0], all[at] = all[at], all[0] // the followed one is the first
		return all, err
	})
	if err != nil {
		return nil, err
	}
	var all []Judged
	for i, r := range races {
		all = append(all, r.judge(results[i], reasons[i]))
	}
	return all, nil
}

// judge judges the first entrant.
func (r *race) judge(of *sweeps.Result, reason string) Judged {
	j := Judged{Session: r.Session, Followed: "another route", Reason: reason, OneSide: math.NaN()}
	if name := r.entrants[0].Name; name != followed {
		j.Followed = (&calibration.Route{Name: name}).Title()
	}
	visits := r.visits(&of.Samples)
	if len(visits) == 0 {
		j.Why = why(of)
		return j
	}
	everyone := func(songs.Entrant) bool { return true }
	losses := r.behind(visits, everyone)
	j.Visits = len(visits)
	if j.Regret, j.Upper = thresholds.MeanLoss(losses); math.IsNaN(j.Upper) { // fewer than two visits or blocks
		j.Why = TooShort
		return j
	}
	for i := range losses {
		losses[i] = -losses[i]
	}
	_, most := thresholds.MeanLoss(losses)
	j.Lower = 1/(1+most) - 1
	if others := r.behind(visits, func(e songs.Entrant) bool { return e.OneSided }); len(others) > 0 {
		mean, _ := thresholds.MeanLoss(others)
		j.OneSide = 1 / (1 + mean)
	}
	return j
}

// visits returns the logarithms of the entrants' median times in each visit in which the first one was timed; NaN for one that was
// not. With a single visit, each of its blocks counts as one. Disturbed blocks count only if there are no others.
func (r *race) visits(samples *timings.Set) (all [][]float64) {
	blocks := undisturbed(samples)
	single := !slices.ContainsFunc(blocks, func(b timings.Block) bool { return b.Visit != blocks[0].Visit })
	var keys []int
	times := map[int][][]float64{} // by visit and entrant
	for n := range blocks {
		k := blocks[n].Visit
		if single {
			k = n
		}
		if times[k] == nil {
			keys, times[k] = append(keys, k), make([][]float64, len(r.entrants))
		}
		for e := range r.entrants {
			i := slices.Index(samples.Implementations, r.entrants[e].Name)
			if i >= 0 && blocks[n].Timed(i) {
				times[k][e] = append(times[k][e], math.Log(blocks[n].Seconds[i]))
			}
		}
	}
	for _, k := range keys {
		visit := make([]float64, len(r.entrants))
		for e := range visit {
			visit[e] = median(times[k][e])
		}
		if !math.IsNaN(visit[0]) {
			all = append(all, visit)
		}
	}
	return all
}

// behind returns for each visit how far the first entrant is behind the one of those that are wanted which is the best one in all
// other visits, as the logarithm of a ratio. A visit in which that one was not timed is left out, and so is one without others.
func (r *race) behind(visits [][]float64, wanted func(songs.Entrant) bool) (losses []float64) {
	for v := range visits {
		best, least := -1, math.Inf(1)
		for e := range r.entrants {
			var others []float64
			for u := range visits {
				if u != v && !math.IsNaN(visits[u][e]) {
					others = append(others, visits[u][e])
				}
			}
			if m := median(others); wanted(r.entrants[e]) && m < least {
				best, least = e, m
			}
		}
		if best >= 0 && !math.IsNaN(visits[v][best]) {
			losses = append(losses, visits[v][0]-visits[v][best])
		}
	}
	return losses
}

// median returns the median, or NaN if there is nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return profiles.Quantile(values, 0.5)
}
