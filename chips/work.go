package chips

import (
	"math"

	"crossover/kernels"
)

// Operations that one value takes, counted in multiplications and additions: polynomials of the elementary functions, and
// a pass over an oscillator's or a filter's state.
const (
	logFlops     = 20
	softmaxFlops = 25 // an exponential, a maximum, a sum, a division
	voiceFlops   = 50 // a sine, a saw, an envelope
	sectionFlops = 9  // of a biquad, a sample
	lowpassFlops = 3  // of a stage graph's node, a sample and pass
	scanTimes    = 3  // as many operations in a scan as in the recurrence
)

const (
	longestRow   = 8192 // of a real transform that one launch computes
	simdgroup    = 32   // threads that sum together
	sharedPieces = 64   // that an array is cut into where every element stands alone
	partition    = 1024 // samples of a partition, of the partitioned convolution
)

// workOf returns what one call of a case has to do at a size, by the algorithm or the way that variant names, and false
// where the operation is not known. dense says that a filterbank is a matrix and not a table of its nonzero bands.
func workOf(c *kernels.Case, variant string, dense bool, size int) (w work, known bool) {
	n := float64(size)
	w = work{bytes: c.Bytes(size), pieces: sharedPieces, threads: n, launches: 1}
	switch c.Operation {
	case "scale":
		w.flops, w.threads = 2*n, n/4
	case "log":
		w.flops, w.threads = logFlops*n, n/4
	case "sum":
		w.flops, w.threads, w.launches = n, n/32, 2
	case "fft":
		length, rows := param(c, "n", size), param(c, "batch", size)
		w = transforms(w, length, rows)
	case "stft":
		length, frames := param(c, "n_fft", 0), 1+math.Floor(n/param(c, "hop", 0))
		w = transforms(w, length, frames)
		w.flops += length * frames // the window
	case "mel":
		bins, bands := param(c, "n_fft", 0)/2+1, param(c, "bands", 0)
		w.flops, w.pieces, w.threads = 4*n*bins, n, n*bands // every bin lies in two triangles
		if dense {
			w.flops = 2 * n * bins * bands
		}
	case "matmul":
		w.flops, w.pieces, w.threads = 2*n*n*n, n, n*n
	case "linear":
		in, out := param(c, "in", 0), param(c, "out", 0)
		w.flops, w.pieces, w.threads = 2*n*in*out, out, max(n, simdgroup)*out // few rows share out the sums
	case "conv1d":
		w = convolution(w, variant, param(c, "n", size), param(c, "taps", size))
	case "softmax":
		columns := param(c, "columns", 0)
		w.flops, w.pieces, w.threads = softmaxFlops*n*columns, n, n*columns/4
	case "biquad":
		samples, channels := param(c, "n", size), param(c, "channels", size)
		w.flops, w.pieces, w.chain = scanTimes*sectionFlops*samples*channels, channels, samples
		w.threads = samples * channels / 16
	case "oscillator-bank":
		w.flops, w.pieces, w.threads = voiceFlops*n*param(c, "n", 0), n, n*param(c, "n", 0)
	case "stage-graph":
		steps := param(c, "block", 0) * param(c, "cost", 0)
		w.flops, w.pieces, w.chain, w.threads, w.launches = scanTimes*lowpassFlops*steps*n, n, steps, 32*n, 2
	default:
		return work{}, false
	}
	w.pieces = max(1, w.pieces)
	return w, true
}

// param returns a fixed parameter of a case, or the size where the case sweeps it.
func param(c *kernels.Case, name string, size int) float64 {
	for _, p := range c.Params {
		if p.Name == name {
			return float64(p.Value)
		}
	}
	return float64(size)
}

// transforms adds real Fourier transforms to a call.
func transforms(w work, length, rows float64) work {
	w.flops = 2.5 * length * math.Log2(length) * rows
	w.pieces, w.threads = rows, rows*length/16
	if length > longestRow {
		w.launches = 3 // columns, rows, and the halves put together
		w.bytes *= w.launches
	}
	return w
}

// convolution is the work of one of the three algorithms of a convolution.
func convolution(w work, algorithm string, n, taps float64) work {
	w.threads = (n + taps) / 4
	switch algorithm {
	case "fft":
		length := math.Exp2(math.Ceil(math.Log2(n + taps - 1)))
		one := transforms(work{bytes: 8 * length, launches: 1}, length, 1)
		w.flops, w.bytes, w.threads = 2*one.flops+3*length, 2*one.bytes+12*length, one.threads
		w.launches, w.pieces = 2*one.launches+1, 1
	case "partitioned":
		blocks, parts := math.Ceil(n/partition), math.Ceil(taps/partition)
		both := transforms(work{launches: 1}, 2*partition, 2*blocks)
		w.flops, w.bytes = both.flops+8*partition*blocks*parts, w.bytes+2*16*partition*blocks
		w.launches, w.pieces = 3, blocks
	default:
		w.flops = 2 * n * taps
	}
	return w
}
