package main

import (
	"fmt"
	"math/bits"
	"slices"
)

// available is the number of vector registers.
const available = 32

// set is a set of registers.
type set []uint64

func newSet(n register) set       { return make(set, n/64+1) }
func (s set) has(r register) bool { return s[r/64]>>(r%64)&1 != 0 }
func (s set) add(r register)      { s[r/64] |= 1 << (r % 64) }
func (s set) remove(r register)   { s[r/64] &^= 1 << (r % 64) }
func (s set) each(f func(r register)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(register(64*i + bits.TrailingZeros64(w)))
		}
	}
}

// join adds the members of t and reports whether there are new ones.
func (s set) join(t set) bool {
	changed := false
	for i := range s {
		if t[i]&^s[i] != 0 {
			s[i] |= t[i]
			changed = true
		}
	}
	return changed
}

// reads reports whether the step reads its register i.
func (s *step) reads(i int) bool { return i >= s.writes || s.tied }

// pass updates the registers that are alive behind a step to those in front of it.
func (s *step) pass(alive set) {
	for _, r := range s.registers[:s.writes] {
		alive.remove(r)
	}
	for i, r := range s.registers {
		if s.reads(i) {
			alive.add(r)
		}
	}
}

// liveness returns the registers that are alive behind each step.
func liveness(steps []step, last register) []set {
	labels := map[string]int{}
	for i := range steps {
		if steps[i].label != "" {
			labels[steps[i].label] = i
		}
	}
	behind := make([]set, len(steps))
	front := make([]set, len(steps))
	for i := range steps {
		behind[i], front[i] = newSet(last), newSet(last)
	}
	for changed := true; changed; {
		changed = false
		for i := len(steps) - 1; i >= 0; i-- {
			s := &steps[i]
			if !s.leaves && i+1 < len(steps) {
				behind[i].join(front[i+1])
			}
			if s.branch != "" {
				behind[i].join(front[labels[s.branch]])
			}
			alive := slices.Clone(behind[i])
			s.pass(alive)
			changed = front[i].join(alive) || changed
		}
	}
	return behind
}

// withoutUnused removes the steps whose results have no use.
func withoutUnused(steps []step, last register) []step {
	for {
		behind := liveness(steps, last)
		var used []step
		for i, s := range steps {
			keep := s.effect || s.writes == 0
			for _, r := range s.registers[:s.writes] {
				keep = keep || behind[i].has(r)
			}
			if keep {
				used = append(used, s)
			}
		}
		if len(used) == len(steps) {
			return steps
		}
		steps = used
	}
}

// graph says which registers hold values at the same time.
type graph struct {
	neighbours []set
	into       []register // the register that one was joined with
}

func (g *graph) find(r register) register {
	for g.into[r] != r {
		r = g.into[r]
	}
	return r
}

func interference(steps []step, last register) *graph {
	g := &graph{neighbours: make([]set, last+1), into: make([]register, last+1)}
	for r := range g.neighbours {
		g.neighbours[r] = newSet(last)
		g.into[r] = register(r)
	}
	behind := liveness(steps, last)
	for i := range steps {
		s := &steps[i]
		for _, w := range s.registers[:s.writes] {
			behind[i].each(func(r register) {
				if r != w && !(s.moves() && r == s.registers[1]) {
					g.neighbours[w].add(r)
					g.neighbours[r].add(w)
				}
			})
			for _, other := range s.registers[:s.writes] {
				if other != w {
					g.neighbours[w].add(other)
				}
			}
		}
	}
	return g
}

// join makes two registers one.
func (g *graph) join(a, b register) {
	g.neighbours[b].each(func(r register) {
		g.neighbours[r].remove(b)
		g.neighbours[r].add(a)
		g.neighbours[a].add(r)
	})
	g.into[b] = a
}

// degree returns the number of neighbours.
func (g *graph) degree(r register) int {
	n := 0
	for _, w := range g.neighbours[r] {
		n += bits.OnesCount64(w)
	}
	return n
}

// allocate chooses one of the vector registers for each register of the steps, so that most copies are of a register to itself.
// It returns the steps without those whose results have no use.
func allocate(steps []step, last register) ([]step, map[register]int, error) {
	steps = withoutUnused(steps, last)
	// A register that is joined with another keeps both alive for longer. If there are too few then, only those are joined
	// that surely leave enough: the two have few neighbours together that have many.
	for _, careful := range []bool{false, true} {
		g := interference(steps, last)
		for i := range steps {
			s := &steps[i]
			if !s.moves() {
				continue
			}
			a, b := g.find(s.registers[0]), g.find(s.registers[1])
			if a == b || g.neighbours[a].has(b) {
				continue
			}
			if careful {
				together, many := slices.Clone(g.neighbours[a]), 0
				together.join(g.neighbours[b])
				together.each(func(r register) {
					if g.degree(r) >= available {
						many++
					}
				})
				if many >= available {
					continue
				}
			}
			g.join(a, b)
		}
		colours, ok := g.colour(steps)
		if !ok {
			continue
		}
		chosen := map[register]int{}
		for i := range steps {
			for _, r := range steps[i].registers {
				chosen[r] = colours[g.find(r)]
			}
		}
		return steps, chosen, nil
	}
	return nil, nil, fmt.Errorf("too few vector registers")
}

// colour gives neighbours different numbers below available, by Chaitin's method: registers with few neighbours can wait.
func (g *graph) colour(steps []step) (colours map[register]int, ok bool) {
	used := map[register]bool{}
	var order []register
	for i := range steps {
		for _, r := range steps[i].registers {
			if r = g.find(r); !used[r] {
				used[r] = true
				order = append(order, r)
			}
		}
	}
	degree := map[register]int{}
	for _, r := range order {
		degree[r] = g.degree(r)
	}
	var stack []register
	for len(order) > 0 {
		at := slices.IndexFunc(order, func(r register) bool { return degree[r] < available })
		if at < 0 {
			at = 0
			for i, r := range order {
				if degree[r] > degree[order[at]] {
					at = i
				}
			}
		}
		r := order[at]
		order = slices.Delete(order, at, at+1)
		stack = append(stack, r)
		g.neighbours[r].each(func(n register) { degree[n]-- })
	}
	colours = map[register]int{}
	for i := len(stack) - 1; i >= 0; i-- {
		var taken [available]bool
		g.neighbours[stack[i]].each(func(n register) {
			if c, known := colours[n]; known {
				taken[c] = true
			}
		})
		c := slices.Index(taken[:], false)
		if c < 0 {
			return nil, false
		}
		colours[stack[i]] = c
	}
	return colours, true
}
