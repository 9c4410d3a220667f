package timings

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Revision returns the revision of which the set has times of an implementation, and whether the implementation is in the
// set.
func (s *Set) Revision(implementation string) (revision int, known bool) {
	return s.Revisions[implementation], slices.Contains(s.Implementations, implementation)
}

// SetRevision notes the revision of an implementation, at least 0.
func (s *Set) SetRevision(implementation string, revision int) {
	if revision == 0 {
		return
	}
	if s.Revisions == nil {
		s.Revisions = map[string]int{}
	}
	s.Revisions[implementation] = revision
}

// Change says that an implementation has another revision now than in a set.
type Change struct {
	Implementation string
	Revision       int // that it has now
	// Holds reports whether the set's times at a size hold all the same. Nil stands for none.
	Holds func(size int) bool
}

// Concerns reports whether calls at a size take another time now.
func (c *Change) Concerns(size int) bool { return c.Holds == nil || !c.Holds(size) }

// ConcernsAny reports whether calls at a size at which the set has timed the implementation, or its counterpart in its place, take
// another time now.
func (c *Change) ConcernsAny(s *Set) bool {
	i := slices.Index(s.Implementations, c.Implementation)
	return i >= 0 && slices.ContainsFunc(s.Blocks, func(b Block) bool { return c.Concerns(b.Size) && s.TimedAs([]Block{b}, i) >= 0 })
}

// Changes returns how the implementations of which the set has times have changed until now. now returns the revision of one, and
// whether it is known at all. Others have not changed. holds reports whether times at a size hold all the same, and may be nil.
func (s *Set) Changes(now func(implementation string) (revision int, known bool), holds func(implementation string, size int) bool) []Change {
	var changes []Change
	if s == nil { // a case of which nothing was measured
		return nil
	}
	for _, name := range s.Implementations {
		revision, known := now(name)
		if !known || revision == s.Revisions[name] || !s.Knows(name) {
			continue
		}
		change := Change{Implementation: name, Revision: revision}
		if holds != nil {
			change.Holds = func(size int) bool { return holds(name, size) }
		}
		changes = append(changes, change)
	}
	return changes
}

// Without returns the set without the times that have changed. Those that hold are of the revision of now. Blocks in which that
// leaves a single implementation are left out, because nothing can be compared there.
func (s *Set) Without(changes []Change) *Set {
	if len(changes) == 0 {
		return s
	}
	out := *s
	out.Blocks, out.Revisions, out.Divides = nil, maps.Clone(s.Revisions), maps.Clone(s.Divides)
	for _, b := range s.Blocks {
		if b = b.without(s.Implementations, changes); b.timed() > 0 {
			out.Blocks = append(out.Blocks, b)
		}
	}
	for i := range changes {
		c := &changes[i]
		delete(out.Revisions, c.Implementation)
		if out.Knows(c.Implementation) {
			out.SetRevision(c.Implementation, c.Revision)
		}
		if c.ConcernsAny(s) {
			delete(out.Divides, c.Implementation)
		}
	}
	if s.Shapes != nil {
		out.Shapes = maps.Clone(s.Shapes)
		maps.DeleteFunc(out.Shapes, func(size int, _ []int) bool {
			return !slices.ContainsFunc(out.Blocks, func(b Block) bool { return b.Size == size })
		})
	}
	return &out
}

// without returns the block without the times that have changed, or the zero value if that leaves a single one.
func (b Block) without(implementations []string, changes []Change) Block {
	changed := false
	for k := range changes {
		i := slices.Index(implementations, changes[k].Implementation)
		if i < 0 || !b.Timed(i) || !changes[k].Concerns(b.Size) {
			continue
		}
		if !changed {
			b.Seconds, b.Iterations = slices.Clone(b.Seconds), slices.Clone(b.Iterations)
			b.Positions, b.GPU = slices.Clone(b.Positions), slices.Clone(b.GPU)
			changed = true
		}
		b.Erase(i)
	}
	if changed && b.timed() < 2 {
		return Block{}
	}
	return b
}

// timed returns the number of implementations that the block has times of.
func (b *Block) timed() int {
	n := 0
	for i := range b.Seconds {
		if b.Timed(i) {
			n++
		}
	}
	return n
}

// revisions returns the revisions as the file has them.
func (s *Set) revisions() string { return s.numbers(s.Revisions) }

// numbers returns numbers of implementations as the file has them, in the order of the implementations: "go=1 fftw=2". It leaves
// out those below 1.
func (s *Set) numbers(of map[string]int) string {
	var all []string
	for _, name := range s.Implementations {
		if n := of[name]; n > 0 {
			all = append(all, fmt.Sprintf("%s=%d", name, n))
		}
	}
	return strings.Join(all, " ")
}

// readNumbers reads what numbers returned, and gives each number to set. what says what they are: "revision".
func (s *Set) readNumbers(what, text string, set func(name string, n int)) error {
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		n, err := strconv.Atoi(value)
		switch {
		case !slices.Contains(s.Implementations, name):
			return fmt.Errorf("a %s of %q stands above it, which is not listed in the file's implementations", what, name)
		case err != nil || n < 1 || n > math.MaxInt32:
			return fmt.Errorf("%s %q stands above it (want one such as go=1)", what, field)
		}
		set(name, n)
	}
	return nil
}
