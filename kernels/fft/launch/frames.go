package launch

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"crossover/gpu"
)

// Cut says which rows of n samples are cut out of a signal: row r begins at sample r·Hop − Lead.
type Cut struct {
	Count   int // rows, at least 1
	Hop     int // samples from one row to the next, at least 1
	Lead    int // samples before the signal's first one with which row 0 begins, 0 to n
	Samples int // of the signal, at least 0

	// Window has the coefficients of the weights c[0] − c[1]·cos θ + c[2]·cos 2θ, θ = 2πj/n, with which a row is multiplied.
	Window [3]float64

	// Reflected says that the signal is reflected at its first and last sample. Otherwise it is zero outside of its samples.
	Reflected bool
}

// FramesFit reports whether Frames takes rows of n samples.
func FramesFit(n int) bool {
	return n >= shortestReal && isPowerOfTwo(n) && n <= LongestReal
}

// Frames appends unscaled forward transforms of rows of n samples of a signal, each multiplied by a window. Rows may overlap.
// src holds the samples of the signal as gpu.Float, at least one. dst holds f.Count rows of n/2+1 gpu.Float2. Frames panics
// unless FramesFit(n), if a number is out of its range, and if the rows reach past 2^31 samples.
func Frames(b *gpu.Builder, dst, src *gpu.Buffer, n int, f Cut) {
	if !FramesFit(n) || f.Count < 1 || f.Hop < 1 || f.Hop > math.MaxInt32 || f.Lead < 0 || f.Lead > n || f.Samples < 0 ||
		f.Samples > math.MaxInt32-2*n || f.Count-1 > (math.MaxInt32-2*n)/f.Hop {
		panic(fmt.Sprintf("fft: cannot launch %+v of %d samples", f, n))
	}
	appendRealRows(b, dst, src, frameShape(n), f.Count, &f)
}

// staged is the length of the frames whose bins go through threadgroup memory, so that lines of a cache are written as a whole. On an
// H200 they take 4 % less time. Frames of 128, 256, 512, 1024 and 4096 samples would take 2 % to 6 % more.
const staged = 2048

// appendRealRows appends count transforms of 2·s.length() real values each. With a nil f they are successive rows, and
// otherwise the frames that f cuts.
func appendRealRows(b *gpu.Builder, dst, src *gpu.Buffer, s shape, count int, f *Cut) {
	h := s.length()
	// If each thread has one butterfly of the last pass, a shuffle in the simdgroup gives the mirror image of a bin.
	text := realSource
	if f != nil && 2*h == staged {
		text = stagedSource
	}
	source, table := s.define(text.Define("ROWS", s.side).Define("SHUFFLED", flag(s.points == s.lastRadix())).
		Define("FRAMES", flag(f != nil)).Define("ALIGNED", flag(f != nil && f.Hop%2 == 0 && f.Lead%2 == 0)), rowTile)
	var cut Cut
	if f != nil {
		cut = *f
		// The kernel has half of the cosine, h: cos θ = 2h and cos 2θ = 8h² − 1.
		c, terms := cut.Window, 0
		if c[2] != 0 {
			terms = 2
		} else if c[1] != 0 {
			terms = 1
		}
		source = source.Define("COSINES", terms)
		for i, weight := range []float64{c[0] - c[2], 2 * c[1], 8 * c[2]} {
			source = source.Define(indexed("WEIGHT", i), literal(weight))
		}
		source = source.Define("REFLECTED", flag(cut.Reflected))
	}
	b.Dispatch(b.Kernel(source, "real_rows"), threadgroups(divideUp(count, s.side)), threads(s.threads()), dst, src,
		b.Constant(gpu.Float2, table), b.Constant(gpu.Float2, halfRoots(2*h, h)),
		gpu.Values(count, cut.Hop, cut.Lead, cut.Samples))
}

// literal returns a number as a constant of a kernel text.
func literal(v float64) string {
	text := strconv.FormatFloat(v, 'g', 9, 32)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text + "f"
}
