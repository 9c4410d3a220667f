package biquad

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/pool"
)

// fuses says whether the compiler adds products without rounding them, as it does for arm64. Then one, two and pair differ from
// the vector code in the last bits.
var fuses = func() bool {
	a, b := 1+0x1p-30, 1-0x1p-27
	return sum(a, b, -sum(a, b, 0)) != 0
}()

// sum returns a·b + c. It is not inlined, because the compiler would compute it exactly.
//
//go:noinline
func sum(a, b, c float64) float64 { return a*b + c }

// stepwise filters one channel sample by sample by some sections, and rounds every product.
func stepwise(f cascade, s []state, dst, src []float32) {
	for i, x := range src {
		v := float64(x)
		for k := range f {
			g, t := &f[k], s[k]
			s[k] = state{float64(float64(g.c1*v)+t.s2) - float64(g.a1*t.s1), float64(g.c2*v) - float64(g.a2*t.s1)}
			v = float64(g.b0*v) + t.s1
		}
		dst[i] = float32(v)
		if i%settleEvery == settleEvery-1 || i == len(src)-1 {
			for k := range s {
				s[k].settle()
			}
		}
	}
}

// strange are states around those that are settled, and those that computing may go wrong with.
var strange = []float64{0, 1, -0.3, 1e-30, -1e-30, math.Nextafter(1e-30, 0), math.Nextafter(1e-30, 1), 1e-31, -5e-324, 1e-310, 1e300,
	-1e308, math.Inf(1), math.Inf(-1), math.NaN()}

// sameBits reports whether two values have the same bits, or are both NaN.
func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// compare filters channels of n samples by run and by stepwise, in place or not, and compares the bits of all outputs and states.
// Some channels begin with strange states, and some inputs are strange. Values around the output must stay.
func compare(t *testing.T, rng *rand.Rand, f cascade, count, n int, inPlace bool, run func(s []state, dst, src []float32)) {
	t.Helper()
	const guard, untouched = 16, -123.5
	src := make([]float32, count*n)
	for i := range src {
		src[i] = rng.Float32()*2 - 1
	}
	states := make([]state, count*len(f))
	quiet := n > settleEvery && rng.IntN(2) == 0 // long enough to be settled
	for c := range count {
		own := states[c*len(f) : (c+1)*len(f)]
		pick := func() float64 { return strange[rng.IntN(len(strange))] }
		for k := range own {
			switch rng.IntN(6) {
			case 0:
				own[k] = state{pick(), pick()}
			case 1:
				own[k] = state{1e-30 * (rng.Float64() - 0.5), 1e-30 * (rng.Float64() - 0.5)}
			default:
				own[k] = state{rng.NormFloat64(), rng.NormFloat64()}
			}
		}
		x := src[c*n : (c+1)*n]
		switch rng.IntN(4) {
		case 0:
			for i := range x {
				x[i] *= float32(rng.IntN(2)) // for states of which one is zero
			}
		case 1, 2:
			if quiet {
				clear(x)
			}
		}
		if n > 0 && rng.IntN(6) == 0 {
			x[rng.IntN(n)] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, 1e-45}[rng.IntN(5)]
		}
	}
	want, wantStates := make([]float32, len(src)), slices.Clone(states)
	for c := range count {
		stepwise(f, wantStates[c*len(f):(c+1)*len(f)], want[c*n:(c+1)*n], src[c*n:(c+1)*n])
	}
	memory := slices.Repeat([]float32{untouched}, len(src)+2*guard)
	got, in := memory[guard:guard+len(src)], src
	if inPlace {
		copy(got, src)
		in = got
	}
	run(states, got, in)
	for i, w := range want {
		if !sameBits(float64(got[i]), float64(w)) {
			t.Fatalf("%d sections, %d channels of %d samples, in place %v: channel %d, sample %d is %g, want %g", len(f), count, n, inPlace,
				i/n, i%n, got[i], w)
		}
	}
	for i, w := range wantStates {
		if !sameBits(states[i].s1, w.s1) || !sameBits(states[i].s2, w.s2) {
			t.Fatalf("%d sections, %d channels of %d samples, in place %v: the state of channel %d, section %d is %v, want %v", len(f), count,
				n, inPlace, i/len(f), i%len(f), states[i], w)
		}
	}
	for i, v := range slices.Concat(memory[:guard], memory[guard+len(src):]) {
		if v != untouched {
			t.Fatalf("%d sections, %d channels of %d samples: value %d beside the output is overwritten", len(f), count, n, i)
		}
	}
}

// extents calls f with many numbers of channels and samples: around vectors, turns, the samples between two settlings, and
// distances of channels that are multiples of 4 KiB.
func extents(f func(count, n int)) {
	for count := 1; count <= 40; count++ {
		for n := 0; n <= 70; n++ {
			if !testing.Short() || n < 2 || n >= shortest-1 && n < shortest+5 {
				f(count, n)
			}
		}
	}
	for _, count := range []int{1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 20} {
		for _, n := range []int{255, 256, 257, 259, 260, 511, 512, 513, 771, 1015, 1016, 1024, 1027, 1032, 1033, 2048, 3001} {
			f(count, n)
		}
	}
}

// TestSameBits compares a section with a computation that goes from sample to sample.
func TestSameBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	filters := []section{newSection(lowpass(t, 1000, 22050)), newSection(highpass(t, 20, 48000)), newSection(Coefficients{B1: 0.5, A1: 0.25, A2: -0.5}),
		newSection(Coefficients{B2: 1})}
	extents(func(count, n int) {
		if fuses && !byVectors(count, n) {
			return
		}
		for inPlace := range both {
			f := filters[rng.IntN(len(filters))]
			compare(t, rng, cascade{f}, count, n, inPlace, serial{f}.process)
		}
	})
}

// both yields false and true.
func both(yield func(bool) bool) { _ = yield(false) && yield(true) }

// TestSameBitsByCascade is TestSameBits with several sections.
func TestSameBitsByCascade(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	usual := []Coefficients{lowpass(t, 1000, 22050), highpass(t, 20, 48000), {B1: 0.5, A1: 0.25, A2: -0.5}, lowpass(t, 30, 48000), {B2: 1}}
	extents(func(count, n int) {
		for inPlace := range both {
			var p CascadeParams
			for range []int{1, 2, 3, 4, 5, 7, mostSections}[rng.IntN(7)] {
				p.Sections = append(p.Sections, usual[rng.IntN(len(usual))])
			}
			if sections := len(p.Sections); fuses && (!cascadeByVectors(count, n) || sections == 1 && !byVectors(count, n)) {
				continue
			}
			loop, err := newCascadeLoop(p, 1)
			if err != nil {
				t.Fatal(err)
			}
			s := kernels.Shape{count, n, len(p.Sections)}
			compare(t, rng, newCascade(p), count, n, inPlace, func(states []state, dst, src []float32) {
				a := kernels.Args{dst, wordsOf(states), src, wordsOf(states)}
				clear(a[1]) // Do copies the states
				loop.Do(0, &s, &a, 0, count)
				copy(states, statesOf(a[1]))
			})
		}
	})
}

// TestSameBitsInParts divides channels among workers, in every way: what a channel becomes must not depend on its neighbours.
func TestSameBitsInParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	f := newSection(lowpass(t, 1000, 22050))
	p := CascadeParams{[]Coefficients{lowpass(t, 1000, 22050), highpass(t, 20, 48000), lowpass(t, 30, 48000)}}
	sections, space := newAbreast(p), workspace{states: make([]four, len(p.Sections))}
	for count := fewest; count <= 20; count++ {
		for cut := range count {
			compare(t, rng, cascade{f}, count, 261, cut%2 == 0, func(s []state, dst, src []float32) {
				f.channels(s, dst, src, 0, cut)
				f.channels(s, dst, src, cut, count)
			})
			compare(t, rng, sections.cascade, count, 261, cut%2 == 0, func(s []state, dst, src []float32) {
				sections.channels(s, dst, src, 0, cut, &space)
				sections.channels(s, dst, src, cut, count, &space)
			})
		}
	}
	for _, workers := range []int{1, 2, 3, 5} {
		pool := pool.New(workers)
		defer pool.Close()
		for _, count := range []int{3, 4, 5, 8, 11, 16, 40} {
			for _, n := range []int{21, 512, 2048, 8001} {
				compare(t, rng, cascade{f}, count, n, true, newParallel(pool, f).process)
			}
		}
	}
}

// TestSameBitsInGo compares the code of processors without vectors, two channels at a time and one section after the other.
func TestSameBitsInGo(t *testing.T) {
	if fuses {
		t.Skip("the compiler adds products without rounding them")
	}
	rng := rand.New(rand.NewPCG(7, 8))
	f := newSection(lowpass(t, 1000, 22050))
	sections := newAbreast(CascadeParams{[]Coefficients{lowpass(t, 1000, 22050), highpass(t, 20, 48000), lowpass(t, 30, 48000)}})
	for count := 1; count <= 9; count++ {
		for _, n := range []int{1, 2, 5, 64, 256, 259, 700} {
			compare(t, rng, cascade{f}, count, n, n%2 == 0, f.besideGo)
			compare(t, rng, sections.cascade, count, n, n%2 == 0, func(s []state, dst, src []float32) {
				sections.besideGo(s, dst, src, &workspace{})
			})
		}
	}
}

// TestStaysInItsChannel puts a NaN or an infinity into one channel. All others must have the outputs that they have without it.
func TestStaysInItsChannel(t *testing.T) {
	const n = 301
	p := CascadeParams{[]Coefficients{lowpass(t, 1000, 22050), highpass(t, 20, 48000)}}
	for _, count := range []int{3, 4, 6, 8, 12, 13} {
		clean := make([]float32, count*n)
		kernels.Noise(clean, 1)
		for name, run := range map[string]func(x []float32){
			"section": func(x []float32) { serial{newSection(p.Sections[0])}.process(make([]state, count), x, x) },
			"cascade": func(x []float32) {
				newAbreast(p).channels(make([]state, 2*count), x, x, 0, count, &workspace{states: make([]four, 2)})
			},
		} {
			want := slices.Clone(clean)
			run(want)
			for bad := range count {
				for _, v := range []float64{math.NaN(), math.Inf(1)} {
					got := slices.Clone(clean)
					got[bad*n+150] = float32(v)
					run(got)
					for i, w := range want {
						if struck := i/n == bad && i%n >= 150; struck != (got[i]-got[i] != 0) || !struck && got[i] != w {
							t.Fatalf("%s, %d channels: with %g in channel %d, sample %d of channel %d is %g, without it %g", name, count, v, bad, i%n,
								i/n, got[i], w)
						}
					}
				}
			}
		}
	}
}

// TestCrowded has distances of channels that are about a multiple of 4 KiB, which is 1024 samples, and others.
func TestCrowded(t *testing.T) {
	got := fmt.Sprint([]bool{crowded(64), crowded(512), crowded(1015), crowded(1016), crowded(1024), crowded(1032), crowded(1033), crowded(1536),
		crowded(8192)})
	if want := "[false false false true true true false false true]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
