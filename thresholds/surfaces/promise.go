package surfaces

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Promise bounds the losses of choices at shapes that nobody has measured. A benchmark is a check at benchmarkShapes shapes,
// drawn as the planner draws them. Each bound holds in 95 of 100 benchmarks.
type Promise struct {
	Mean      float64 // upper bound of the mean loss
	Within    float64 // lower bound of the share of shapes with a loss of at most within
	NineInTen float64 // upper bound of the loss that nine of ten shapes do not exceed
}

// Parameters of a promise.
const (
	benchmarkShapes = 32   // of a benchmark
	benchmarks      = 2000 // that are simulated
	borrowed        = 8    // losses of other operations that count as losses of this one
	nineInTen       = 0.9
)

// assumed are losses that count as seen on every host, so that no promise rests on a few shapes alone. They are about the
// losses of choices at random shapes on two hosts, after 25 visits to an operation.
var assumed = append(make([]float64, 17), 0.05, 0.2, 0.6)

// Promised returns the promise of an operation. held are its losses at held-out shapes. crossed are its losses at fitted
// shapes, by fits without them. host are the losses of all operations of the host, which show how bad shapes can be that
// this operation has not met. If the mean loss at held-out shapes is greater than the bound from all losses, the promise
// rests on the held-out shapes alone.
func Promised(held, crossed, host []float64) Promise {
	prior := slices.Concat(host, assumed)
	all := promised(slices.Concat(held, crossed), prior)
	if len(held) > 0 && stat.Mean(held, nil) > all.Mean {
		return promised(held, prior)
	}
	return all
}

// promised simulates benchmarks by the Bayesian bootstrap of the losses and of some losses that are borrowed from a prior.
// Each loss gets a random weight, and the losses of a benchmark are drawn by these weights. So a few losses that are all 0
// do not promise 0.
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

// quantile returns the least of the sorted values that a share of them does not exceed.
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
