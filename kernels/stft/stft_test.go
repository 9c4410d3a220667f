package stft

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
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
	f, err := npz.Open("testdata/librosa.npz")
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

// TestLibrosa holds the reference and every implementation against librosa.stft, of which every eighth frame is kept,
// bins×frames, as complex64.
func TestLibrosa(t *testing.T) {
	signal := readArray[float32](t, "signal")
	for _, p := range []Params{{2048, 512}, {512, 128}} {
		want := readArray[complex64](t, fmt.Sprintf("stft_%d_%d", p.NFFT, p.Hop))
		bins, kept := p.bins(), (p.frames(len(signal))+7)/8
		if len(want) != bins*kept {
			t.Fatalf("%v: librosa has %d values, want %d×%d", p, len(want), bins, kept)
		}
		compare := func(t *testing.T, at func(frame, bin int) complex128, tolerance float64) {
			t.Helper()
			var diff, norm float64
			for f := range kept {
				for b := range bins {
					w := complex128(want[b*kept+f])
					diff += math.Pow(cmplx.Abs(at(8*f, b)-w), 2)
					norm += math.Pow(cmplx.Abs(w), 2)
				}
			}
			if e := math.Sqrt(diff / norm); !(e <= tolerance) {
				t.Errorf("relative error %.2g, want at most %.2g", e, tolerance)
			}
		}
		t.Run(p.caseName()+"/reference", func(t *testing.T) {
			got := Reference(p, signal)
			// librosa computed in float32.
			compare(t, func(frame, bin int) complex128 { return got[frame*bins+bin] }, 2e-7)
		})
		eachContender(t, func(t *testing.T, name string) {
			e, err := contenders.New(name, p)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]complex64, p.frames(len(signal))*bins)
			if err := e.transform(got, signal); err != nil {
				t.Fatal(err)
			}
			compare(t, func(frame, bin int) complex128 { return complex128(got[frame*bins+bin]) }, 5e-7)
		})
	}
}

// TestReferenceAgainstPlainSum holds the reference against its definition, summed up term by term.
func TestReferenceAgainstPlainSum(t *testing.T) {
	x := make([]float32, 53)
	kernels.Noise(x, 1)
	for _, p := range []Params{{2, 1}, {12, 5}, {16, 4}, {32, 40}} {
		got := Reference(p, x)
		if want := (1 + 53/p.Hop) * (p.NFFT/2 + 1); len(got) != want {
			t.Fatalf("%v: %d values, want %d", p, len(got), want)
		}
		for i, v := range got {
			frame, bin := i/p.bins(), i%p.bins()
			var want complex128
			for j := range p.NFFT {
				if at := frame*p.Hop - p.NFFT/2 + j; 0 <= at && at < len(x) {
					angle := 2 * math.Pi * float64(j) / float64(p.NFFT)
					want += complex((0.5-0.5*math.Cos(angle))*float64(x[at]), 0) * cmplx.Exp(complex(0, -angle*float64(bin)))
				}
			}
			if cmplx.Abs(v-want) > 1e-12 {
				t.Fatalf("%v: frame %d bin %d: got %v, want %v", p, frame, bin, v, want)
			}
		}
	}
}

// TestEnginesAgainstReference runs every implementation over signals shorter than a window, over hops longer than
// one, and over numbers of frames on both sides of what one worker or one batch takes.
func TestEnginesAgainstReference(t *testing.T) {
	for _, p := range []Params{{2048, 512}, {512, 128}, {60, 7}, {2, 1}, {64, 100}} {
		for _, n := range []int{0, 1, p.Hop - 1, p.Hop, p.NFFT / 2, p.NFFT, 3*p.NFFT + 1, 16*p.Hop + 3, 20011} {
			problem := newProblem(p, n, generated())
			want := problem.Reference()
			eachContender(t, func(t *testing.T, name string) {
				call, err := problem.Bind(name)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second call meets what the first one left behind
					clear(call.Output())
					if err := call.Run(); err != nil {
						t.Fatal(err)
					}
				}
				if e := kernels.RelativeError(call.Output(), want); e > 1e-6 {
					t.Errorf("%v, %d samples: relative error %.2g", p, n, e)
				}
			})
		}
	}
}

func TestPlan(t *testing.T) {
	signal := readArray[float32](t, "signal")
	plan, err := New(nil, Params{NFFT: 2048, Hop: 512})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := plan.Transform(nil, signal)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Frames(len(signal)) != 216 || plan.Bins() != 1025 || len(spec) != 216*1025 {
		t.Fatalf("%d frames, %d bins, %d values; want 216, 1025 and their product",
			plan.Frames(len(signal)), plan.Bins(), len(spec))
	}
	whole := slices.Clone(spec)

	kept := &spec[0]
	if spec, err = plan.Transform(spec, signal[:5000]); err != nil || len(spec) != 10*1025 || &spec[0] != kept {
		t.Errorf("a large enough dst was not used: %d values, %v", len(spec), err)
	}
	if !slices.Equal(spec[:8*1025], whole[:8*1025]) {
		t.Error("the frames that end before sample 5000 differ from those of the whole signal")
	}
	allocs := testing.AllocsPerRun(10, func() {
		if spec, err = plan.Transform(spec, signal[:5000]); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a call", allocs)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   string
	}{
		{Params{0, 1}, "NFFT is 0"},
		{Params{-2, 1}, "NFFT is -2"},
		{Params{7, 1}, "NFFT is 7"},
		{Params{8, 0}, "Hop is 0"},
	} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

// underRace reports whether the race detector is in this binary. Under it sync.Pool drops items at random, and the calls
// into libraries that draw their frames from one allocate.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestEnginesDoNotAllocate(t *testing.T) {
	p := Params{NFFT: 512, Hop: 128}
	x := make([]float32, 30000)
	dst := make([]complex64, p.frames(len(x))*p.bins())
	eachContender(t, func(t *testing.T, name string) {
		if underRace() && strings.HasPrefix(name, "fftw") {
			t.Skip("a library call allocates under the race detector")
		}
		e, err := contenders.New(name, p)
		if err != nil {
			t.Fatal(err)
		}
		if allocs := testing.AllocsPerRun(10, func() { _ = e.transform(dst, x) }); allocs != 0 {
			t.Errorf("%v allocations a call", allocs)
		}
	})
}

func TestCases(t *testing.T) {
	c := Cases()[0]
	if c.Name != "stft/n_fft=2048,hop=512" || !slices.Contains(calibration.Units, c.Axis.Unit) {
		t.Errorf("case %q over %q", c.Name, c.Axis.Unit)
	}
	if got, want := c.Bytes(1024), 4.0*1024+8*3*1025; got != want {
		t.Errorf("Bytes(1024) = %v, want %v", got, want)
	}
	p := c.Problem(3000, generated())
	if _, err := p.Bind("abacus"); !errors.Is(err, kernels.ErrUnknownImplementation) {
		t.Errorf("bound an unknown implementation: %v", err)
	}
	for _, i := range c.Implementations {
		if i.Missing() != nil {
			continue
		}
		call, err := p.Bind(i.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(call.Output(), p.Reference()); e > c.Tolerance(3000) {
			t.Errorf("%s: relative error %.2g", i.Name, e)
		}
	}
}

// TestMultiply checks the window's product at lengths on both sides of every unrolling, and that nothing is written
// past its end.
func TestMultiply(t *testing.T) {
	for name, kernel := range map[string]func(dst, a, b []float32){"go": multiplyGo, "fastest": multiply} {
		for n := range 140 {
			a, b, dst := make([]float32, n), make([]float32, n), make([]float32, n+8)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			kernel(dst[:n], a, b)
			for i, got := range dst {
				var want float32
				if i < n {
					want = a[i] * b[i]
				}
				if got != want {
					t.Fatalf("%s: value %d of %d is %v, want %v", name, i, n, got, want)
				}
			}
		}
	}
}

func BenchmarkTransform(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 16} {
		p := newProblem(Params{NFFT: 2048, Hop: 512}, n, generated())
		for _, c := range contenders {
			b.Run(fmt.Sprintf("impl=%s/n=%d", c.Name, n), func(b *testing.B) {
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
				b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/float64(p.params.frames(n)), "µs/frame")
			})
		}
	}
}

func TestForceWithoutDispatcher(t *testing.T) {
	t.Setenv("CROSSOVER_FORCE", "stft=go-parallel")
	p, err := New(nil, Params{NFFT: 2048, Hop: 512})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Explain(4096); e.Implementation != "go-parallel" {
		t.Errorf("a plan without a dispatcher takes %s, want go-parallel: %s", e.Implementation, e.Reason)
	}
}
