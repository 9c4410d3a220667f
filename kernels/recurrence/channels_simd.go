//go:build amd64 || arm64

package recurrence

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 or NEON.
var haveSIMD = cpu.X86.HasAVX2 || cpu.ARM64.HasASIMD

// eight is the number of samples of a channel that are copied at a time, and of those that a comb computes.
const eight = 8

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
