package fft

import (
	"math/bits"

	"crossover/gpu"
)

// The lengths between which complex rows are transformed in one threadgroup, and real rows: half the values of a row.
const (
	shortestRow  = 8
	longestRow   = 4096
	shortestReal = 2 * shortestRow
	longestReal  = 4096
)

// rowShape returns how a threadgroup transforms complex rows of a length.
func rowShape(facts gpu.Facts, n, rows int) shape {
	points := min(n, 8)
	s := shape{points: points}
	for rest := n; rest > 1; {
		r := min(rest, points)
		s.radices = append(s.radices, r)
		rest /= r
	}
	s.side = max(1, 128/s.lanes())
	return s
}

// realShape returns how a threadgroup transforms real rows of 2h values: the last radix is at most half of a thread's
// points.
func realShape(facts gpu.Facts, h int) shape {
	var s shape
	switch h {
	case 8:
		s = shape{radices: []int{4, 2}, points: 4}
	case 16:
		s = shape{radices: []int{8, 2}, points: 8}
	case 32:
		s = shape{radices: []int{8, 4}, points: 8}
	case 64:
		s = shape{radices: []int{4, 4, 4}, points: 8}
	case 128:
		s = shape{radices: []int{8, 4, 4}, points: 8}
	case 256:
		s = shape{radices: []int{8, 8, 4}, points: 8}
	case 512:
		s = shape{radices: []int{8, 8, 8}, points: 16}
	case 1024:
		s = shape{radices: []int{16, 16, 4}, points: 16}
	case 2048:
		s = shape{radices: []int{16, 16, 8}, points: 16}
	case 4096:
		s = shape{radices: []int{16, 16, 16}, points: 32}
	}
	s.side = max(1, 128/s.lanes())
	return s
}

// divide returns the steps of a length beyond longestRow.
func divide(facts gpu.Facts, n int) division {
	k := bits.Len(uint(n)) - 1
	counts := []int{(k + 1) / 2, k / 2}
	if k > 20 {
		counts = []int{(k + 2) / 3, (k + 1) / 3, k / 3}
	}
	var d division
	for _, c := range counts {
		s := rowShape(facts, 1<<c, 1)
		s.side = 16
		for s.side*s.length() > 4096 || s.threads() > 1024 {
			s.side /= 2
		}
		d = append(d, s)
	}
	return d
}
