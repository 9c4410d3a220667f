package reduce

import (
	"math"

	"crossover/kernels"
	"crossover/native/accelerate"
)

const (
	higham = "N. Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14 (1993), 783–799"
	numpy  = "NumPy 2.0 reference, numpy."
)

// Sum declares Σ x[i].
var Sum = declare(reduction{
	name:      "sum",
	formula:   "Σ x[i]",
	source:    higham,
	of:        sumOf,
	join:      added,
	result:    func(whole part, _ int) float32 { return float32(whole.value) },
	framework: func(x []float32) part { return part{value: float64(accelerate.Sum(x))} },
	kernel:    appendSum,
	reference: Reference,
	fill:      upwards,
	tolerance: 1e-5,
})

// Mean declares Σ x[i] / n.
var Mean = declare(reduction{
	name:      "mean",
	formula:   "Σ x[i] / n",
	source:    higham,
	of:        sumOf,
	join:      added,
	result:    func(whole part, n int) float32 { return float32(whole.value / float64(n)) },
	framework: func(x []float32) part { return part{value: float64(accelerate.Mean(x)) * float64(len(x))} },
	kernel:    appendMean,
	reference: func(x []float32) float64 { return Reference(x) / float64(len(x)) },
	fill:      upwards,
	tolerance: 1e-5,
})

// Max declares the greatest value.
var Max = declare(reduction{
	name:      "max",
	formula:   "the greatest x[i], and NaN if an x[i] is NaN",
	source:    numpy + "max",
	of:        func(x []float32) part { return part{value: float64(greatest(x))} },
	join:      greater,
	result:    func(whole part, _ int) float32 { return float32(whole.value) },
	framework: func(x []float32) part { return part{value: float64(byFramework(accelerate.Max, greatest, x))} },
	kernel:    appendMax,
	reference: func(x []float32) float64 { return float64(x[argMax(x)]) },
	judge:     kernels.Exact,
})

// Min declares the least value.
var Min = declare(reduction{
	name:    "min",
	formula: "the least x[i], and NaN if an x[i] is NaN",
	source:  numpy + "min",
	of:      func(x []float32) part { return part{value: float64(least(x))} },
	join: func(a, b part) part {
		if beats(-b.value, -a.value) {
			return b
		}
		return a
	},
	result:    func(whole part, _ int) float32 { return float32(whole.value) },
	framework: func(x []float32) part { return part{value: float64(byFramework(accelerate.Min, least, x))} },
	kernel:    appendMin,
	reference: func(x []float32) float64 {
		m := float64(x[0])
		for _, v := range x {
			m = min(m, float64(v))
		}
		return m
	},
	judge: kernels.Exact,
})

// ArgMax declares the index of the greatest value.
var ArgMax = declare(reduction{
	name:    "argmax",
	formula: "the least i for which x[i] is the greatest value; a NaN is greater than all numbers",
	source:  numpy + "argmax",
	of: func(x []float32) part {
		v, at := greatestAt(x)
		return part{float64(v), at}
	},
	join:   greater,
	result: func(whole part, _ int) float32 { return math.Float32frombits(uint32(whole.at)) },
	framework: func(x []float32) part {
		if !finite(x) {
			v, at := greatestAt(x)
			return part{float64(v), at}
		}
		v, at := accelerate.MaxAt(x)
		return part{float64(v), at}
	},
	kernel:    appendArgMax,
	revision:  1, // fewer vectors at a time, which are not read again if a thread holds them
	reference: func(x []float32) float64 { return float64(argMax(x)) },
	fill:      quantised,
	index:     true,
	judge:     kernels.Exact,
})

func sumOf(x []float32) part { return part{value: sum(x)} }

func added(a, b part) part { return part{value: a.value + b.value} }

// greater returns the part with the greater value, and a if both are equal.
func greater(a, b part) part {
	if beats(b.value, a.value) {
		return b
	}
	return a
}

// byFramework returns an extreme of x by a function of vDSP, which passes over NaNs. If x may have one, ours computes it.
func byFramework(theirs, ours func(x []float32) float32, x []float32) float32 {
	if !finite(x) {
		return ours(x)
	}
	return theirs(x)
}

// finite reports whether x has only numbers, by vDSP: their sum is one. If the sum overflows, finite returns false, too.
func finite(x []float32) bool {
	s := accelerate.Sum(x)
	return s-s == 0
}

// upwards moves noise to [0, 2). Noise around 0 would nearly cancel, and the relative error of the small sum would depend on
// the noise more than on the summation.
func upwards(x []float32) {
	for i := range x {
		x[i]++
	}
}

// quantised rounds noise to twelve bits, so that several values are the greatest.
func quantised(x []float32) {
	const levels = 1 << 11
	for i, v := range x {
		x[i] = float32(math.Floor(float64(v)*levels)) / levels
	}
}

// Reference returns the sum of x, added one after the other in float64.
func Reference(x []float32) float64 {
	var total float64
	for _, v := range x {
		total += float64(v)
	}
	return total
}

// argMax returns the index of the first of the greatest values of x, or of the first NaN.
func argMax(x []float32) (at int) {
	for i, v := range x {
		if beats(float64(v), float64(x[at])) {
			at = i
		}
	}
	return at
}
