// Package plans compares the time that a program gets from a typed plan with the time that a sweep measures. The sweep
// itself runs both, one implementation at a time and in the same blocks, each on data of its own in the same placement.
// The two are the same if a calibration measures everything that a call costs a program, and nothing else.
//
// The package decides by evidence. The addresses of a visit's buffers affect all of its blocks, so the datum is the
// median ratio of a visit. Each visit has fresh buffers. Of each two visits, the program gets its buffers first in one, drawn
// at random, because an allocator gives out a few addresses in turn. A row is settled if the 95 % interval of the median over
// its visits lies on one side of a limit. A row that is not settled is visited again while the budget lasts, and then is
// undecided.
//
// The package does not say which of the two is right.
package plans

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"crossover/cmd/internal/command"
	"crossover/kernels"
	"crossover/sweeps"
)

// Options of Compare.
type Options struct {
	Machine command.Machine
	Sizes   int           // number of sizes of each case, spread over its axis
	Blocks  int           // least number of blocks of each row; LeastBlocks if that is more
	Budget  time.Duration // for all cases together
	Seed    uint64

	// Pairs is the number of implementations of cases to compare; 0 means all. The seed draws them. They have different
	// names as far as possible.
	Pairs int

	// Earlier has the rows of an earlier comparison on this machine. Those that are inside or outside are not measured again.
	// The visits of the others count together with the new ones.
	Earlier []Row

	Progress func(sweeps.Progress) // may be nil
}

// Compare times the cases that have typed plans. Every implementation that can run here has a row for each size. If a
// program or a sweep got wrong values, the error wraps ErrWrong, and Compare returns the rows too.
func Compare(ctx context.Context, cases []kernels.Case, o Options) ([]Row, error) {
	pairs := draw(pairsOf(cases), o.Pairs, o.Seed)
	earlier := map[string]map[int]Row{} // by names of the cases of pairs, and by sizes
	for _, r := range o.Earlier {
		name := pairName(r.Case, r.Implementation)
		if earlier[name] == nil {
			earlier[name] = map[int]Row{}
		}
		earlier[name][r.Size] = r
	}
	known := &references{of: map[place][]float64{}}
	var together []kernels.Case // of the pairs that are not settled, which share the budget
	for _, p := range pairs {
		if c := p.together(known, o.Seed); slices.ContainsFunc(spread(c.Axis, o.Sizes), func(size int) bool {
			r := earlier[c.Name][size]
			return !r.settled()
		}) {
			together = append(together, c)
		}
	}
	m := o.Machine
	results, err := sweeps.Run(ctx, together, sweeps.Options{
		Budget: o.Budget, Seed: o.Seed, VisitShare: 1, Input: kernels.GeneratedInput(), Progress: o.Progress,
		// Both times of a ratio are of the same few milliseconds, so a row needs no quiet machine and no twin. It needs visits.
		Brief: true,
		Clock: m.Clock, Sentinel: m.Sentinel, Together: m.Together, Others: m.Others,
		Virtual: m.Clock != nil,
		// Memory that stays in a pool would be the memory of the next visit, at the same addresses.
		Trim: func() { kernels.Here().Trim() },
		Planner: func(c *kernels.Case) sweeps.Planner {
			return newVisits(spread(c.Axis, o.Sizes), max(o.Blocks, LeastBlocks), earlier[c.Name])
		},
	})
	if err != nil {
		return nil, err
	}
	measured := map[string]*sweeps.Result{}
	for i, r := range results {
		measured[together[i].Name] = r
	}
	var rows []Row
	var wrong []error
	for _, p := range pairs {
		name := pairName(p.of.Name, p.implementation)
		r := measured[name]
		if r == nil {
			r = &sweeps.Result{}
		}
		for _, status := range r.Implementations {
			if status.Wrong {
				wrong = append(wrong, fmt.Errorf("%w: %s, %s: %s", ErrWrong, p.of.Name, status.Name, status.Excluded))
			}
		}
		for _, size := range spread(p.of.Axis, o.Sizes) {
			rows = append(rows, p.row(r, size, earlier[name][size]))
		}
	}
	return rows, errors.Join(wrong...)
}

// ErrWrong is wrapped by the error of Compare if an output was wrong.
var ErrWrong = errors.New("wrong values")

// pair is an implementation of a case, both as a sweep calls it and through the typed plan.
type pair struct {
	of             kernels.Case // the case with its programs
	computes       string       // name of the case without its placement
	implementation string
	programs       []kernels.Implementation // the sweep's and the program's
}

// pairName returns the name of the case of an implementation only.
func pairName(of, implementation string) string { return of + " " + implementation }

// pairsOf returns the pairs of the cases that have typed plans, of implementations that typed plans run.
func pairsOf(cases []kernels.Case) []pair {
	var pairs []pair
	for _, c := range cases {
		both, ok := c.WithPrograms()
		if !ok {
			continue
		}
		for _, i := range c.Implementations {
			if i.Missing() != nil {
				continue
			}
			p := pair{of: both, computes: c.Placed(kernels.Caller).Name, implementation: i.Name}
			for _, candidate := range both.Implementations {
				if of, isProgram := kernels.ProgramOf(candidate.Name); candidate.Name == i.Name || isProgram && of == i.Name {
					p.programs = append(p.programs, candidate)
				}
			}
			if len(p.programs) == 2 { // no program gets the others
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// draw returns n of the pairs, or all for n = 0. It takes one pair of each implementation before a second one of any.
func draw(pairs []pair, n int, seed uint64) []pair {
	if n == 0 || n >= len(pairs) {
		return pairs
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	drawn := map[string]int{}
	earlier := make(map[string]int, len(pairs)) // for each pair, the number of pairs of its implementation before it
	key := func(p pair) string { return p.of.Name + " " + p.implementation }
	for _, p := range pairs {
		earlier[key(p)] = drawn[p.implementation]
		drawn[p.implementation]++
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return earlier[key(a)] - earlier[key(b)] })
	return pairs[:n]
}

// together returns a case of the pair only. In a case with a faster implementation, a sweep would time the pair in few
// blocks. known has the references so far.
func (p pair) together(known *references, seed uint64) kernels.Case {
	c := p.of
	c.Name = pairName(c.Name, p.implementation)
	c.Implementations = p.programs
	rng := rand.New(rand.NewPCG(seed, 1))
	second := map[int]int{} // by size, what comes first in the second visit of two; the other one came first in the first
	c.Problem = func(size int, in kernels.Input) kernels.Problem {
		k, again := second[size]
		if again {
			delete(second, size)
		} else {
			k = rng.IntN(len(p.programs))
			second[size] = len(p.programs) - 1 - k
		}
		first := p.programs[k].Name
		return &inTurn{Problem: p.of.Problem(size, in), first: first, known: known, at: place{p.computes, size}}
	}
	return c
}

// references keeps reference outputs. All implementations and placements of a case have the same at a size, and computing a
// large one takes longer than a visit.
type references struct {
	of     map[place][]float64
	values int // that are kept
}

// place is a size of a case, whose name has no placement.
type place struct {
	computes string
	size     int
}

// mostKept is the greatest number of values that are kept: 1 GiB.
const mostKept = 1 << 27

// get returns a reference. It is computed unless it is kept.
func (r *references) get(at place, compute func() []float64) []float64 {
	if reference, ok := r.of[at]; ok {
		return reference
	}
	reference := compute()
	if r.values+len(reference) <= mostKept {
		r.of[at] = reference
		r.values += len(reference)
	}
	return reference
}

// inTurn is a problem that binds the implementation first before all others, even if another one is asked for first. A sweep
// always asks in the same order, and the addresses of a binding's memory depend on the order.
type inTurn struct {
	kernels.Problem
	first string // "" after it is bound
	ahead *kernels.Call
	name  string // name of the call that was bound ahead

	known *references
	at    place
}

// Reference computes the reference unless the problem of another implementation has done so.
func (p *inTurn) Reference() []float64 { return p.known.get(p.at, p.Problem.Reference) }

// Bind returns the call that was bound ahead, once, and binds the others.
func (p *inTurn) Bind(name string) (kernels.Call, error) {
	if first := p.first; first != "" {
		p.first = ""
		if first != name {
			if call, err := p.made(first); err == nil { // an error is found again when the sweep asks
				p.ahead, p.name = &call, first
			}
		}
	}
	if p.ahead != nil && p.name == name {
		call := *p.ahead
		p.ahead = nil
		return call, nil
	}
	return p.Problem.Bind(name)
}

// made binds an implementation and makes its first call, because a typed plan takes its memory on a GPU only then.
func (p *inTurn) made(name string) (kernels.Call, error) {
	call, err := p.Problem.Bind(name)
	if err != nil {
		return call, err
	}
	if err := call.Run(); err != nil {
		call.Release()
		return call, err
	}
	return call, nil
}

// Release releases the problem and a call that was bound ahead and not asked for.
func (p *inTurn) Release() {
	if p.ahead != nil {
		p.ahead.Release()
		p.ahead = nil
	}
	kernels.Release(p.Problem)
}

// spread returns n sizes at equal distances on a logarithmic axis, without the ends of the axis. A clock cannot measure the
// smallest sizes well, and the largest take long.
func spread(a kernels.Axis, n int) []int {
	var sizes []int
	low, high := math.Log(float64(a.Min)), math.Log(float64(a.Max))
	for i := range n {
		at := (float64(i) + 0.5) / float64(n)
		if size := a.Nearest(int(math.Exp(low + at*(high-low)))); !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return sizes
}
