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

func TestInverseOp(t *testing.T) {
	op := InverseOp
	op.Lines = nil
	for _, p := range lengths(2048, 512, 512, 128, 64, 7, 60, 20, 600, 300, 2, 1) {
		op.Lines = append(op.Lines, lineOf(p))
	}
	// Bins that are all equal are an impulse where the window has no weight. What is left of it are rounding errors. CuFFT adds no
	// imaginary part to a sample of which its factor is 0, so a NaN there does not reach the sample.
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 6, 127, 128, 300, 1009, 5000, 20011}, Emulated: 8 << 10, Infinite: true,
		Numbers: []string{"cufft"}})
}

// noiseOf returns a spectrogram of noise, which is that of no signal.
func noiseOf(p Params, samples int) []complex64 {
	s := make([]complex64, p.frames(samples)*p.bins())
	kernels.Noise(kernels.ComplexWords(s), uint64(samples))
	return s
}

// TestInverseVariants has the other windows, hops that leave gaps, and spectrograms that no signal has.
func TestInverseVariants(t *testing.T) {
	all := append(lengths(64, 16, 60, 7, 64, 64), Params{NFFT: 64, Hop: 100, Window: Hamming}, Params{NFFT: 60, Hop: 100, Window: Rectangular},
		Params{NFFT: 64, Hop: 24, Window: Blackman}, Params{NFFT: 64, Hop: math.MaxInt, Window: Hamming}, Params{NFFT: 64, Hop: 16, Window: Rectangular, Padding: Reflect})
	for _, p := range all {
		plans := kerneltest.Plans(t, &InverseOp, p)
		for _, n := range []int{1, 31, 32, 33, 127, 700, 5003} {
			s := noiseOf(p, n)
			want := InverseReference(p, s, n)
			for name, plan := range plans {
				got := make([]float32, n)
				err := plan.Run(shapeOf(p, n), kernels.Args{got, kernels.ComplexWords(s)})
				if onGPU := slices.Contains([]string{kerneltest.GPUName, "cufft", "mpsgraph"}, name); onGPU && p.Hop == math.MaxInt && errors.Is(err, kernels.ErrRefused) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				// Where windows hardly reach, rounding errors are divided by small weights.
				if e := kernels.RelativeError(got, want); !(e <= 2e-6) {
					t.Errorf("%s, %+v, %d samples: relative error %.2g", name, p, n, e)
				}
			}
		}
	}
}

// A sample that only the end of a window reaches is divided by next to nothing. The tolerance says how wrong it may be then.
func TestInverseWhereWindowsHardlyReach(t *testing.T) {
	for _, s := range []kernels.Shape{{4096, 2048, 4095}, {956, 1025, 3711}, {1920, 1284, 2400}} {
		plans := kerneltest.Plans(t, &InverseOp, InverseOp.Params(s))
		a := kernels.Args{nil, make([]float32, 2*InverseOp.Params(s).frames(s[samples])*InverseOp.Params(s).bins())}
		InverseOp.Fill(InverseOp.Params(s), s, kernels.GeneratedInput(), &a)
		want, worst := InverseOp.Reference(InverseOp.Params(s), s, &a), 0.0
		for name, plan := range plans {
			a[0] = make([]float32, s[samples])
			if err := plan.Run(s, a); err != nil {
				t.Fatal(err)
			}
			e := kernels.RelativeError(a[0], want)
			if !(e <= InverseOp.Tolerance(s)) {
				t.Errorf("%s, %v: relative error %.2g, allowed %.2g", name, s, e, InverseOp.Tolerance(s))
			}
			worst = max(worst, e)
		}
		if worst <= 1e-4 || InverseOp.Tolerance(s) > 20*worst { // 1e-4 is allowed anywhere else
			t.Errorf("%v: the greatest relative error is %.2g, and %.2g is allowed", s, worst, InverseOp.Tolerance(s))
		}
	}
}

// The tolerance is at least that of the sums of weights, and not much greater where no more than two frames overlap.
func TestInverseTolerance(t *testing.T) {
	for _, s := range []kernels.Shape{
		{512, 256, 1535}, {512, 256, 1300}, {512, 256, 1280}, {512, 300, 5000}, {512, 512, 5000}, {512, 700, 5000}, {4096, 2048, 4095},
		{2, 1, 1}, {2, 1, 5}, {512, 170, 5000}, {512, 128, 5000}, {2048, 512, 1}, {100, 1, 5000}, {100, 5000, 300},
	} {
		p := InverseOp.Params(s)
		window, weights, sum := p.Window.Weights(p.NFFT), make([]float64, s[samples]), 0.0
		for f := range p.frames(s[samples]) {
			for j, w := range window {
				if i := f*p.Hop - p.NFFT/2 + j; 0 <= i && i < len(weights) {
					weights[i] += w * w
				}
			}
		}
		for _, w := range weights {
			if w > 0 {
				sum += 1 / w
			}
		}
		least := 5e-7 * math.Sqrt(sum/float64(len(weights)))
		got := InverseOp.Tolerance(s)
		if !(got >= max(1e-4, least)) || p.Hop >= p.NFFT/2 && got > max(1e-4, 1.5*least) || p.Hop <= p.NFFT/3 && got > 1e-4 {
			t.Errorf("%v: the tolerance is %.3g, and the weights give %.3g", s, got, least)
		}
	}
	if got := InverseOp.Tolerance(kernels.Shape{64, math.MaxInt, 20}); got != 1e-4 {
		t.Errorf("a single frame has the tolerance %.3g", got)
	}
}

// TestInverseReferenceAgainstPlainSum compares the reference with the definition, summed up term by term.
func TestInverseReferenceAgainstPlainSum(t *testing.T) {
	for _, p := range append(lengths(2, 1, 12, 5, 16, 40), Params{NFFT: 8, Hop: 2, Window: Hamming}) {
		const n = 53
		s := noiseOf(p, n)
		got := InverseReference(p, s, n)
		for i := range n {
			var sum, weights float64
			for f := range p.frames(n) {
				j := i + p.NFFT/2 - f*p.Hop
				if j < 0 || j >= p.NFFT {
					continue
				}
				var sample float64
				for k := range p.NFFT { // bin −k is the conjugate of bin k
					bin := s[f*p.bins()+min(k, p.NFFT-k)]
					if k > p.NFFT/2 {
						bin = complex(real(bin), -imag(bin))
					} else if k == 0 || k == p.NFFT/2 {
						bin = complex(real(bin), 0)
					}
					sample += real(complex128(bin)*cmplx.Rect(1, 2*math.Pi*float64(j*k)/float64(p.NFFT))) / float64(p.NFFT)
				}
				angle := 2 * math.Pi * float64(j) / float64(p.NFFT)
				w := 0.5 - 0.5*math.Cos(angle)
				if p.Window == Hamming {
					w = 0.54 - 0.46*math.Cos(angle)
				}
				sum += w * sample
				weights += w * w
			}
			if weights > 0 {
				sum /= weights
			}
			if math.Abs(got[i]-sum) > 1e-12*max(1, math.Abs(sum)) {
				t.Fatalf("%+v: sample %d is %v, want %v", p, i, got[i], sum)
			}
		}
	}
}

// TestRoundTrip transforms a signal and back, for every window and hop that reach all of its samples.
func TestRoundTrip(t *testing.T) {
	for _, p := range []Params{
		{NFFT: 512, Hop: 128}, {NFFT: 512, Hop: 256}, {NFFT: 100, Hop: 33, Padding: Reflect}, {NFFT: 64, Hop: 16, Window: Blackman},
		{NFFT: 64, Hop: 32, Window: Hamming}, {NFFT: 64, Hop: 32, Window: Rectangular},
	} {
		forward, err := New(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		defer forward.Close()
		for name, plan := range kerneltest.Plans(t, &InverseOp, p) {
			for _, n := range []int{1, 63, 64, 5000} {
				x, got := make([]float32, n), make([]float32, n)
				kernels.Noise(x, 1)
				s, err := forward.Transform(nil, x)
				if err != nil {
					t.Fatal(err)
				}
				if err := plan.Run(shapeOf(p, n), kernels.Args{got, kernels.ComplexWords(s)}); err != nil {
					t.Fatal(err)
				}
				for i, v := range x {
					if math.Abs(float64(got[i]-v)) > 3e-6 {
						t.Fatalf("%s, %+v: sample %d of %d came back as %v, want %v", name, p, i, n, got[i], v)
					}
				}
			}
		}
	}
}

// TestInverseLibrosa compares the reference and every implementation with the first 8192 samples of librosa.istft.
func TestInverseLibrosa(t *testing.T) {
	signal := kerneltest.Signal(signalLength)
	for _, p := range lengths(2048, 512, 512, 128) {
		want := widened(kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", fmt.Sprintf("istft_%d_%d", p.NFFT, p.Hop)))
		forward, err := New(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		s, err := forward.Transform(nil, signal)
		if err != nil {
			t.Fatal(err)
		}
		check := func(name string, got []float32) {
			t.Helper()
			if e := kernels.RelativeError(got[:len(want)], want); !(e <= allowed) {
				t.Errorf("%v, %s: relative error %.2g", p, name, e)
			}
		}
		var right []float32
		for _, v := range InverseReference(p, s, len(signal)) {
			right = append(right, float32(v))
		}
		check("reference", right)
		for name, plan := range kerneltest.Plans(t, &InverseOp, p) {
			if kerneltest.Emulated(name) {
				continue // emulation takes milliseconds per frame
			}
			got := make([]float32, len(signal))
			if err := plan.Run(shapeOf(p, len(signal)), kernels.Args{got, kernels.ComplexWords(s)}); err != nil {
				t.Fatal(err)
			}
			check(name, got)
		}
	}
}

func widened(x []float32) (wide []float64) {
	for _, v := range x {
		wide = append(wide, float64(v))
	}
	return wide
}

// Parts of any number of frames, joined in any order, are the signal.
func TestParts(t *testing.T) {
	for _, p := range lengths(64, 16, 64, 7, 64, 100, 64, 64, 2, 1, 100, 33) {
		for _, n := range []int{1, 31, 97, 1000} {
			s := noiseOf(p, n)
			all, err := newOverlappers(p, 1, inverseInGo)
			if err != nil {
				t.Fatal(err)
			}
			o, count, length := &all[0], p.frames(n), p.tail()
			whole := make([]float32, n)
			o.part(whole, nil, s, 0, count)
			for _, each := range []int{1, 2, 3, 7, 50} {
				parts, tails := make([]float32, n), make([]float32, ((count-1)/each+1)*length)
				for i := range parts {
					parts[i] = float32(math.NaN()) // what the caller left there
				}
				for from := 0; from < count; from += each {
					o.part(parts, tails[from/each*length:(from/each+1)*length], s, from, min(from+each, count))
				}
				for from := (count - 1) / each * each; from >= 0; from -= each {
					o.join(parts, tails, each, from, min(from+each, count))
				}
				if e := kernels.RelativeError(parts, widened(whole)); !(e < 1e-6) {
					t.Errorf("%+v: %d samples in parts of %d frames are off by %g", p, n, each, e)
				}
			}
		}
	}
}

func TestInversePlan(t *testing.T) {
	p := Params{NFFT: 512, Hop: 128}
	plan, err := NewInverse(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	x, s := make([]float32, 5000), noiseOf(p, 5000)
	if plan.Frames(5000) != 40 || plan.Bins() != 257 {
		t.Errorf("%d frames of %d bins, want 40 of 257", plan.Frames(5000), plan.Bins())
	}
	call := func() {
		if err := plan.Transform(x, s); err != nil {
			t.Fatal(err)
		}
	}
	call()
	if got := testing.AllocsPerRun(5, call); got != 0 {
		t.Errorf("%v allocations a call", got)
	}
	if err := plan.Transform(nil, s[:257]); err != nil {
		t.Errorf("no samples: %v", err)
	}
	if e := plan.Explain(700); e.Case != "istft/n_fft=2048,hop=512" && e.Case != "istft/n_fft=512,hop=128" || e.Size != 700 {
		t.Errorf("chosen by %s at %d", e.Case, e.Size)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic for a spectrogram of another length")
			}
		}()
		plan.Transform(x, s[1:])
	}()
	for _, test := range []struct {
		params Params
		want   string
	}{
		{Params{NFFT: 7, Hop: 1}, "NFFT is 7"},
		{Params{NFFT: 8, Hop: 1, Uncentred: true}, "Uncentred is set"},
	} {
		if _, err := NewInverse(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

// TestInverseVendor checks what a vendor's library is asked for.
func TestInverseVendor(t *testing.T) {
	d := emulator.Open(t)
	library, p := &questioned{}, Params{NFFT: 100, Hop: 30}
	vendor, err := newInverseVendor(d, library, p)
	if err != nil {
		t.Fatal(err)
	}
	b := d.NewPlan()
	vendor(b, p, shapeOf(p, 1000), []*gpu.Buffer{b.Output(gpu.Float, 1000), b.Input(gpu.Float2, 34*51)})
	if _, err := b.Build(); !errors.Is(err, errAsked) {
		t.Errorf("the library's error became %v", err)
	}
	if library.Transform != (gpu.Transform{N: 100, Batch: 34, Inverse: true}) || library.src.Bytes != 8*34*51 || library.dst.Bytes != 4*34*100 {
		t.Errorf("the library was asked for %+v, from %d bytes to %d", library.Transform, library.src.Bytes, library.dst.Bytes)
	}
}

func TestInverseLaunchRefuses(t *testing.T) {
	p := Params{NFFT: 64, Hop: math.MaxInt}
	plan := kerneltest.Plans(t, &InverseOp, p)[kerneltest.GPUName]
	if plan == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	s := make([]complex64, p.bins())
	if err := plan.Run(shapeOf(p, 5), kernels.Args{make([]float32, 5), kernels.ComplexWords(s)}); !errors.Is(err, kernels.ErrRefused) {
		t.Errorf("%v", err)
	}
}

func TestProgram(t *testing.T) {
	kerneltest.Programs(t, &Op, Program, 3000)
	kerneltest.Programs(t, &InverseOp, InverseProgram, 3000)
}

func BenchmarkInverse(b *testing.B) {
	kerneltest.Benchmark(b, &InverseOp, InverseOp.Lines[0], 1<<10, 1<<16)
}

// TestInverseBarriers has a walk of several steps, with one row of threads or several in a threadgroup.
func TestInverseBarriers(t *testing.T) {
	t.Parallel()
	kerneltest.Barriers(t, &InverseOp, kerneltest.GPUName, kernels.Shape{64, 32, 2000}, kernels.Shape{512, 128, 3000})
}

// TestInverseEveryLength has every length of frames that are transformed and added up by one kernel, with hops of which one, two and
// many frames reach a sample. Bins that are not finite reach no sample that their frame does not reach.
func TestInverseEveryLength(t *testing.T) {
	t.Parallel()
	for n := 64; n <= 8192; n *= 2 {
		pair := map[int]int{64: 8, 128: 16, 256: 32, 512: 32, 1024: 64, 2048: 128, 4096: 256, 8192: 512}[n]
		for _, hop := range []int{n, n - pair, n / 2, n / 3 / pair * pair, n / 4, n / 8} {
			p := Params{NFFT: n, Hop: hop, Window: Hamming}
			if _, ok := overlappedBy(p); !ok {
				t.Fatalf("%+v: no kernel", p)
			}
			plan := kerneltest.Plans(t, &InverseOp, p)[kerneltest.GPUName]
			if plan == nil {
				t.Skip("no C++ compiler for the emulator")
			}
			for _, count := range []int{1, hop, hop + 1, 4*n + 3} {
				s, got := noiseOf(p, count), make([]float32, count)
				if err := plan.Run(shapeOf(p, count), kernels.Args{got, kernels.ComplexWords(s)}); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(got, InverseReference(p, s, count)); !(e <= 2e-6) {
					t.Errorf("%+v, %d samples: relative error %.2g", p, count, e)
				}
				broken := p.frames(count) / 2
				for _, bin := range []int{0, 1, n / 4, n/2 - 1, n / 2} {
					s[broken*p.bins()+bin] = complex(float32(math.NaN()), 0)
				}
				want := InverseReference(p, s, count)
				if err := plan.Run(shapeOf(p, count), kernels.Args{got, kernels.ComplexWords(s)}); err != nil {
					t.Fatal(err)
				}
				for i, v := range got {
					if inside := i+p.lead()-broken*hop >= 0 && i+p.lead()-broken*hop < n; inside != (v != v) {
						t.Fatalf("%+v, NaN in frame %d: sample %d of %d is %v", p, broken, i, count, v)
					} else if !inside && !(math.Abs(float64(v)-want[i]) < 1e-5) {
						t.Fatalf("%+v, NaN in frame %d: sample %d of %d is %v, want %v", p, broken, i, count, v, want[i])
					}
				}
			}
		}
		if _, ok := overlappedBy(Params{NFFT: n, Hop: n/2 + pair/2}); ok {
			t.Errorf("%d samples every %d have a kernel, though no thread has the same samples of every frame", n, n/2+pair/2)
		}
	}
	for _, p := range lengths(32, 8, 16384, 4096, 96, 24, 64, 128) {
		if _, ok := overlappedBy(p); ok {
			t.Errorf("%+v has a kernel", p)
		}
	}
}

// TestInverseBroken has bins that are not finite. They reach no sample that their frame does not reach.
func TestInverseBroken(t *testing.T) {
	for _, p := range lengths(64, 16, 64, 48, 512, 128) {
		const n = 3000
		for name, plan := range kerneltest.Plans(t, &InverseOp, p) {
			for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
				s, got := noiseOf(p, n), make([]float32, n)
				frame := p.frames(n) / 3
				s[frame*p.bins()+3] = complex(v, 0)
				s[frame*p.bins()+p.NFFT/4] = complex(0, v)
				want := InverseReference(p, s, n)
				if err := plan.Run(shapeOf(p, n), kernels.Args{got, kernels.ComplexWords(s)}); err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if lo := frame*p.Hop - p.lead(); i >= lo && i < lo+p.NFFT {
						continue
					}
					if !(math.Abs(float64(got[i])-want[i]) < 1e-5) {
						t.Fatalf("%s, %+v, %v in frame %d: sample %d is %v, want %v", name, p, v, frame, i, got[i], want[i])
					}
				}
			}
		}
	}
}
