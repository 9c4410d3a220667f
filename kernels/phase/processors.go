package phase

import (
	"math"

	"crossover/kernels"
	"crossover/pool"
)

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg phase
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// sum is a phase as implementations on the processor add it up.
type sum struct {
	units uint64 // of 2⁻⁶⁴ of a cycle, a multiple of 2¹¹; whole cycles wrap by themselves
	lost  bool   // a NaN or an infinity was among the increments
}

const (
	unit  = 0x1p53 // of which a cycle has so many
	shift = 64 - 53

	// outShift leaves the 24 bits of a float32.
	outShift = 64 - 24
	outUnit  = 0x1p-24

	// plain is the magnitude below which the units of an increment fit into an int64.
	plain = 0x1p63 / unit
)

// begun returns the sum that a call begins with.
func begun(phase float64) sum {
	part := phase - math.Trunc(phase)
	if part != part {
		return sum{lost: true}
	}
	return sum{units: uint64(int64(part*unit)) << shift}
}

// phase returns the sum in cycles, from 0 to below 1.
func (s sum) phase() float64 {
	if s.lost {
		return math.NaN()
	}
	return float64(s.units>>shift) / unit
}

// plus returns the sum with another one added to it.
func (s sum) plus(t sum) sum { return sum{s.units + t.units, s.lost || t.lost} }

// unusual adds an increment that is not below plain.
func (s *sum) unusual(v float32) { *s = s.plus(begun(float64(v))) }

// accumulateGo adds up the increments of src, and writes the phase after each of them to dst. dst may be src.
func (s *sum) accumulateGo(dst, src []float32) {
	units, dst := s.units, dst[:len(src)]
	for i, v := range src {
		if !(v < plain && v > -plain) {
			s.units = units
			s.unusual(v)
			units = s.units
		} else {
			units += uint64(int64(float64(v)*unit)) << shift
		}
		if s.lost {
			lose(dst[i:])
			return
		}
		dst[i] = float32(int32(units>>outShift)) * outUnit
	}
	s.units = units
}

// lose writes the phases of a sum that is lost.
func lose(dst []float32) {
	nan := float32(math.NaN())
	for i := range dst {
		dst[i] = nan
	}
}

// advanceGo is accumulateGo without its output. Four sums at a time do not wait for each other.
func (s *sum) advanceGo(src []float32) {
	var a, b, c, d uint64
	for ; len(src) >= 4; src = src[4:] {
		x := (*[4]float32)(src)
		most := max(abs(x[0]), abs(x[1]), abs(x[2]), abs(x[3])) // NaN if one is
		if !(most < plain) {
			for _, v := range x {
				s.unusual(v)
			}
			continue
		}
		a += uint64(int64(float64(x[0]) * unit))
		b += uint64(int64(float64(x[1]) * unit))
		c += uint64(int64(float64(x[2]) * unit))
		d += uint64(int64(float64(x[3]) * unit))
	}
	for _, v := range src {
		s.unusual(v)
	}
	s.units += (a + b + c + d) << shift
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// serial computes a call on one core.
func serial(_ kernels.Shape, a *kernels.Args) error {
	s := begun(kernels.Float64s(a[before])[0])
	s.accumulate(a[out], a[in])
	kernels.Float64s(a[after])[0] = s.phase()
	return nil
}

const (
	// minBlock is the number of increments in the shortest block that parallel gives to a worker: about a microsecond of work.
	minBlock = 2048

	// Two passes over fewer than leastParallel increments may take longer than serial.
	leastParallel = 8 * minBlock

	// A sum takes a third of the time of its phases.
	sumsPerBlock = 3

	// line is the number of phases in a line of a cache. Blocks are whole lines, so that no two workers write to the same one.
	line = 16
)

// parallel computes a call on the workers of a pool, in as many blocks as there are workers and a shorter one in front of them.
// The first pass computes the first block and, at the same time, the sums of all others but the last. The second pass
// computes the others.
type parallel struct {
	pool     *pool.Pool
	end      []sum // at the end of every block but the last
	dst, src []float32
	first    int  // increments in the first block
	block    int  // increments in the others; the last may have fewer
	second   bool // which pass
}

func (t *parallel) Run(s kernels.Shape, a *kernels.Args) error {
	n := len(a[in])
	// One worker would gain nothing.
	if blocks := min(len(t.end), n/minBlock); blocks > 1 && n >= leastParallel {
		t.divide(blocks, a)
		return nil
	}
	return serial(s, a)
}

// divide computes a call in the first block and at most as many others as blocks says.
func (t *parallel) divide(blocks int, a *kernels.Args) {
	t.dst, t.src = a[out], a[in]
	n := len(t.src)
	t.first = n / (sumsPerBlock*blocks + 1) / line * line
	t.block = divideUp(n-t.first, blocks*line) * line
	blocks = divideUp(n-t.first, t.block)

	clear(t.end)
	t.end[0] = begun(kernels.Float64s(a[before])[0])
	t.second = false
	t.pool.Run(blocks, 1, t)
	for i := 1; i < blocks; i++ {
		t.end[i] = t.end[i-1].plus(t.end[i])
	}
	t.second = true
	t.pool.Run(blocks, 1, t)
	kernels.Float64s(a[after])[0] = t.end[blocks-1].phase()
	t.dst, t.src = nil, nil
}

// Do computes the blocks from lo to hi−1 in the first pass. In the second pass it computes the block after each of them, from
// the sum at its end. It overwrites that sum, which nobody else needs.
func (t *parallel) Do(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		end := t.first + i*t.block
		switch {
		case t.second:
			next := min(end+t.block, len(t.src))
			t.end[i].accumulate(t.dst[end:next], t.src[end:next])
		case i == 0:
			t.end[0].accumulate(t.dst[:end], t.src[:end])
		default:
			t.end[i].advance(t.src[end-t.block : end])
		}
	}
}
