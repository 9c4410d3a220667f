//go:build amd64 || arm64

package recurrence

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// spread is spreadGo by vectors, as far as there are whole ones. The last vector may overlap the one before it.
func spread(dst []float32, width int, src []float32, stride, count, length int) {
	whole := length - length%eight
	if count < lanes {
		whole = 0
	}
	for c := 0; whole > 0 && c < count; c += lanes {
		at := min(c, count-lanes)
		d, s := dst[at:(whole-1)*width+at+lanes], src[at*stride:(at+lanes-1)*stride+whole]
		spreadSIMD(&d[0], width, &s[0], stride, whole)
	}
	if whole < length {
		spreadGo(dst[whole*width:], width, src[whole:], stride, count, length-whole)
	}
}

// gather is gatherGo by vectors, as far as there are whole ones.
func gather(dst []float32, stride int, src []float32, width, count, length int) {
	whole := length - length%eight
	if count < lanes {
		whole = 0
	}
	for c := 0; whole > 0 && c < count; c += lanes {
		at := min(c, count-lanes)
		d, s := dst[at*stride:(at+lanes-1)*stride+whole], src[at:(whole-1)*width+at+lanes]
		gatherSIMD(&d[0], stride, &s[0], width, whole)
	}
	if whole < length {
		gatherGo(dst[whole:], stride, src[whole*width:], width, count, length-whole)
	}
}

// many is [wide]'s.
func (l *ladder) many(states []float64, x []float32, width int) {
	_ = states[2*stages*width-1]
	ladderSIMD(&x[0], len(x)/width, &states[0], width/lanes, &l.gains)
}

// filter is filterGo by the fastest instructions of this processor.
func (c *comb) filter(line, dst, src []float32) {
	n := len(line)
	if whole := n - n%eight; haveSIMD && whole > 0 {
		d, s := dst[:n], src[:n]
		combSIMD(&line[0], &d[0], &s[0], whole, c.blend, c.feedForward, c.feedback, silence)
		line, dst, src = line[whole:], d[whole:], s[whole:]
	}
	c.filterGo(line, dst, src)
}

// many is [wide]'s.
func (e *envelope) many(states []float64, x []float32, width int) {
	_ = states[width-1]
	followSIMD(&x[0], len(x)/width, &states[0], width/lanes, &e.coefficients)
}

// reduce is reduceGo by the fastest instructions of this processor.
func (c *compressor) reduce(dst, src []float32) {
	if !haveSIMD {
		c.reduceGo(dst, src)
		return
	}
	dst = dst[:len(src)]
	whole := len(src) - len(src)%eight
	if whole > 0 {
		reduceSIMD(&dst[0], &src[0], whole, &c.curves)
	}
	if whole < len(src) {
		var last [eight]float32
		copy(last[:], src[whole:])
		reduceSIMD(&last[0], &last[0], eight, &c.curves)
		copy(dst[whole:], last[:])
	}
}

// amplify is amplifyGo by the fastest instructions of this processor.
func (c *compressor) amplify(dst, src, levels []float32) {
	if !haveSIMD {
		c.amplifyGo(dst, src, levels)
		return
	}
	dst, levels = dst[:len(src)], levels[:len(src)]
	whole := len(src) - len(src)%eight
	if whole > 0 {
		amplifySIMD(&dst[0], &src[0], &levels[0], whole, &c.curves)
	}
	if whole < len(src) {
		var x, last [eight]float32
		copy(x[:], src[whole:])
		copy(last[:], levels[whole:])
		amplifySIMD(&x[0], &x[0], &last[0], eight, &c.curves)
		copy(dst[whole:], x[:])
	}
}

// leastApart is the number of samples from which on the stages of one are apart.
const leastApart = 3 * eight

// one is [kernel]'s. A core computes other reductions and outputs while the follower waits for its last sample. So the follower
// begins and ends eight samples apart from them.
func (c *compressor) one(state []float64, dst, src []float32) {
	if c.greater {
		finite(state[:1])
	}
	whole := len(src) - len(src)%eight
	if !c.greater || whole < leastApart {
		c.oneGo(state, dst, src)
		return
	}
	levels, dst, end := c.levels[:len(src)], dst[:len(src)], whole-eight
	c.reduce(levels[:2*eight], src[:2*eight])
	state[0] = c.smoothGo(state[0], levels[:eight])
	compressOneSIMD(&dst[eight], &src[eight], &levels[eight], end-eight, &state[0], &c.curves, &c.smoother)
	if whole < len(src) {
		c.reduce(levels[whole:], src[whole:])
	}
	state[0] = c.smoothGo(state[0], levels[end:])
	c.amplify(dst[end-eight:], src[end-eight:], levels[end-eight:])
}

// many is [wide]'s.
func (c *compressor) many(states []float64, x []float32, width int) {
	now := states[:width]
	if c.greater {
		finite(now)
	}
	for len(x) > 0 {
		part := x[:min(turn*width, len(x))]
		levels := c.levels[:len(part)]
		c.reduce(levels, part)
		if c.greater {
			c.smooth(now, levels)
		} else {
			c.envelope.many(states, levels, width)
		}
		c.amplify(part, part, levels)
		x = x[len(part):]
	}
}

// smoothTwo is smoothGo for two channels.
func (c *compressor) smoothTwo(state []float64, levels0, levels1 []float32) {
	if !c.greater {
		c.envelope.two(state, levels0, levels1, levels0, levels1)
		return
	}
	finite(state[:pair])
	levels1 = levels1[:len(levels0)]
	whole := len(levels0) - len(levels0)%lanes
	if whole > 0 {
		smoothTwoSIMD(&levels0[0], &levels1[0], whole, &state[0], &c.smoother)
	}
	state[0], state[1] = c.smoothGo(state[0], levels0[whole:]), c.smoothGo(state[1], levels1[whole:])
}

// smooth is smoothGo for many channels, of which it takes two vectors at a time.
func (c *compressor) smooth(states []float64, levels []float32) {
	width := len(states)
	for at := 0; at < width; at += 2 * lanes {
		smoothSIMD(&levels[at], len(levels)/width, width, &states[at], min(2, (width-at)/lanes), &c.smoother)
	}
}
