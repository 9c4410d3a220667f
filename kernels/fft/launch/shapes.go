package launch

import (
	"math/bits"

	"crossover/gpu"
)

// The shapes below are the fastest of some 500 that were timed on an H200 (CUDA 13.0), 16 Mi points in all. They have not
// been tried on Apple's GPUs, where they are expected to do well for the same reasons: threadgroup memory is what a
// transform waits for there, so radices are large and points change threads seldom, and 16 points are 32 of a thread's
// registers. Longer rows in one threadgroup take 32 points a thread, which leaves too few threads on Apple's cores.

// shortestRow is the length of the shortest rows that have a shape; shorter ones are transformed by their definition.
const shortestRow = 8

// longestRow returns the length of the longest complex rows that one threadgroup transforms.
func longestRow(facts gpu.Facts) int {
	if facts.API == "cuda" {
		return 16384
	}
	return LongestShared
}

// rowShape returns how a threadgroup transforms complex rows of a power of two from shortestRow to 16384.
func rowShape(n int) shape {
	switch n {
	case 8:
		return shape{radices: []int{4, 2}, points: 4, side: 64}
	case 16:
		return shape{radices: []int{4, 4}, points: 4, side: 32}
	case 32:
		return shape{radices: []int{8, 4}, points: 8, side: 32}
	case 64:
		return shape{radices: []int{8, 8}, points: 8, side: 8, split: true}
	case 128:
		return shape{radices: []int{8, 4, 4}, points: 8, side: 4, split: true}
	case 256:
		return shape{radices: []int{8, 8, 4}, points: 8, side: 4, split: true}
	case 512:
		return shape{radices: []int{8, 8, 8}, points: 16, side: 2}
	case 1024:
		return shape{radices: []int{16, 8, 8}, points: 16, side: 2, split: true}
	case 2048:
		return shape{radices: []int{16, 16, 8}, points: 16, side: 1, split: true}
	case 4096:
		return shape{radices: []int{16, 16, 16}, points: 16, side: 1, split: true}
	case 8192:
		return shape{radices: []int{32, 16, 16}, points: 32, side: 1, slices: 2}
	default:
		return shape{radices: []int{32, 16, 32}, points: 32, side: 1, split: true, slices: 2}
	}
}

// shortestReal is the length of the shortest real rows, which are transformed as half as many complex values, that have a
// shape.
const shortestReal = 2 * shortestRow

// LongestReal is the length of the longest real rows that one threadgroup transforms.
const LongestReal = 8192

// realShape returns how a threadgroup transforms real rows of a power of two from shortestReal to LongestReal.
func realShape(n int) shape {
	switch n {
	case 16:
		return shape{radices: []int{4, 2}, points: 4, side: 64}
	case 32:
		return shape{radices: []int{8, 2}, points: 8, side: 64}
	case 64:
		return shape{radices: []int{4, 8}, points: 8, side: 32}
	case 128:
		return shape{radices: []int{8, 8}, points: 8, side: 8}
	case 256:
		return shape{radices: []int{4, 4, 8}, points: 8, side: 4}
	case 512:
		return shape{radices: []int{8, 4, 8}, points: 8, side: 2}
	case 1024:
		return shape{radices: []int{8, 4, 16}, points: 16, side: 2}
	case 2048:
		return shape{radices: []int{32, 32}, points: 32, side: 2, split: true}
	case 4096:
		return shape{radices: []int{16, 16, 8}, points: 16, side: 1, split: true}
	default:
		return shape{radices: []int{8, 8, 8, 8}, points: 16, side: 1}
	}
}

// frameShape is realShape for frames, which compute more and read less.
func frameShape(n int) shape {
	switch n {
	case 2048:
		return shape{radices: []int{16, 8, 8}, points: 16, side: 2}
	case 4096:
		return shape{radices: []int{16, 16, 8}, points: 16, side: 1}
	}
	return realShape(n)
}

// mostPoints is the length of the longest transforms that division takes.
const mostPoints = 1 << 30

// divide returns the steps of a power of two beyond longestRow, to mostPoints.
func divide(facts gpu.Facts, n int) division {
	k := bits.Len(uint(n)) - 1
	d := division{stepShape(1 << (k / 2)), stepShape(1 << ((k + 1) / 2))}
	if k > 20 {
		d = division{stepShape(1 << (k / 3)), stepShape(1 << ((k + 2) / 3)), stepShape(1 << ((k + 1) / 3))}
	}
	// The rows are padded, which is too much for the least of devices where they are long.
	if last := &d[len(d)-1]; last.memory(turnedTile) > facts.ThreadgroupBytes {
		last.side /= 2
	}
	return d
}

// stepShape returns how a threadgroup transforms neighbouring columns, or rows, of a matrix. As many as it takes lie side
// by side in memory, 64 bytes or more.
func stepShape(n int) shape {
	switch n {
	case 64:
		return shape{radices: []int{8, 8}, points: 8, side: 16, split: true}
	case 128:
		return shape{radices: []int{16, 8}, points: 16, side: 16, split: true}
	case 256:
		return shape{radices: []int{16, 16}, points: 16, side: 16, split: true}
	case 512:
		return shape{radices: []int{8, 8, 8}, points: 16, side: 8, split: true}
	default:
		return shape{radices: []int{16, 8, 8}, points: 16, side: 8, split: true}
	}
}
