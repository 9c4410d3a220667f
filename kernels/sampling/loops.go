package sampling

import (
	"math"
	"slices"
)

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg sampling
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// entry is a value, as a key, and its place in its row.
type entry struct {
	key   int32
	index uint32
}

// keyOf returns an integer that orders values: as the values themselves, with 0 and −0 equal, and a NaN above all of them.
func keyOf(v float32) int32 {
	if v != v {
		return math.MaxInt32
	}
	bits := int32(math.Float32bits(v + 0)) // −0 becomes 0
	return bits ^ int32(uint32(bits>>31)>>1)
}

// value returns the value of an entry, 0 for −0.
func (e entry) value() float32 {
	return math.Float32frombits(uint32(e.key ^ int32(uint32(e.key>>31)>>1)))
}

const (
	stride = 32   // values that greatest takes at a time
	block  = 4096 // values of which the greatest is found first, and then its place
	glance = 128  // values of which the greatest is compared with the least of the best ones
)

// greedy appends the greatest value of x, the first of equals, to best, which is empty. first is the place of x[0].
func greedy(best []entry, x []float32, first int) []entry {
	var most float32
	at := -1 // of the block with the greatest value
	for lo := 0; lo < len(x); lo += block {
		v, nan := greatest(x[lo:min(lo+block, len(x))])
		if nan {
			i := lo + slices.IndexFunc(x[lo:], func(v float32) bool { return v != v })
			return append(best, entry{math.MaxInt32, uint32(first + i)})
		}
		if at < 0 || v > most {
			most, at = v, lo
		}
	}
	i := at + position(x[at:min(at+block, len(x))], most)
	return append(best, entry{keyOf(x[i]), uint32(first + i)})
}

// insert puts an entry behind all entries of best that are not less. best never grows beyond its capacity: it then drops the
// last one.
func insert(best []entry, e entry) []entry {
	if len(best) < cap(best) {
		best = best[:len(best)+1]
	}
	i := len(best) - 1
	for ; i > 0 && best[i-1].key < e.key; i-- {
		best[i] = best[i-1]
	}
	best[i] = e
	return best
}

// highest inserts the highest values of x into best, up to its capacity, in order; of equals the first. first is the place of
// x[0], and everything in best is in front of it.
func highest(best []entry, x []float32, first int) []entry {
	room := min(cap(best)-len(best), len(x))
	for i, v := range x[:room] {
		best = insert(best, entry{keyOf(v), uint32(first + i)})
	}
	for lo := room; lo < len(x); lo += glance {
		values := x[lo:min(lo+glance, len(x))]
		least := best[len(best)-1].value()
		if v, nan := greatest(values); !nan && v <= least {
			continue
		}
		for i, v := range values {
			if v <= least { // not if one of the two is a NaN
				continue
			}
			if key := keyOf(v); key > best[len(best)-1].key {
				best = insert(best, entry{key, uint32(first + lo + i)})
				least = best[len(best)-1].value()
			}
		}
	}
	return best
}

// greatestGo returns the greatest value of x, which is not empty, and whether there is a NaN. With a NaN, the greatest may be
// any value.
func greatestGo(x []float32) (most float32, nan bool) {
	m0, m1, m2, m3 := x[0], x[0], x[0], x[0]
	for ; len(x) >= 4; x = x[4:] {
		v0, v1, v2, v3 := x[0], x[1], x[2], x[3]
		if !(v0 <= m0) {
			m0, nan = v0, nan || v0 != v0
		}
		if !(v1 <= m1) {
			m1, nan = v1, nan || v1 != v1
		}
		if !(v2 <= m2) {
			m2, nan = v2, nan || v2 != v2
		}
		if !(v3 <= m3) {
			m3, nan = v3, nan || v3 != v3
		}
	}
	for _, v := range x {
		if !(v <= m0) {
			m0, nan = v, nan || v != v
		}
	}
	return max(m0, m1, m2, m3), nan
}

// positionGo returns the least i for which x[i] is v, which is in x.
func positionGo(x []float32, v float32) int { return slices.Index(x, v) }
