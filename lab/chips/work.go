package chips

import "crossover/kernels"

// sharedPieces is what an array is cut into for processor cores where every element stands alone.
const sharedPieces = 64

// workOf returns what one call of a case has to do at a size, by the algorithm or the way that variant names. The case
// says so; where it leaves something out, every element stands alone.
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
		w.bytes *= w.launches // what is least counts the data once, and each launch moves all of them
	}
	w.pieces = max(1, w.pieces)
	return w
}
