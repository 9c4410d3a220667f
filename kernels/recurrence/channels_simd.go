//go:build amd64 || arm64

package recurrence

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 or NEON.
var haveSIMD = cpu.X86.HasAVX2 || cpu.ARM64.HasASIMD

// eight is the number of samples of a channel that are copied at a time, and of those that a comb computes.
const eight = 8

// spread is spreadGo by vectors, as far as there are whole ones.
func spread(dst []float32, width int, src []float32, stride, count, length int) {
	whole, channels := length-length%eight, count-count%lanes
	for c := 0; whole > 0 && c < channels; c += lanes {
		d, s := dst[c:(whole-1)*width+c+lanes], src[c*stride:(c+lanes-1)*stride+whole]
		spreadSIMD(&d[0], width, &s[0], stride, whole)
	}
	if channels < count {
		spreadGo(dst[channels:], width, src[channels*stride:], stride, count-channels, whole)
	}
	if whole < length {
		spreadGo(dst[whole*width:], width, src[whole:], stride, count, length-whole)
	}
}

// gather is gatherGo by vectors, as far as there are whole ones.
func gather(dst []float32, stride int, src []float32, width, count, length int) {
	whole, channels := length-length%eight, count-count%lanes
	for c := 0; whole > 0 && c < channels; c += lanes {
		d, s := dst[c*stride:(c+lanes-1)*stride+whole], src[c:(whole-1)*width+c+lanes]
		gatherSIMD(&d[0], stride, &s[0], width, whole)
	}
	if channels < count {
		gatherGo(dst[channels*stride:], stride, src[channels:], width, count-channels, whole)
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
