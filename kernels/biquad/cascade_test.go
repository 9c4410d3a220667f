package biquad

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// strictCascade is the operation with channels that begin with states of their own, and lines with other numbers of sections
// and with rows that are not whole vectors.
func strictCascade() *kernels.Op[CascadeParams] {
	op := CascadeOp
	along := func(axis string, fixed ...kernels.Param) kernels.Line {
		return kernels.Along(cascadeAxes, axis, fixed...)
	}
	op.Lines = append(slices.Clone(op.Lines),
		along("n", kernels.Param{Name: "channels", Value: 3}, kernels.Param{Name: "sections", Value: 3}),
		along("channels", kernels.Param{Name: "n", Value: 33}, kernels.Param{Name: "sections", Value: 1}),
		along("sections", kernels.Param{Name: "channels", Value: 2}, kernels.Param{Name: "n", Value: 301}))
	op.Fill = func(_ CascadeParams, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		in.Fill(a[2])
		for i := range statesOf(a[3]) {
			statesOf(a[3])[i] = state{float64(i+1) / 1024, -float64(i) / 2048}
		}
	}
	return &op
}

func TestCascade(t *testing.T) {
	kerneltest.Run(t, strictCascade(), kerneltest.Options{Sizes: []int{1, 2, 3, 5, 16, 33, 129, 257, 1000, 3001}, Most: 60_000,
		Emulated: 8 << 10, Infinite: true})
}

func TestCascadeBarriers(t *testing.T) {
	kerneltest.Barriers(t, &CascadeOp, kerneltest.GPUName, kernels.Shape{2, 300, 3})
}

// TestSosfilt compares the reference, the implementations and their states with scipy.signal.sosfilt: low-passes, high-passes
// with a section of the first order, and band-passes.
func TestSosfilt(t *testing.T) {
	x := kerneltest.ReadArray[float32](t, "testdata/signal_8192.npy")[:2000]
	for _, name := range []string{"butter8", "cheby5", "ellip20"} {
		var p CascadeParams
		for c := range slices.Chunk(kerneltest.ReadArchived[float64](t, "testdata/cascade.npz", name+"_sos"), 6) {
			section, err := Normalise([3]float64(c), [3]float64(c[3:]))
			if err != nil {
				t.Fatal(err)
			}
			p.Sections = append(p.Sections, section)
		}
		silence := kernels.Float64Words(make([]float64, 2*len(p.Sections)))
		kerneltest.Against(t, &CascadeOp, p, kernels.Shape{1, len(x), len(p.Sections)}, [][]float32{x, silence},
			kerneltest.ReadArchived[float64](t, "testdata/cascade.npz", name), 5e-6)
	}
	// The design is that of scipy.signal.butter, whose sections have other gains.
	sections, err := LowpassCascade(1000, 22050, 4)
	if err != nil {
		t.Fatal(err)
	}
	got, want := cascaded(sections, make([]state, 4), x), kerneltest.ReadArchived[float64](t, "testdata/cascade.npz", "butter8")
	for i, y := range got {
		if !(math.Abs(y-want[i]) <= 1e-12) {
			t.Fatalf("output %d of the low-pass is %.17g, want %.17g", i, y, want[i])
		}
	}
}

// TestCascadeGoesOn filters a signal in blocks, each by another implementation. A state must mean the same to all of them.
func TestCascadeGoesOn(t *testing.T) {
	const n, width = 6000, 3
	sections := []Coefficients{lowpass(t, 1000, 22050), highpass(t, 20, 48000), lowpass(t, 23980, 48000), lowpass(t, 30, 48000),
		highpass(t, 300, 48000)}
	plans := kerneltest.Plans(t, &CascadeOp, CascadeParams{sections})
	var names []string
	for name := range plans {
		names = append(names, name)
	}
	slices.Sort(names)
	src, got := make([]float32, width*n), make([]float32, width*n)
	kernels.GeneratedInput().Fill(src)
	want := cascaded(sections, make([]state, width*len(sections)), src)
	from, to := wordsOf(make([]state, width*len(sections))), wordsOf(make([]state, width*len(sections)))
	for lo, turn := 0, 0; lo < n; turn++ {
		hi := min(lo+[]int{601, 1, 2, 3, 256}[turn/2%5], n)
		var block []float32
		for c := range width {
			block = append(block, src[c*n+lo:c*n+hi]...)
		}
		if err := plans[names[turn%len(names)]].Run(kernels.Shape{width, hi - lo, len(sections)}, kernels.Args{block, to, block, from}); err != nil {
			t.Fatal(err)
		}
		for c := range width {
			copy(got[c*n+lo:c*n+hi], block[c*(hi-lo):])
		}
		from, to, lo = to, from, hi
	}
	if off := worst(got, want); !(off <= 2e-6) {
		t.Errorf("off by %.2g, want at most 2e-6", off)
	}
}

// TestCascadeSilence checks that decaying states end in zeros, not in denormals that would slow down every later block.
func TestCascadeSilence(t *testing.T) {
	for _, count := range []int{1, 2, 5} {
		sections, err := LowpassCascade(3000, 22050, count)
		if err != nil {
			t.Fatal(err)
		}
		for name, plan := range kerneltest.Plans(t, &CascadeOp, CascadeParams{sections}) {
			from, to := wordsOf(make([]state, 2*count)), wordsOf(make([]state, 2*count))
			for i := range statesOf(from) {
				statesOf(from)[i].s1 = 1e-25
			}
			x := make([]float32, 2*900)
			for range 2 {
				if err := plan.Run(kernels.Shape{2, 900, count}, kernels.Args{slices.Clone(x), to, x, from}); err != nil {
					t.Fatal(err)
				}
				from, to = to, from
			}
			if i := slices.IndexFunc(statesOf(from), func(s state) bool { return s != state{} }); i >= 0 {
				t.Errorf("%s, %d sections: state %d ends in %v, want zeros", name, count, i, statesOf(from)[i])
			}
		}
	}
}

// TestButterworth checks the gain of every order: −3 dB at the cutoff, and none at 0 Hz.
func TestButterworth(t *testing.T) {
	for _, count := range []int{1, 2, 5, 16, 32} {
		sections, err := LowpassCascade(1000, 48000, count)
		if err != nil {
			t.Fatal(err)
		}
		for hertz, want := range map[float64]float64{0: 1, 1000: math.Sqrt(0.5)} {
			gain := complex(1, 0)
			z := complex(math.Cos(2*math.Pi*hertz/48000), -math.Sin(2*math.Pi*hertz/48000)) // z⁻¹
			for _, c := range sections {
				gain *= (complex(c.B0, 0) + z*(complex(c.B1, 0)+z*complex(c.B2, 0))) / (1 + z*(complex(c.A1, 0)+z*complex(c.A2, 0)))
			}
			if got := math.Hypot(real(gain), imag(gain)); !(math.Abs(got-want) <= 1e-10) {
				t.Errorf("%d sections: the gain at %g Hz is %g, want %g", count, hertz, got, want)
			}
		}
	}
}

func TestCascadeErrors(t *testing.T) {
	good := lowpass(t, 1000, 44100)
	unstable := good
	unstable.A2 = 1
	for want, p := range map[string]CascadeParams{
		"0 sections: want 1 to 32":  {},
		"33 sections: want 1 to 32": {make([]Coefficients, 33)},
		"section 1: biquad: a1":     {[]Coefficients{good, unstable}},
	} {
		if _, err := NewCascade(nil, p, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := NewCascade(nil, CascadeParams{[]Coefficients{good}}, 0); err == nil || !strings.Contains(err.Error(), "0 channels") {
		t.Errorf("no channels: %v", err)
	}
	for _, sections := range []int{0, 33} {
		if _, err := LowpassCascade(1000, 48000, sections); err == nil {
			t.Errorf("LowpassCascade made %d sections", sections)
		}
	}
	if _, err := LowpassCascade(24000, 48000, 2); err == nil {
		t.Error("LowpassCascade accepted half of the sample rate")
	}
}

// TestCascadePlan filters in blocks and in place, and keeps its own copy of the sections.
func TestCascadePlan(t *testing.T) {
	sections, err := LowpassCascade(1000, 22050, 3)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 2*1000)
	kernels.Noise(x, 1)
	want := cascaded(sections, make([]state, 6), x)
	plan, err := NewCascade(nil, CascadeParams{sections}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	clear(sections)
	for range 2 {
		got := make([]float32, len(x))
		for lo := 0; lo < 1000; lo += 250 {
			block := slices.Concat(x[lo:lo+250], x[1000+lo:1000+lo+250])
			if err := plan.Process(block, block); err != nil {
				t.Fatal(err)
			}
			copy(got[lo:], block[:250])
			copy(got[1000+lo:], block[250:])
		}
		if off := kernels.RelativeError(got, want); !(off <= 1e-6) {
			t.Errorf("relative error %.2g", off)
		}
		plan.Reset()
	}
	if e := plan.Explain(512); e.Case != "biquad-cascade/n=512,sections=3" || e.Size != 2 {
		t.Errorf("judged by %s at %d", e.Case, e.Size)
	}
	if n := testing.AllocsPerRun(10, func() { _ = plan.Process(x, x) }); n != 0 {
		t.Errorf("%g allocations a call", n)
	}
}

func TestCascadeProgram(t *testing.T) { kerneltest.Programs(t, &CascadeOp, CascadeProgram, 5) }

func BenchmarkCascade(b *testing.B) {
	kerneltest.Benchmark(b, &CascadeOp, CascadeOp.Lines[0], 1, 16, 256)
}

func ExampleNewCascade() {
	sections, err := LowpassCascade(1000, 48000, 4) // hertz; of order 8
	if err != nil {
		panic(err)
	}
	plan, err := NewCascade(nil, CascadeParams{Sections: sections}, 1) // one channel; nil: no calibration
	if err != nil {
		panic(err)
	}
	defer plan.Close()
	block := make([]float32, 512)
	for range 2 { // the state carries over from block to block
		for i := range block {
			block[i] = 1
		}
		if err := plan.Process(block, block); err != nil { // in place
			panic(err)
		}
		fmt.Printf("%.3f … %.3f\n", block[0], block[len(block)-1])
	}
	// Output:
	// 0.000 … 1.000
	// 1.000 … 1.000
}
