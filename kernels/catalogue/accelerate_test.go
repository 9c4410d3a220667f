package catalogue_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/catalogue"
	"crossover/kernels/conv1d"
	"crossover/kernels/decibels"
	"crossover/kernels/elementwise"
	"crossover/kernels/fft"
	"crossover/kernels/kerneltest"
	"crossover/kernels/linear"
	"crossover/kernels/matmul"
	"crossover/kernels/mel"
	"crossover/kernels/reduce"
	"crossover/kernels/softmax"
	"crossover/kernels/stft"
	"crossover/native/accelerate"
)

// Operations have implementations by Apple's framework on a Mac, and in a process that starts with a stand-in for the
// framework. Elsewhere the tests below run this binary again with the stand-in of package accelerate. They show that each
// operation makes the right calls. They do not show what Apple's code computes.

// haveFramework reports whether this process has the framework or a stand-in for it.
func haveFramework() bool { return runtime.GOOS == "darwin" || os.Getenv(accelerate.Environment) != "" }

// standIn returns the text of the stand-in.
func standIn(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../native/accelerate/testdata/fake.c")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// again compiles a stand-in, runs one test with it in another process, and returns what the process printed.
func again(t *testing.T, test, text string) (output string, err error) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler for the stand-in for Accelerate")
	}
	source, library := filepath.Join(t.TempDir(), "fake.c"), filepath.Join(t.TempDir(), "accelerate.so")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-lm").CombinedOutput(); err != nil {
		t.Fatalf("the stand-in does not compile: %v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self, "-test.run="+test, "-test.v")
	child.Env = append(os.Environ(), accelerate.Environment+"="+library)
	out, err := child.CombinedOutput()
	if !bytes.Contains(out, []byte("=== RUN")) {
		t.Fatalf("%s has not run: %v\n%s", test, err, out)
	}
	return string(out), err
}

// withFramework are the operations that must have an implementation by the framework. Others may have one.
var withFramework = []string{
	"abs", "argmax", "attention", "autocorrelation", "biquad", "biquad-cascade", "chroma", "conv1d", "conv1d-layer",
	"conv2d-layer", "convolution-stream", "exp", "fft", "fft-complex", "gain", "gru", "ifft", "istft", "layer-norm", "linear", "log",
	"log1p", "lora", "lora-linear", "lstm", "magnitude", "matmul", "max", "mean", "mel", "mfcc", "min",
	"onset-strength", "pow", "power", "power-to-db", "resample", "rms-norm", "scale", "soft-clip", "softmax", "stft", "sum",
	"tempo", "tempogram",
}

func TestAccelerate(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	if !haveFramework() {
		if output, err := again(t, "^TestAccelerate$", standIn(t)); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return
	}
	if err := accelerate.Probe(); err != nil {
		t.Fatal(err)
	}
	in := kernels.GeneratedInput()
	for _, c := range catalogue.Cases(kernels.Here()) {
		t.Run(strings.ReplaceAll(c.Name, "/", ","), func(t *testing.T) {
			var names []string
			for _, i := range c.Implementations {
				if name, _, _ := strings.Cut(i.Name, "/"); name == "accelerate" {
					names = append(names, i.Name)
				}
			}
			want := []string{"accelerate"}
			if c.Operation == "conv1d" {
				want = []string{"accelerate/partitioned", "accelerate/fft", "accelerate/direct"}
			}
			if slices.Contains(withFramework, c.Operation) && !slices.Equal(names, want) {
				t.Fatalf("the framework's implementations are %q, want %q", names, want)
			}
			// vDSP has transforms of some of these lengths and lacks others.
			for _, times := range []int{1, 3, 7, 20} {
				if size := c.Axis.Nearest(min(times*c.Axis.Min, 8192)); times == 1 || c.Work(size, "").Flops <= affordable {
					checkFramework(t, &c, size, names, in)
				}
			}
		})
	}
}

func checkFramework(t *testing.T, c *kernels.Case, size int, names []string, in kernels.Input) {
	t.Helper()
	problem := c.Problem(size, in)
	want := problem.Reference()
	for _, name := range names {
		call, err := problem.Bind(name)
		if err != nil {
			t.Fatalf("%s at %d: %v", name, size, err)
		}
		defer call.Release()
		for range 2 {
			if err := call.Run(); err != nil {
				t.Fatalf("%s at %d: %v", name, size, err)
			}
		}
		if off := call.ErrorAgainst(want); !(off <= c.Tolerance(size)) {
			t.Errorf("%s at %d: relative error %.2g, allowed %.2g", name, size, off, c.Tolerance(size))
		}
		if kerneltest.UnderRace() {
			continue
		}
		if got := allocations(func() { _ = call.Run() }); got != 0 {
			t.Errorf("%s at %d: %v allocations a call", name, size, got)
		}
	}
}

// allocations returns the number of allocations in a call. It stops the garbage collector, which would empty the pools of
// argument lists. It counts up to three times, until there are none, because allocations of other goroutines count too.
func allocations(call func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := math.Inf(1)
	for range 3 {
		if least = min(least, testing.AllocsPerRun(1, call)); least == 0 {
			break
		}
	}
	return least
}

// Typed plans take sizes that no sweep visits: odd transforms, a filter longer than its signal, blocks of one sample.
func TestAcceleratePlans(t *testing.T) {
	if !haveFramework() {
		if output, err := again(t, "^TestAcceleratePlans$", standIn(t)); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	forced := func(force string) *dispatch.Dispatcher {
		t.Helper()
		t.Setenv("CROSSOVER_FORCE", force)
		d, err := dispatch.New(nil)
		must(err)
		return d
	}
	noise := func(n int) []float32 {
		x := make([]float32, n)
		kernels.Noise(x, uint64(n))
		return x
	}
	explained := func(e dispatch.Explanation, want string) {
		t.Helper()
		if e.Implementation != want {
			t.Fatalf("%s computes, want %s: %s", e.Implementation, want, e.Reason)
		}
	}
	check := func(what string, got []float32, want []float64, allowed float64) {
		t.Helper()
		if off := kernels.RelativeError(got, want); !(off <= allowed) {
			t.Errorf("%s: relative error %.2g, allowed %.2g", what, off, allowed)
		}
	}
	d := forced("scale=accelerate,log=accelerate,soft-clip=accelerate,pow=accelerate,magnitude=accelerate,sum=accelerate,mean=accelerate," +
		"max=accelerate,min=accelerate,argmax=accelerate,power-to-db=accelerate,fft=accelerate,ifft=accelerate,fft-complex=accelerate,stft=accelerate,istft=accelerate,mel=accelerate," +
		"matmul=accelerate,linear=accelerate,softmax=accelerate,biquad=accelerate")

	x := noise(1001)
	y := make([]float32, len(x))
	scale := elementwise.NewScale(d, 3, -1)
	explained(scale.Explain(len(x)), "accelerate")
	must(scale.Apply(y, x))
	check("scale", y, elementwise.Scale.Reference(elementwise.Params{A: 3, B: -1}, kernels.Shape{}, &kernels.Args{1: x}), 1e-6)

	positive := append([]float32{}, x...)
	for i := range positive {
		positive[i] += 1.5
	}
	logarithm := elementwise.NewLog(d)
	must(logarithm.Apply(y, positive))
	check("log", y, elementwise.Log.Reference(elementwise.Params{}, kernels.Shape{}, &kernels.Args{1: positive}), 1e-6)

	sum := reduce.NewSum(d)
	long := noise(200_003)
	for i := range long {
		long[i]++
	}
	total, err := sum.Of(long)
	must(err)
	check("sum", []float32{total}, []float64{reduce.Reference(long)}, 1e-6)
	mean, err := reduce.NewMean(d).Of(long)
	must(err)
	check("mean", []float32{mean}, []float64{reduce.Reference(long) / float64(len(long))}, 1e-6)

	clipped := elementwise.NewSoftClip(d, 3)
	explained(clipped.Explain(len(x)), "accelerate")
	copy(y, x)
	must(clipped.Apply(y, y)) // in place
	check("soft-clip", y, elementwise.SoftClip.Reference(elementwise.Params{A: 3}, kernels.Shape{}, &kernels.Args{1: x}), 1e-6)

	must(elementwise.NewPow(d, -1.5).Apply(y, positive))
	check("pow", y, elementwise.Pow.Reference(elementwise.Params{A: -1.5}, kernels.Shape{}, &kernels.Args{1: positive}), 1e-6)

	spectrum := kernels.Complex(long[:2*5001])
	magnitudes := make([]float32, len(spectrum))
	must(elementwise.NewMagnitude(d).Apply(magnitudes, spectrum))
	check("magnitude", magnitudes, elementwise.Magnitude.Reference(elementwise.Params{}, kernels.Shape{}, &kernels.Args{1: long[:2*5001]}), 1e-6)

	// vDSP passes over NaNs, and our results do not. The values are in the second and third piece of the slice.
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, special := range [][2]float32{{5, 5}, {nan, 5}, {5, nan}, {inf, nan}, {-inf, 5}, {inf, inf}, {-inf, -inf}} {
		values := append([]float32{}, long...)
		values[100_000], values[190_000] = special[0], special[1]
		a := &kernels.Args{1: values}
		greatest, err := reduce.NewMax(d).Of(values)
		must(err)
		least, err := reduce.NewMin(d).Of(values)
		must(err)
		at, err := reduce.NewArgMax(d).Of(values)
		must(err)
		got := []float32{greatest, least, float32(at)}
		for i, op := range []*kernels.Op[reduce.Params]{&reduce.Max, &reduce.Min, &reduce.ArgMax} {
			if off := kernels.Exact(kernels.Float32, got[i:i+1], op.Reference(reduce.Params{}, kernels.Shape{}, a)); off != 0 {
				t.Errorf("%s with %v is %g", op.Name, special, got[i])
			}
		}
		plan, err := decibels.New(d, decibels.Params{})
		must(err)
		db := make([]float32, len(values))
		must(plan.Convert(db, values))
		for i, want := range decibels.Reference(decibels.Params{}, values) {
			if v := float64(db[i]); !(math.Abs(v-want) <= 1e-4 || v == want || v != v && want != want) {
				t.Fatalf("power-to-db with %v: value %d is %g, want %g", special, i, v, want)
			}
		}
	}

	for _, n := range []int{1, 2, 7, 45, 90, 1024} {
		plan, err := fft.New(d, fft.Params{N: n})
		must(err)
		for _, rows := range []int{1, 3} {
			explained(plan.Explain(rows), "accelerate")
			src, dst := noise(rows*n), make([]complex64, rows*(n/2+1))
			must(plan.Transform(dst, src))
			var want []float64
			for row := range slices.Chunk(src, n) {
				want = append(want, parts(fft.Reference(row))...)
			}
			check("fft", floats(dst), want, 1e-6)

			back, err := fft.NewInverse(d, fft.Params{N: n})
			must(err)
			explained(back.Explain(rows), "accelerate")
			again := make([]float32, len(src))
			must(back.Transform(again, dst))
			check("ifft", again, widened(src), 1e-6)
		}
		for _, inverse := range []bool{false, true} {
			plan, err := fft.NewComplexPlan(d, fft.ComplexParams{N: n, Inverse: inverse})
			must(err)
			explained(plan.Explain(3), "accelerate")
			src, dst := kernels.Complex(noise(2*3*n)), make([]complex64, 3*n)
			must(plan.Transform(dst, src))
			check("fft-complex", floats(dst), fft.ComplexOp.Reference(fft.ComplexParams{N: n, Inverse: inverse}, kernels.Shape{n, 3},
				&kernels.Args{1: kernels.ComplexWords(src)}), 1e-6)
		}
	}

	for _, p := range []stft.Params{{NFFT: 6, Hop: 5}, {NFFT: 512, Hop: 128}} {
		plan, err := stft.New(d, p)
		must(err)
		frames, err := plan.Transform(nil, x)
		must(err)
		check("stft", floats(frames), parts(stft.Reference(p, x)), 1e-6)

		back, err := stft.NewInverse(d, p)
		must(err)
		explained(back.Explain(len(x)), "accelerate")
		again := make([]float32, len(x))
		must(back.Transform(again, frames))
		check("istft", again, stft.InverseReference(p, frames, len(x)), 2e-6)
	}

	bands := mel.Params{SampleRate: 22050, NFFT: 512, Bands: 40}
	spectrogram, err := mel.New(d, bands)
	must(err)
	power := noise(3 * spectrogram.Bins())
	for i := range power {
		power[i]++
	}
	mels, err := spectrogram.Transform(nil, power)
	must(err)
	check("mel", mels, mel.Reference(bands, power), 1e-6)

	product := matmul.New(d)
	a, b, c := noise(3*7), noise(7*5), make([]float32, 3*5)
	must(product.Multiply(c, a, b, 3, 7, 5))
	check("matmul", c, matmul.Reference(a, b, 3, 7, 5), 1e-6)
	for turns := range 4 {
		p := matmul.Params{TransposeA: turns&1 != 0, TransposeB: turns&2 != 0, Alpha: -2, Beta: 0.5}
		scaled, err := matmul.NewScaled(d, p)
		must(err)
		want := matmul.ScaledReference(p, a, b, c, 3, 7, 5)
		must(scaled.Multiply(c, a, b, 3, 7, 5))
		check("matmul with factors", c, want, 1e-6)
	}

	weights, bias := noise(7*1024), noise(7)
	layer, err := linear.New(d, weights, bias, 1024, 7)
	must(err)
	batch, out := noise(2*1024), make([]float32, 2*7)
	must(layer.Forward(out, batch))
	check("linear", out, linear.Reference(batch, weights, bias, 1024, 7), 1e-5)

	rows, err := softmax.New(d, softmax.Params{Columns: 77})
	must(err)
	probabilities := make([]float32, 13*77)
	must(rows.Apply(probabilities, x))
	check("softmax", probabilities, softmax.Reference(x, 77), 1e-6)

	coefficients, err := biquad.Lowpass(1000, 44100)
	must(err)
	for _, channels := range []int{1, 3} {
		plan, err := biquad.New(d, coefficients, channels)
		must(err)
		explained(plan.Explain(1), "accelerate")
		src, got := noise(channels*400), make([]float32, channels*400)
		// In blocks of 1, 2, 3 … samples, in place. The state carries over at every length.
		for from, n := 0, 1; from < 400; from, n = from+n, n+1 {
			n = min(n, 400-from)
			var block []float32
			for channel := range channels {
				block = append(block, src[channel*400+from:][:n]...)
			}
			must(plan.Process(block, block))
			for channel := range channels {
				copy(got[channel*400+from:], block[channel*n:][:n])
			}
		}
		check("biquad", got, biquad.Reference(coefficients, src, channels), 1e-5)
	}

	for _, algorithm := range []string{"partitioned", "fft", "direct"} {
		d := forced("conv1d=accelerate/" + algorithm)
		taps := noise(700)
		plan, err := conv1d.New(d, taps)
		must(err)
		for _, n := range []int{1, 69, 699, 5000} {
			explained(plan.Explain(n), "accelerate/"+algorithm)
			y, err := plan.Convolve(nil, x[:min(n, len(x))])
			must(err)
			check("conv1d by "+algorithm, y, conv1d.Reference(x[:min(n, len(x))], taps), 1e-6)
		}
	}
}

func floats(x []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

func widened(x []float32) (wide []float64) {
	for _, v := range x {
		wide = append(wide, float64(v))
	}
	return wide
}

func parts(x []complex128) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// If a function of the stand-in computes something else, the case that uses it must fail.
func TestAccelerateMistakesAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	if haveFramework() {
		t.Skip("the stand-in is tested where there is no framework")
	}
	for _, mistake := range []struct{ name, right, wrong, caught string }{
		{"bias subtracted", "d[i * id] = a[i * ia] * *b + *c;", "d[i * id] = a[i * ia] * *b - *c;", "scale"},
		{"logarithm to base 2", "y[i] = log(x[i]);", "y[i] = log2(x[i]);", "log"},
		{"sine in place of the tangent", "y[i] = tanh(x[i]);", "y[i] = sin(x[i]);", "soft-clip"},
		{"natural logarithm", "y[i] = log10(x[i]);", "y[i] = log(x[i]);", "power-to-db"},
		{"exponent and base exchanged", "z[i] = pow(x[i], exponent);", "z[i] = pow(exponent, x[i]);", "pow"},
		{"one part squared", "a->im[i * ia] * a->im[i * ia];", "a->im[i * ia];", "power"},
		{"first value left out", "for (length i = 0; i < n; i++) sum += a[i * ia];\n    *c = sum;", "for (length i = 1; i < n; i++) sum += a[i * ia];\n    *c = sum;", "sum"},
		{"mean not divided", "*c = sum / n;", "*c = sum;", "mean"},
		{"mean square not divided", "*c = squares / n;", "*c = squares;", "rms-norm,columns=1024"},
		{"weights left out", "c[i * ic] = a[i * ia] * b[i * ib];", "c[i * ic] = a[i * ia];", "rms-norm,columns=1024"},
		{"biases left out", "(double)a[i * ia] * b[i * ib] + c[i * ic];", "(double)a[i * ia] * b[i * ib];", "layer-norm,columns=1024"},
		{"last of the greatest", "if (a[i * ia] > *c) *c = a[i * ia], *at", "if (a[i * ia] >= *c) *c = a[i * ia], *at", "argmax"},
		{"greatest for least", "if (a[i * ia] < *c)", "if (a[i * ia] != *c)", "min"},
		{"transform not doubled", "outRe[k] = 2 * out[k],", "outRe[k] = out[k],", "fft,batch=1"},
		{"inverse samples exchanged", "outRe[i] = out[2 * i],", "outRe[i] = out[2 * i + 1],", "ifft,batch=1"},
		{"complex bins conjugated", "outIm[i] = work[3 * n + i];", "outIm[i] = -work[3 * n + i];", "fft-complex,batch=1"},
		{"one sample for all taps", "a[(i + j) * ia]", "a[i * ia]", "conv1d,taps=512"},
		{"feedback of the wrong sign", "- c[4] * d[2];", "+ c[4] * d[2];", "biquad,channels=1"},
		{"no value left out", "a[i * factor + j] * f[j]", "a[i + j] * f[j]", "resample,up=160,down=147"},
		{"product not added to C", "*alpha * sum + *beta * *to;", "*alpha * sum;", "linear,in=1024,out=1024"},
		{"subtraction turned around", "c[i * ic] = a[i * ia] - b[i * ib];", "c[i * ic] = b[i * ib] - a[i * ia];", "onset-strength,bands=128"},
		{"exponential of the double", "y[i] = exp(x[i]);", "y[i] = exp(2 * x[i]);", "softmax,columns=1024"},
	} {
		t.Run(mistake.name, func(t *testing.T) {
			text := standIn(t)
			if strings.Count(text, mistake.right) != 1 {
				t.Fatalf("the stand-in has %q %d times, want once", mistake.right, strings.Count(text, mistake.right))
			}
			output, err := again(t, "^TestAccelerate$/^"+mistake.caught+"$", strings.Replace(text, mistake.right, mistake.wrong, 1))
			if err == nil || !strings.Contains(output, "relative error") {
				t.Errorf("the mistake passed: %v\n%s", err, output)
			}
		})
	}
}
