package launch

import (
	"math/bits"
	"slices"

	"crossover/gpu"
)

// tile is how a threadgroup takes transforms of a length whose prime factors are 2, 3, 5 and 7: what mixed.metal is told.
type tile struct {
	radices []int // of the passes; their product is the length
	side    int   // transforms that a threadgroup takes at a time
	layout  layout

	shared bool // whether passes write over what they read, in half of the memory

	// real says that values are pairs of real ones, and the results their bins. The second half of a turnedTile then are
	// the mirror images of the first one.
	real bool
}

func (t tile) length() int {
	n := 1
	for _, r := range t.radices {
		n *= r
	}
	return n
}

// across reports whether neighbouring threads take neighbouring transforms in a pass, and not neighbouring butterflies.
func (t tile) across(pass int) bool {
	return t.layout == columnTile || t.layout == turnedTile && pass == len(t.radices)-1 && !t.real
}

// room returns the cells of threadgroup memory that a transform takes, once.
func (t tile) room() int {
	room := t.length()
	if t.layout == turnedTile {
		// Threads of a simdgroup that are in neighbouring transforms meet different banks.
		for room%16 != divideUp(16, t.side)%16 {
			room++
		}
	}
	return room
}

// roots returns how many roots the passes take.
func (t tile) roots() int {
	count, d := 0, 1
	for i, r := range t.radices {
		if i > 0 {
			count += d
		}
		d *= r
	}
	return count
}

// cells returns the threadgroup memory that a tile takes.
func (t tile) cells() int {
	return max(1, t.buffers()*t.side*t.room()+t.roots())
}

// buffers returns how many times over there is threadgroup memory for the points.
func (t tile) buffers() int {
	exchanges := len(t.radices) - 1
	if t.real {
		exchanges++
	}
	if t.shared {
		return min(1, exchanges)
	}
	return min(2, exchanges)
}

// pairs returns how many rows of a tile have their mirror images in it too.
func (t tile) pairs() int {
	if t.real && t.layout == turnedTile {
		return t.side / 2
	}
	return 0
}

// butterflies returns how many there are at most in a pass.
func (t tile) butterflies() int { return t.side * t.length() / slices.Min(t.radices) }

// threads returns how many threads take a tile: one a butterfly, and one for every few bins, where a threadgroup has so
// many.
func (t tile) threads() int {
	const bins = 4
	most := t.butterflies()
	if t.real {
		most = max(most, t.side*t.length()/2/bins)
	}
	return min(mixedThreads, divideUp(most, 32)*32)
}

// fits reports whether a threadgroup takes the tile. Where passes write over what they read, every thread holds its
// points meanwhile.
func (t tile) fits() bool {
	return t.cells() <= mixedCells && (!t.shared || t.butterflies() <= mixedThreads)
}

// grouping is where the transforms of a kernel lie: rows groups of width transforms, and how far it is from one group to
// the next, from one transform of a group to the next, and from one value of a transform to the next.
type grouping struct {
	rows, width int
	in, out     strides
}

type strides struct{ row, next, step int }

// ends says what a kernel does with the values on their way in and out.
type ends struct {
	conjugateIn, conjugateOut bool // an inverse transform is the conjugate of the transform of the conjugates
	scale                     float32

	stepRoots []float32 // of the whole length, in real values where values are pairs of them; see the function stepRoots
	fine      int
	stepped   int // 1, or 2 where they are of twice as many values; 0 where values come without being turned
}

// launch appends the transforms of a grouping.
func (t tile) launch(b *gpu.Builder, dst, src gpu.Argument, p grouping, e ends) {
	n, passes := t.length(), len(t.radices)
	var fields [8][mostPasses]int
	var table []float32
	d := 1
	for i, r := range t.radices {
		count := n / r
		extent, across := count, 0
		if t.across(i) {
			extent, across = t.side, 1
		}
		for k, v := range []int{r, count, d, over(d), extent, over(extent), across, len(table) / 2} {
			fields[k][i] = v
		}
		if i > 0 {
			table = append(table, twiddles(r, d)...)
		}
		d *= r
	}
	room := t.room()
	next, step := room, 1
	if t.layout == columnTile {
		next, step = 1, t.side
	}
	other := 0
	if t.buffers() == 2 {
		other = t.side * room
	}
	width, together, bins, extent := p.width, t.side, n/2+1, n/2+1
	if pairs := t.pairs(); pairs > 0 {
		width, together, bins, extent = p.width/2+1, pairs, n, pairs
	}
	tiles := divideUp(width, together)
	shape := []any{
		passes, t.side, width, tiles, p.in.row, p.in.next, p.in.step, p.out.row, p.out.next, p.out.step, next, step, other,
		t.cells() - t.roots(), t.roots(), sign(e.conjugateIn), e.scale, e.scale * sign(e.conjugateOut), e.stepped,
		bits.Len(uint(e.fine) / 2), bit(t.real), t.pairs(), p.width, bins, extent, over(extent),
	}
	for _, f := range fields {
		for _, v := range f {
			shape = append(shape, v)
		}
	}
	if table == nil {
		table = []float32{1, 0}
	}
	roots := b.Constant(gpu.Float2, table)
	stepRoots := roots
	if e.stepRoots != nil {
		stepRoots = b.Constant(gpu.Float2, e.stepRoots)
	}
	cells := leastMixedCells
	if t.cells() > cells {
		cells = mixedCells
	}
	source := mixedSource.Define("CELLS", cells).Define("THREADS", mixedThreads)
	b.Dispatch(b.Kernel(source, "mixed"), threadgroups(p.rows*tiles), threads(t.threads()), dst, src, roots, stepRoots,
		gpu.Values(shape...))
}

// over returns what quotient in mixed.metal divides by b with.
func over(b int) int { return divideUp(1<<31, b) }

func sign(negative bool) float32 {
	if negative {
		return -1
	}
	return 1
}

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}
