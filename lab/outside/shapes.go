package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"

	"crossover/kernels"
)

// distribution says which shapes of an operation are drawn.
type distribution struct {
	axes []values // in the order of the operation's axes

	// takes reports whether a shape makes sense and whether a call is short enough. Nil takes every shape. A shape that it
	// does not take is drawn again.
	takes func(s kernels.Shape) bool
}

// values are the values of an axis: parts that are equally likely.
type values []part

// part draws a value of an axis. s has the values of the axes before it.
type part interface {
	draw(r *rand.Rand, s kernels.Shape) int
}

// list is a part of which each value is equally likely.
type list []int

func (l list) draw(r *rand.Rand, _ kernels.Shape) int { return l[r.IntN(len(l))] }

// whole are the whole numbers of a range, drawn in equal factors.
type whole struct{ from, to int }

func (w whole) draw(r *rand.Rand, _ kernels.Shape) int {
	return int(math.Round(float64(w.from) * math.Pow(float64(w.to)/float64(w.from), r.Float64())))
}

// powers are the powers of two of a range that begins and ends with one.
type powers struct{ from, to int }

func (p powers) draw(r *rand.Rand, _ kernels.Shape) int {
	n := 1
	for p.from<<n <= p.to {
		n++
	}
	return p.from << r.IntN(n)
}

// smooth are the numbers of a range without a prime factor above 7. The range ends with one.
type smooth struct{ from, to int }

func (p smooth) draw(r *rand.Rand, s kernels.Shape) int {
	n := whole(p).draw(r, s)
	for !isSmooth(n) {
		n++
	}
	return n
}

func isSmooth(n int) bool {
	for _, factor := range []int{2, 3, 5, 7} {
		for n%factor == 0 {
			n /= factor
		}
	}
	return n == 1
}

// primes are the prime numbers of a range that ends with one.
type primes struct{ from, to int }

func (p primes) draw(r *rand.Rand, s kernels.Shape) int {
	n := whole(p).draw(r, s)
	for !big.NewInt(int64(n)).ProbablyPrime(0) {
		n++
	}
	return n
}

// share is an equal share of an earlier axis.
type share struct{ axis, of int }

func (p share) draw(_ *rand.Rand, s kernels.Shape) int { return s[p.axis] / p.of }

// seconds are the samples of a signal that lasts so long, drawn in equal factors, at a usual sample rate.
type seconds struct{ from, to float64 }

// rates are usual sample rates, in hertz.
var rates = list{16000, 22050, 44100, 48000}

func (d seconds) draw(r *rand.Rand, s kernels.Shape) int {
	return int(float64(rates.draw(r, s)) * d.from * math.Pow(d.to/d.from, r.Float64()))
}

// draw returns the next shape.
func (d distribution) draw(r *rand.Rand) kernels.Shape {
	for {
		var s kernels.Shape
		for i, v := range d.axes {
			s[i] = v[r.IntN(len(v))].draw(r, s)
		}
		if d.takes == nil || d.takes(s) {
			return s
		}
	}
}

// randomFor returns the random numbers for the shapes of an operation. They depend on no other operation.
func randomFor(seed uint64, operation string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(operation))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// shapeText returns "n=441,batch=64".
func shapeText(axes []string, s kernels.Shape) string {
	parts := make([]string, len(axes))
	for i, name := range axes {
		parts[i] = fmt.Sprintf("%s=%d", name, s[i])
	}
	return strings.Join(parts, ",")
}
