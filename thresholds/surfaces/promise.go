package surfaces

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Promise is what choices cost at most at shapes that nobody has measured: each bound holds in 95 of 100 benchmarks of
// benchmarkShapes shapes, drawn as the planner draws them.
type Promise struct {
	Mean      float64 // of the losses, at most
	Within    float64 // share of shapes at which the loss is at most within, at least
	NineInTen float64 // the loss at nine of ten shapes, at most
}

// How a promise is made.
const (
	benchmarkShapes = 32   // of a benchmark
	benchmarks      = 2000 // that are simulated
	borrowed        = 8    // losses of other operations that count as seen here
	nineInTen       = 0.9
)

// assumed are losses that every host is held for having seen, so that no promise rests on a few shapes alone. They are about
// what the choices of two hosts lost at random shapes after 25 visits to an operation.
var assumed = append(make([]float64, 17), 0.05, 0.2, 0.6)

// Promised returns what the losses of an operation say of its other shapes: those at held-out shapes, and those at fitted ones
// by fits without them. host are the losses of all operations of the host, which say how bad the shapes can be that this
// operation has not met. Where more is lost at the held-out shapes than all together promise, the fitted ones are no witnesses.
func Promised(held, crossed, host []float64) Promise {
	prior := slices.Concat(host, assumed)
	all := promised(slices.Concat(held, crossed), prior)
	if len(held) > 0 && stat.Mean(held, nil) > all.Mean {
		return promised(held, prior)
	}
	return all
}

// promised simulates benchmarks from the Bayesian bootstrap of losses and of some that are borrowed from a prior: each loss
// gets a weight that is drawn, then the losses of a benchmark are drawn by these weights. So a few losses, all of them 0,
// promise no 0.
//
// Source: D. Rubin, The Bayesian Bootstrap, The Annals of Statistics 9, 1981.
func promised(losses, prior []float64) Promise {
	rng := rand.New(rand.NewPCG(1, uint64(len(losses))))
	mean, misses, tail := make([]float64, benchmarks), make([]float64, benchmarks), make([]float64, benchmarks)
	seen := slices.Concat(losses, make([]float64, borrowed))
	upTo := make([]float64, len(seen)) // sum of the weights up to each
	fresh := make([]float64, benchmarkShapes)
	for k := range benchmarks {
		total := 0.0
		for i := range seen {
			if i >= len(losses) {
				seen[i] = prior[rng.IntN(len(prior))]
			}
			total += rng.ExpFloat64()
			upTo[i] = total
		}
		for i := range fresh {
			at, _ := slices.BinarySearch(upTo, total*rng.Float64())
			fresh[i] = seen[min(at, len(seen)-1)]
		}
		slices.Sort(fresh)
		mean[k], misses[k], tail[k] = stat.Mean(fresh, nil), 1-shareWithin(fresh), quantile(fresh, nineInTen)
	}
	for _, of := range [][]float64{mean, misses, tail} {
		slices.Sort(of)
	}
	return Promise{quantile(mean, confidence), 1 - quantile(misses, confidence), quantile(tail, confidence)}
}

// quantile returns the least of sorted values that a share of them does not exceed.
func quantile(sorted []float64, share float64) float64 {
	return sorted[int(math.Ceil(share*float64(len(sorted))))-1]
}

// shareWithin returns the share of losses that are at most within.
func shareWithin(losses []float64) float64 {
	good := 0
	for _, loss := range losses {
		if loss <= within {
			good++
		}
	}
	return float64(good) / float64(len(losses))
}
