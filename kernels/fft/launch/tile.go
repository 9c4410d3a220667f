package launch

import (
	"math/bits"
	"slices"

	"crossover/gpu"
)

// tile says how a threadgroup divides transforms of a length without a prime factor above 7. mixed.metal gets it at run
// time.
type tile struct {
	radices []int // of the passes; their product is the length
	side    int   // transforms that a threadgroup takes at a time
	layout  layout

	shared bool // passes overwrite their input, which takes half of the memory

	// real says that values are pairs of real ones, and that the results are their bins. The second half of a turnedTile
	// then holds the mirror images of the first half.
	real bool
}

func (t tile) length() int {
	n := 1
	for _, r := range t.radices {
		n *= r
	}
	return n
}

// across reports whether neighbouring threads take neighbouring transforms in a pass. Otherwise they take neighbouring
// butterflies.
func (t tile) across(pass int) bool {
	return t.layout == columnTile || t.layout == turnedTile && pass == len(t.radices)-1 && !t.real
}

// room returns the number of cells that one copy of a transform takes in threadgroup memory.
func (t tile) room() int {
	room := t.length()
	if t.layout == turnedTile {
		// Threads of a simdgroup that work on neighbouring transforms access different banks.
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

// cells returns the number of cells of threadgroup memory that a tile takes.
func (t tile) cells() int {
	return max(1, t.buffers()*t.side*t.room()+t.roots())
}

// buffers returns how many copies of the points threadgroup memory has room for.
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

// pairs returns how many rows of a tile also have their mirror images in the tile.
func (t tile) pairs() int {
	if t.real && t.layout == turnedTile {
		return t.side / 2
	}
	return 0
}

// butterflies returns the greatest number of butterflies in a pass.
func (t tile) butterflies() int { return t.side * t.length() / slices.Min(t.radices) }

// threads returns the number of threads for a tile. There is one for each butterfly and for every few bins, up to
// mixedThreads.
func (t tile) threads() int {
	const bins = 4
	most := t.butterflies()
	if t.real {
		most = max(most, t.side*t.length()/2/bins)
	}
	return min(mixedThreads, divideUp(most, 32)*32)
}

// fits reports whether a threadgroup can take the tile. If passes overwrite their input, every thread must hold its points
// meanwhile, so there must be a thread for each butterfly.
func (t tile) fits() bool {
	return t.cells() <= mixedCells && (!t.shared || t.butterflies() <= mixedThreads)
}

// grouping says where the transforms of a kernel lie, as input and as output. There are rows groups of width transforms
// each.
type grouping struct {
	rows, width int
	in, out     strides
}

// strides are numbers of values: from one group to the next, from one transform of a group to the next, and from one value
// of a transform to the next.
type strides struct{ row, next, step int }

// ends says what a kernel does with values when it reads and writes them.
type ends struct {
	conjugateIn, conjugateOut bool // an inverse transform is the conjugate of the transform of the conjugates
	scale                     float32

	stepRoots []float32 // of the whole length, in real values if values are pairs of them; see the function stepRoots
	fine      int
	stepped   int // 0: do not multiply by stepRoots; 1: multiply; 2: stepRoots are for twice as many values
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

// over returns the number by which quotient in mixed.metal divides by b.
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
