package timings

import "slices"

// Merge returns the blocks of two sets over the shapes of one operation, those of the older one first, with the
// implementations of the newer one. It keeps at most so many shapes and gives up old ones first.
func Merge(older, newer *Set, most int) *Set {
	out := &Set{
		Case: newer.Case, Implementations: newer.Implementations, Simulated: newer.Simulated, Axes: newer.Axes,
		Shapes: map[int][]int{},
	}
	sizes := map[string]int{} // by shape
	take := func(s *Set, from int, visits int) (last int) {
		for _, b := range s.For(newer.Implementations).Blocks[from:] {
			b.Size = out.sizeOf(b.Size, s.Shapes[b.Size], sizes)
			b.Visit += visits
			last = max(last, b.Visit+1)
			out.Blocks = append(out.Blocks, b)
		}
		return last
	}
	last := take(older, older.after(len(older.Shapes)+len(newer.Shapes)-most), 0)
	take(newer, 0, last)
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

// after returns the index of the first block behind those of the first so many shapes.
func (s *Set) after(shapes int) int {
	seen := map[int]bool{}
	i := slices.IndexFunc(s.Blocks, func(b Block) bool {
		seen[b.Size] = true
		return len(seen) > shapes
	})
	if i < 0 {
		return len(s.Blocks)
	}
	return i
}
