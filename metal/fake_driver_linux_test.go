//go:build amd64 || arm64

package metal_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/catalogue/launches"
	"crossover/metal"
)

// limited is a driver whose products are limited.
type limited interface {
	ProductLimit() int
	LimitProducts(bytes int)
}

// scaled returns a plan of two kernels, its input a ramp.
func scaled(t *testing.T, d *gpu.Device) (p *gpu.Plan, out *gpu.Buffer) {
	t.Helper()
	const n = 1000
	b := d.NewPlan()
	x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
	s := b.Scratch(gpu.Float, n)
	b.Dispatch(b.Kernel(arithmetic, "add"), groups(n), threads, s, x, gpu.Values(n))
	b.Dispatch(b.Kernel(arithmetic, "multiply"), groups(n), threads, y, s, s, gpu.Values(n))
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	ramp(x.Floats())
	return p, y
}

// underRace reports whether the race detector is in this binary. The detector makes sync.Pool drop items at random.
// Calls of C functions draw their frames from such a pool, so under the detector they allocate.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// The fake sends dispatches to the emulator, which allocates. In this test the fake only checks them.
func TestWarmCallsDoNotAllocate(t *testing.T) {
	if underRace() {
		t.Skip("a call of a C function allocates under the race detector")
	}
	d := device(t)
	for name, describe := range map[string]func(b *gpu.Builder){
		"kernels": func(b *gpu.Builder) {
			const n = 1000
			x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
			s := b.Scratch(gpu.Float, n)
			for range 5 {
				b.Dispatch(b.Kernel(arithmetic, "add"), groups(n), threads, s, x, gpu.Values(n))
				b.Dispatch(b.Kernel(arithmetic, "multiply"), groups(n), threads, y, s, s, gpu.Values(n))
			}
			b.Copy(s, y)
		},
		"a product": func(b *gpu.Builder) {
			x, y := b.Input(gpu.Float, 64), b.Output(gpu.Float, 64)
			b.Encode(func() (gpu.External, error) {
				return d.Driver().(gpu.GEMM).NewProduct(gpu.Product{C: y.Region(), A: x.Region(), B: x.Region(), M: 8, N: 8, K: 8, Alpha: 1})
			})
		},
		"a transform in place": func(b *gpu.Builder) {
			x := b.State(gpu.Float2, 64)
			b.Encode(func() (gpu.External, error) {
				return d.Driver().(gpu.FFT).NewFFT(x.Region(), x.Region(), gpu.Transform{N: 64, Batch: 1, Complex: true})
			})
		},
	} {
		b := d.NewPlan()
		describe(b)
		p := build(t, b)
		option(t, "idle", 1)
		if allocations := testing.AllocsPerRun(100, func() {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
		}); allocations != 0 {
			t.Errorf("%s: %g allocations a call", name, allocations)
		}
	}
}

func TestResultsAreOldUntilWait(t *testing.T) {
	p, out := scaled(t, device(t))
	defer p.Close()
	if err := p.Submit(); err != nil {
		t.Fatal(err)
	}
	if !nan(out.Floats()) {
		t.Error("the output is there before the wait: the fake hides a missing one")
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	expect(t, out.Floats(), func(i int) float32 { v := float32(i) + 1.5; return v * v })
}

func TestFaultsOfTheGPU(t *testing.T) {
	d := device(t)
	p, out := scaled(t, d)
	defer p.Close()
	for code, want := range map[int64]struct {
		wraps error
		text  string
	}{
		1:  {nil, "internal error"},
		2:  {nil, "ran too long"},
		3:  {nil, "memory that is not its own"},
		4:  {gpu.ErrLost, "takes no more work"},
		7:  {gpu.ErrLost, "may not use the GPU"},
		8:  {gpu.ErrOutOfMemory, "too little memory"},
		9:  {nil, "buffer is gone"},
		11: {gpu.ErrLost, "removed"},
		77: {nil, "error 77"},
	} {
		fake.set("fail", code)
		times, err := p.Time(false)
		if err == nil || !strings.Contains(err.Error(), want.text) || strings.Contains(err.Error(), "\n") || want.wraps != nil && !errors.Is(err, want.wraps) {
			t.Errorf("code %d: %v", code, err)
		}
		if want.wraps == nil && (errors.Is(err, gpu.ErrLost) || errors.Is(err, gpu.ErrOutOfMemory)) {
			t.Errorf("code %d wraps what it should not: %v", code, err)
		}
		if times != (gpu.Times{}) {
			t.Errorf("code %d: a fault with times: %+v", code, times)
		}
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	expect(t, out.Floats(), func(i int) float32 { v := float32(i) + 1.5; return v * v })
}

// A GPU that reports no times computes all the same.
func TestNoTimes(t *testing.T) {
	option(t, "no times", 1)
	p, out := scaled(t, device(t))
	defer p.Close()
	times, err := p.Time(false)
	if err != nil || times.Span != 0 || times.Busy != 0 || times.Kernel != 0 || times.Wall <= 0 {
		t.Errorf("%+v, %v", times, err)
	}
	expect(t, out.Floats(), func(i int) float32 { v := float32(i) + 1.5; return v * v })
}

// If the emulator finds a fault in a kernel, the command buffer fails.
func TestFaultOfAKernel(t *testing.T) {
	b := device(t).NewPlan()
	const n = page / 4
	x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
	// The kernel gets a length beyond the end of its buffers.
	b.Dispatch(b.Kernel(arithmetic, "add"), groups(2*n), threads, y, x, gpu.Values(2*n))
	p := build(t, b)
	if err := p.Run(); err == nil || !strings.Contains(err.Error(), "kernel add") {
		t.Errorf("a kernel past the end of its buffers: %v", err)
	}
}

func TestNoMemory(t *testing.T) {
	d := device(t)
	option(t, "refuse buffers", 1)
	for _, storage := range []gpu.Storage{gpu.Shared, gpu.Private} {
		if _, err := d.Driver().Allocate(4096, storage); !errors.Is(err, gpu.ErrOutOfMemory) {
			t.Errorf("storage %d: %v", storage, err)
		}
	}
	b := d.NewPlan()
	b.Dispatch(b.Kernel(arithmetic, "add"), one, threads, b.Output(gpu.Float, 64), b.Input(gpu.Float, 64), gpu.Values(64))
	if _, err := b.Build(); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("a plan without memory: %v", err)
	}
}

// The GPU may take one GiB. Three buffers of 256 MiB fit beside what other tests left. More than four do not fit.
func TestMemoryIsNotOvercommitted(t *testing.T) {
	d := driver(t)
	var held []gpu.Memory
	var err error
	for len(held) < 5 && err == nil {
		var m gpu.Memory
		if m, err = d.Allocate(1<<28, gpu.Shared); err == nil {
			held = append(held, m)
		}
	}
	if len(held) != 4 || !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("%d buffers of 256 MiB in 1 GiB, then %v", len(held), err)
	}
	for _, m := range held {
		m.Free()
	}
	m, err := d.Allocate(1<<28, gpu.Shared)
	if err != nil {
		t.Fatalf("after everything was freed: %v", err)
	}
	m.Free()
}

// Everything that a test used is released when it is closed. An object that is still alive then is a leak.
func TestNothingIsLeftBehind(t *testing.T) {
	d := driver(t)
	device, err := gpu.NewDevice(d)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := scaled(t, device)
	p.Close()
	device.Trim()
	collect()
	classes := []string{"MTLBuffer", "MTLCommandBuffer", "MTLComputeCommandEncoder", "MTLBlitCommandEncoder", "MTLCompileOptions",
		"MTLFunction", "NSString", "NSError", "NSArray", "NSNumber", "NSDictionary", "MPSMatrix", "MPSMatrixDescriptor",
		"MPSMatrixMultiplication", "MPSCommandBuffer", "MPSGraph", "MPSGraphTensor", "MPSGraphTensorData",
		"MPSGraphShapedType", "MPSGraphFFTDescriptor", "MPSGraphDevice", "MPSGraphExecutable"}
	before := map[string]int64{}
	for _, class := range classes {
		before[class] = fake.living(class)
	}
	for range 3 {
		p, out := scaled(t, device)
		for range 2 {
			if _, err := p.Time(false); err != nil {
				t.Fatal(err)
			}
		}
		fake.set("fail", 3)
		if p.Run() == nil {
			t.Error("no fault")
		}
		p.Close()
		_ = out
		g, f := d.(gpu.GEMM), d.(gpu.FFT)
		b := device.NewPlan()
		x := b.State(gpu.Float2, 64)
		b.Encode(func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: x.Region(), A: x.Region(), B: x.Region(), M: 8, N: 8, K: 8, Alpha: 1})
		})
		b.Encode(func() (gpu.External, error) {
			return f.NewFFT(x.Region(), x.Region(), gpu.Transform{N: 32, Batch: 2, Complex: true})
		})
		fake.set("continue", 1)
		plan, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Run(); err != nil {
			t.Fatal(err)
		}
		fake.set("continue", 0)
		plan.Close()
		if _, err := device.Kernel(gpu.Source{Name: "wrong.metal", Text: "kernel void wrong() { x = 1; }"}, "wrong"); err == nil {
			t.Error("a wrong text compiles")
		}
		device.Forget()
	}
	device.Trim()
	for _, class := range classes {
		if after := fake.living(class); after != before[class] {
			t.Errorf("%d objects of %s, %d before", after, class, before[class])
		}
	}
}

// collect runs the cleanups of everything that is not reachable.
func collect() {
	for range 3 {
		runtime.GC()
		done := make(chan struct{})
		runtime.AddCleanup(new(*int), func(done chan struct{}) { close(done) }, done)
		runtime.GC()
		<-done
	}
}

// Libraries and pipelines go when nothing refers to them any more.
func TestForgottenKernelsAreReleased(t *testing.T) {
	collect()
	libraries, pipelines := fake.living("MTLLibrary"), fake.living("MTLComputePipelineState")
	func() {
		d := device(t)
		p, _ := scaled(t, d)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		d.Forget()
		collect()
		if fake.living("MTLComputePipelineState") < pipelines+2 {
			t.Error("the pipelines of a plan that still runs are released")
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}()
	collect()
	if l, p := fake.living("MTLLibrary"), fake.living("MTLComputePipelineState"); l > libraries || p > pipelines {
		t.Errorf("%d libraries and %d pipelines are left, %d and %d before", l, p, libraries, pipelines)
	}
}

func TestCloseGivesTheGPUBack(t *testing.T) {
	if err := loadFake(); err != nil {
		t.Skip(err)
	}
	devices, queues := fake.living("MTLDevice"), fake.living("MTLCommandQueue")
	d, err := openDriver()
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	if fake.living("MTLDevice") != devices || fake.living("MTLCommandQueue") != queues {
		t.Error("a device or a queue is left")
	}
}

func TestMathIsSafe(t *testing.T) {
	for _, macOS := range []int64{13, 14, 15} {
		option(t, "macOS", macOS)
		option(t, "fast arithmetic", 0)
		option(t, "fast functions", 0)
		d := device(t)
		if _, err := d.Kernel(arithmetic, "add"); err != nil {
			t.Fatal(err)
		}
		for _, fast := range []string{"fast arithmetic", "fast functions"} {
			if fake.get(fast) != 0 {
				t.Errorf("macOS %d: compiled with %s", macOS, fast)
			}
		}
		if want := fmt.Sprintf("Metal, macOS %d.1", macOS); d.Facts().Driver != want {
			t.Errorf("driver %q, want %q", d.Facts().Driver, want)
		}
	}
}

func TestFamilies(t *testing.T) {
	const old = "Apple1 Apple2 Apple3 Apple4 Apple5"
	for _, test := range []struct {
		family   int64
		families string
		fit      bool
	}{
		{5, old + " Common1 Common2 Common3", false}, // the GPU of a virtual machine
		{7, old + " Apple6 Apple7 Mac2 Common1 Common2 Common3 Metal3", true},
		{10, old + " Apple6 Apple7 Apple8 Apple9 Apple10 Mac2 Common1 Common2 Common3 Metal3 Metal4", true},
	} {
		option(t, "family", test.family)
		d := driver(t)
		f := d.Facts()
		if f.Families != test.families || f.SIMDMatrices != test.fit || (f.Lacks == "") != test.fit {
			t.Errorf("Apple%d: %+v", test.family, f)
		}
		if !test.fit && !strings.Contains(f.Lacks, "want family Apple7") {
			t.Errorf("Apple%d: %q", test.family, f.Lacks)
		}
		for _, missing := range []error{d.(gpu.GEMM).GEMMMissing(), d.(gpu.FFT).FFTMissing()} {
			if (missing == nil) != test.fit || missing != nil && !strings.Contains(missing.Error(), "not supported on Fake M1") {
				t.Errorf("Apple%d: a library of Apple's: %v", test.family, missing)
			}
		}
		// A kernel without a simdgroup's functions runs on each of these GPUs.
		p, out := scaled(t, deviceOf(t, d))
		if err := p.Run(); err != nil {
			t.Error(err)
		}
		expect(t, out.Floats(), func(i int) float32 { v := float32(i) + 1.5; return v * v })
		p.Close()
	}
}

func TestLimitOfProducts(t *testing.T) {
	for family, want := range map[int64]int{7: 1<<31 - 1, 8: 1<<31 - 1, 9: math.MaxInt, 10: math.MaxInt} {
		option(t, "family", family)
		if got := driver(t).(limited).ProductLimit(); got != want {
			t.Errorf("Apple%d: products of at most %d bytes, want %d", family, got, want)
		}
	}
}

// A GPU returns NaN for large products. The driver computes fewer rows at a time there.
func TestLargeProducts(t *testing.T) {
	const m, n, k = 37, 12, 5
	for _, test := range []struct{ most, parts int }{
		{(m + 2*k) * n * 4, 1},
		{(m+2*k)*n*4 - 1, 2},
		{(13 + 2*k) * n * 4, 3},
		{(1 + 2*k) * n * 4, m},
		{(1+2*k)*n*4 - 1, 0},
	} {
		t.Run(fmt.Sprint(test.most), func(t *testing.T) {
			option(t, "product bytes", int64(test.most))
			d := device(t)
			d.Driver().(limited).LimitProducts(test.most)
			b := d.NewPlan()
			left, right, result := b.Input(gpu.Float, m*k), b.Input(gpu.Float, k*n), b.State(gpu.Float, m*n)
			parts := 0
			b.Encode(func() (gpu.External, error) {
				product, err := gemm(t, d).NewProduct(gpu.Product{C: result.Region(), A: left.Region(), B: right.Region(), M: m, N: n, K: k, TransposeB: true, Alpha: 2, Beta: 0.5})
				if err == nil {
					parts = product.(interface{ Parts() int }).Parts()
				}
				return product, err
			})
			p, err := b.Build()
			if parts != test.parts {
				t.Errorf("%d parts, want %d", parts, test.parts)
			}
			if test.parts == 0 {
				if err == nil || !strings.Contains(err.Error(), "return NaN for products as large as 37×12×5") || strings.Contains(err.Error(), "\n") {
					t.Errorf("a product that has no right part: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			noise(left.Floats(), 1)
			noise(right.Floats(), 2)
			noise(result.Floats(), 3)
			want := multiplied(left.Floats(), right.Floats(), result.Floats(), m, n, k, true, 2, 0.5)
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(result.Floats(), want); !(e < 1e-6) {
				t.Errorf("relative error %g", e)
			}
		})
	}
}

// A transposed A has no parts.
func TestLargeTransposedProduct(t *testing.T) {
	d := driver(t)
	d.(limited).LimitProducts((3 + 2) * 4)
	region := gpu.Region{Memory: allocate(t, d, gpu.Shared)}
	for m, right := range map[int]bool{3: true, 4: false} {
		e, err := d.(gpu.GEMM).NewProduct(gpu.Product{C: region, A: region, B: region, M: m, N: 1, K: 1, TransposeA: true, Alpha: 1})
		if (err == nil) != right {
			t.Errorf("%d rows: %v", m, err)
		}
		if err == nil {
			e.Close()
		}
	}
}

func TestProductInTooManyParts(t *testing.T) {
	d := driver(t)
	d.(limited).LimitProducts(3 * 4)
	m := allocate(t, d, gpu.Shared)
	region := gpu.Region{Memory: m}
	if e, err := d.(gpu.GEMM).NewProduct(gpu.Product{C: region, A: region, B: region, M: 64, N: 1, K: 1, Alpha: 1}); err != nil {
		t.Error(err)
	} else {
		e.Close()
	}
	if _, err := d.(gpu.GEMM).NewProduct(gpu.Product{C: region, A: region, B: region, M: 65, N: 1, K: 1, Alpha: 1}); err == nil {
		t.Error("65 parts of one row")
	}
}

// After a text that does not compile, the other texts are still compiled.
func TestCompileTextsReportsEverything(t *testing.T) {
	d := driver(t)
	wrong := gpu.Source{Name: "wrong.metal", Text: "#include <metal_stdlib>\nusing namespace metal;\nkernel void wrong() { x = 1; }\n"}
	narrow := gpu.Source{Name: "narrow.metal", Text: `#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(MOST)]]
kernel void narrow(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = 1.0f; }
`}
	kernels, notes, problems := compileTexts(d, []launches.Text{
		{Source: wrong},
		{Source: narrow.Define("MOST", 1024), Threads: map[string]int{"narrow": 1024}},
		{Source: narrow.Define("MOST", 64), Threads: map[string]int{"narrow": 32}},
		{Source: narrow.Define("MOST", 96), Threads: map[string]int{"narrow": 128}},
		{Source: narrow.Define("MOST", 256), Threads: map[string]int{"narrow": 256}},
		{Source: gpu.Source{Name: "no.metal", Text: "kernel void no(float* y) {}"}},
	})
	if kernels != 4 {
		t.Errorf("%d kernels, want 4", kernels)
	}
	if want := []string{"narrow.metal [{MOST 64}]: kernel narrow has room for 64 threads, and launch plans give it 32"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	for i, want := range []string{"wrong.metal", "room for 96 threads, and launch plans give it 128", "no.metal"} {
		if len(problems) != 3 || !strings.Contains(problems[i], want) {
			t.Errorf("problems %q, want %q in the one at %d of 3", problems, want, i)
		}
	}
	option(t, "refuse pipelines", 1)
	if _, _, problems := compileTexts(d, []launches.Text{{Source: arithmetic}}); len(problems) != 3 {
		t.Errorf("no pipeline of three is made, and the problems are %q", problems)
	}
}

func TestOtherWidthsAreRefused(t *testing.T) {
	option(t, "SIMD width", 64)
	if _, err := device(t).Kernel(arithmetic, "add"); err == nil || !strings.Contains(err.Error(), "64 threads in step") {
		t.Errorf("a GPU of width 64: %v", err)
	}
}

func TestPipelineErrorIsOneLine(t *testing.T) {
	option(t, "refuse pipelines", 1)
	if _, err := device(t).Kernel(arithmetic, "add"); err == nil || !strings.HasSuffix(err.Error(), "the test wants no pipeline") {
		t.Errorf("%q", err)
	}
}

// Metal does not tell the number of cores. The driver reports the number that it was opened with.
func TestCores(t *testing.T) {
	if got := driver(t).Facts().Cores; got != fakeCores {
		t.Errorf("%d cores, want %d", got, fakeCores)
	}
}

func TestNoDevice(t *testing.T) {
	option(t, "no device", 1)
	if _, err := openDriver(); err == nil || !strings.Contains(err.Error(), "no GPU") {
		t.Errorf("%v", err)
	}
	missing := func(string) (uintptr, error) { return 0, errors.New("not there") }
	if _, err := metal.Open(missing, 0); err == nil || !strings.Contains(err.Error(), "MTLCreateSystemDefaultDevice") {
		t.Errorf("%v", err)
	}
}

func TestLibrariesThatAreMissing(t *testing.T) {
	d := driver(t)
	m := allocate(t, d, gpu.Shared)
	region := gpu.Region{Memory: m}
	option(t, "macOS", 13)
	if err := d.(gpu.FFT).FFTMissing(); err == nil || !strings.Contains(err.Error(), "macOS 14") {
		t.Errorf("before macOS 14: %v", err)
	}
	if _, err := d.(gpu.FFT).NewFFT(region, region, gpu.Transform{N: 16, Batch: 1}); err == nil {
		t.Error("a transform before macOS 14")
	}
	if err := d.(gpu.GEMM).GEMMMissing(); err != nil {
		t.Error(err)
	}
	option(t, "no MPS", 1)
	d = driver(t)
	if d.(gpu.GEMM).GEMMMissing() == nil || d.(gpu.FFT).FFTMissing() == nil {
		t.Error("a GPU without Metal Performance Shaders is not noticed")
	}
	if _, err := d.(gpu.GEMM).NewProduct(gpu.Product{C: region, A: region, B: region, M: 1, N: 1, K: 1, Alpha: 1}); err == nil {
		t.Error("a product without Metal Performance Shaders")
	}
	withoutMPS := func(name string) (uintptr, error) {
		if name == "MPSSupportsMTLDevice" {
			return 0, errors.New("not there")
		}
		return fake.find(name)
	}
	if d, err := metal.Open(withoutMPS, 0); err != nil || d.(gpu.GEMM).GEMMMissing() == nil {
		t.Errorf("a system without the framework: %v", err)
	}
}

// MPSGraph may commit the command buffer that it is given, and go on with another one.
func TestLibraryThatCommits(t *testing.T) {
	const n = 32
	d := device(t)
	f := fft(t, d)
	b := d.NewPlan()
	x, y := b.Input(gpu.Float2, n), b.Output(gpu.Float, 2*n)
	s, u := b.Scratch(gpu.Float2, n), b.Scratch(gpu.Float2, n)
	add := b.Kernel(arithmetic, "add")
	b.Encode(func() (gpu.External, error) {
		return f.NewFFT(s.Region(), x.Region(), gpu.Transform{N: n, Batch: 1, Complex: true})
	})
	b.Encode(func() (gpu.External, error) {
		return f.NewFFT(u.Region(), s.Region(), gpu.Transform{N: n, Batch: 1, Complex: true})
	})
	b.Dispatch(add, groups(2*n), threads, y, u.As(gpu.Float), gpu.Values(2*n))
	p := build(t, b)
	ramp(x.Floats())
	// Two transforms give n times the values in reverse.
	want := make([]float64, 2*n)
	for i := range n {
		j := (n - i) % n
		want[2*i], want[2*i+1] = float64(n*2*j)+1.5, float64(n*(2*j+1))+1.5
	}
	option(t, "continue", 1)
	for range 2 {
		times, err := p.Time(false)
		if err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(y.Floats(), want); !(e < 1e-6) {
			t.Errorf("relative error %g", e)
		}
		if times.Span <= 0 {
			t.Errorf("%+v", times)
		}
	}
	fake.set("fail", 3) // the first of the three command buffers
	if err := p.Run(); err == nil {
		t.Error("a fault in a command buffer that MPSGraph has committed is not noticed")
	}
}

// On a Mac whose GPU has memory of its own, plans copy.
func TestSeparateMemory(t *testing.T) {
	option(t, "own memory", 1)
	d := device(t)
	if d.Facts().Unified {
		t.Fatal("unified")
	}
	p, out := scaled(t, d)
	defer p.Close()
	for _, run := range []func() error{p.Run, p.Upload, p.RunResident, p.Download} {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, out.Floats(), func(i int) float32 { v := float32(i) + 1.5; return v * v })
}
