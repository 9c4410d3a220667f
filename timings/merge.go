package timings

import (
	"cmp"
	"slices"
)

// Limits say how much of an operation's shapes stays when a newer run joins earlier ones. The newer run stays whole, whatever
// the limits are.
type Limits struct {
	Shapes int // number of shapes
	Lines  int // number of times, each of which is a line of the file
	Blocks int // number of blocks that a shape keeps before other shapes are given up

	// Asked says of a shape whether somebody asked for it, and AskedBlocks is what Blocks is for such a shape. Other shapes
	// are given up before.
	Asked       func(shape []int) bool
	AskedBlocks int
}

// Merge returns the blocks of two sets over the shapes of one operation, those of the older one first, with the
// implementations of the newer one. Within the limits it keeps all. Beyond them it gives up older shapes, with all of their
// blocks: those first that were not measured for the longest time. To keep the number of times, it first leaves out blocks of
// the shapes that have the most, the oldest visits first.
func Merge(older, newer *Set, most Limits) *Set {
	out := &Set{
		Case: newer.Case, Implementations: newer.Implementations, Revisions: newer.Revisions, Simulated: newer.Simulated,
		Axes: newer.Axes, Shapes: map[int][]int{},
	}
	sizes := map[string]int{} // by shape
	visits := 0
	take := func(s *Set) int {
		next := visits
		for _, b := range s.For(newer.Implementations).Blocks {
			if b.lines() == 0 {
				continue // only implementations that the newer run does not have
			}
			b.Size = out.sizeOf(b.Size, s.Shapes[b.Size], sizes)
			b.Visit += visits
			next = max(next, b.Visit+1)
			out.Blocks = append(out.Blocks, b)
		}
		visits = next
		return len(out.Blocks)
	}
	earlier := take(older)
	take(newer)
	out.bound(earlier, most)
	return out
}

// sizeOf returns the size that stands for a shape: the wanted one, or the next that stands for no other.
func (s *Set) sizeOf(size int, shape []int, known map[string]int) int {
	key := string(shapeKey(shape))
	if found, ok := known[key]; ok {
		return found
	}
	for s.Shapes[size] != nil {
		size++
	}
	s.Shapes[size], known[key] = shape, size
	return size
}

func shapeKey(shape []int) []byte {
	var key []byte
	for _, v := range shape {
		for range 8 {
			key = append(key, byte(v))
			v >>= 8
		}
	}
	return key
}

// lines returns the number of the block's times, with that of the twin.
func (b *Block) lines() int {
	if b.Twin >= 0 {
		return b.timed() + 1
	}
	return b.timed()
}

// history is what a set has of one shape.
type history struct {
	size   int
	visits [][]int // indexes of the blocks of each visit of earlier runs, the oldest visit first
	blocks int     // number of blocks, with those of the newest run
	least  int     // number of blocks that it keeps before others are given up
	asked  bool
	newest bool // whether the newest run has the shape
}

// last returns the index of the last block of earlier runs.
func (h *history) last() int {
	blocks := h.visits[len(h.visits)-1]
	return blocks[len(blocks)-1]
}

// spares reports whether the shape can do without another block of earlier runs.
func (h *history) spares() bool { return len(h.visits) > 0 && h.blocks > h.least }

// forget removes a block of the oldest visit, and returns its index. The visit's first block goes last: it times all
// implementations, and others may leave out those that are far behind.
func (h *history) forget() int {
	visit := h.visits[0]
	block := visit[len(visit)-1]
	if h.visits[0] = visit[:len(visit)-1]; len(visit) == 1 {
		h.visits = h.visits[1:]
	}
	h.blocks--
	return block
}

// histories returns what the set has of each shape, in the order of their first blocks.
func (s *Set) histories(earlier int, most Limits) []*history {
	var all []*history
	of := map[int]*history{} // by size
	visit := map[int]int{}   // the last one, by size
	for n := range s.Blocks {
		b := &s.Blocks[n]
		h := of[b.Size]
		if h == nil {
			h = &history{size: b.Size, least: max(1, most.Blocks)}
			if h.asked = most.Asked != nil && most.Asked(s.Shapes[b.Size]); h.asked {
				h.least = max(h.least, most.AskedBlocks)
			}
			of[b.Size], all = h, append(all, h)
		}
		h.blocks++
		switch {
		case n >= earlier:
			h.newest = true
		case len(h.visits) > 0 && visit[b.Size] == b.Visit:
			h.visits[len(h.visits)-1] = append(h.visits[len(h.visits)-1], n)
		default:
			h.visits, visit[b.Size] = append(h.visits, []int{n}), b.Visit
		}
	}
	return all
}

// fullest returns the shape with the most blocks of those that can do without another one, and of several the one with the
// oldest visit. It returns nil if there is none.
func fullest(shapes []*history) *history {
	var most *history
	for _, h := range shapes {
		if h.spares() && (most == nil || h.blocks > most.blocks || h.blocks == most.blocks && h.visits[0][0] < most.visits[0][0]) {
			most = h
		}
	}
	return most
}

// bound removes blocks until the set is within limits. Only the first so many blocks, which are those of earlier runs, may go.
func (s *Set) bound(earlier int, most Limits) {
	shapes, gone := s.histories(earlier, most), make([]bool, len(s.Blocks))
	lines := 0
	for n := range s.Blocks {
		lines += s.Blocks[n].lines()
	}
	forget := func(h *history) {
		n := h.forget()
		gone[n] = true
		lines -= s.Blocks[n].lines()
	}
	old := slices.DeleteFunc(slices.Clone(shapes), func(h *history) bool { return h.newest })
	slices.SortFunc(old, func(a, b *history) int {
		if a.asked != b.asked {
			return cmp.Compare(number(a.asked), number(b.asked))
		}
		return cmp.Compare(a.last(), b.last())
	})
	giveUp := func() {
		for len(old[0].visits) > 0 {
			forget(old[0])
		}
		delete(s.Shapes, old[0].size)
		old = old[1:]
	}
	for len(s.Shapes) > most.Shapes && len(old) > 0 {
		giveUp()
	}
	for lines > most.Lines {
		h := fullest(shapes)
		if h == nil {
			break
		}
		forget(h)
	}
	for lines > most.Lines && len(old) > 0 {
		giveUp()
	}
	kept := s.Blocks[:0]
	for n, b := range s.Blocks {
		if !gone[n] {
			kept = append(kept, b)
		}
	}
	s.Blocks = kept
}
