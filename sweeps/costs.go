package sweeps

import (
	"math"
	"slices"
)

// demand is what a block needs of an implementation.
type demand struct {
	calls func(size int) float64 // number of calls, if one call fills a batch
	pause float64                // greatest number of idle seconds
	alone float64                // assumed exponent of a call's growth if a single size is known
	onOne *int                   // index of its counterpart on one core; nil for none
}

// costs records the costs of sizes, and predicts those of other sizes.
type costs struct {
	demands        []demand // by implementations
	hopelessBlocks int      // number of a visit's blocks in which hopelessly slow implementations are timed
	ofSpace        bool     // the sizes are the work of shapes, in bytes

	sizes    []int
	overhead []float64   // seconds of a visit outside of its blocks, without binding: problem, reference, check
	binding  []float64   // seconds of binding, without an implementation's first binding
	calls    [][]float64 // seconds of one call, by sizes and implementations; NaN if unknown
}

func (c *costs) record(size int, overhead, binding float64, calls []float64) {
	k, found := slices.BinarySearch(c.sizes, size)
	if found {
		c.calls[k] = calls
		// A later visit checks nothing and finds plans made, so the cost of a new size is that of the first visit.
		c.overhead[k] = max(c.overhead[k], overhead)
		c.binding[k] = max(c.binding[k], binding)
		return
	}
	c.sizes = slices.Insert(c.sizes, k, size)
	c.overhead = slices.Insert(c.overhead, k, overhead)
	c.binding = slices.Insert(c.binding, k, binding)
	c.calls = slices.Insert(c.calls, k, calls)
}

// below returns the greatest measured size under size, or 0.
func (c *costs) below(size int) int {
	k, _ := slices.BinarySearch(c.sizes, size)
	if k == 0 {
		return 0
	}
	return c.sizes[k-1]
}

// greatest returns the greatest measured size, or 0.
func (c *costs) greatest() int {
	if len(c.sizes) == 0 {
		return 0
	}
	return c.sizes[len(c.sizes)-1]
}

// call predicts the seconds of one call of an implementation, or returns 0 if nothing is known. Above the measured sizes an
// implementation on several cores is to take no longer than its counterpart on one core. A call that waited in vain for a core
// that another program had would else say that it is hopelessly slow at all larger sizes: see markBehind.
func (c *costs) call(size, index int) float64 {
	d := c.demands[index]
	call := c.predict(size, d.alone, 3, func(k int) float64 { return c.calls[k][index] })
	if d.onOne != nil && size > c.greatest() {
		if one := c.call(size, *d.onOne); one > 0 {
			call = min(call, one)
		}
	}
	return call
}

// predict interpolates a quantity in log-log, and extrapolates it beyond the measured sizes. alone is the assumed exponent
// if a single size is known. steepest is the greatest accepted exponent between the last two sizes.
func (c *costs) predict(size int, alone, steepest float64, at func(k int) float64) float64 {
	// The two known sizes around the size, or the first or last two.
	var before, last struct {
		size       int
		log, value float64
	}
	known := 0
	for k := range c.sizes {
		value := at(k)
		if !(value > 0) {
			continue
		}
		before = last
		last.size, last.value = c.sizes[k], value
		if known++; known >= 2 && last.size >= size {
			break
		}
	}
	x := math.Log(float64(size))
	before.log, last.log = math.Log(float64(before.size)), math.Log(float64(last.size))
	switch known {
	case 0:
		return 0
	case 1:
		return c.above(last.value*math.Exp(alone*max(x-last.log, 0)), last.value, last.size, size)
	}
	slope := math.Log(last.value/before.value) / (last.log - before.log)
	switch {
	case size > last.size:
		slope = min(max(slope, 0), steepest)
	case size < before.size:
		return before.value * math.Exp(max(slope, 0)*(x-before.log)) // a smaller size costs at most as much
	}
	return c.above(last.value*math.Exp(slope*(x-last.log)), last.value, last.size, size)
}

// slowestByte is about how many seconds a byte of a shape's work takes in a serial loop.
const slowestByte = 1e-9

// above bounds what is extrapolated from a size to another one above it. Shapes of a space come in no order, so that a few
// small ones say little of how times grow, and a size that seems too dear once is not proposed again. But their sizes are
// work, and no more work than takes a second or so.
func (c *costs) above(extrapolated, value float64, from, size int) float64 {
	if !c.ofSpace || size <= from {
		return extrapolated
	}
	return min(extrapolated, value+slowestByte*float64(size-from))
}

// visit predicts the seconds of a visit with a number of blocks. growing is the part that grows with the size. fixed is the
// part that does not: binding and pauses. The cost of what is made once says nothing about how problems grow.
func (c *costs) visit(size, blocks int, alive []int) (growing, fixed float64) {
	growing = c.predict(size, 1, 3, func(k int) float64 { return c.overhead[k] })
	fixed = c.predict(size, 0, 0, func(k int) float64 { return c.binding[k] })
	fastest := math.Inf(1)
	for _, i := range alive {
		if call := c.call(size, i); call > 0 {
			fastest = min(fastest, call)
		}
	}
	longest, pause := 0.0, 0.0
	for _, i := range alive {
		call, d := c.call(size, i), c.demands[i]
		block, times := max(d.calls(size)*call, (settleFor+minBatch).Seconds()), blocks
		if call > hopeless*fastest {
			times = min(times, c.hopelessBlocks)
		} else {
			longest, pause = max(longest, block), max(pause, d.pause)
		}
		growing += c.warmUp(size, i, call) + float64(times)*block
		fixed += float64(times+1) * d.pause // one more, before the first block
	}
	return growing + float64(blocks)*longest, fixed + float64(blocks)*pause
}

// warmUp predicts the seconds of an implementation's untimed calls before the first block.
func (c *costs) warmUp(size, index int, call float64) float64 {
	return 2 * c.demands[index].calls(size) * call
}

// slowest returns the implementation with the longest predicted call and its ratio to the shortest one.
func (c *costs) slowest(size int, alive []int) (index int, ratio float64) {
	least, most := math.Inf(1), 0.0
	index = alive[0]
	for _, i := range alive {
		call := c.call(size, i)
		if call > most {
			index, most = i, call
		}
		if call > 0 {
			least = min(least, call)
		}
	}
	return index, most / least
}
