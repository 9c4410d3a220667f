package launch

import (
	"math/bits"
	"slices"
	"sync"

	"crossover/gpu"
)

// The radices that fixed.metal has, and the most passes that it takes.
var fixedRadices = []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16}

const mostFixedPasses = 4

const (
	// fixedThreads is the greatest number of threads of a threadgroup. With so many, each thread still has registers for 16
	// points.
	fixedThreads = 640

	// usualThreads is the number of threads that a threadgroup has at least, if there are enough short rows.
	usualThreads = 192

	// fixedSideBySide is the number of columns of a matrix that a threadgroup takes: 128 bytes side by side. It takes
	// fewer if there are too few columns for all cores of the GPU, or if columns are too long.
	fixedSideBySide = 16

	// longestFixedBins is longestBins for fixed.metal.
	longestFixedBins = 1 << 19
)

// mostFixed is the number of lengths for which a process compiles texts of their own. All other lengths take mixed.metal. So
// a program whose lengths differ at every call does not compile at every call.
const mostFixed = 24

// fixedLengths are the lengths that have texts of their own.
var fixedLengths struct {
	sync.Mutex
	taken map[int]bool
}

// takeFixed reports whether a length has texts of its own. The first mostFixed lengths that ask for them do. Only NVIDIA's
// GPUs have been tried.
func takeFixed(facts gpu.Facts, n int) bool {
	if facts.API != "cuda" {
		return false
	}
	fixedLengths.Lock()
	defer fixedLengths.Unlock()
	if fixedLengths.taken[n] {
		return true
	}
	if len(fixedLengths.taken) == mostFixed {
		return false
	}
	if fixedLengths.taken == nil {
		fixedLengths.taken = map[int]bool{}
	}
	fixedLengths.taken[n] = true
	return true
}

// fixed says how a threadgroup divides transforms of a length without a prime factor above 7. fixed.metal is compiled for
// it.
type fixed struct {
	radices []int // of the passes, 2 to 16; their product is the length
	side    int   // transforms that a threadgroup takes at a time
	layout  layout
	threads int  // of a threadgroup
	double  bool // threadgroup memory has room for the points twice, which saves a barrier at each pass

	// real says that values are pairs of real ones, and that the results are their bins. The second half of a turnedTile
	// then holds the mirror images of the first half.
	real bool
}

func (f fixed) length() int {
	n := 1
	for _, r := range f.radices {
		n *= r
	}
	return n
}

// across reports whether neighbouring threads take neighbouring transforms in a pass. Otherwise they take neighbouring
// butterflies.
func (f fixed) across(pass int) bool {
	return f.layout == columnTile || f.layout == turnedTile && pass == len(f.radices)-1 && !f.real
}

// exchanges returns how often points go through threadgroup memory.
func (f fixed) exchanges() int {
	if f.real {
		return len(f.radices)
	}
	return len(f.radices) - 1
}

// exchange is how the points that a pass leaves lie in threadgroup memory.
type exchange struct {
	padding int // points between blocks that a pass leaves at a time
	next    int // cells from one transform to the next
	cells   int // in all
}

// banks is the number of cells, of 8 bytes, that a simdgroup accesses at a time.
const banks = 16

// exchange returns the layout with which the fewest threads access the same bank at a time, of those between a pass and the
// next one.
func (f fixed) exchange(pass int) exchange {
	n, d := f.length(), 1
	for _, r := range f.radices[:pass] {
		d *= r
	}
	r := f.radices[pass]
	blocks := n / (d * r)
	var best exchange
	least := 0
	for padding := range banks {
		if padding > 0 && blocks == 1 {
			break
		}
		for skew := range banks {
			x := exchange{padding: padding, next: n + (blocks-1)*padding + skew}
			x.cells = x.next * f.side
			if f.layout == columnTile {
				if skew > 0 {
					break
				}
				x.next, x.cells = 1, x.next*f.side
			} else if skew > 0 && f.side == 1 {
				break
			}
			conflicts := f.conflicts(x, pass, d*r, func(j int) int { return j/d*(d*r+padding) + j%d })
			if pass+1 < len(f.radices) {
				conflicts += f.conflicts(x, pass+1, d*r, func(j int) int { return j + j/(d*r)*padding })
			}
			if cost := 64*conflicts + x.cells/f.side; least == 0 || cost < least {
				best, least = x, cost
			}
		}
	}
	return best
}

// conflicts returns how many accesses a simdgroup's half waits for, in the mean over some halves, in sixteenths. cell returns
// the place of butterfly j's first point in its transform. The other points lie as far from it for each j.
func (f fixed) conflicts(x exchange, pass, block int, cell func(j int) int) int {
	const most = 32 // halves
	count := f.length() / f.radices[pass]
	all, halves := 0, 0
	for begin := 0; begin < count*f.side && halves < most; begin += banks {
		var used [banks]int
		for u := begin; u < min(begin+banks, count*f.side); u++ {
			t, j := u/count, u%count
			if f.across(pass) {
				t, j = u%f.side, u/f.side
			}
			step := 1
			if f.layout == columnTile {
				step = f.side
			}
			used[(t*x.next+cell(j)*step)%banks]++
		}
		all += slices.Max(used[:])
		halves++
	}
	return banks * all / halves
}

// other returns the cell at which the points of every other exchange begin, or 0 if they overwrite those before.
func (f fixed) other() int {
	if !f.double || f.exchanges() < 2 {
		return 0
	}
	return f.exchangeCells()
}

func (f fixed) exchangeCells() int {
	most := 0
	for pass := range f.exchanges() {
		most = max(most, f.exchange(pass).cells)
	}
	return most
}

// cells returns the number of cells of threadgroup memory that a tile takes.
func (f fixed) cells() int { return max(1, f.other()+f.exchangeCells()) }

// pairs returns how many rows of a tile also have their mirror images in the tile.
func (f fixed) pairs() int {
	if f.real && f.layout == turnedTile {
		return f.side / 2
	}
	return 0
}

// launch appends the transforms of a grouping.
func (f fixed) launch(b *gpu.Builder, dst, src gpu.Argument, p grouping, e ends) {
	n := f.length()
	width, together, height := p.width, f.side, 0
	if pairs := f.pairs(); pairs > 0 {
		width, together, height = p.width/2+1, pairs, p.width
	}
	tiles := divideUp(width, together)
	source := fixedSource
	define := func(name string, value int) { source = source.Define(name, value) }
	var table []float32
	d := 1
	for i, r := range f.radices {
		define(indexed("RADIX", i), r)
		define(indexed("ACROSS", i), bit(f.across(i)))
		if i < f.exchanges() {
			x := f.exchange(i)
			define(indexed("PADDING", i), x.padding)
			define(indexed("NEXT", i), x.next)
		}
		if i > 0 {
			define(indexed("TABLE", i), len(table)/2)
			table = append(table, twiddles(r, d)...)
		}
		d *= r
	}
	if f.layout == rowTile {
		source = source.Define("WIDTH", "shape.width").Define("IS_FULL", "0")
	} else {
		source = source.Define("WIDTH", width).Define("IS_FULL", flag(width%together == 0))
	}
	for _, m := range []struct {
		name  string
		value int
	}{
		{"LENGTH", n}, {"PASSES", len(f.radices)}, {"SIDE", f.side}, {"THREADS", f.threads}, {"MOST_THREADS", f.threads},
		{"CELLS", f.cells()}, {"OTHER", f.other()}, {"COLUMNS", bit(f.layout == columnTile)},
		{"IN_ROW", p.in.row}, {"IN_NEXT", p.in.next}, {"IN_STEP", p.in.step},
		{"OUT_ROW", p.out.row}, {"OUT_NEXT", p.out.next}, {"OUT_STEP", p.out.step},
		{"STEPPED", e.stepped}, {"FINE_BITS", bits.Len(uint(e.fine) / 2)},
		{"CONJUGATE_IN", bit(e.conjugateIn)}, {"CONJUGATE_OUT", bit(e.conjugateOut)},
		{"REAL", bit(f.real)}, {"PAIRS", f.pairs()}, {"HEIGHT", height},
	} {
		define(m.name, m.value)
	}
	if table == nil {
		table = []float32{1, 0}
	}
	roots := b.Constant(gpu.Float2, table)
	stepRoots := roots
	if e.stepRoots != nil {
		stepRoots = b.Constant(gpu.Float2, e.stepRoots)
	}
	b.Dispatch(b.Kernel(source, "fixed_length"), threadgroups(p.rows*tiles), threads(f.threads), dst, src, roots, stepRoots,
		gpu.Values(width, e.scale))
}

// fixedFactors returns the radices of the passes for a length, and their cost, as mixedFactors does. It returns no radices if
// a length takes more than mostFixedPasses.
func fixedFactors(n int) (radices []int, cost int) {
	radices, cost = cheapest(n, fixedRadices, mostFixedPasses)
	if len(radices) > 2 {
		// The first and the last pass access device memory in stretches of length / radix. So their radices have few factors
		// of two, to keep the stretches aligned.
		slices.SortStableFunc(radices, func(a, b int) int { return a&-a - b&-b })
		radices = append(append([]int{radices[0]}, radices[2:]...), radices[1])
	}
	return radices, cost
}

// fixedTile returns the tile of a threadgroup that takes side transforms of n values. If they do not fit, it takes fewer,
// but not below least. ok is false if there is no such tile.
func fixedTile(facts gpu.Facts, n, side, least int, l layout, real bool) (f fixed, ok bool) {
	radices, _ := fixedFactors(n)
	if radices == nil || l == turnedTile && len(radices) < 2 {
		return fixed{}, false
	}
	for ; side >= least; side /= 2 {
		f = fixed{radices: radices, side: side, layout: l, real: real}
		f.threads = min(fixedThreads, divideUp(side*n/slices.Min(radices), 32)*32)
		if f.cells() <= facts.ThreadgroupBytes/8 {
			return f, true
		}
	}
	return fixed{}, false
}

// fixedRow returns the tile of a threadgroup that takes rows of n values.
func fixedRow(facts gpu.Facts, n, rows int, real bool) (f fixed, ok bool) {
	radices, _ := fixedFactors(n)
	if radices == nil {
		return fixed{}, false
	}
	// Threads come in simdgroups. With some numbers of rows few threads have nothing to do.
	each, side, best := n/slices.Min(radices), 1, 0
	for s := 1; s <= max(1, divideUp(rows, max(1, facts.Cores))); s++ {
		if s > 1 && s*each > 2*usualThreads {
			break
		}
		wanted := min(s*each, usualThreads)
		busy := 100 * s * each / (divideUp(s*each, 32) * 32) * wanted / usualThreads
		if busy > best {
			side, best = s, busy
		}
	}
	f, ok = fixedTile(facts, n, side, 1, rowTile, real)
	if twice := f; ok && rows <= facts.Cores {
		// Nothing else runs on the core meanwhile.
		twice.double = true
		if twice.cells() <= facts.ThreadgroupBytes/8 {
			return twice, true
		}
	}
	return f, ok
}

// fixedSteps returns the tiles of the two steps of a transform of n values: the columns and the rows of a matrix.
func fixedSteps(facts gpu.Facts, n, rows int, real bool) (columns, turned fixed, ok bool) {
	longest := facts.ThreadgroupBytes / 8 / leastSideBySide
	least := 0
	for first := 2; first <= longest; first++ {
		second := n / first
		if n%first != 0 || second > longest {
			continue
		}
		radices, cost := fixedFactors(first)
		secondRadices, secondCost := fixedFactors(second)
		if radices == nil || len(secondRadices) < 2 {
			continue
		}
		if cost += secondCost + (first+second)/32; ok && cost >= least {
			continue
		}
		c, columnsFit := fixedTile(facts, first, fixedSide(facts, second, rows), fewSideBySide, columnTile, false)
		t, turnedFit := fixedTile(facts, second, fixedSide(facts, first, rows), fewSideBySide, turnedTile, real)
		if columnsFit && turnedFit {
			columns, turned, least, ok = c, t, cost, true
		}
	}
	return columns, turned, ok
}

// fixedSide returns the number of columns that a threadgroup takes.
func fixedSide(facts gpu.Facts, columns, matrices int) int {
	side := fixedSideBySide
	for side > fewSideBySide && matrices*columns < side*facts.Cores {
		side /= 2
	}
	return side
}

// appendFixed is appendMixed with texts that are compiled for the length.
func appendFixed(b *gpu.Builder, dst, src gpu.Argument, n, batch int, inverse, real bool) bool {
	row, short := fixedRow(b.Facts(), n, batch, real)
	columns, turned, ok := fixed{}, fixed{}, false
	if !short || batch == 1 && n > lonely {
		columns, turned, ok = fixedSteps(b.Facts(), n, batch, real)
	}
	switch {
	case ok:
		appendSteps(b, dst, src, columns, turned, real, batch, inverse)
	case short:
		launchRows(b, row, dst, src, real, batch, inverse)
	}
	return ok || short
}
