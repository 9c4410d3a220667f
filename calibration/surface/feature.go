package surface

import (
	"math"
	"math/bits"
)

// MostFeatures is the greatest number of features of a surface.
const MostFeatures = 24

// Kind is the kind of a feature: a function of a quantity that follows from the axes.
type Kind string

// The kinds. Logarithm is a function of a product of powers of the axes. The others are functions of a length, which is a
// sum of axes with factors.
const (
	Logarithm Kind = "logarithm" // log2 of the product of the axes, each to the power of its weight
	Length    Kind = "length"    // log2 of the length
	Padding   Kind = "padding"   // log2 of the next power of two divided by the length
	Rough     Kind = "rough"     // 1 if the length has a prime factor above Prime, otherwise 0
	Exponent  Kind = "exponent"  // the share of Prime in the length: log of its power divided by log of the length
	Largest   Kind = "largest"   // log2 of the greatest prime factor of the length, at most 16
	Chirp     Kind = "chirp"     // Padding of twice the length if Rough is 1, otherwise 0: the cost of Bluestein's algorithm
	// Indivisible is 1 if the length is no multiple of Prime, which may be a power of a prime number here, otherwise 0.
	Indivisible Kind = "indivisible"
)

// kinds lists all kinds.
var kinds = []Kind{Logarithm, Length, Padding, Rough, Exponent, Largest, Chirp, Indivisible}

// Feature is a number that follows from a shape.
type Feature struct {
	Kind Kind `json:"kind"`
	// Weights has a value for each axis: its power for a Logarithm, and its factor for a length.
	Weights []float64 `json:"weights"`
	// Offset is added to a length, such as the −1 of a convolution.
	Offset float64 `json:"offset,omitempty"`
	// Prime is the prime number of Rough, Exponent, Chirp and Indivisible.
	Prime int `json:"prime,omitempty"`
}

// ByFactors reports whether the feature depends on the prime factors of the length, so that it jumps from each length to the
// next.
func (f *Feature) ByFactors() bool {
	switch f.Kind {
	case Logarithm, Length, Padding:
		return false
	}
	return true
}

// Of returns the feature at a shape, which has a positive value for every axis.
func (f *Feature) Of(shape []int) float64 {
	if f.Kind == Logarithm {
		sum := 0.0
		for i, w := range f.Weights {
			if w != 0 {
				sum += w * math.Log2(float64(shape[i]))
			}
		}
		return sum
	}
	n := f.length(shape)
	switch f.Kind {
	case Length:
		return math.Log2(float64(n))
	case Padding:
		return padding(n)
	case Rough:
		if rest(n, f.Prime) > 1 {
			return 1
		}
	case Indivisible:
		if n%f.Prime != 0 {
			return 1
		}
	case Chirp:
		if rest(n, f.Prime) > 1 {
			return padding(2*n - 1)
		}
	case Exponent:
		return share(n, f.Prime)
	case Largest:
		return math.Min(math.Log2(float64(largest(n))), 16)
	}
	return 0
}

// length returns the length of the feature at a shape, at least 1 and at most mostLength.
func (f *Feature) length(shape []int) int {
	sum := f.Offset
	for i, w := range f.Weights {
		sum += w * float64(shape[i])
	}
	return int(math.Min(math.Max(sum, 1), mostLength))
}

const mostLength = 1 << 40

// padding returns log2 of the ratio of the next power of two to n.
func padding(n int) float64 {
	return float64(bits.Len64(uint64(n-1))) - math.Log2(float64(n))
}

// rest returns n without its prime factors up to most.
func rest(n, most int) int {
	for p := 2; p <= most && n > 1; p++ {
		for n%p == 0 {
			n /= p
		}
	}
	return n
}

// share returns the share of a prime in the logarithm of n.
func share(n, prime int) float64 {
	if n < 2 || prime < 2 {
		return 0
	}
	power, left := 0, n
	for left%prime == 0 {
		left /= prime
		power++
	}
	return float64(power) * math.Log(float64(prime)) / math.Log(float64(n))
}

// tried is the greatest factor that is tried. A length without smaller factors behaves like a prime.
const tried = 1 << 9

// largest returns the greatest prime factor of n, or n without the factors that were tried if that is greater.
func largest(n int) int {
	found := 1
	for p := 2; p <= tried && p*p <= n; p++ {
		for n%p == 0 {
			n /= p
			found = p
		}
	}
	return max(found, n)
}
