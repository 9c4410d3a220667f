package launch

import (
	"slices"

	"crossover/gpu"
)

// The radices that mixed.metal has, and the most passes that it takes.
var mixedRadices = []int{2, 3, 4, 5, 6, 7, 8, 9, 10}

const mostPasses = 6

const (
	// mixedThreads is the greatest number of threads of a threadgroup. With so many, each thread still has registers for 10
	// points.
	mixedThreads = 768

	// mixedCells and leastMixedCells are the numbers of values for which a threadgroup may have room. mixedCells fill 32
	// KiB. mixed.metal is compiled for these two numbers only.
	leastMixedCells = 2048
	mixedCells      = 4096

	// A single row longer than lonely takes two steps, so that many threadgroups share it.
	lonely = 2048

	// longestBins is the greatest length of transforms whose last kernel also makes the bins of the real transform. Such a
	// kernel takes rows and their mirror images together, and so stores shorter stretches of memory. For longer transforms
	// that costs more than another kernel.
	longestBins = 350_000

	// sideBySide is the number of columns of a matrix that a threadgroup takes. It is fewSideBySide if there are too few
	// columns for all cores of the GPU. If columns are too long for that many, a threadgroup takes fewer, but at least
	// leastSideBySide.
	sideBySide      = 8
	fewSideBySide   = 4
	leastSideBySide = 2
)

// isMixed reports whether n has no prime factor above 7.
func isMixed(n int) bool {
	for _, p := range []int{2, 3, 5, 7} {
		for n%p == 0 {
			n /= p
		}
	}
	return n == 1
}

// passCost is the part of a pass's cost that does not depend on the radix. The unit is one point of a butterfly.
const passCost = 12

// mixedFactors returns the radices of the passes for a length, and their cost. The cheapest are few passes of about the same
// radix. It returns no radices if a length takes more than mostPasses.
func mixedFactors(n int) (radices []int, cost int) {
	best, least := cheapest(n, mixedRadices, mostPasses)
	// Neighbouring threads store the points of the first pass a radix apart. With an odd radix these are in different banks.
	slices.SortStableFunc(best, func(a, b int) int { return a&-a - b&-b })
	return best, least
}

// cheapest returns radices whose product is n, at most most of them, and their cost.
func cheapest(n int, among []int, most int) (best []int, least int) {
	var try func(rest int, taken []int, from, cost int)
	try = func(rest int, taken []int, from, cost int) {
		if rest == 1 && (best == nil || cost < least) {
			best, least = slices.Clone(taken), cost
		}
		if len(taken) == most {
			return
		}
		for i := from; i < len(among); i++ {
			if r := among[i]; rest%r == 0 {
				try(rest/r, append(taken, r), i, cost+passCost+r)
			}
		}
	}
	try(n, nil, 0, 0)
	return best, least
}

// mixedTile returns the tile of a threadgroup that takes side transforms of n values. If they do not fit, it takes fewer,
// but not below least. ok is false if there is no such tile.
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

// mixedRow returns the tile of a threadgroup that takes rows of n values.
func mixedRow(n, rows int, real bool) (t tile, ok bool) {
	const enough = 1024 // values
	return mixedTile(n, min(rows, max(1, enough/n)), 1, rowTile, real)
}

// mixedSteps returns the tiles of the two steps of a transform of n values: the columns and the rows of a matrix.
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

// sideOf returns the number of columns that a threadgroup takes.
func sideOf(facts gpu.Facts, columns, matrices int) int {
	if matrices*columns < sideBySide*facts.Cores {
		return fewSideBySide
	}
	return sideBySide
}

// appendMixed appends transforms of a length without a prime factor above 7, in one threadgroup each or in two steps. If
// real is set, values are pairs of real ones, and the results are rows of n+1 bins. If n is too long or has too many factors
// for both ways, it appends nothing and returns false. A length may have texts of its own (see takeFixed).
func appendMixed(b *gpu.Builder, dst, src gpu.Argument, n, batch int, inverse, real bool) bool {
	if takeFixed(b.Facts(), n) && appendFixed(b, dst, src, n, batch, inverse, real) {
		return true
	}
	if real && n > longestBins {
		return false
	}
	row, short := mixedRow(n, batch, real)
	columns, turned, ok := tile{}, tile{}, false
	if !short || batch == 1 && n > lonely {
		columns, turned, ok = mixedSteps(b.Facts(), n, batch, real)
	}
	switch {
	case ok:
		appendSteps(b, dst, src, columns, turned, real, batch, inverse)
	case short:
		launchRows(b, row, dst, src, real, batch, inverse)
	}
	return ok || short
}

// transforms is a tile that a kernel is launched with: a tile or a fixed.
type transforms interface {
	length() int
	launch(b *gpu.Builder, dst, src gpu.Argument, p grouping, e ends)
}

// launchRows appends transforms of rows.
func launchRows(b *gpu.Builder, t transforms, dst, src gpu.Argument, real bool, rows int, inverse bool) {
	n := t.length()
	p := grouping{rows: 1, width: rows, in: strides{next: n, step: 1}, out: strides{next: n, step: 1}}
	e := ends{conjugateIn: inverse, conjugateOut: inverse, scale: scaleOf(n, inverse)}
	if real {
		p.out.next = n + 1
		e.stepRoots, e.fine = stepRoots(2 * n)
	}
	t.launch(b, dst, src, p, e)
}

// appendSteps appends transforms in two steps. The first transforms the columns of a matrix. The second transforms the rows,
// and stores them as columns.
func appendSteps(b *gpu.Builder, dst, src gpu.Argument, columns, turned transforms, real bool, batch int, inverse bool) {
	first, second := columns.length(), turned.length()
	n := first * second
	between := b.Scratch(gpu.Float2, n*batch)
	down := strides{row: n, next: 1, step: second}
	columns.launch(b, between, src, grouping{batch, second, down, down}, ends{conjugateIn: inverse, scale: 1})
	p := grouping{batch, first, strides{row: n, next: second, step: 1}, strides{row: n, next: 1, step: first}}
	e := ends{conjugateOut: inverse, scale: scaleOf(n, inverse), stepped: 1}
	if real {
		p.out.row, p.out.next, e.stepped = n+1, 0, 2
	}
	e.stepRoots, e.fine = stepRoots(e.stepped * n)
	turned.launch(b, dst, between, p, e)
}
