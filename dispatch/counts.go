package dispatch

import (
	"sync/atomic"

	"crossover/calibration/surface"
)

// MostRecorded is how many shapes a record holds. The first ones to be called have the places.
const MostRecorded = 4096

// places is how many places the table of a record has. Half of them stay free, so that the next free one is near.
const places = 2 * MostRecorded

// counts says how often shapes were called: a hash table of fixed size that any number of goroutines write without a lock.
type counts struct {
	places [places]place
	taken  atomic.Int64
	beyond atomic.Int64 // calls at shapes that found no place
}

// place counts the calls at one shape.
type place struct {
	key   atomic.Uint64 // the hash of subject and shape, 0 for a free place; two shapes of the same hash count as one
	calls atomic.Int64
	named atomic.Bool // of and shape are written, and never change
	of    *subject
	shape [surface.MostAxes]int
}

// subject is an operation with its data in a placement, whose shapes are counted.
type subject struct {
	operation, placement string
	axes                 []string
	seed                 uint64 // the same for the same subject
}

// add counts a call.
func (c *counts) add(of *subject, shape *[surface.MostAxes]int) {
	key := max(hash(shape[:len(of.axes)])^of.seed, 1)
	for at := key; ; at++ {
		p := &c.places[at%places]
		known := p.key.Load()
		if known == 0 {
			if c.taken.Load() >= MostRecorded {
				c.beyond.Add(1)
				return
			}
			if p.key.CompareAndSwap(0, key) {
				c.taken.Add(1)
				p.of, p.shape = of, *shape
				p.named.Store(true)
				known = key
			} else {
				known = p.key.Load()
			}
		}
		if known == key {
			p.calls.Add(1)
			return
		}
	}
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
