package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/kernels"
	"crossover/kernels/fft/double"
	"crossover/kernels/fft/ffttest"
	"crossover/kernels/kerneltest"
)

// bothWays runs a test with assembly, if the processor can run it, and with the Go passes.
func bothWays(t *testing.T, test func(t *testing.T)) {
	t.Run("path=go", func(t *testing.T) { withoutLanes(t); test(t) })
	if Splits() {
		t.Run("path=lanes", test)
	}
}

// shortLengths are every length to 64, lengths that are special in assembly, lengths without large factors, some of them
// multiples of 16, and primes.
func shortLengths() []int {
	lengths := []int{72, 80, 81, 96, 97, 100, 101, 112, 120, 125, 127, 128, 144, 160, 192, 208, 240, 243, 256, 257, 320,
		343, 360, 384, 400, 441, 480, 500, 509, 512, 600, 625, 640, 720, 729, 735, 768, 800, 882, 960, 1000, 1009, 1018, 1024, 1152, 1200}
	for n := range 64 {
		lengths = append(lengths, n+1)
	}
	return lengths
}

// Few long rows are shared. What has changed since all fewer than the workers were is what SharedSince says.
func TestMostShared(t *testing.T) {
	for _, c := range [][3]int{{1 << 14, 16, 0}, {1 << 15, 16, 1}, {100_000, 16, 3}, {1 << 20, 16, 6}, {1 << 20, 4, 3}, {1 << 20, 1, 0}, {112_000, 3, 2}} {
		if got := MostShared(c[0], c[1]); got != c[2] {
			t.Errorf("%d workers share %d rows of %d samples, want %d", c[1], got, c[0], c[2])
		}
	}
	for _, workers := range []int{1, 2, 3, 4, 6, 16} {
		for _, n := range []int{1 << 14, 1<<15 - 2, 1 << 15, 50_000, 1<<16 - 2, 1 << 16, 1 << 17, 1 << 20} {
			for count := 1; count <= 20; count++ {
				before, now := count < workers && n >= 1<<16, count <= MostShared(n, workers)
				changed := workers > 3 && before != now
				if SharedSince(count, n, workers) != changed {
					t.Errorf("%d rows of %d samples, %d workers: shared %v before and %v now, and it is said that this has changed: %v", count, n, workers,
						before, now, !changed)
				}
				if changed && !SharedSince(count, n, workers+1) { // of which a limit may leave so many
					t.Errorf("%d rows of %d samples: what concerns %d workers does not concern one more", count, n, workers)
				}
			}
		}
	}
}

func TestRealAgainstDefinition(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	bothWays(t, func(t *testing.T) {
		for _, n := range shortLengths() {
			t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
				x := ffttest.Noise(n)
				pairs := make([]complex64, n)
				for i, v := range x {
					pairs[i] = complex(v, 0)
				}
				plan, bins := NewReal(n), make([]complex64, n/2+1)
				plan.Forward(bins, x)
				ffttest.Expect(t, "forward", floats(bins), ffttest.Parts(ffttest.Definition(pairs)[:n/2+1]), 3e-7)
				back := make([]float32, n)
				plan.Inverse(back, bins)
				ffttest.Expect(t, "inverse", back, ffttest.Widen(x), 5e-7)
				if imag(bins[0]) != 0 || n%2 == 0 && imag(bins[n/2]) != 0 {
					t.Errorf("bins 0 and n/2 of a real signal are %v and %v, want real values", bins[0], bins[n/2])
				}
			})
		}
	})
}

func TestComplexAgainstDefinition(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	bothWays(t, func(t *testing.T) {
		for _, n := range shortLengths() {
			t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
				x := ffttest.ComplexNoise(n)
				before := append([]complex64(nil), x...)
				plan, bins, back := NewComplex(n), make([]complex64, n), make([]complex64, n)
				plan.Forward(bins, x)
				ffttest.Expect(t, "forward", floats(bins), ffttest.Parts(ffttest.Definition(x)), 3e-7)
				plan.Inverse(back, bins)
				ffttest.Expect(t, "inverse", floats(back), ffttest.Widen(floats(x)), 5e-7)
				for i := range x {
					if x[i] != before[i] {
						t.Fatalf("forward changed its input at %d", i)
					}
				}
			})
		}
	})
}

// TestRealAgainstNumPy compares the transform with arrays of numpy.fft.rfft.
func TestRealAgainstNumPy(t *testing.T) {
	signal := kerneltest.Signal(16384)
	bothWays(t, func(t *testing.T) {
		for _, n := range []int{64, 256, 1000, 1024, 4096, 16384} {
			want := kerneltest.ReadArchived[complex64](t, "testdata/numpy.npz", fmt.Sprintf("rfft_%d", n))
			bins := make([]complex64, n/2+1)
			NewReal(n).Forward(bins, signal[:n])
			ffttest.Expect(t, fmt.Sprintf("n=%d", n), floats(bins), ffttest.Widen(floats(want)), 4e-7)
		}
	})
}

func TestLongLengths(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	for _, n := range []int{4096, 3840, 10000, 27000, 1 << 15, 39366, 44100, 7 * 7 * 7 * 7 * 20, 48000, 50625, 1 << 17, 5 * 9 << 12, 708588, 1 << 20, 1000000, 1062882} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			x, bins, back := ffttest.Noise(n), make([]complex64, n/2+1), make([]float32, n)
			plan := NewReal(n)
			plan.Forward(bins, x)
			ffttest.Expect(t, "forward", floats(bins), ffttest.Parts(fourier.NewFFT(n).Coefficients(nil, ffttest.Widen(x))), 3e-7)
			plan.Inverse(back, bins)
			ffttest.Expect(t, "inverse", back, ffttest.Widen(x), 5e-7)
		})
	}
}

// TestLongPrimes compares some bins with the definition. All bins would take too long.
func TestLongPrimes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	for _, n := range []int{10007, 2 * 131071, 999983} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			x, bins, back := ffttest.Noise(n), make([]complex64, n/2+1), make([]float32, n)
			plan := NewReal(n)
			plan.Forward(bins, x)
			roots := make([]complex128, n)
			for i := range roots {
				roots[i] = double.Root(i, n)
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
			ffttest.Expect(t, "forward", floats(got), ffttest.Parts(want), 4e-7)
			plan.Inverse(back, bins)
			ffttest.Expect(t, "inverse", back, ffttest.Widen(x), 5e-7)
		})
	}
}

// FuzzReal checks what holds at every length: Parseval's theorem, linearity, and that the inverse undoes the forward
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
		ffttest.Expect(t, fmt.Sprintf("n=%d: linearity", n), floats(bz), ffttest.Parts(want), 1e-6)
		back := make([]float32, n)
		plan.Inverse(back, bx)
		ffttest.Expect(t, fmt.Sprintf("n=%d: inverse", n), back, ffttest.Widen(x), 1e-6)
	})
}

// TestInverseIgnoresImaginaryEnds checks that imaginary parts of bin 0, and of bin n/2 for even n, are taken as 0.
func TestInverseIgnoresImaginaryEnds(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, n := range []int{2, 9, 30, 64, 256, 4096} {
			plan, bins := NewReal(n), make([]complex64, n/2+1)
			plan.Forward(bins, ffttest.Noise(n))
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
		x, want := ffttest.Noise(n), make([]complex64, n/2+1)
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
			ffttest.Expect(t, fmt.Sprintf("n=%d, offset %d", n, offset), back, ffttest.Widen(x), 5e-7)
		}
	}
}

// TestStaysInBounds checks that no kernel writes beyond its slices.
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
		plan.Forward(bins[guard:][:n/2+1], ffttest.Noise(n))
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
		plan, x, bins := NewReal(n), ffttest.Noise(n), make([]complex64, n/2+1)
		full, y, z := NewComplex(n), ffttest.ComplexNoise(n), make([]complex64, n)
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

func TestScale(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for n := range 140 {
			x := ffttest.Noise(n + 8)
			want := slices.Clone(x)
			for i := range n {
				want[i] *= 0.3
			}
			if Scale(x[:n], 0.3); !slices.Equal(x, want) {
				t.Fatalf("%d values: got %v, want %v", n, x, want)
			}
		}
	})
}

func TestConcurrentClones(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for _, n := range []int{45, 480, 1000, 1009, 4096} {
			x, want := ffttest.Noise(n), make([]complex64, n/2+1)
			plan := NewReal(n)
			plan.Forward(want, x)
			y, wantFull := ffttest.ComplexNoise(n), make([]complex64, n)
			full := NewComplex(n)
			full.Forward(wantFull, y)
			var group sync.WaitGroup
			start := make(chan struct{})
			for range 4 {
				clone, fullClone := plan.Clone(), full.Clone()
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
