package plots

import (
	"math"
	"slices"
	"sort"
)

// class is a set of lengths that implementations of a transform treat alike.
type class struct {
	name string
	has  func(n int) bool
	// near returns lengths of the class near a value and from from to to. If there are none, it returns the value.
	near func(value, from, to float64) []int
}

// classes are the classes that have a panel on the map of a transform.
var classes = []class{
	{"powers of two", powerOfTwo, nearestPower},
	{"no prime factor above 7", func(n int) bool { return !powerOfTwo(n) && smoothLength(n) }, nearSmooth},
	{"a prime factor above 7", func(n int) bool { return !smoothLength(n) }, nearRough},
}

func powerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }

// smoothLength reports whether a length has no prime factor above 7.
func smoothLength(n int) bool {
	for _, prime := range []int{2, 3, 5, 7} {
		for n > 0 && n%prime == 0 {
			n /= prime
		}
	}
	return n == 1
}

func nearestPower(value, from, to float64) []int {
	low, high := math.Ceil(math.Log2(from)), math.Floor(math.Log2(to))
	if low > high {
		return []int{clampSize(int(value))}
	}
	return []int{1 << int(min(max(math.Round(math.Log2(value)), low), high))}
}

// smooths are the drawable even lengths without a prime factor above 7 that are no powers of two, in ascending order. Odd
// lengths of that class are rare and left out.
var smooths = func() []int {
	var all []int
	for sevens := 2; sevens <= largestSize; sevens *= 7 {
		for fives := sevens; fives <= largestSize; fives *= 5 {
			for threes := fives; threes <= largestSize; threes *= 3 {
				for n := threes; n <= largestSize; n *= 2 {
					if !powerOfTwo(n) {
						all = append(all, n)
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}()

// neighbours is the greatest number of lengths that stand for a cell, if lengths of a class differ in cost, as 11·64 and 709
// do. The map shows the mean of their log-times.
const neighbours = 5

func nearSmooth(value, from, to float64) []int {
	below := sort.SearchInts(smooths, int(math.Ceil(from)))
	above := sort.SearchInts(smooths, int(math.Floor(to))+1)
	if below >= above {
		return []int{clampSize(int(value))}
	}
	first := below + sort.SearchInts(smooths[below:above], int(value)) - neighbours/2
	first = max(min(first, above-neighbours), below)
	return smooths[first:min(first+neighbours, above)]
}

func nearRough(value, from, to float64) []int {
	const reach = 20
	center := clampSize(int(math.Round(value)))
	var all []int
	for d := 0; d <= reach && len(all) < neighbours; d++ {
		for _, n := range []int{center - d, center + d} {
			if float64(n) >= from && float64(n) <= to && !smoothLength(n) && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	if len(all) == 0 {
		return []int{center}
	}
	return all
}
