package biquad

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/sbinet/npyio"

	"crossover/kernels"
	"crossover/pool"
)

// readArray returns the values of a NumPy file.
func readArray[T float32 | float64](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var values []T
	if err := npyio.Read(f, &values); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return values
}

// engines returns every contender and a scan for four workers, whatever this machine has.
func engines(c Coefficients) map[string]engine {
	wide := newParallel(newSection(c))
	wide.scan.end = make([]state, 5)
	return map[string]engine{
		"go": serial{newSection(c)}, "go-parallel": newParallel(newSection(c)), "five blocks": wide,
	}
}

// TestScipy holds the design, the reference and every engine against scipy.signal.butter and lfilter in float64.
func TestScipy(t *testing.T) {
	b, a := readArray[float64](t, "testdata/biquad_b.npy"), readArray[float64](t, "testdata/biquad_a.npy")
	src := readArray[float32](t, "testdata/signal_8192.npy")
	want := readArray[float64](t, "testdata/biquad_8192.npy")

	designed, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Normalise([3]float64(b), [3]float64(a))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range [5][2]float64{{designed.B0, c.B0}, {designed.B1, c.B1}, {designed.B2, c.B2}, {designed.A1, c.A1}, {designed.A2, c.A2}} {
		if !(math.Abs(v[0]-v[1]) <= 1e-14) {
			t.Errorf("coefficient %d of Lowpass is %g, want %g", i, v[0], v[1])
		}
	}
	reference := Reference(c, src, 1)
	var diff, norm float64
	for i, w := range want {
		diff += (reference[i] - w) * (reference[i] - w)
		norm += w * w
	}
	if e := math.Sqrt(diff / norm); !(e < 1e-12) {
		t.Errorf("Reference: relative error %.2g, want below 1e-12", e)
	}
	for name, e := range engines(c) {
		t.Run(name, func(t *testing.T) {
			got := make([]float32, len(src))
			if err := e.process(make([]state, 1), got, src); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(got, want); !(e <= 1e-5) {
				t.Errorf("relative error %.2g, tolerance 1e-5", e)
			}
		})
	}
}

// TestEngines runs every engine over odd lengths and numbers of channels, in two calls, out of place and in place.
func TestEngines(t *testing.T) {
	c, err := Lowpass(400, 22050)
	if err != nil {
		t.Fatal(err)
	}
	in := kernels.GeneratedInput()
	for _, channels := range []int{1, 2, 3, 5, 8} {
		for _, n := range []int{1, 257, 1000, 3001} {
			src := make([]float32, channels*n)
			in.Fill(src)
			want := Reference(c, src, channels)
			for name, e := range engines(c) {
				t.Run(fmt.Sprintf("%s/channels=%d,n=%d", name, channels, n), func(t *testing.T) {
					got := make([]float32, len(src))
					if err := e.process(make([]state, channels), got, src); err != nil {
						t.Fatal(err)
					}
					if e := kernels.RelativeError(got, want); !(e <= 5e-6) {
						t.Errorf("relative error %.2g, want below 5e-6", e)
					}
					inPlace := append([]float32(nil), src...)
					state := make([]state, channels)
					if err := e.process(state, inPlace, inPlace); err != nil {
						t.Fatal(err)
					}
					for i := range got {
						if got[i] != inPlace[i] {
							t.Fatalf("sample %d is %g in place, %g out of place", i, inPlace[i], got[i])
						}
					}
				})
			}
		}
	}
}

// TestPlanKeepsState filters a signal in blocks and holds it against the signal in one piece.
func TestPlanKeepsState(t *testing.T) {
	c, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	const n = 4000
	for _, channels := range []int{1, 3} {
		src := make([]float32, channels*n)
		kernels.GeneratedInput().Fill(src)
		want := Reference(c, src, channels)
		plan, err := New(nil, c, channels)
		if err != nil {
			t.Fatal(err)
		}
		for pass := range 2 {
			got := make([]float32, len(src))
			for start := 0; start < n; start += 500 {
				x, y := make([]float32, channels*500), make([]float32, channels*500)
				for ch := range channels {
					copy(x[ch*500:], src[ch*n+start:][:500])
				}
				if err := plan.Process(y, x); err != nil {
					t.Fatal(err)
				}
				for ch := range channels {
					copy(got[ch*n+start:], y[ch*500:][:500])
				}
			}
			if e := kernels.RelativeError(got, want); !(e <= 5e-6) {
				t.Errorf("%d channels, pass %d: relative error %.2g, want below 5e-6", channels, pass, e)
			}
			plan.Reset()
		}
	}
	// Every engine must leave the same state behind, so that the next call may go to another one.
	src := make([]float32, n)
	kernels.GeneratedInput().Fill(src)
	want := make([]state, 1)
	if err := (serial{newSection(c)}).process(want, make([]float32, n), src); err != nil {
		t.Fatal(err)
	}
	for name, e := range engines(c) {
		got := make([]state, 1)
		if err := e.process(got, make([]float32, n), src); err != nil {
			t.Fatal(err)
		}
		if math.Abs(got[0].s1-want[0].s1) > 1e-5 || math.Abs(got[0].s2-want[0].s2) > 1e-5 {
			t.Errorf("%s: state %v, want %v", name, got[0], want[0])
		}
	}
}

// TestSilence checks that a decaying state ends in zeros, not in denormals that would slow every later block down.
func TestSilence(t *testing.T) {
	c, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	for _, channels := range []int{1, 2, 3, 4} {
		for name, e := range engines(c) {
			state := make([]state, channels)
			for i := range state {
				state[i].s1 = 1e-20
			}
			silence := make([]float32, channels*2048)
			dst := make([]float32, len(silence))
			if err := e.process(state, dst, silence); err != nil {
				t.Fatal(err)
			}
			for i, s := range state {
				if s.s1 != 0 || s.s2 != 0 {
					t.Errorf("%s, %d channels: channel %d ends in %v, want zeros", name, channels, i, s)
				}
			}
		}
	}
}

// TestScanCarriesState uses a resonance that rings through many blocks, which the state at a block's beginning then
// decides on as much as its samples do, and begins with a state that is not zero.
func TestScanCarriesState(t *testing.T) {
	const radius, angle = 0.9995, 0.3
	c, err := Normalise([3]float64{1e-3, 0, 0}, [3]float64{1, -2 * radius * math.Cos(angle), radius * radius})
	if err != nil {
		t.Fatal(err)
	}
	src := make([]float32, 5000)
	kernels.Noise(src, 1)
	start := state{0.3, -0.2}
	s1, s2 := start.s1, start.s2
	want := make([]float64, len(src))
	for i, x := range src {
		want[i] = c.B0*float64(x) + s1
		s1, s2 = -c.A1*want[i]+s2, -c.A2*want[i]
	}
	for name, e := range engines(c) {
		got := make([]float32, len(src))
		if err := e.process([]state{start}, got, src); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want); !(e <= 2e-5) {
			t.Errorf("%s: relative error %.2g, want below 2e-5", name, e)
		}
	}
}

func TestScanDividesTime(t *testing.T) {
	c, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	e := newParallel(newSection(c))
	e.scan.end = make([]state, 5)
	x := make([]float32, 5*minBlock)
	e.process(make([]state, 1), x, x)
	if e.scan.block != minBlock {
		t.Errorf("blocks of %d samples, want %d", e.scan.block, minBlock)
	}
	if got, want := len(newParallel(section{}).scan.end), pool.Shared().Workers()+1; got != want {
		t.Errorf("%d blocks, want one more than there are workers, %d", got, want)
	}
}

func TestCases(t *testing.T) {
	for _, c := range Cases() {
		for _, size := range []int{c.Axis.Min, 3, 777} {
			size = c.Axis.Nearest(size)
			problem := c.Problem(size, kernels.GeneratedInput())
			want := problem.Reference()
			for _, implementation := range c.Implementations {
				t.Run(fmt.Sprintf("%s/%s/size=%d", c.Name, implementation.Name, size), func(t *testing.T) {
					if err := implementation.Missing(); err != nil {
						t.Skip(err)
					}
					call, err := problem.Bind(implementation.Name)
					if err != nil {
						t.Fatal(err)
					}
					defer call.Release()
					for range 2 {
						if err := call.Run(); err != nil {
							t.Fatal(err)
						}
						if e := kernels.RelativeError(call.Output(), want); !(e <= c.Tolerance(size)) {
							t.Errorf("relative error %.2g, tolerance %.2g", e, c.Tolerance(size))
						}
					}
					if allocations := testing.AllocsPerRun(5, func() { call.Run() }); allocations != 0 {
						t.Errorf("%g allocations a call, want 0", allocations)
					}
				})
			}
		}
		if _, err := c.Problem(64, kernels.Input{}).Bind("abacus"); err == nil {
			t.Errorf("%s: Bind accepted an unknown implementation", c.Name)
		}
	}
}

func TestErrors(t *testing.T) {
	good, err := Lowpass(1000, 44100)
	if err != nil {
		t.Fatal(err)
	}
	unstable := good
	unstable.A2 = 1
	edge := good
	edge.A1 = -1 - edge.A2
	infinite := good
	infinite.B1 = math.Inf(1)
	for _, test := range []struct {
		name     string
		c        Coefficients
		channels int
		want     string
	}{
		{"poles on the circle", unstable, 1, "not stable"},
		{"pole at z=1", edge, 1, "not stable"},
		{"infinite", infinite, 1, "not all finite"},
		{"no channels", good, 0, "0 channels: want at least 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := New(nil, test.c, test.channels); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
		})
	}
	for _, cutoff := range []float64{0, -1, 0.04, 22050, math.NaN(), math.Inf(1)} {
		if _, err := Lowpass(cutoff, 44100); err == nil {
			t.Errorf("Lowpass accepted a cutoff of %g Hz", cutoff)
		}
	}
	if _, err := Normalise([3]float64{1, 0, 0}, [3]float64{0, 0, 0}); err == nil {
		t.Error("Normalise divided by a[0] = 0")
	}
}

func TestPlanCalls(t *testing.T) {
	c, err := Lowpass(1000, 44100)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(nil, c, 2)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 64)
	if err := plan.Process(nil, nil); err != nil {
		t.Errorf("no samples: %v", err)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Process(x, x) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
	if one, two := (&Plan{state: make([]state, 1)}).size(512), plan.size(512); one != 512 || two != 2 {
		t.Errorf("sizes %d and %d, want 512 samples and 2 channels", one, two)
	}
	for name, call := range map[string]func(){
		"different lengths": func() { plan.Process(x[:62], x) },
		"half a channel":    func() { plan.Process(x[:63], x[:63]) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, "biquad: slice lengths") {
					t.Errorf("panic %q", message)
				}
			}()
			call()
		})
	}
}

func BenchmarkBiquad(b *testing.B) {
	sizes := map[string][]int{channelCase: {256, 4096, 65536}, blockCase: {1, 2, 4, 16, 64}}
	for _, c := range Cases() {
		for _, size := range sizes[c.Name] {
			problem := c.Problem(size, kernels.GeneratedInput())
			for _, implementation := range c.Implementations {
				b.Run(fmt.Sprintf("%s/impl=%s/%s=%d", strings.TrimPrefix(c.Name, "biquad/"), implementation.Name, c.Axis.Name, size),
					func(b *testing.B) {
						if err := implementation.Missing(); err != nil {
							b.Skip(err)
						}
						call, err := problem.Bind(implementation.Name)
						if err != nil {
							b.Fatal(err)
						}
						for b.Loop() {
							call.Run()
						}
					})
			}
		}
	}
}
