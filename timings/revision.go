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

// Changed returns the implementations of which the set has times of another revision than that of now. now also says whether
// an implementation is known at all. Others have not changed.
func (s *Set) Changed(now func(implementation string) (revision int, known bool)) []string {
	var names []string
	for _, name := range s.Implementations {
		revision, known := now(name)
		if known && revision != s.Revisions[name] && s.Knows(name) {
			names = append(names, name)
		}
	}
	return names
}

// Without returns the set without the times of some implementations. Blocks in which that leaves a single implementation are
// left out, because nothing can be compared there.
func (s *Set) Without(names []string) *Set {
	if len(names) == 0 {
		return s
	}
	out := *s
	out.Blocks, out.Revisions, out.Divides = nil, nil, nil
	for name, revision := range s.Revisions {
		if !slices.Contains(names, name) {
			out.SetRevision(name, revision)
		}
	}
	for name, size := range s.Divides {
		if !slices.Contains(names, name) {
			out.SetDivides(name, size)
		}
	}
	for _, b := range s.Blocks {
		if b = b.without(s.Implementations, names); b.timed() > 0 {
			out.Blocks = append(out.Blocks, b)
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

// without returns the block without the times of some of the implementations, or the zero value if that leaves a single one.
func (b Block) without(implementations, names []string) Block {
	changed := false
	for i, name := range implementations {
		if !b.Timed(i) || !slices.Contains(names, name) {
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
