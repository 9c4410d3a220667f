package stft

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// lines have parameters for every path through the kernels, and a hop that is longer than its window.
func lines() (all []kernels.Line) {
	for _, p := range []Params{{2048, 512}, {512, 128}, {64, 7}, {64, 100}, {60, 7}, {600, 300}, {2, 3}} {
		all = append(all, lineOf(p))
	}
	return all
}

func lineOf(p Params) kernels.Line {
	return kernels.Along(axes, "n", kernels.Param{Name: "n_fft", Value: p.NFFT}, kernels.Param{Name: "hop", Value: p.Hop})
}

func shapeOf(p Params, n int) kernels.Shape {
	return kernels.Shape{nFFT: p.NFFT, hop: p.Hop, samples: n}
}

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 1e-6

// Some signals are shorter than a window. Numbers of frames are above and below what a worker or a threadgroup takes.
func TestOp(t *testing.T) {
	op := Op
	op.Lines = lines()
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 6, 127, 128, 300, 1009, 5000, 20011}, Emulated: 8 << 10, Infinite: true})
}

// The spectrogram of no samples is one frame of silence.
func TestNoSamples(t *testing.T) {
	for _, p := range []Params{{2048, 512}, {512, 128}, {60, 7}} {
		for name, plan := range kerneltest.Plans(t, &Op, p) {
			got := make([]float32, 2*p.bins())
			for i := range got {
				got[i] = float32(math.NaN())
			}
			if err := plan.Run(shapeOf(p, 0), kernels.Args{got, nil}); err != nil {
				t.Errorf("%s, %v: %v", name, p, err)
			}
			if i := slices.IndexFunc(got, func(v float32) bool { return v != 0 }); i >= 0 {
				t.Errorf("%s, %v: word %d is %v, want 0", name, p, i, got[i])
			}
		}
	}
}

// TestLibrosa compares the reference and every implementation with librosa.stft. testdata has every eighth frame,
// bins×frames, as complex64.
func TestLibrosa(t *testing.T) {
	signal := kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "signal")
	for _, p := range []Params{{2048, 512}, {512, 128}} {
		want := kerneltest.ReadArchived[complex64](t, "testdata/librosa.npz", fmt.Sprintf("stft_%d_%d", p.NFFT, p.Hop))
		bins, kept := p.bins(), (p.frames(len(signal))+7)/8
		if len(want) != bins*kept {
			t.Fatalf("%v: librosa has %d values, want %d×%d", p, len(want), bins, kept)
		}
		compare := func(name string, frames int, at func(frame, bin int) complex128, allowed float64) {
			t.Helper()
			var diff, norm float64
			for f := 0; f < frames; f += 8 {
				for b := range bins {
					w := complex128(want[b*kept+f/8])
					diff += math.Pow(cmplx.Abs(at(f, b)-w), 2)
					norm += math.Pow(cmplx.Abs(w), 2)
				}
			}
			if e := math.Sqrt(diff / norm); !(e <= allowed) {
				t.Errorf("%v, %s: relative error %.2g, want at most %.2g", p, name, e, allowed)
			}
		}
		right := Reference(p, signal)
		// librosa computed in float32.
		compare("reference", p.frames(len(signal)), func(frame, bin int) complex128 { return right[frame*bins+bin] }, 2e-7)
		for name, plan := range kerneltest.Plans(t, &Op, p) {
			x, frames := signal, p.frames(len(signal))
			if name == kerneltest.EmulatorName {
				// Emulation takes milliseconds per frame, so frames 0 and 8 and their samples must do.
				frames = 9
				x = signal[:8*p.Hop+p.NFFT/2]
			}
			got := make([]complex64, p.frames(len(x))*bins)
			if err := plan.Run(shapeOf(p, len(x)), kernels.Args{kernels.ComplexWords(got), x}); err != nil {
				t.Fatal(err)
			}
			compare(name, frames, func(frame, bin int) complex128 { return complex128(got[frame*bins+bin]) }, 5e-7)
		}
	}
}

// TestReferenceAgainstPlainSum compares the reference with the definition, summed up term by term.
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

func TestPlan(t *testing.T) {
	signal := kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "signal")
	plan, err := New(nil, Params{NFFT: 2048, Hop: 512})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	spec, err := plan.Transform(nil, signal)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Frames(len(signal)) != 216 || plan.Bins() != 1025 || len(spec) != 216*1025 {
		t.Fatalf("%d frames, %d bins, %d values; want 216, 1025 and their product",
			plan.Frames(len(signal)), plan.Bins(), len(spec))
	}
	if e := plan.Explain(700); e.Case != "stft/n_fft=2048,hop=512" || e.Size != 700 {
		t.Errorf("chosen by %s at %d", e.Case, e.Size)
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
	if spec, err = plan.Transform(spec, nil); err != nil || len(spec) != 1025 || spec[3] != 0 {
		t.Errorf("no samples: %d values, %v", len(spec), err)
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

// questioned notes what a vendor's library is asked for, and fails.
type questioned struct {
	gpu.FFT
	n, batch int
	dst, src gpu.Region
}

var errAsked = errors.New("asked")

func (q *questioned) NewRealFFT(dst, src gpu.Region, n, batch int) (gpu.External, error) {
	*q = questioned{n: n, batch: batch, dst: dst, src: src}
	return nil, errAsked
}

// TestVendor checks what a vendor's library is asked for. What the library computes is tested on machines that have it.
func TestVendor(t *testing.T) {
	d := emulator.Open(t)
	library, p := &questioned{}, Params{100, 30}
	vendor, err := newVendor(d, library, p)
	if err != nil {
		t.Fatal(err)
	}
	b := d.NewPlan()
	s := shapeOf(p, 1000)
	vendor(b, p, s, []*gpu.Buffer{b.Output(gpu.Float2, 34*51), b.Input(gpu.Float, 1000)})
	if _, err := b.Build(); !errors.Is(err, errAsked) {
		t.Errorf("the library's error became %v", err)
	}
	if library.n != 100 || library.batch != 34 || library.src.Bytes != 4*34*100 || library.dst.Bytes != 8*34*51 {
		t.Errorf("the library was asked for %d rows of %d, from %d bytes to %d", library.batch, library.n, library.src.Bytes, library.dst.Bytes)
	}
}

// Kernels refuse a call that is too large for them, so that another implementation computes it.
func TestLaunchRefuses(t *testing.T) {
	for _, p := range []Params{{64, math.MaxInt}, {60, math.MaxInt}} {
		plan := kerneltest.Plans(t, &Op, p)[kerneltest.EmulatorName]
		if plan == nil {
			t.Skip("no C++ compiler for the emulator")
		}
		dst, x := make([]float32, 2*p.bins()), make([]float32, 5)
		if err := plan.Run(shapeOf(p, 5), kernels.Args{dst, x}); !errors.Is(err, kernels.ErrRefused) || !strings.Contains(err.Error(), "too many") {
			t.Errorf("%v: %v", p, err)
		}
	}
}

// TestMultiply checks the product with the window at lengths above and below every unrolling, and that nothing is written
// beyond the end.
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
	kerneltest.Benchmark(b, &Op, Op.Lines[0], 1<<10, 1<<16)
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
