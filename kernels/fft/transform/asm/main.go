// Command asm writes the AVX2 kernels of package transform: lanes_amd64.s and the Go declarations beside it.
//
// Run it with go generate in the package's folder. The kernels work on vectors of eight complex values, one cache line
// each: eight real parts, then eight imaginary parts. The eight lanes are eight independent transforms, so that every
// kernel but the last one is plain arithmetic on whole vectors.
package main

import . "github.com/mmcloughlin/avo/build"

// line is the size of a vector of eight complex values in bytes; its imaginary parts start at half of it.
const line = 64

func main() {
	for _, radix := range []int{2, 3, 4, 5, 7, 8} {
		first(radix)
		middle(radix)
		final(radix)
		finalRows(radix, false)
		finalRows(radix, true)
	}
	for _, width := range []int{3, 4, 5, 7, 8} {
		crossLanes(width, false)
		crossLanes(width, true)
	}
	twist()
	untangle()
	tangle()
	product()
	scale()
	Generate()
}
