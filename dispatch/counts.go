package dispatch

import (
	"math"
	"runtime"
	"sync/atomic"

	"crossover/calibration/surface"
)

// MostRecorded is how many shapes a record has. If a program calls more, they are the most frequent ones.
const MostRecorded = 4096

// The table of a record is divided into sets, and a shape has a place in one set. There are four places for each shape of a
// record, so that few sets get more shapes than they have places.
const (
	ways = 16
	sets = 4 * MostRecorded / ways
)

// counts says how often shapes were called: a hash table of fixed size that any number of goroutines write without a lock. If
// a set is full, a new shape takes the place of the least frequent one, and could have been called as often as that before.
// So a shape that is called more often than its set's least frequent one is never missing.
//
// Source: A. Metwally, D. Agrawal and A. El Abbadi, Efficient Computation of Frequent and Top-k Elements in Data Streams,
// ICDT 2005: Space-Saving, here in each set.
type counts struct {
	sets [sets]set
	lost atomic.Int64 // calls at shapes that lost their place, or found none
}

// set has places for shapes of the same hash, but for some bits.
type set struct {
	keys   [ways]atomic.Uint64 // hashes of the shapes, or free, or busy
	places [ways]place
}

const (
	free = 0
	busy = 1 // a goroutine gives the place to a shape
)

// place counts the calls at one shape.
type place struct {
	calls  atomic.Int64 // with missed
	missed atomic.Int64 // how often the shape may have been called before it got the place
	of     atomic.Pointer[subject]
	shape  [surface.MostAxes]atomic.Int64
}

// subject is an operation with its data in a placement, whose shapes are counted.
type subject struct {
	operation, placement string
	axes                 []string
	seed                 uint64 // the same for the same subject
}

// add counts a call. Two shapes of the same hash count as one. If two goroutines bring the same new shape at once, it may get
// two places. A call that is counted while its shape loses the place counts for the next shape there.
func (c *counts) add(of *subject, shape *[surface.MostAxes]int) {
	key := max(hash(shape[:len(of.axes)])^of.seed, busy+1)
	s := &c.sets[key%sets]
	first := key / sets
	for i := range uint64(ways) {
		at := (first + i) % ways
		switch s.keys[at].Load() {
		case key:
			s.places[at].calls.Add(1)
			return
		case free:
			if s.keys[at].CompareAndSwap(free, busy) {
				s.give(at, key, of, shape)
				return
			}
		}
	}
	if !s.replace(key, of, shape, &c.lost) {
		c.lost.Add(1)
	}
}

// replace gives the place of the least frequent shape to another one. It returns false if other goroutines changed all places
// that it tried.
func (s *set) replace(key uint64, of *subject, shape *[surface.MostAxes]int, lost *atomic.Int64) bool {
	const tries = 4
	for range tries {
		least, known, calls := -1, uint64(0), int64(0)
		for at := range ways {
			k, n := s.keys[at].Load(), s.places[at].calls.Load()
			if k == key {
				s.places[at].calls.Add(1)
				return true
			}
			if k > busy && (least < 0 || n < calls) {
				least, known, calls = at, k, n
			}
		}
		if least >= 0 && s.keys[least].CompareAndSwap(known, busy) {
			p := &s.places[least]
			calls = p.calls.Load()
			lost.Add(calls - p.missed.Swap(calls))
			s.give(uint64(least), key, of, shape)
			return true
		}
	}
	return false
}

// give gives a place that is busy to a shape, and counts a call.
func (s *set) give(at, key uint64, of *subject, shape *[surface.MostAxes]int) {
	p := &s.places[at]
	p.of.Store(of)
	for i, v := range shape {
		p.shape[i].Store(int64(v))
	}
	p.calls.Add(1)
	s.keys[at].Store(key)
}

// counted is what a place says of its shape.
type counted struct {
	name          string
	calls, missed int64 // calls are without those that were missed
}

// all returns what all places say. least is how often a shape may have been called that has no place.
func (c *counts) all() (all []counted, least int64) {
	for i := range c.sets {
		s := &c.sets[i]
		full, fewest := true, int64(math.MaxInt64)
		for at := range ways {
			one, taken := s.read(at)
			if full = full && taken; !taken {
				continue
			}
			all = append(all, one)
			fewest = min(fewest, one.calls+one.missed)
		}
		if full {
			least = max(least, fewest)
		}
	}
	return all, least
}

// read returns what a place says, and false if it is free, or busy for long.
func (s *set) read(at int) (one counted, taken bool) {
	const tries = 100
	p := &s.places[at]
	for range tries {
		key := s.keys[at].Load()
		if key == free {
			return one, false
		}
		of := p.of.Load()
		var shape [surface.MostAxes]int
		for i := range shape {
			shape[i] = int(p.shape[i].Load())
		}
		missed, calls := p.missed.Load(), p.calls.Load()
		if key != busy && s.keys[at].Load() == key {
			return counted{of.name(shape[:]), calls - missed, missed}, true
		}
		runtime.Gosched()
	}
	return one, false
}

// counter counts the calls of one Case or Operation.
type counter struct {
	counts *counts
	of     *subject              // nil if the axes are not known
	base   [surface.MostAxes]int // of a case: the fixed values, 0 on the axes that run
	alone  *atomic.Int64         // counts if of is nil
}

// size counts a call of a case.
func (c *counter) size(size int) {
	if size < 1 {
		return
	}
	if c.of == nil {
		c.alone.Add(1)
		return
	}
	shape := c.base
	for i := range c.of.axes {
		if shape[i] == 0 {
			shape[i] = size
		}
	}
	c.counts.add(c.of, &shape)
}

// values counts a call of an operation.
func (c *counter) values(values []int) {
	if c.of == nil {
		c.alone.Add(1)
		return
	}
	if len(values) != len(c.of.axes) {
		return
	}
	var shape [surface.MostAxes]int
	for i, v := range values {
		if v < 1 {
			return
		}
		shape[i] = v
	}
	c.counts.add(c.of, &shape)
}
