package sweeps

import (
	"slices"

	"crossover/kernels"
)

// aheadCases is the number of cases whose kernels are compiled together. Those of a single case keep few of sixteen processors
// busy. Of the other cases, those come whose next visits are most urgent.
const aheadCases = 4

// compileAhead calls Ahead with the size of the visit and those of likely next ones, each once.
func (v *visit) compileAhead() {
	if v.Ahead == nil || v.State == Cold || v.e.compiled[v.size] || !v.e.compiles() {
		return
	}
	own := v.e.upcoming(v.size)
	if own == nil {
		return
	}
	start := v.Clock.Now()
	v.Ahead(append([]Upcoming{{v.e.c, own}}, v.othersAhead()...))
	v.binding += v.Clock.Now() - start
}

// othersAhead returns what is likely to be visited soon in other cases.
func (v *visit) othersAhead() (all []Upcoming) {
	type next struct {
		*entry
		size int
		urgency
	}
	var others []next
	for _, e := range v.entries {
		if e == v.e || e.done || !e.compiles() {
			continue
		}
		if size, _, worth := e.planner.Next(&e.result.Samples); worth > 0 && !e.compiled[size] {
			others = append(others, next{e, size, v.urgencyOf(e, worth)})
		}
	}
	slices.SortStableFunc(others, func(a, b next) int { return b.compare(a.urgency) })
	for _, e := range others[:min(len(others), aheadCases-1)] {
		if sizes := e.upcoming(e.size); sizes != nil {
			all = append(all, Upcoming{e.c, sizes})
		}
	}
	return all
}

// compiles reports whether the case may have kernels to compile.
func (e *entry) compiles() bool {
	return e.c.Compile != nil && slices.ContainsFunc(e.implementations, func(i *implementation) bool { return i.Processor == kernels.GPU })
}

// upcoming returns the sizes that the planner is likely to propose next, and marks them and a size as compiled. It returns nil if
// the planner does not know them.
func (e *entry) upcoming(size int) []int {
	f, ok := e.planner.(Foresighted)
	if !ok {
		return nil
	}
	sizes := f.Upcoming()
	for _, size := range append(sizes, size) {
		e.compiled[size] = true
	}
	return sizes
}
