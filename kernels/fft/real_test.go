package fft

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// bothWays runs a test with the assembly, where the processor has it, and with the Go passes.
func bothWays(t *testing.T, test func(t *testing.T)) {
	t.Run("path=go", func(t *testing.T) { withoutLanes(t); test(t) })
	if splitsOne() {
		t.Run("path=lanes", test)
	}
}

// definition returns bins 0 to n−1 of the transform of x as the formula says, in float64.
func definition(x []complex64) []complex128 {
	n := len(x)
	bins := make([]complex128, n)
	for k := range bins {
		for j, v := range x {
			bins[k] += complex128(v) * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/float64(n))
		}
	}
	return bins
}

func parts64(bins []complex128) []float64 {
	out := make([]float64, 0, 2*len(bins))
	for _, b := range bins {
		out = append(out, real(b), imag(b))
	}
	return out
}

func widen(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

func noise(n int) []float32 {
	x := make([]float32, n)
	kernels.Noise(x, uint64(n))
	return x
}

func complexNoise(n int) []complex64 {
	x := make([]complex64, n)
	kernels.Noise(floats(x), uint64(n))
	return x
}

// shortLengths are every length to 64, the ones that the assembly treats apart, lengths without large factors that are
// a multiple of 16 and lengths that are not, and primes.
func shortLengths() []int {
	lengths := []int{72, 80, 81, 96, 97, 100, 101, 112, 120, 125, 127, 128, 144, 160, 192, 208, 240, 243, 256, 257, 320,
		360, 384, 400, 480, 500, 509, 512, 600, 625, 640, 720, 729, 768, 800, 960, 1000, 1009, 1018, 1024, 1152, 1200}
	for n := range 64 {
		lengths = append(lengths, n+1)
	}
	return lengths
}

func TestRealAgainstDefinition(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, n := range shortLengths() {
			t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
				x := noise(n)
				pairs := make([]complex64, n)
				for i, v := range x {
					pairs[i] = complex(v, 0)
				}
				plan, bins := NewReal(n), make([]complex64, n/2+1)
				plan.Forward(bins, x)
				expect(t, "forward", floats(bins), parts64(definition(pairs)[:n/2+1]), 3e-7)
				back := make([]float32, n)
				plan.Inverse(back, bins)
				expect(t, "inverse", back, widen(x), 5e-7)
				if imag(bins[0]) != 0 || n%2 == 0 && imag(bins[n/2]) != 0 {
					t.Errorf("bins 0 and n/2 of a real signal are %v and %v, want real values", bins[0], bins[n/2])
				}
			})
		}
	})
}

func expect(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if e := kernels.RelativeError(got, want); e > tolerance {
		t.Errorf("%s: relative error %.2g, want at most %.2g", what, e, tolerance)
	}
}

func TestComplexAgainstDefinition(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, n := range shortLengths() {
			t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
				x := complexNoise(n)
				before := append([]complex64(nil), x...)
				plan, bins, back := NewComplex(n), make([]complex64, n), make([]complex64, n)
				plan.Forward(bins, x)
				expect(t, "forward", floats(bins), parts64(definition(x)), 3e-7)
				plan.Inverse(back, bins)
				expect(t, "inverse", floats(back), widen(floats(x)), 5e-7)
				for i := range x {
					if x[i] != before[i] {
						t.Fatalf("forward changed its input at %d", i)
					}
				}
			})
		}
	})
}

func TestReference(t *testing.T) {
	for _, n := range []int{1, 2, 3, 12, 30, 49, 64, 101, 210} {
		x, pairs := noise(n), make([]complex64, n)
		for i, v := range x {
			pairs[i] = complex(v, 0)
		}
		want := definition(pairs)
		for k, got := range Reference(x) {
			if cmplx.Abs(got-want[k]) > 1e-12 {
				t.Errorf("n=%d: bin %d is %v, want %v", n, k, got, want[k])
			}
		}
	}
	if got := Reference(nil); len(got) != 0 {
		t.Errorf("reference of nothing is %v", got)
	}
}

// TestRealAgainstNumPy holds the transform to arrays of numpy.fft.rfft.
func TestRealAgainstNumPy(t *testing.T) {
	signal := kerneltest.ReadArchived[float32](t, "testdata/numpy.npz", "signal")
	bothWays(t, func(t *testing.T) {
		for _, n := range []int{64, 256, 1000, 1024, 4096, 16384} {
			want := kerneltest.ReadArchived[complex128](t, "testdata/numpy.npz", fmt.Sprintf("rfft_%d", n))
			bins := make([]complex64, n/2+1)
			NewReal(n).Forward(bins, signal[:n])
			expect(t, fmt.Sprintf("n=%d", n), floats(bins), parts64(want), 4e-7)
			expect(t, fmt.Sprintf("reference of n=%d", n), floats(narrow(Reference(signal[:n]))), parts64(want), 1e-7)
		}
	})
}

func narrow(x []complex128) []complex64 {
	out := make([]complex64, len(x))
	for i, v := range x {
		out[i] = complex64(v)
	}
	return out
}

func TestLongLengths(t *testing.T) {
	for _, n := range []int{4096, 3840, 10000, 27000, 1 << 15, 39366, 44100, 48000, 50625, 1 << 17, 5 * 9 << 12, 708588, 1 << 20, 1000000, 1062882} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			x, bins, back := noise(n), make([]complex64, n/2+1), make([]float32, n)
			plan := NewReal(n)
			plan.Forward(bins, x)
			expect(t, "forward", floats(bins), parts64(fourier.NewFFT(n).Coefficients(nil, widen(x))), 3e-7)
			plan.Inverse(back, bins)
			expect(t, "inverse", back, widen(x), 5e-7)
		})
	}
}

// TestLongPrimes holds some bins to the definition, which is all that a prime of this size leaves time for.
func TestLongPrimes(t *testing.T) {
	for _, n := range []int{10007, 2 * 131071, 999983} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			x, bins, back := noise(n), make([]complex64, n/2+1), make([]float32, n)
			plan := NewReal(n)
			plan.Forward(bins, x)
			roots := make([]complex128, n)
			for i := range roots {
				roots[i] = root(i, n)
			}
			var got []complex64
			var want []complex128
			rng := rand.New(rand.NewPCG(1, 2))
			for range 24 {
				k := rng.IntN(len(bins))
				var sum complex128
				at := 0
				for _, v := range x {
					sum += complex(float64(v), 0) * roots[at]
					if at += k; at >= n {
						at -= n
					}
				}
				got, want = append(got, bins[k]), append(want, sum)
			}
			expect(t, "forward", floats(got), parts64(want), 4e-7)
			plan.Inverse(back, bins)
			expect(t, "inverse", back, widen(x), 5e-7)
		})
	}
}

// FuzzReal checks what must hold at any length: Parseval's theorem, linearity, and that the inverse undoes the forward
// transform.
func FuzzReal(f *testing.F) {
	for _, n := range []int{1, 2, 7, 16, 48, 100, 331, 1024, 1536} {
		f.Add(n, int64(n))
	}
	f.Fuzz(func(t *testing.T, n int, seed int64) {
		n = (n%5000 + 5000) % 5000
		if n == 0 {
			return
		}
		x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
		kernels.Noise(x, uint64(seed))
		kernels.Noise(y, uint64(seed)+1)
		for i := range z {
			z[i] = 0.5*x[i] - 2*y[i]
		}
		plan := NewReal(n)
		spectrum := func(x []float32) []complex64 {
			bins := make([]complex64, n/2+1)
			plan.Forward(bins, x)
			return bins
		}
		bx, by, bz := spectrum(x), spectrum(y), spectrum(z)
		want := make([]complex128, len(bx))
		var energy, power float64
		for k := range want {
			want[k] = 0.5*complex128(bx[k]) - 2*complex128(by[k])
			weight := 2.0 // a bin and its mirror image
			if k == 0 || 2*k == n {
				weight = 1
			}
			power += weight * (real(complex128(bx[k]))*real(complex128(bx[k])) + imag(complex128(bx[k]))*imag(complex128(bx[k])))
		}
		for _, v := range x {
			energy += float64(v) * float64(v)
		}
		if math.Abs(power/float64(n)-energy) > 1e-5*energy {
			t.Errorf("n=%d: power %g, energy %g", n, power/float64(n), energy)
		}
		expect(t, fmt.Sprintf("n=%d: linearity", n), floats(bz), parts64(want), 1e-6)
		back := make([]float32, n)
		plan.Inverse(back, bx)
		expect(t, fmt.Sprintf("n=%d: inverse", n), back, widen(x), 1e-6)
	})
}

// TestInverseIgnoresImaginaryEnds checks the promise about bins that are real in every real signal's spectrum.
func TestInverseIgnoresImaginaryEnds(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, n := range []int{2, 9, 30, 64, 256, 4096} {
			plan, bins := NewReal(n), make([]complex64, n/2+1)
			plan.Forward(bins, noise(n))
			want, got := make([]float32, n), make([]float32, n)
			plan.Inverse(want, bins)
			bins[0] += 3i
			if n%2 == 0 {
				bins[n/2] -= 5i
			}
			plan.Inverse(got, bins)
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("n=%d: sample %d is %g with imaginary ends and %g without", n, i, got[i], want[i])
				}
			}
		}
	})
}

func TestUnalignedMemory(t *testing.T) {
	for _, n := range []int{480, 1458} {
		x, want := noise(n), make([]complex64, n/2+1)
		plan := NewReal(n)
		plan.Forward(want, x)
		for offset := range 9 {
			src := append(make([]float32, offset), x...)[offset:]
			bins, back := make([]complex64, n/2+1+offset)[offset:], make([]float32, n+offset)[offset:]
			plan.Forward(bins, src)
			plan.Inverse(back, bins)
			for k := range bins {
				if bins[k] != want[k] {
					t.Fatalf("n=%d, offset %d: bin %d is %v, want %v", n, offset, k, bins[k], want[k])
				}
			}
			expect(t, fmt.Sprintf("n=%d, offset %d", n, offset), back, widen(x), 5e-7)
		}
	}
}

// TestStaysInBounds checks that no kernel writes beyond the ends of what it is given.
func TestStaysInBounds(t *testing.T) {
	const guard, mark = 32, 12345
	for _, n := range append(shortLengths(), 1458, 2250) {
		bins, back := make([]complex64, n/2+1+2*guard), make([]float32, n+2*guard)
		for i := range bins {
			bins[i] = mark
		}
		for i := range back {
			back[i] = mark
		}
		plan := NewReal(n)
		plan.Forward(bins[guard:][:n/2+1], noise(n))
		plan.Inverse(back[guard:][:n], bins[guard:][:n/2+1])
		for i := range guard {
			if bins[i] != mark || bins[len(bins)-1-i] != mark || back[i] != mark || back[len(back)-1-i] != mark {
				t.Errorf("n=%d: wrote outside of its output", n)
				break
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, n := range []int{9, 30, 101, 480, 1000, 1024, 1458} {
		plan, x, bins := NewReal(n), noise(n), make([]complex64, n/2+1)
		full, y, z := NewComplex(n), complexNoise(n), make([]complex64, n)
		if got := testing.AllocsPerRun(10, func() {
			plan.Forward(bins, x)
			plan.Inverse(x, bins)
			full.Forward(z, y)
			full.Inverse(y, z)
		}); got != 0 {
			t.Errorf("n=%d: %v allocations, want 0", n, got)
		}
	}
}

func TestConcurrentClones(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, n := range []int{45, 480, 1000, 1009, 4096} {
			x, want := noise(n), make([]complex64, n/2+1)
			plan := NewReal(n)
			plan.Forward(want, x)
			y, wantFull := complexNoise(n), make([]complex64, n)
			full := NewComplex(n)
			full.Forward(wantFull, y)
			var group sync.WaitGroup
			start := make(chan struct{})
			for range 4 {
				clone, fullClone := plan.Clone(), full.Clone()
				if clone.Len() != n || fullClone.Len() != n {
					t.Fatalf("clones have lengths %d and %d, want %d", clone.Len(), fullClone.Len(), n)
				}
				group.Go(func() {
					bins, back, values := make([]complex64, n/2+1), make([]float32, n), make([]complex64, n)
					<-start
					for range 100 {
						clone.Forward(bins, x)
						clone.Inverse(back, bins)
						fullClone.Forward(values, y)
						if !slices.Equal(bins, want) || !slices.Equal(values, wantFull) {
							t.Errorf("n=%d: clones that run side by side differ from one that runs alone", n)
							return
						}
					}
				})
			}
			close(start)
			group.Wait()
		}
	})
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"real length 0":        func() { NewReal(0) },
		"complex length -1":    func() { NewComplex(-1) },
		"real short dst":       func() { NewReal(8).Forward(make([]complex64, 4), make([]float32, 8)) },
		"real long src":        func() { NewReal(8).Forward(make([]complex64, 5), make([]float32, 9)) },
		"inverse short dst":    func() { NewReal(8).Inverse(make([]float32, 7), make([]complex64, 5)) },
		"complex short src":    func() { NewComplex(8).Forward(make([]complex64, 8), make([]complex64, 7)) },
		"complex inverse long": func() { NewComplex(8).Inverse(make([]complex64, 9), make([]complex64, 8)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
