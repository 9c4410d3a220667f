package launch

import (
	"math/bits"

	"crossover/gpu"
)

// The shapes below are the fastest of some 500 that were timed on an H200 (CUDA 13.0) with 16 Mi points in all. They have
// not been tried on Apple's GPUs. They should do well there for the same reasons. Transforms wait for threadgroup memory, so
// radices are large and points seldom change threads. 16 points take 32 of a thread's registers. Longer rows in one
// threadgroup take 32 points per thread, which would leave too few threads on Apple's cores.

// shortestRow is the length of the shortest rows that have a shape. Shorter rows are transformed by the definition.
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

// shortestReal is the length of the shortest real rows that have a shape. A real row is transformed as half as many complex
// values.
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

// frameShape is realShape for frames. Frames compute more and read less than rows.
func frameShape(n int) shape {
	switch n {
	case 2048:
		return shape{radices: []int{16, 8, 8}, points: 16, side: 2, lean: true}
	case 4096:
		return shape{radices: []int{16, 16, 8}, points: 16, side: 1, lean: true}
	}
	return realShape(n)
}

// inverseShape returns how a threadgroup makes real rows of a power of two from ShortestInverse to 2·LongestShared of their bins,
// frame after frame, and adds them up. A thread keeps the sums, the bins of a frame and those of the next one.
func inverseShape(n int) shape {
	switch n {
	case 64:
		return shape{radices: []int{4, 8}, points: 8, side: 16, lean: true}
	case 128:
		return shape{radices: []int{4, 4, 4}, points: 8, side: 8, lean: true}
	case 256:
		return shape{radices: []int{4, 4, 8}, points: 8, side: 4, lean: true}
	case 512:
		return shape{radices: []int{8, 8, 4}, points: 16, side: 4, lean: true}
	case 1024:
		return shape{radices: []int{8, 8, 8}, points: 16, side: 2, lean: true}
	case 2048:
		return shape{radices: []int{8, 16, 8}, points: 16, side: 2, lean: true}
	case 4096:
		return shape{radices: []int{8, 16, 16}, points: 16, side: 1, lean: true}
	default:
		return shape{radices: []int{8, 8, 8, 8}, points: 16, side: 1, split: true, lean: true}
	}
}

// mostPoints is the length of the longest transforms that divide accepts.
const mostPoints = 1 << 30

// divide returns the steps of a transform. n is a power of two above longestRow, up to mostPoints.
func divide(facts gpu.Facts, n int) division {
	k := bits.Len(uint(n)) - 1
	d := division{stepShape(1 << (k / 2)), stepShape(1 << ((k + 1) / 2))}
	if k > 20 {
		d = division{stepShape(1 << (k / 3)), stepShape(1 << ((k + 2) / 3)), stepShape(1 << ((k + 1) / 3))}
	}
	// Long rows with their padding are too large for the smallest devices.
	if last := &d[len(d)-1]; last.memory(turnedTile) > facts.ThreadgroupBytes {
		last.side /= 2
	}
	return d
}

// stepShape returns how a threadgroup transforms neighbouring columns, or rows, of a matrix. Neighbours are side by side in
// memory, so a threadgroup accesses stretches of 64 bytes or more.
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
