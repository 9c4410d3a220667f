package conv1d

import "crossover/pool"

// run is the longest stretch of taps that one accumulator sums up. Sums over more taps are taken run by run, because the
// rounding error grows with the square root of the number of terms.
const run = 256

// directSum is one direct convolution. It slides the longer of signal and filter over the shorter one. Each block of outputs
// can be computed independently.
type directSum struct {
	y           []float32
	long, short []float32
	// head holds long[−63] to long[62], and tail holds long[n−63] to long[n+62], with zeros outside of the sequence. The
	// products at both ends read them.
	head, tail [2*width - 2]float32
}

// set sets the operands of the next convolution.
func (d *directSum) set(y, a, b []float32) {
	if len(a) < len(b) {
		a, b = b, a
	}
	d.y, d.long, d.short = y, a, b
	if len(a) >= width {
		copy(d.head[width-1:], a)
		copy(d.tail[:width-1], a[len(a)-(width-1):])
	}
}

// blocks returns how many blocks of width outputs there are.
func (d *directSum) blocks() int { return (len(d.y) + width - 1) / width }

// compute fills the blocks of outputs from lo to hi−1.
func (d *directSum) compute(lo, hi int) {
	if len(d.long) < width {
		d.computeShort(lo, hi)
		return
	}
	for b := lo; b < hi; b++ {
		first := b * width
		if first+width <= len(d.y) {
			d.block(d.y[first:first+width], first)
			continue
		}
		var out [width]float32
		d.block(out[:], first)
		copy(d.y[first:], out[:])
	}
}

// block computes the outputs first to first+63. They multiply tap k by long[first−k] to long[first−k+63]. For taps before
// inside, a part of that range lies past the end of the sequence. For taps from outside on, a part lies before its start.
func (d *directSum) block(out []float32, first int) {
	clear(out)
	n := len(d.long)
	from := max(0, first-(n-1))
	to := min(len(d.short), first+width)
	inside := min(max(first+width-n, from), to)
	outside := min(max(first+1, inside), to)
	if from < inside {
		start := first - (inside - 1) - (n - (width - 1))
		fir(out, d.tail[start:start+inside-from+width-1], d.short[from:inside])
	}
	for k := inside; k < outside; k += run {
		end := min(k+run, outside)
		fir(out, d.long[first-(end-1):first-k+width], d.short[k:end])
	}
	if outside < to {
		start := first - (to - 1) + width - 1
		fir(out, d.head[start:start+to-outside+width-1], d.short[outside:to])
	}
	if from < inside || outside < to {
		d.mend(out, first)
	}
}

// mend sums up again the outputs of a block that are not finite. A block at the ends has also multiplied zeros beyond the
// longer sequence. These products are not part of the definition, and are NaN for a NaN or an infinity of the shorter
// sequence.
func (d *directSum) mend(out []float32, first int) {
	for j, v := range out[:min(width, len(d.y)-first)] {
		if v-v != 0 {
			out[j] = d.at(first + j)
		}
	}
}

// computeShort is compute if both sequences are shorter than a block.
func (d *directSum) computeShort(lo, hi int) {
	for i := lo * width; i < min(hi*width, len(d.y)); i++ {
		d.y[i] = d.at(i)
	}
}

// at returns output i by the definition.
func (d *directSum) at(i int) float32 {
	var sum float32
	for k := max(0, i-(len(d.long)-1)); k <= min(i, len(d.short)-1); k++ {
		sum += d.short[k] * d.long[i-k]
	}
	return sum
}

// direct sums up the definition on one core.
type direct struct {
	taps []float32
	sum  directSum
}

func (e *direct) prepare(int) error { return nil }

func (e *direct) convolve(y, x []float32) {
	e.sum.set(y, x, e.taps)
	e.sum.compute(0, e.sum.blocks())
}

// productsPerChunk is the number of multiply-adds in a chunk: some five microseconds with AVX2. Less work is not worth
// handing over.
const productsPerChunk = 1 << 18

// parallelDirect is direct with its blocks divided among the workers of a pool.
type parallelDirect struct {
	taps []float32
	pool *pool.Pool
	sum  directSum
}

func (e *parallelDirect) prepare(int) error { return nil }

func (e *parallelDirect) convolve(y, x []float32) {
	e.sum.set(y, x, e.taps)
	grain := max(1, productsPerChunk/(width*len(e.sum.short)))
	e.pool.Run(e.sum.blocks(), grain, e)
}

// Do computes the blocks from lo to hi−1.
func (e *parallelDirect) Do(_, lo, hi int) { e.sum.compute(lo, hi) }
