package timings

import (
	"maps"
	"slices"
	"strings"
)

// An implementation on several cores has a counterpart: the implementation that computes the same on one core. If a call is
// too short to be divided, both are the same program. Then a sweep times the counterpart alone, see package sweeps, and its
// times stand for both.

// OnOne returns the name of an implementation's counterpart on one core: "go/direct" for "go-parallel/direct". The counterpart
// of an implementation on one core is itself.
func OnOne(name string) string { return strings.Replace(name, "-parallel", "", 1) }

// Counterparts returns, for each implementation, the index of its counterpart, or −1 if it is on one core or has none among
// them.
func Counterparts(implementations []string) []int {
	out := make([]int, len(implementations))
	for i, name := range implementations {
		out[i] = -1
		if one := OnOne(name); one != name {
			out[i] = slices.Index(implementations, one)
		}
	}
	return out
}

// SetDivides notes the least size at which an implementation divides a call: see Set.Divides. A size of 0 says that it is not
// known.
func (s *Set) SetDivides(implementation string, size int) {
	if size == 0 {
		delete(s.Divides, implementation)
		return
	}
	if s.Divides == nil {
		s.Divides = map[string]int{}
	}
	s.Divides[implementation] = size
}

// ShareDivides gives sets of the same case, one for each run, what one of them knows of Divides: where an implementation begins to
// divide calls follows from its code, and is the same in every run. The first set that knows a size speaks for all. Sets that
// change are copied.
func ShareDivides(sets []*Set) []*Set {
	all := map[string]int{}
	for _, s := range sets {
		for name, size := range s.Divides {
			if all[name] == 0 {
				all[name] = size
			}
		}
	}
	out := slices.Clone(sets)
	for n, s := range sets {
		if !maps.Equal(s.Divides, all) {
			with := *s
			with.Divides = all
			out[n] = &with
		}
	}
	return out
}

// TimedAs returns the implementation whose times in some blocks are those of implementation i: itself, or its counterpart if
// i was not timed in any of them. It returns −1 if neither was timed.
func (s *Set) TimedAs(blocks []Block, i int) int {
	if AnyTimed(blocks, i) {
		return i
	}
	if one := slices.Index(s.Implementations, OnOne(s.Implementations[i])); one >= 0 && AnyTimed(blocks, one) {
		return one
	}
	return -1
}

// AnyTimed reports whether implementation i was timed in some of the blocks.
func AnyTimed(blocks []Block, i int) bool {
	return slices.ContainsFunc(blocks, func(b Block) bool { return b.Timed(i) })
}
