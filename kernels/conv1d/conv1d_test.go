package conv1d

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sbinet/npyio/npz"

	"crossover/calibration"
	"crossover/kernels"
)

func readArray[T any](t *testing.T, name string) []T {
	t.Helper()
	f, err := npz.Open("testdata/scipy.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	if err := f.Read(name+".npy", &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// generated is made once: its sines take longer than most tests.
var generated = sync.OnceValue(kernels.GeneratedInput)

// eachContender runs a test on every implementation that can run here.
func eachContender(t *testing.T, test func(t *testing.T, name string)) {
	for _, c := range contenders {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Missing(); err != nil {
				t.Skip(err)
			}
			test(t, c.Name)
		})
	}
}

func isFFTW(implementation string) bool { return strings.HasPrefix(implementation, "fftw") }

func relativeError(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var diff, norm float64
	for i := range want {
		diff += (got[i] - want[i]) * (got[i] - want[i])
		norm += want[i] * want[i]
	}
	return math.Sqrt(diff / norm)
}

// TestReferenceAgainstSciPy holds the float64 reference against scipy.signal.fftconvolve.
func TestReferenceAgainstSciPy(t *testing.T) {
	got := Reference(readArray[float32](t, "signal"), readArray[float32](t, "fir_taps_512"))
	if e := relativeError(got, readArray[float64](t, "convolve_8192_512")); e > 1e-13 {
		t.Errorf("relative error %.1e", e)
	}
}

// TestReferencePaths holds the transform that computes long references against the plain sum.
func TestReferencePaths(t *testing.T) {
	for _, size := range []struct{ n, taps int }{{1, 1}, {7, 3}, {3, 7}, {1000, 24}, {4096, 4096}, {20000, 700}} {
		t.Run(fmt.Sprintf("n=%d/taps=%d", size.n, size.taps), func(t *testing.T) {
			x, h := make([]float32, size.n), ImpulseResponse(size.taps)
			kernels.Noise(x, 1)
			if e := relativeError(transformConvolution(x, h), plainConvolution(x, h)); e > 1e-13 {
				t.Errorf("relative error %.1e", e)
			}
		})
	}
	if y := Reference(nil, []float32{1}); len(y) != 0 {
		t.Errorf("convolution of nothing has %d samples", len(y))
	}
}

// TestEnginesAgainstReference runs every implementation over sizes on both sides of every edge in the code: blocks of
// 64 outputs, runs of 256 taps, partitions, filters longer than signals.
func TestEnginesAgainstReference(t *testing.T) {
	sizes := []struct{ n, taps int }{
		{1, 1}, {1, 5}, {5, 1}, {2, 2}, {63, 63}, {63, 64}, {64, 63}, {64, 64}, {65, 64}, {127, 3}, {128, 65},
		{130, 130}, {1000, 31}, {31, 1000}, {64, 1000}, {1000, 513}, {1025, 1024}, {4096, 512}, {4097, 512},
		{4096, 4097}, {100, 9000}, {9000, 9000}, {30000, 100}, {40000, 129},
		{20000, 2000},
	}
	for _, size := range sizes {
		p := newProblem(size.n, size.taps, generated())
		want := p.Reference()
		eachContender(t, func(t *testing.T, name string) {
			if isFFTW(name) && size.taps != 1024 && size.taps != 4097 {
				t.Skip("the Go implementations run the same code, and FFTW would plan for each length anew")
			}
			call, err := p.Bind(name)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second call meets what the first one left behind
				if err := call.Run(); err != nil {
					t.Fatal(err)
				}
			}
			if e := kernels.RelativeError(call.Output(), want); e > tolerance {
				t.Errorf("n=%d taps=%d: relative error %.2g", size.n, size.taps, e)
			}
		})
	}
}

// TestEnginesChangeLength runs one engine over signals that grow and shrink, each of which asks for another transform
// or another part of its buffers.
func TestEnginesChangeLength(t *testing.T) {
	h := ImpulseResponse(25)
	eachContender(t, func(t *testing.T, name string) {
		e, err := contenders.New(name, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{488, 1000, 3, 1000, 488} { // transforms of 512, 1024 and 32 points
			x, y := make([]float32, n), make([]float32, n+len(h)-1)
			kernels.Noise(x, uint64(n))
			if err := e.prepare(n); err != nil {
				t.Fatal(err)
			}
			if err := e.convolve(y, x); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(y, Reference(x, h)); e > tolerance {
				t.Errorf("n=%d: relative error %.2g", n, e)
			}
		}
	})
}

// TestEnginesAtTheEnds measures the error where the cases are largest and sums are longest.
func TestEnginesAtTheEnds(t *testing.T) {
	for _, c := range Cases() {
		for _, size := range []int{c.Axis.Min, c.Axis.Max} {
			p := c.Problem(size, generated())
			want := p.Reference()
			for _, i := range c.Implementations {
				t.Run(fmt.Sprintf("%s/%d/%s", c.Name, size, i.Name), func(t *testing.T) {
					if err := i.Missing(); err != nil {
						t.Skip(err)
					}
					if isFFTW(i.Name) && (size > 1<<12 || c.Axis.Unit == "taps") {
						t.Skip("FFTW would plan for seconds; a sweep checks its error too")
					}
					call, err := p.Bind(i.Name)
					if err != nil {
						t.Fatal(err)
					}
					if err := call.Run(); err != nil {
						t.Fatal(err)
					}
					e := kernels.RelativeError(call.Output(), want)
					t.Logf("relative error %.2g", e)
					if e > c.Tolerance(size) {
						t.Errorf("relative error %.2g is above %.2g", e, c.Tolerance(size))
					}
				})
			}
		}
	}
}

// TestPortableFIRError sums run by run on the Go kernel alone, at the greatest number of taps.
func TestPortableFIRError(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	h := ImpulseResponse(32768)
	x := randomFloats(rng, len(h)+width-1)
	got, want := make([]float32, width), make([]float64, width)
	for k := 0; k < len(h); k += run {
		end := min(k+run, len(h))
		firGo(got, x[len(h)-end:len(h)-k+width-1], h[k:end])
	}
	for j := range want {
		for k := range h {
			want[j] += float64(h[k]) * float64(x[j+len(h)-1-k])
		}
	}
	if e := kernels.RelativeError(got, want); e > tolerance {
		t.Errorf("relative error %.2g", e)
	}
}

func TestPlan(t *testing.T) {
	x, h := readArray[float32](t, "signal"), readArray[float32](t, "fir_taps_512")
	want := readArray[float64](t, "convolve_8192_512")
	plan, err := New(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	clear(h) // the plan has its own copy
	y, err := plan.Convolve(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(y, want); e > tolerance {
		t.Errorf("relative error %.2g", e)
	}
	if plan.Taps() != 512 {
		t.Errorf("Taps() = %d", plan.Taps())
	}

	kept := &y[0]
	if y, err = plan.Convolve(y, x[:100]); err != nil || len(y) != 611 || &y[0] != kept {
		t.Errorf("a long enough dst was not used: %d samples, %v", len(y), err)
	}
	if y, err = plan.Convolve(y, nil); err != nil || len(y) != 0 {
		t.Errorf("convolution of nothing: %d samples, %v", len(y), err)
	}
	if _, err := New(nil, nil); err == nil || !strings.Contains(err.Error(), "no taps") {
		t.Errorf("New without taps: %v", err)
	}
}

// TestPlanCase checks which of the two measured cases judges a call.
func TestPlanCase(t *testing.T) {
	for _, test := range []struct {
		taps, n int
		near512 bool
	}{
		{512, 1, true}, {512, 32768, true}, {512, 1 << 20, true},
		{511, 32768, false}, {511, 1000, true}, {4096, 32768, false}, {4096, 512, true}, {8, 32000, false},
		{1, 0, true},
	} {
		plan := &Plan{taps: test.taps}
		if got := plan.nearFixedTaps(test.n); got != test.near512 {
			t.Errorf("%d taps, %d samples: taps=512 judges: %v, want %v", test.taps, test.n, got, test.near512)
		}
	}
}

// underRace reports whether the race detector is in this binary. Under it sync.Pool drops items at random, and the calls
// into libraries that draw their frames from one allocate.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestNoAllocations(t *testing.T) {
	x, y := make([]float32, 5000), make([]float32, 5000+699)
	kernels.Noise(x, 1)
	eachContender(t, func(t *testing.T, name string) {
		if underRace() && isFFTW(name) {
			t.Skip("a library call allocates under the race detector")
		}
		e, err := contenders.New(name, ImpulseResponse(700))
		if err != nil {
			t.Fatal(err)
		}
		lengths := []int{5000, 3000}
		if isFFTW(name) {
			lengths = []int{325} // for a transform of 1024 points, soon planned
		}
		allocs := testing.AllocsPerRun(20, func() {
			for _, n := range lengths {
				if err := e.prepare(n); err != nil {
					t.Fatal(err)
				}
				if err := e.convolve(y[:n+699], x[:n]); err != nil {
					t.Fatal(err)
				}
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations a call", allocs)
		}
	})
	plan, err := New(nil, ImpulseResponse(700))
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(20, func() {
		if y, err = plan.Convolve(y, x); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("Convolve: %v allocations a call", allocs)
	}
}

func TestSmooth(t *testing.T) {
	for n, want := range map[int]int{1: 16, 16: 16, 17: 32, 97: 128, 129: 144, 8703: 9216, 65535: 65536, 65537: 69120} {
		if got := smooth(n); got != want {
			t.Errorf("smooth(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestCases(t *testing.T) {
	for _, c := range Cases() {
		if !slices.Contains(calibration.Units, c.Axis.Unit) {
			t.Errorf("%s: unit %q", c.Name, c.Axis.Unit)
		}
		if _, err := c.Problem(c.Axis.Min, kernels.Input{}).Bind("abacus"); !errors.Is(err, kernels.ErrUnknownImplementation) {
			t.Errorf("%s: bound an unknown implementation: %v", c.Name, err)
		}
	}
	if got, want := Cases()[1].Bytes(1000), 4.0*(1000+512+1511); got != want {
		t.Errorf("Bytes(1000) = %v, want %v", got, want)
	}
}

func BenchmarkConvolve(b *testing.B) {
	for _, size := range []struct{ n, taps int }{{32768, 8}, {32768, 512}, {32768, 8192}, {1 << 20, 512}} {
		p := newProblem(size.n, size.taps, generated())
		for _, c := range contenders {
			b.Run(fmt.Sprintf("impl=%s/n=%d/taps=%d", c.Name, size.n, size.taps), func(b *testing.B) {
				if err := c.Missing(); err != nil {
					b.Skip(err)
				}
				call, err := p.Bind(c.Name)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := call.Run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// The sweep may visit any number of taps, so no number may be unlucky.
func TestNoNumberOfTapsIsUnlucky(t *testing.T) {
	in := kernels.GeneratedInput()
	for taps := 8; taps < 700; taps += 1 + taps/24 {
		p := newProblem(4096, taps, in)
		want := p.Reference()
		for _, name := range []string{"go/direct", "go/fft", "go/partitioned"} {
			call, err := p.Bind(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := call.Run(); err != nil {
				t.Fatal(err)
			}
			if off := kernels.RelativeError(call.Output(), want); off > tolerance/2 {
				t.Errorf("%s at %d taps: relative error %.2g, want half of %.2g at most", name, taps, off, tolerance)
			}
			call.Release()
		}
	}
}
