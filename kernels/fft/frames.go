package fft

import (
	"fmt"
	"math"

	"crossover/gpu"
)

// Frames says which rows of n samples are cut out of a signal: row r begins at sample r·Hop − Lead. The signal is zero
// outside of its samples.
type Frames struct {
	Count   int // rows, at least 1
	Hop     int // samples from one row to the next, at least 1
	Lead    int // samples before the signal's first one with which row 0 begins, at least 0
	Samples int // of the signal, at least 1
}

// FramesFit reports whether LaunchFrames takes rows of n samples.
func FramesFit(n int) bool {
	return n >= shortestReal && isPowerOfTwo(n) && n/2 <= longestReal
}

// LaunchFrames appends forward transforms, unscaled, of windowed rows of a signal, which may overlap: window holds n
// values, src the signal's samples as gpu.Float, and dst f.Count rows of n/2+1 gpu.Float2. It panics where FramesFit
// does not hold for n, where window has another length, and where the rows reach past 2^31 samples.
func LaunchFrames(b *gpu.Builder, dst, src *gpu.Buffer, n int, window []float32, f Frames) {
	if !FramesFit(n) || len(window) != n {
		panic(fmt.Sprintf("fft: cannot launch windowed rows of %d samples with a window of %d", n, len(window)))
	}
	if f.Count < 1 || f.Hop < 1 || f.Lead < 0 || f.Samples < 1 || f.Samples > math.MaxInt32-2*n ||
		f.Count > (math.MaxInt32-2*n)/f.Hop {
		panic(fmt.Sprintf("fft: cannot launch %+v of %d samples", f, n))
	}
	launchRealRows(b, dst, src, realShape(b.Facts(), n/2), frames{f.Count, window, f})
}

// frames are what a launch of real rows transforms: rows that follow one another, or with a window Frames.
type frames struct {
	rows   int
	window []float32
	cut    Frames
}

// launchRealRows appends real transforms of twice s.length() values.
func launchRealRows(b *gpu.Builder, dst, src *gpu.Buffer, s shape, f frames) {
	h := s.length()
	windowed := f.window != nil
	source, table := s.define(realSource.Define("ROWS", s.side).Define("WINDOWED", flag(windowed)).
		Define("ALIGNED", flag(windowed && f.cut.Hop%2 == 0 && f.cut.Lead%2 == 0)), rowTile)
	halves := b.Constant(gpu.Float2, halfRoots(2*h, h))
	window := halves // which is there but not read
	if windowed {
		window = b.Constant(gpu.Float2, f.window)
	}
	b.Dispatch(b.Kernel(source, "real_rows"), threadgroups(divideUp(f.rows, s.side)), threads(s.threads()), dst, src,
		b.Constant(gpu.Float2, table), halves, window, gpu.Values(f.rows, f.cut.Hop, f.cut.Lead, f.cut.Samples))
}
