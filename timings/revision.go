package timings

import (
	"errors"
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
	for i, name := range s.Implementations {
		revision, known := now(name)
		if known && revision != s.Revisions[name] && slices.ContainsFunc(s.Blocks, func(b Block) bool { return b.Timed(i) }) {
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
	out.Blocks, out.Revisions = nil, nil
	for name, revision := range s.Revisions {
		if !slices.Contains(names, name) {
			out.SetRevision(name, revision)
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

// revisions returns the revisions as the file has them, in the order of the implementations.
func (s *Set) revisions() string {
	var all []string
	for _, name := range s.Implementations {
		if revision := s.Revisions[name]; revision > 0 {
			all = append(all, fmt.Sprintf("%s=%d", name, revision))
		}
	}
	return strings.Join(all, " ")
}

// readRevisions reads what revisions returned.
func (s *Set) readRevisions(text string) error {
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		revision, err := strconv.Atoi(value)
		switch _, known := s.Revision(name); {
		case !known:
			return fmt.Errorf("a revision of %q stands above it, which is not listed in the file's implementations", name)
		case err != nil || revision < 1 || revision > math.MaxInt32:
			return errors.New("revision " + strconv.Quote(field) + " stands above it (want one such as go=1)")
		}
		s.SetRevision(name, revision)
	}
	return nil
}
