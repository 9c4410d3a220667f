package tempogram

import (
	"errors"
	"math"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 1e-6

func line(count int) kernels.Line {
	return kernels.Along(axes, "frames", kernels.Param{Name: "window", Value: count})
}

// A window of 33 frames has a middle, and no whole vectors. Most frames of short calls reach beyond both ends.
func TestOp(t *testing.T) {
	op := Op
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 3, 10, 33, 200}, Most: 128 << 10, Emulated: 4 << 10, Infinite: true,
		Lines: []kernels.Line{line(33), line(2)}})
}

// TestLibrosa compares with every eighth frame of librosa.feature.tempogram, which is lags×frames in float64.
func TestLibrosa(t *testing.T) {
	p, strengths := Params{Window: 384}, kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "onset_strength")
	turned := kerneltest.ReadArchived[float64](t, "testdata/librosa.npz", "tempogram_384")
	columns := len(turned) / p.Window
	check := func(name string, got func(i int) float64) {
		for i, want := range turned {
			if v := got(i%columns*8*p.Window + i/columns); !(math.Abs(v-want) <= allowed) {
				t.Fatalf("%s: frame %d has %v at lag %d, want %v", name, i%columns*8, v, i/columns, want)
			}
		}
	}
	reference := Reference(p, strengths)
	check("the reference", func(i int) float64 { return reference[i] })
	for name, plan := range kerneltest.Plans(t, &Op, p) {
		got := make([]float32, len(reference))
		if err := plan.Run(kernels.Shape{p.Window, len(strengths)}, kernels.Args{got, strengths}); err != nil {
			t.Fatal(err)
		}
		check(name, func(i int) float64 { return float64(got[i]) })
	}
}

// TestReferenceAgainstPlainSums compares the reference with the definition.
func TestReferenceAgainstPlainSums(t *testing.T) {
	const n = 9
	x := make([]float32, n)
	kernels.Noise(x, 1)
	for _, count := range []int{2, 3, 4, 7} {
		half := count / 2
		at := func(i, j int) float64 { // y[i,j]
			v := 0.0
			switch f := i - half + j; {
			case f < 0:
				v = float64(x[0]) * float64(half+f) / float64(half)
			case f >= n:
				v = float64(x[n-1]) * float64(half-1-(f-n)) / float64(half)
			default:
				v = float64(x[f])
			}
			return v * math.Pow(math.Sin(math.Pi*float64(j)/float64(count)), 2)
		}
		got := Reference(Params{count}, x)
		for i := range n {
			sum := func(k int) (s float64) {
				for j := range count - k {
					s += at(i, j) * at(i, j+k)
				}
				return s
			}
			for k := range count {
				if want := sum(k) / sum(0); math.Abs(got[i*count+k]-want) > 1e-12 {
					t.Errorf("window %d, frame %d, lag %d: %v, want %v", count, i, k, got[i*count+k], want)
				}
			}
		}
	}
}

// The division takes every level away, also where squares of strengths leave the range of float32. Silence stays silence.
func TestLevels(t *testing.T) {
	p := Params{Window: 32}
	const n = 40
	plain := make([]float32, n)
	kernels.Noise(plain, 1)
	want := Reference(p, plain)
	for _, level := range []float64{1e-25, 1e-18, 1e-6, 1e6, 1e18, 3e38} {
		x, got := make([]float32, n), make([]float32, n*p.Window)
		for i, v := range plain {
			x[i] = float32(float64(v) * level)
		}
		for name, plan := range kerneltest.Plans(t, &Op, p) {
			if err := plan.Run(kernels.Shape{p.Window, n}, kernels.Args{got, x}); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(got, want); !(e <= allowed) {
				t.Errorf("%s at a level of %g: relative error %.2g", name, level, e)
			}
		}
	}
	for _, level := range []float32{0, 1e-31, 1e-45} {
		x, got := make([]float32, n), make([]float32, n*p.Window)
		for i := range x {
			x[i] = level
		}
		for name, plan := range kerneltest.Plans(t, &Op, p) {
			if err := plan.Run(kernels.Shape{p.Window, n}, kernels.Args{got, x}); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if v != 0 {
					t.Fatalf("%s: %g has %g at %d", name, level, v, i)
				}
			}
		}
	}
}

// A strength that is no number spoils the frames whose windows reach it, and no others, also amid silence.
func TestStrangeStrengths(t *testing.T) {
	p := Params{Window: 32}
	const n, at = 100, 50
	for _, strange := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x, got := make([]float32, n), make([]float32, n*p.Window)
		kernels.Noise(x[:at-10], 1)
		x[at] = float32(strange)
		for name, plan := range kerneltest.Plans(t, &Op, p) {
			if err := plan.Run(kernels.Shape{p.Window, n}, kernels.Args{got, x}); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				frame := i / p.Window
				if spoilt := at >= frame-16 && at < frame+16; (v != v) != spoilt {
					t.Fatalf("%s, %v: frame %d has %v", name, strange, frame, v)
				}
			}
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, Params{Window: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	x := make([]float32, 70)
	kernels.Noise(x, 1)
	got, err := plan.Transform(nil, x)
	if e := kernels.RelativeError(got, Reference(Params{50}, x)); err != nil || !(e <= allowed) {
		t.Errorf("relative error %.2g, %v", e, err)
	}
	if got, err = plan.Transform(got, nil); err != nil || len(got) != 0 || len(Reference(Params{50}, nil)) != 0 {
		t.Errorf("no frames: %d values, %v", len(got), err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, count := range []int{-1, 1, mostWindow + 1} {
		if _, err := New(nil, Params{count}); err == nil || !strings.Contains(err.Error(), "Window is") {
			t.Errorf("a window of %d: %v", count, err)
		}
	}
}

// Kernels refuse a call that is too large for them, so that another implementation computes it.
func TestLaunchRefuses(t *testing.T) {
	b := emulator.Open(t).NewPlan()
	appendLags(b, Params{Window: 1 << 20}, kernels.Shape{1 << 20, 1 << 10}, nil)
	if err := b.Err(); !errors.Is(err, kernels.ErrRefused) || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

func BenchmarkTransform(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 216, 4096) }
