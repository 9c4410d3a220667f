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
// a program whose lengths differ at every call does not compile for ever. A sweep has far fewer lengths without a factor above
// 7, so that it times the texts that programs get.
const mostFixed = 256

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

	places []exchange // after the passes: see laid
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
	padding   int // points between blocks that a pass leaves at a time
	next      int // cells from one transform to the next
	cells     int // in all
	conflicts int // see the method of this name; of both passes
}

// banks is the number of cells, of 8 bytes, that a simdgroup accesses at a time.
const banks = 16

// laid returns the tile with its exchanges.
func (f fixed) laid() fixed {
	if f.places != nil || f.exchanges() == 0 {
		return f
	}
	for pass := range f.exchanges() {
		f.places = append(f.places, f.exchange(pass))
	}
	return f
}

// exchange returns the layout with which the fewest threads access the same bank at a time, of those between a pass and the
// next one.
func (f fixed) exchange(pass int) exchange {
	n, d := f.length(), 1
	for _, r := range f.radices[:pass] {
		d *= r
	}
	r := f.radices[pass]
	blocks := n / (d * r)
	paddings, skews := banks, banks
	if blocks == 1 {
		paddings = 1
	}
	if f.layout == columnTile || f.side == 1 {
		skews = 1
	}
	var best exchange
	least := 0
	for padding := range paddings {
		for skew := range skews {
			x := exchange{padding: padding, next: n + (blocks-1)*padding + skew}
			x.cells = x.next * f.side
			if f.layout == columnTile {
				x.next = 1
			}
			x.conflicts = f.conflicts(x, pass, func(j int) int { return j/d*(d*r+padding) + j%d })
			if pass+1 < len(f.radices) {
				x.conflicts += f.conflicts(x, pass+1, func(j int) int { return j + j/(d*r)*padding })
			}
			if cost := 64*x.conflicts + x.cells/f.side; least == 0 || cost < least {
				best, least = x, cost
			}
			if x.conflicts <= 2*banks {
				break // more cells do not help
			}
		}
	}
	return best
}

// conflicts returns how many accesses a simdgroup's half waits for, in the mean over some halves, in sixteenths. cell returns
// the place of butterfly j's first point in its transform. The other points lie as far from it for each j.
func (f fixed) conflicts(x exchange, pass int, cell func(j int) int) int {
	const most = 16 // halves
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

// exchangeCells returns the number of cells that the points take.
func (f fixed) exchangeCells() int {
	most := 0
	for _, x := range f.places {
		most = max(most, x.cells)
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

// source returns the text for the transforms of a grouping, the tables of the passes, and how many transforms lie side by
// side of which a threadgroup takes how many.
func (f fixed) source(p grouping, e ends) (source gpu.Source, table []float32, width, together int) {
	n, height := f.length(), 0
	width, together = p.width, f.side
	if pairs := f.pairs(); pairs > 0 {
		width, together, height = p.width/2+1, pairs, p.width
	}
	source = fixedSource
	define := func(name string, value int) { source = source.Define(name, value) }
	d := 1
	for i, r := range f.radices {
		define(indexed("RADIX", i), r)
		define(indexed("ACROSS", i), bit(f.across(i)))
		if i < f.exchanges() {
			define(indexed("PADDING", i), f.places[i].padding)
			define(indexed("NEXT", i), f.places[i].next)
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
	return source, table, width, together
}

// launch appends the transforms of a grouping.
func (f fixed) launch(b *gpu.Builder, dst, src gpu.Argument, p grouping, e ends) {
	f = f.laid()
	source, table, width, together := f.source(p, e)
	roots := b.Constant(gpu.Float2, table)
	stepRoots := roots
	if e.stepRoots != nil {
		stepRoots = b.Constant(gpu.Float2, e.stepRoots)
	}
	b.Dispatch(b.Kernel(source, "fixed_length"), threadgroups(p.rows*divideUp(width, together)), threads(f.threads),
		dst, src, roots, stepRoots, gpu.Values(width, e.scale))
}

// fixedFactors returns the radices of the passes for a length, and their cost, as mixedFactors does. It returns no radices if
// a length takes more than mostFixedPasses.
func fixedFactors(n int) (radices []int, cost int) {
	return cheapest(n, fixedRadices, mostFixedPasses)
}

// ordered returns the tile with its radices in the best order.
func (f fixed) ordered() fixed {
	var best fixed
	least := 0
	n := f.length()
	var try func(taken, rest []int)
	try = func(taken, rest []int) {
		if len(rest) > 0 {
			for i, r := range rest {
				if !slices.Contains(rest[:i], r) {
					try(append(slices.Clone(taken), r), slices.Concat(rest[:i], rest[i+1:]))
				}
			}
			return
		}
		g := f
		g.radices = taken
		g = g.laid()
		cost := 1
		for _, x := range g.places {
			cost += x.conflicts
		}
		// The first and the last pass access device memory in stretches of length / radix. Those that are no multiple of 32
		// bytes are read twice in part.
		if f.layout != columnTile {
			cost += unaligned(n / taken[0])
			if !g.across(len(taken) - 1) {
				cost += unaligned(n / taken[len(taken)-1])
			}
		}
		if least == 0 || cost < least {
			best, least = g, cost
		}
	}
	try(nil, f.radices)
	return best
}

// unaligned returns the cost of stretches of device memory of so many values, in the unit of exchange.conflicts.
func unaligned(values int) int { return 4 - min(4, values&-values) }

// tileKey says what fixedTile is asked for.
type tileKey struct {
	bytes, n, side, least int
	layout                layout
	real, lonely          bool
}

// fixedTiles holds the tiles that were asked for, because finding one takes milliseconds. The lengths that takeFixed lets
// through are few.
var fixedTiles sync.Map // of tileKey to fixed

// fixedTile returns the tile of a threadgroup that takes side transforms of n values. If they do not fit, it takes half of
// them and so on, but not below least. ok is false if there is no such tile. If lonely is set, nothing else runs on a core
// meanwhile.
func fixedTile(facts gpu.Facts, n, side, least int, l layout, real, lonely bool) (f fixed, ok bool) {
	key := tileKey{facts.ThreadgroupBytes, n, side, least, l, real, lonely}
	if found, ok := fixedTiles.Load(key); ok {
		return found.(fixed), true
	}
	if f, ok = findTile(key); ok {
		fixedTiles.Store(key, f)
	}
	return f, ok
}

// findTile is fixedTile for a tile that was not asked for before.
func findTile(k tileKey) (f fixed, ok bool) {
	radices, _ := fixedFactors(k.n)
	if radices == nil || k.layout == turnedTile && len(radices) < 2 {
		return fixed{}, false
	}
	for side := k.side; side >= k.least; side /= 2 {
		if side*k.n > k.bytes/8 {
			continue
		}
		f = fixed{radices: radices, side: side, layout: k.layout, real: k.real}
		f.threads = min(fixedThreads, divideUp(side*k.n/slices.Min(radices), 32)*32)
		f = f.ordered()
		if f.double = k.lonely; f.cells() <= k.bytes/8 {
			return f, true
		}
		if f.double = false; f.cells() <= k.bytes/8 {
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
	for s := 1; s == 1 || s*each <= 2*usualThreads; s++ {
		if busy := 100 * s * each / (divideUp(s*each, 32) * 32) * min(s*each, usualThreads); busy > best {
			side, best = s, busy
		}
	}
	for side > 1 && rows < side*facts.Cores {
		side /= 2
	}
	return fixedTile(facts, n, side, 1, rowTile, real, rows <= facts.Cores)
}

// fixedSteps returns the tiles of the two steps of a transform of n values: the columns and the rows of a matrix.
func fixedSteps(facts gpu.Facts, n, rows int, real bool) (columns, turned fixed, ok bool) {
	longest := facts.ThreadgroupBytes / 8 / fewSideBySide
	type split struct{ first, cost int }
	var splits []split
	for first := 2; first <= longest; first++ {
		second := n / first
		if n%first != 0 || second > longest {
			continue
		}
		radices, cost := fixedFactors(first)
		secondRadices, secondCost := fixedFactors(second)
		if radices != nil && len(secondRadices) > 1 {
			splits = append(splits, split{first, cost + secondCost + (first+second)/32})
		}
	}
	slices.SortStableFunc(splits, func(a, b split) int { return a.cost - b.cost })
	for _, s := range splits {
		second := n / s.first
		columns, ok = fixedTile(facts, s.first, fixedSide(facts, second, rows), fewSideBySide, columnTile, false, rows == 1)
		if !ok {
			continue
		}
		if turned, ok = fixedTile(facts, second, fixedSide(facts, s.first, rows), fewSideBySide, turnedTile, real, rows == 1); ok {
			return columns, turned, true
		}
	}
	return fixed{}, fixed{}, false
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
