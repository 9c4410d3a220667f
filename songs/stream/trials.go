package stream

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"crossover/kernels"
	"crossover/songs"
)

// trial is one change of a route that Tune tries: other implementations of one stage, or of two neighbours, of which one reads what
// the other one writes. Two neighbours are tried together where they may take less than the sum of the two: on all cores, where the
// second one finds the cores awake, and on a GPU, where they are one list of kernels.
type trial struct {
	name            string
	stages          []int
	implementations []string
	onGPU           bool
	seconds         float64 // the median of a block; 0 if there was none
}

// on returns a route with the change.
func (t *trial) on(r songs.Route) songs.Route {
	r = slices.Clone(r)
	for k, i := range t.stages {
		r[i] = t.implementations[k]
	}
	return r
}

// trialsOf returns the trials for a route, given the implementations of each stage. A stage alone is not tried on a GPU: it would
// pay for a launch and the moves that a list pays for once.
func trialsOf(g *songs.Graph, all [][]kernels.Implementation, base songs.Route) (trials []trial) {
	for i, of := range all {
		for _, m := range of {
			if m.Processor == kernels.CPU && m.Name != base[i] {
				trials = append(trials, trial{name: fmt.Sprintf("%s, %s", g.Stages[i].Name, m.Name), stages: []int{i}, implementations: []string{m.Name}})
			}
		}
	}
	for j := range all {
		for i := range all {
			if !reads(g, j, i) {
				continue
			}
			for _, a := range all[i] {
				for _, b := range all[j] {
					onGPU := a.Processor == kernels.GPU && a.Name == b.Name
					pooled := a.Processor == kernels.CPU && b.Processor == kernels.CPU && a.Cores == kernels.AllCores && b.Cores == kernels.AllCores
					if onGPU || pooled && a.Name != base[i] && b.Name != base[j] {
						trials = append(trials, trial{name: fmt.Sprintf("%s and %s, %s and %s", g.Stages[i].Name, g.Stages[j].Name, a.Name, b.Name),
							stages: []int{i, j}, implementations: []string{a.Name, b.Name}, onGPU: onGPU})
					}
				}
			}
		}
	}
	return trials
}

// reads reports whether a stage reads, in the same call, a tensor that another one writes.
func reads(g *songs.Graph, reader, writer int) bool {
	name := g.Stages[writer].Name
	return slices.ContainsFunc(g.Stages[reader].Reads, func(t string) bool {
		derived := slices.ContainsFunc(g.Derived, func(d songs.Derived) bool { return d.Name == t })
		return !derived && (t == name || strings.HasPrefix(t, name+"."))
	})
}

// margin is by what share of the base a trial must gain to count. Medians of two slots with the same implementations differ by less.
const margin = 0.03

// fastest returns the trials to make at once, each stage in at most one of them. A stage gets the trial that gains most. Two
// neighbours get a trial of both instead if it gains more than the two alone do together.
func fastest(trials []trial, base float64) (chosen []trial) {
	gain := func(t *trial) float64 {
		if t.seconds <= 0 || base-t.seconds <= margin*base {
			return 0
		}
		return base - t.seconds
	}
	alone := map[int]*trial{}
	var pairs []*trial
	for i := range trials {
		t := &trials[i]
		switch best := alone[t.stages[0]]; {
		case gain(t) == 0:
		case len(t.stages) > 1:
			pairs = append(pairs, t)
		case best == nil || gain(t) > gain(best):
			alone[t.stages[0]] = t
		}
	}
	more := func(t *trial) float64 {
		sum := gain(t)
		for _, i := range t.stages {
			if alone[i] != nil {
				sum -= gain(alone[i])
			}
		}
		return sum
	}
	pairs = slices.DeleteFunc(pairs, func(t *trial) bool { return more(t) <= margin*base })
	slices.SortStableFunc(pairs, func(a, b *trial) int { return cmp.Compare(more(b), more(a)) })
	taken := map[int]bool{}
	take := func(t *trial) {
		if slices.ContainsFunc(t.stages, func(i int) bool { return taken[i] }) {
			return
		}
		for _, i := range t.stages {
			taken[i] = true
		}
		chosen = append(chosen, *t)
	}
	for _, t := range pairs {
		take(t)
	}
	for i := range trials {
		if t := &trials[i]; alone[t.stages[0]] == t {
			take(t)
		}
	}
	return chosen
}
