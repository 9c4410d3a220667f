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
	for _, p := range lengths(2048, 512, 512, 128, 64, 7, 64, 100, 60, 7, 600, 300, 2, 3) {
		all = append(all, lineOf(p))
	}
	return all
}

// lengths returns parameters with the given lengths of windows and hops, in turn.
func lengths(of ...int) (all []Params) {
	for i := 0; i < len(of); i += 2 {
		all = append(all, Params{NFFT: of[i], Hop: of[i+1]})
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

// Reflection reads other samples than zeros do.
func TestReflectingOp(t *testing.T) {
	op := Op
	op.Lines = []kernels.Line{lineOf(Params{NFFT: 64, Hop: 7})}
	op.Params = func(s kernels.Shape) Params {
		return Params{NFFT: s[nFFT], Hop: s[hop], Window: Blackman, Padding: Reflect}
	}
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 31, 128, 500}, Emulated: 8 << 10, Infinite: true})
}

// Some signals are shorter than a window. Numbers of frames are above and below what a worker or a threadgroup takes.
func TestOp(t *testing.T) {
	op := Op
	op.Lines = lines()
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 6, 127, 128, 300, 1009, 5000, 20011}, Emulated: 8 << 10, Infinite: true})
}

// variants are parameters with every window, padding and place of frames, for every path through the kernels.
func variants() (all []Params) {
	for i, p := range lengths(64, 16, 60, 7) {
		for w := Hann; w <= Rectangular; w++ {
			p.Window, p.Padding, p.Uncentred = w, Padding((int(w)+i)%2), false
			all = append(all, p)
			p.Padding, p.Uncentred = 1-p.Padding, i == int(w)%2
			all = append(all, p)
		}
	}
	return all
}

// TestVariants compares every implementation with the reference, at signals that are shorter than a window and longer ones.
func TestVariants(t *testing.T) {
	for _, p := range variants() {
		plans := kerneltest.Plans(t, &Op, p)
		for _, n := range []int{1, 2, 30, 31, 127, 700, 5003} {
			if p.frames(n) == 0 {
				continue
			}
			x := make([]float32, n)
			kernels.Noise(x, uint64(n))
			want := parts(Reference(p, x))
			for name, plan := range plans {
				if kerneltest.Emulated(name) && n > 1000 {
					continue
				}
				got := make([]float32, len(want))
				if err := plan.Run(shapeOf(p, n), kernels.Args{got, x}); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(got, want); !(e <= allowed) {
					t.Errorf("%s, %+v, %d samples: relative error %.2g", name, p, n, e)
				}
			}
		}
	}
}

// TestWindows compares windows with their values.
func TestWindows(t *testing.T) {
	for w, want := range map[Window][]float64{
		Hann: {0, 0.5, 1, 0.5}, Hamming: {0.08, 0.54, 1, 0.54}, Blackman: {0, 0.34, 1, 0.34}, Rectangular: {1, 1, 1, 1},
	} {
		for j, got := range w.Weights(4) {
			if math.Abs(got-want[j]) > 1e-15 || got < 0 {
				t.Errorf("weight %d of %v is %v, want %v", j, w, got, want[j])
			}
		}
	}
}

// TestReflected compares reflection with the plain rule, applied until an index is inside.
func TestReflected(t *testing.T) {
	for n := 1; n < 6; n++ {
		for i := -20; i < 20; i++ {
			want := i
			for n > 1 && (want < 0 || want >= n) {
				if want < 0 {
					want = -want
				} else {
					want = 2*(n-1) - want
				}
			}
			if n == 1 {
				want = 0
			}
			if got := reflected(i, n); got != want {
				t.Errorf("index %d of %d samples is %d, want %d", i, n, got, want)
			}
		}
	}
}

// Frames that are not centred lie within the signal. There is none in a signal that is shorter than a window.
func TestUncentred(t *testing.T) {
	p := Params{NFFT: 8, Hop: 3, Uncentred: true}
	plan, err := New(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	for n, want := range map[int]int{0: 0, 7: 0, 8: 1, 10: 1, 11: 2, 100: 31} {
		spec, err := plan.Transform(nil, make([]float32, n))
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Frames(n); got != want || len(spec) != want*plan.Bins() {
			t.Errorf("%d samples have %d frames and %d values, want %d frames of %d", n, got, len(spec), want, plan.Bins())
		}
	}
	x := []float32{5, 0, 0, 0, 2, 0, 0, 0, 9}
	spec, err := plan.Transform(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	if len(spec) != 5 || cmplx.Abs(complex128(spec[1])+2) > 1e-6 { // 2·w[4]·exp(−πi)
		t.Errorf("frame 0 is %v", spec)
	}
}

// The spectrogram of no samples is one frame of silence.
func TestNoSamples(t *testing.T) {
	for _, p := range append(lengths(2048, 512, 512, 128, 60, 7), Params{NFFT: 64, Hop: 7, Padding: Reflect}, Params{NFFT: 60, Hop: 7, Padding: Reflect}) {
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

// signalLength is the length of the signal that librosa transformed.
const signalLength = 5 * kerneltest.SignalRate

// librosaFrames returns the frames of librosa.stft in testdata: the first, frame 8, and every 64th.
func librosaFrames(frames int) []int {
	kept := []int{0, 8}
	for f := 64; f < frames; f += 64 {
		kept = append(kept, f)
	}
	return kept
}

// TestBarriers has frames whose bins go through threadgroup memory, two or one in the last threadgroup.
func TestBarriers(t *testing.T) {
	t.Parallel()
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, kernels.Shape{2048, 512, 3000}, kernels.Shape{2048, 1024, 2048})
}

// TestLibrosa compares the reference and every implementation with librosa.stft. testdata has some frames, bins×frames, as
// complex64.
func TestLibrosa(t *testing.T) {
	signal := kerneltest.Signal(signalLength)
	for _, p := range lengths(2048, 512, 512, 128) {
		want := kerneltest.ReadArchived[complex64](t, "testdata/librosa.npz", fmt.Sprintf("stft_%d_%d", p.NFFT, p.Hop))
		bins, kept := p.bins(), librosaFrames(p.frames(len(signal)))
		if len(want) != bins*len(kept) {
			t.Fatalf("%v: librosa has %d values, want %d×%d", p, len(want), bins, len(kept))
		}
		compare := func(name string, frames int, at func(frame, bin int) complex128, allowed float64) {
			t.Helper()
			var diff, norm float64
			for k, f := range kept {
				if f >= frames {
					break
				}
				for b := range bins {
					w := complex128(want[b*len(kept)+k])
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
			if kerneltest.Emulated(name) {
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
	all := append(lengths(2, 1, 12, 5, 16, 4, 32, 40),
		Params{NFFT: 12, Hop: 5, Window: Hamming, Padding: Reflect}, Params{NFFT: 32, Hop: 7, Window: Blackman, Padding: Reflect},
		Params{NFFT: 16, Hop: 3, Window: Rectangular, Uncentred: true})
	// x as each padding extends it, from index −16 to 68.
	extended := map[Padding]func(at int) float64{
		Zero: func(at int) float64 {
			if at < 0 || at >= len(x) {
				return 0
			}
			return float64(x[at])
		},
		Reflect: func(at int) float64 {
			if at < 0 {
				at = -at
			}
			if at >= len(x) {
				at = len(x) - 2 - (at - len(x))
			}
			return float64(x[at])
		},
	}
	windows := map[Window]func(angle float64) float64{
		Hann:        func(angle float64) float64 { return 0.5 - 0.5*math.Cos(angle) },
		Hamming:     func(angle float64) float64 { return 0.54 - 0.46*math.Cos(angle) },
		Blackman:    func(angle float64) float64 { return 0.42 - 0.5*math.Cos(angle) + 0.08*math.Cos(2*angle) },
		Rectangular: func(float64) float64 { return 1 },
	}
	for _, p := range all {
		got := Reference(p, x)
		first, frames := -p.NFFT/2, 1+53/p.Hop
		if p.Uncentred {
			first, frames = 0, 1+(53-p.NFFT)/p.Hop
		}
		if want := frames * (p.NFFT/2 + 1); len(got) != want {
			t.Fatalf("%v: %d values, want %d", p, len(got), want)
		}
		for i, v := range got {
			frame, bin := i/p.bins(), i%p.bins()
			var want complex128
			for j := range p.NFFT {
				angle := 2 * math.Pi * float64(j) / float64(p.NFFT)
				sample := windows[p.Window](angle) * extended[p.Padding](first+frame*p.Hop+j)
				want += complex(sample, 0) * cmplx.Exp(complex(0, -angle*float64(bin)))
			}
			if cmplx.Abs(v-want) > 1e-12 {
				t.Fatalf("%v: frame %d bin %d: got %v, want %v", p, frame, bin, v, want)
			}
		}
	}
}

func TestPlan(t *testing.T) {
	signal := kerneltest.Signal(signalLength)
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

// The number of frames is at its limit where it overflows.
func TestFramesAtTheLimit(t *testing.T) {
	for _, test := range []struct {
		p             Params
		samples, want int
	}{
		{Params{NFFT: 4, Hop: 1}, math.MaxInt, math.MaxInt}, {Params{NFFT: 4, Hop: 1}, math.MaxInt - 1, math.MaxInt},
		{Params{NFFT: 4, Hop: 1}, math.MaxInt - 2, math.MaxInt - 1}, {Params{NFFT: 4, Hop: 7}, math.MaxInt, math.MaxInt/7 + 1},
		{Params{NFFT: 4, Hop: 1, Uncentred: true}, math.MaxInt, math.MaxInt - 3},
	} {
		if got := test.p.frames(test.samples); got != test.want {
			t.Errorf("%+v: %d frames of %d samples, want %d", test.p, got, test.samples, test.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   string
	}{
		{Params{NFFT: 0, Hop: 1}, "NFFT is 0"},
		{Params{NFFT: -2, Hop: 1}, "NFFT is -2"},
		{Params{NFFT: 7, Hop: 1}, "NFFT is 7"},
		{Params{NFFT: 1<<24 + 2, Hop: 1}, "NFFT is 16777218: want an even number, 2 to 16777216"},
		{Params{NFFT: 1 << 40, Hop: 1}, "NFFT is 1099511627776"},
		{Params{NFFT: 1 << 62, Hop: 1}, "NFFT is 4611686018427387904"},
		{Params{NFFT: 8, Hop: 0}, "Hop is 0"},
		{Params{NFFT: 8, Hop: 1, Window: 4}, "Window is 4"},
		{Params{NFFT: 8, Hop: 1, Window: -1}, "Window is -1"},
		{Params{NFFT: 8, Hop: 1, Padding: 2}, "Padding is 2"},
	} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

func TestStrangeCalls(t *testing.T) {
	for _, samples := range []int{0, -5, math.MinInt} {
		if n := (Params{NFFT: 8, Hop: 2}).frames(samples); n != 1 {
			t.Errorf("%d centred frames of %d samples, want 1", n, samples)
		}
		if n := (Params{NFFT: 8, Hop: 2, Uncentred: true}).frames(samples); n != 0 {
			t.Errorf("%d frames of %d samples, want 0", n, samples)
		}
	}
	for _, w := range []Window{-1, 9} {
		func() {
			want := fmt.Sprintf("stft: no weights of Window(%d): want Hann, Hamming, Blackman or Rectangular", int(w))
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %q", got, want)
				}
			}()
			w.Weights(4)
		}()
	}
}

// questioned notes what a vendor's library is asked for, and fails.
type questioned struct {
	gpu.FFT
	gpu.Transform
	dst, src gpu.Region
}

var errAsked = errors.New("asked")

func (q *questioned) NewFFT(dst, src gpu.Region, t gpu.Transform) (gpu.External, error) {
	*q = questioned{Transform: t, dst: dst, src: src}
	return nil, errAsked
}

// TestVendor checks what a vendor's library is asked for. What the library computes is tested on machines that have it.
func TestVendor(t *testing.T) {
	d := emulator.Open(t)
	library, p := &questioned{}, Params{NFFT: 100, Hop: 30}
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
	if library.Transform != (gpu.Transform{N: 100, Batch: 34}) || library.src.Bytes != 4*34*100 || library.dst.Bytes != 8*34*51 {
		t.Errorf("the library was asked for %+v, from %d bytes to %d", library.Transform, library.src.Bytes, library.dst.Bytes)
	}
}

// Kernels refuse a call that is too large for them, so that another implementation computes it.
func TestLaunchRefuses(t *testing.T) {
	for _, p := range lengths(64, math.MaxInt, 60, math.MaxInt) {
		plan := kerneltest.Plans(t, &Op, p)[kerneltest.GPUName]
		if plan == nil {
			t.Skip("no C++ compiler for the emulator")
		}
		dst, x := make([]float32, 2*p.bins()), make([]float32, 5)
		if err := plan.Run(shapeOf(p, 5), kernels.Args{dst, x}); !errors.Is(err, kernels.ErrRefused) || !strings.Contains(err.Error(), "too many") {
			t.Errorf("%v: %v", p, err)
		}
	}
}

// TestMultiply checks the products with the window at lengths above and below every unrolling, and that nothing is written
// beyond the end.
func TestMultiply(t *testing.T) {
	for _, kernel := range []struct {
		name string
		run  func(dst, a, b []float32)
		adds bool
	}{{"go", multiplyGo, false}, {"fastest", multiply, false}, {"go, adding", multiplyAddGo, true}, {"fastest, adding", multiplyAdd, true}} {
		for n := range 140 {
			a, b, before := make([]float32, n), make([]float32, n), make([]float32, n+8)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			kernels.Noise(before, 3)
			dst := slices.Clone(before)
			kernel.run(dst[:n], a, b)
			for i, got := range dst {
				want := float64(before[i])
				if i < n {
					want = float64(a[i]) * float64(b[i])
					if kernel.adds {
						want += float64(before[i])
					}
				}
				if math.Abs(float64(got)-want) > 1e-7 {
					t.Fatalf("%s: value %d of %d is %v, want %v", kernel.name, i, n, got, want)
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
