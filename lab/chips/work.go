package chips

import "crossover/kernels"

// sharedPieces is the number of pieces that an array is cut into for processor cores, if its elements do not depend on
// each other.
const sharedPieces = 64

// workOf returns the work of one call of a case at a size, by the algorithm variant. The case declares its work. What the
// case does not declare is set as for independent elements.
func workOf(c *kernels.Case, variant string, size int) work {
	said := c.Work(size, variant)
	w := work{
		bytes: said.Bytes, flops: said.Flops, pieces: said.Pieces, chain: said.Chain, threads: said.Threads,
		launches: max(1, said.Launches), kind: said.Kind,
	}
	if w.pieces == 0 {
		w.pieces = sharedPieces
	}
	if w.threads == 0 {
		w.threads = float64(size)
	}
	if w.kind == kernels.Transform && w.bytes == c.Bytes(size) {
		w.bytes *= w.launches // the least work counts the data once, but each launch moves all of them
	}
	w.pieces = max(1, w.pieces)
	return w
}
