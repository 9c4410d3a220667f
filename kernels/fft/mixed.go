package fft

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

// The radices that mixed.metal has, and the most passes that it takes.
var mixedRadices = []int{2, 3, 4, 5, 6, 7, 8, 9, 10}

const mostPasses = 6

const (
	// mixedThreads is how many threads take a tile at most. It leaves a thread the registers that 10 points want.
	mixedThreads = 768

	// mixedCells is how many values a tile has room for at most, in 32 KiB, and leastMixedCells how many where it wants
	// no more. A calibration compiles mixed.metal for these two, and for no others.
	leastMixedCells = 2048
	mixedCells      = 4096

	// lonely is from which length on a row by itself goes in two steps, which many threadgroups share.
	lonely = 2048

	// longestBins is the length of the longest transforms whose bins are made by the kernel that ends them. Threadgroups
	// that take rows and their mirror images store fewer neighbours, and from here on that costs more than a kernel.
	longestBins = 350_000

	// sideBySide is how many columns of a matrix a threadgroup takes, of 8 bytes each, fewSideBySide where there are
	// not enough of them for all of the GPU's cores, and leastSideBySide where more are too long.
	sideBySide      = 8
	fewSideBySide   = 4
	leastSideBySide = 2
)

// isMixed reports whether n has prime factors to 7 alone.
func isMixed(n int) bool {
	for _, p := range []int{2, 3, 5, 7} {
		for n%p == 0 {
			n /= p
		}
	}
	return n == 1
}

// passCost is what a pass costs whatever its radix, in points of a butterfly.
const passCost = 12

// mixedFactors returns the radices of the passes of a length, and their cost: few passes of about the same radix. There are
// none where it takes more than mostPasses.
func mixedFactors(n int) (radices []int, cost int) {
	var best []int
	least := 0
	var try func(rest int, taken []int, from, cost int)
	try = func(rest int, taken []int, from, cost int) {
		if rest == 1 && (best == nil || cost < least) {
			best, least = slices.Clone(taken), cost
		}
		if len(taken) == mostPasses {
			return
		}
		for i := from; i < len(mixedRadices); i++ {
			if r := mixedRadices[i]; rest%r == 0 {
				try(rest/r, append(taken, r), i, cost+passCost+r)
			}
		}
	}
	try(n, nil, 0, 0)
	// Neighbouring threads leave the points of the first pass a radix apart, in different banks if it is odd.
	slices.SortStableFunc(best, func(a, b int) int { return a&-a - b&-b })
	return best, least
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

// mixedTile returns how a threadgroup takes side transforms of n values, or fewer where they are too long, but at least
// least.
func mixedTile(n, side, least int, l layout, real bool) (t tile, ok bool) {
	radices, _ := mixedFactors(n)
	if radices == nil || l == turnedTile && len(radices) < 2 {
		return tile{}, false
	}
	each := 1
	if real && l == turnedTile {
		each = 2
	}
	for ; side >= least; side -= each {
		for _, shared := range []bool{false, true} {
			if t = (tile{radices, side, l, shared, real}); t.fits() {
				return t, true
			}
		}
	}
	return tile{}, false
}

// mixedRow returns how a threadgroup takes rows of n values.
func mixedRow(n, rows int, real bool) (t tile, ok bool) {
	const enough = 1024 // values
	return mixedTile(n, min(rows, max(1, enough/n)), 1, rowTile, real)
}

// mixedSteps returns how the columns and the rows of a matrix of n values go, one after the other.
func mixedSteps(facts gpu.Facts, n, rows int, real bool) (columns, turned tile, ok bool) {
	const longest = mixedCells / leastSideBySide
	least := 0
	for first := 2; first <= longest; first++ {
		second := n / first
		if n%first != 0 || second > longest {
			continue
		}
		radices, cost := mixedFactors(first)
		secondRadices, secondCost := mixedFactors(second)
		if radices == nil || secondRadices == nil {
			continue
		}
		if cost += secondCost + (first+second)/64; ok && cost >= least {
			continue
		}
		c, columnsFit := mixedTile(first, sideOf(facts, second, rows), leastSideBySide, columnTile, false)
		t, turnedFit := mixedTile(second, sideOf(facts, first, rows), leastSideBySide, turnedTile, real)
		if columnsFit && turnedFit {
			columns, turned, least, ok = c, t, cost, true
		}
	}
	return columns, turned, ok
}

// sideOf returns how many of the columns of each of so many matrices a threadgroup takes.
func sideOf(facts gpu.Facts, columns, matrices int) int {
	if matrices*columns < sideBySide*facts.Cores {
		return fewSideBySide
	}
	return sideBySide
}

// placement is where the transforms of a kernel lie: rows groups of width transforms, and how far it is from one group to
// the next, from one transform of a group to the next, and from one value of a transform to the next.
type placement struct {
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

// launch appends the transforms of a placement.
func (t tile) launch(b *gpu.Builder, dst, src gpu.Argument, p placement, e ends) {
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

// launchMixed appends transforms of a length with prime factors to 7, in one threadgroup each or in two steps. Where real
// is set, values are pairs of real ones, and the results are rows of n+1 bins. It appends nothing where n is too long, or
// has too many factors, for both.
func launchMixed(b *gpu.Builder, dst, src gpu.Argument, n, batch int, inverse, real bool) bool {
	row, short := mixedRow(n, batch, real)
	columns, turned, ok := tile{}, tile{}, false
	if !short || batch == 1 && n > lonely {
		columns, turned, ok = mixedSteps(b.Facts(), n, batch, real)
	}
	switch {
	case ok:
		launchMixedSteps(b, dst, src, columns, turned, batch, inverse)
	case short:
		row.launchRows(b, dst, src, batch, inverse)
	}
	return ok || short
}

// launchRows appends transforms of rows.
func (t tile) launchRows(b *gpu.Builder, dst, src gpu.Argument, rows int, inverse bool) {
	n := t.length()
	p := placement{rows: 1, width: rows, in: strides{next: n, step: 1}, out: strides{next: n, step: 1}}
	e := ends{conjugateIn: inverse, conjugateOut: inverse, scale: scaleOf(n, inverse)}
	if t.real {
		p.out.next = n + 1
		e.stepRoots, e.fine = stepRoots(2 * n)
	}
	t.launch(b, dst, src, p, e)
}

// launchMixedSteps appends transforms in two steps, whose length is the product of theirs: those of the columns of a
// matrix, and those of its rows, which are stored as columns.
func launchMixedSteps(b *gpu.Builder, dst, src gpu.Argument, columns, turned tile, batch int, inverse bool) {
	first, second := columns.length(), turned.length()
	n := first * second
	between := b.Scratch(gpu.Float2, n*batch)
	down := strides{row: n, next: 1, step: second}
	columns.launch(b, between, src, placement{batch, second, down, down}, ends{conjugateIn: inverse, scale: 1})
	p := placement{batch, first, strides{row: n, next: second, step: 1}, strides{row: n, next: 1, step: first}}
	e := ends{conjugateOut: inverse, scale: scaleOf(n, inverse), stepped: 1}
	if turned.real {
		p.out.row, p.out.next, e.stepped = n+1, 0, 2
	}
	e.stepRoots, e.fine = stepRoots(e.stepped * n)
	turned.launch(b, dst, between, p, e)
}
