//go:build (darwin || linux) && (amd64 || arm64)

package metal_test

import (
	_ "embed"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// page is the size that shared memory is a multiple of.
const page = 16 << 10

// inspected is a recording that says what a submission does.
type inspected interface {
	Passes() int
	Messages() int
}

// device returns a device for a test.
func device(t testing.TB) *gpu.Device {
	t.Helper()
	return deviceOf(t, driver(t))
}

func deviceOf(t testing.TB, driver gpu.Driver) *gpu.Device {
	t.Helper()
	d, err := gpu.NewDevice(driver)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

//go:embed testdata/arithmetic.metal
var arithmeticText string

// arithmetic adds TERM, which tests choose.
var arithmetic = gpu.Source{Name: "arithmetic.metal", Text: arithmeticText}.Define("TERM", "1.5f")

const width = 64

var (
	one     = gpu.Size{X: 1, Y: 1, Z: 1}
	threads = gpu.Size{X: width, Y: 1, Z: 1}
)

func groups(n int) gpu.Size { return gpu.Size{X: (n + width - 1) / width, Y: 1, Z: 1} }

// build builds a plan and closes it when the test ends.
func build(t testing.TB, b *gpu.Builder) *gpu.Plan {
	t.Helper()
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// ramp sets x to 0, 1, 2 …
func ramp(x []float32) {
	for i := range x {
		x[i] = float32(i)
	}
}

func expect(t *testing.T, got []float32, want func(i int) float32) {
	t.Helper()
	for i, v := range got {
		if v != want(i) {
			t.Fatalf("element %d is %g, want %g", i, v, want(i))
		}
	}
}

func TestFacts(t *testing.T) {
	f := driver(t).Facts()
	t.Logf("%s, %s: families %s", f.Name, f.Driver, f.Families)
	if f.Lacks != "" {
		t.Log(f.Lacks)
	}
	if f.Families == "" {
		t.Error("a GPU of no family")
	}
	if f.API != "metal" || f.Name == "" || !strings.HasPrefix(f.Driver, "Metal, macOS ") {
		t.Errorf("%+v", f)
	}
	if f.SIMDWidth != 32 || f.MaxThreads < 512 || f.ThreadgroupBytes < 32<<10 || f.MemoryBytes < 1<<28 || f.MaxBufferBytes < 1<<28 {
		t.Errorf("%+v", f)
	}
}

func TestSharedMemoryIsHostMemoryFromAPageOn(t *testing.T) {
	d := driver(t)
	for _, bytes := range []int{1, 4096, page, page + 1, 1 << 20} {
		m, err := d.Allocate(bytes, gpu.Shared)
		if err != nil {
			t.Fatal(err)
		}
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(m.Host())))
		if begin%page != 0 || len(m.Host()) < bytes || m.Bytes() != len(m.Host()) {
			t.Errorf("%d bytes: %d at %#x", bytes, len(m.Host()), begin)
		}
		if err := m.Fill(0x5a); err != nil {
			t.Fatal(err)
		}
		for i, b := range m.Host() {
			if b != 0x5a {
				t.Fatalf("byte %d of %d is %#x", i, len(m.Host()), b)
			}
		}
		m.Free()
	}
}

// A plan on unified memory. The host memory of input and output is the GPU's memory, and nothing is copied.
func TestKernel(t *testing.T) {
	for _, n := range []int{1, width - 1, width, width + 1, 1009, 100_000} {
		b := device(t).NewPlan()
		x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
		b.Dispatch(b.Kernel(arithmetic, "add"), groups(n), threads, y, x, gpu.Values(n))
		p := build(t, b)
		ramp(x.Floats())
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		expect(t, y.Floats(), func(i int) float32 { return float32(i) + 1.5 })
	}
}

// Kernels of one encoder run in order, and what is bound stays bound. The second dispatch sets a buffer and an offset.
// The third sets only what changed.
func TestKernelsOfAPlanSeeEachOther(t *testing.T) {
	const n = 1000
	b := device(t).NewPlan()
	x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
	s := b.Scratch(gpu.Float, 2*n)
	add, multiply := b.Kernel(arithmetic, "add"), b.Kernel(arithmetic, "multiply")
	b.Dispatch(add, groups(n), threads, s, x, gpu.Values(n))
	b.Dispatch(add, groups(n), threads, s.At(n), s, gpu.Values(n))
	b.Dispatch(multiply, groups(n), threads, y, s.At(n), s, gpu.Values(n))
	b.Dispatch(add, groups(n), threads, s, y, gpu.Values(n))
	b.Dispatch(add, groups(n), threads, y, s, gpu.Values(n))
	p := build(t, b)
	ramp(x.Floats())
	for range 3 {
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		expect(t, y.Floats(), func(i int) float32 { v := float32(i) + 1.5; return (v+1.5)*v + 3 })
	}
}

func TestOffsetOfABufferThatWasNotBound(t *testing.T) {
	const n, first = 100, 7
	b := device(t).NewPlan()
	x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n-first)
	b.Dispatch(b.Kernel(arithmetic, "add"), groups(n-first), threads, y, x.At(first), gpu.Values(n-first))
	p := build(t, b)
	ramp(x.Floats())
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	expect(t, y.Floats(), func(i int) float32 { return float32(i+first) + 1.5 })
}

func TestRepeatedBindingsAreNotSentAgain(t *testing.T) {
	d := driver(t)
	p := pipeline(t, d, "add")
	x, y := allocate(t, d, gpu.Shared), allocate(t, d, gpu.Shared)
	value := gpu.Binding{Value: []byte{1, 0, 0, 0}}
	at := func(m gpu.Memory, offset int) gpu.Binding {
		return gpu.Binding{Region: gpu.Region{Memory: m, Offset: offset}}
	}
	dispatch := func(arguments ...gpu.Binding) gpu.Command {
		return gpu.Command{Kind: gpu.Dispatch, Pipeline: p, Groups: one, Threads: one, Arguments: arguments}
	}
	blit := gpu.Command{Kind: gpu.Copy, Target: gpu.Region{Memory: x}, Source: gpu.Region{Memory: y}, Bytes: 64}
	for _, test := range []struct {
		name             string
		commands         []gpu.Command
		messages, passes int
	}{
		{"one", []gpu.Command{dispatch(at(y, 0), at(x, 0), value)}, 5, 1},
		{"the same again", []gpu.Command{dispatch(at(y, 0), at(x, 0), value), dispatch(at(y, 0), at(x, 0), value)}, 6, 1},
		{"another offset", []gpu.Command{dispatch(at(y, 0), at(x, 0), value), dispatch(at(y, 4), at(x, 0), value)}, 7, 1},
		{"another value", []gpu.Command{dispatch(at(y, 0), at(x, 0), value), dispatch(at(y, 0), at(x, 0), gpu.Binding{Value: []byte{2, 0, 0, 0}})}, 7, 1},
		{"swapped", []gpu.Command{dispatch(at(y, 0), at(x, 0), value), dispatch(at(x, 0), at(y, 0), value)}, 8, 1},
		{"a new encoder knows nothing", []gpu.Command{dispatch(at(y, 0), at(x, 0), value), blit, dispatch(at(y, 0), at(x, 0), value)}, 11, 3},
	} {
		r, err := d.Record(test.commands)
		if err != nil {
			t.Fatal(err)
		}
		if messages, passes := r.(inspected).Messages(), r.(inspected).Passes(); messages != test.messages || passes != test.passes {
			t.Errorf("%s: %d messages in %d passes, want %d in %d", test.name, messages, passes, test.messages, test.passes)
		}
		if err := r.Submit(false); err != nil {
			t.Error(err)
		}
		if _, err := r.Wait(); err != nil {
			t.Error(err)
		}
		r.Close()
	}
}

// pipeline compiles a kernel of the arithmetic text.
func pipeline(t *testing.T, d gpu.Driver, name string) gpu.Pipeline {
	t.Helper()
	functions, err := msl.Parse(arithmetic.Text)
	if err != nil {
		t.Fatal(err)
	}
	library, err := d.Compile(arithmetic, functions)
	if err != nil {
		t.Fatal(err)
	}
	for i := range functions {
		if functions[i].Name == name {
			p, err := library.Pipeline(&functions[i])
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("no kernel %s", name)
	return nil
}

func allocate(t *testing.T, d gpu.Driver, s gpu.Storage) gpu.Memory {
	t.Helper()
	m, err := d.Allocate(4096, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Free)
	return m
}

// reversal turns threadgroups around, in memory that the launch gives or in an array.
const reversal = `#include <metal_stdlib>
using namespace metal;
typedef float4 element;
kernel void given(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],
                  threadgroup element* a [[threadgroup(0)]],
                  uint i [[thread_position_in_grid]], uint local [[thread_position_in_threadgroup]], uint width [[threads_per_threadgroup]]) {
    a[local] = element(x[i]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = a[width - 1 - local].w;
}

kernel void declared(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],
                     uint i [[thread_position_in_grid]], uint local [[thread_position_in_threadgroup]], uint width [[threads_per_threadgroup]]) {
    threadgroup float4 a[2048];
    a[local] = float4(x[i]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = a[width - 1 - local].w;
}
`

// A kernel gets the threadgroup memory that its launch gives, all that there is, and leaves all of it to the arrays of the next one.
func TestThreadgroupMemory(t *testing.T) {
	d := device(t)
	src := gpu.Source{Name: "reversal.metal", Text: reversal}
	for _, bytes := range []int{16 * width, 32 << 10} {
		b := d.NewPlan()
		x, y, z := b.Input(gpu.Float, 2*width), b.Scratch(gpu.Float, 2*width), b.Output(gpu.Float, 2*width)
		given := b.Kernel(src, "given")
		b.Dispatch(given, gpu.Size{X: 2, Y: 1, Z: 1}, threads, y, x, gpu.Threadgroup(bytes))
		b.Dispatch(b.Kernel(src, "declared"), gpu.Size{X: 2, Y: 1, Z: 1}, threads, z, y)
		b.Dispatch(given, gpu.Size{X: 2, Y: 1, Z: 1}, threads, y, z, gpu.Threadgroup(16*width))
		b.Dispatch(given, gpu.Size{X: 2, Y: 1, Z: 1}, threads, z, y, gpu.Threadgroup(bytes))
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		ramp(x.Floats())
		for range 2 {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			expect(t, z.Floats(), func(i int) float32 { return float32(i) })
		}
		p.Close()
	}
}

// The longest value of the dialect has 4096 bytes, which is also the longest that setBytes takes.
func TestLongestValue(t *testing.T) {
	const n = 1024
	var values []any
	for i := range n {
		values = append(values, float32(2*i))
	}
	b := device(t).NewPlan()
	y := b.Output(gpu.Float, n)
	b.Dispatch(b.Kernel(arithmetic, "table"), groups(n), threads, y, gpu.Values(values...), gpu.Values(n))
	p := build(t, b)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	expect(t, y.Floats(), func(i int) float32 { return float32(2 * i) })
}

func TestCopyAndConstant(t *testing.T) {
	const n = 300
	b := device(t).NewPlan()
	x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
	s, u := b.Scratch(gpu.Float, n), b.Scratch(gpu.Float, n)
	table := make([]float32, n)
	ramp(table)
	b.Copy(s, x)
	b.Copy(u, s)
	b.Dispatch(b.Kernel(arithmetic, "multiply"), groups(n), threads, y, u, b.Constant(gpu.Float, table), gpu.Values(n))
	p := build(t, b)
	ramp(x.Floats())
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	expect(t, y.Floats(), func(i int) float32 { return float32(i) * float32(i) })
}

func TestFillOfPrivateMemory(t *testing.T) {
	d := driver(t)
	private, shared := allocate(t, d, gpu.Private), allocate(t, d, gpu.Shared)
	if private.Host() != nil {
		t.Error("private memory has a host side")
	}
	if err := private.Fill(0x3c); err != nil {
		t.Fatal(err)
	}
	r, err := d.Record([]gpu.Command{{Kind: gpu.Copy, Target: gpu.Region{Memory: shared, Offset: 64}, Source: gpu.Region{Memory: private, Offset: 128}, Bytes: 256}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Submit(false); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, b := range shared.Host()[:512] {
		want := byte(0)
		if i >= 64 && i < 320 {
			want = 0x3c
		}
		if b != want {
			t.Fatalf("byte %d is %#x, want %#x", i, b, want)
		}
	}
}

// Recordings in flight at once run in the order of their submissions.
func TestManyInFlight(t *testing.T) {
	const n, deep = 100, 8
	d := device(t)
	var plans []*gpu.Plan
	var in, out []*gpu.Buffer
	for range deep {
		b := d.NewPlan()
		x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
		b.Dispatch(b.Kernel(arithmetic, "add"), groups(n), threads, y, x, gpu.Values(n))
		plans, in, out = append(plans, build(t, b)), append(in, x), append(out, y)
	}
	for round := range 3 {
		for i, p := range plans {
			for j := range in[i].Floats() {
				in[i].Floats()[j] = float32(1000*i + 10*round + j)
			}
			if err := p.Submit(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range plans {
			k := deep - 1 - i // the last one first
			if err := plans[k].Wait(); err != nil {
				t.Fatal(err)
			}
			expect(t, out[k].Floats(), func(j int) float32 { return float32(1000*k+10*round+j) + 1.5 })
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	d := device(t)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			const n = 500
			for round := range 5 {
				b := d.NewPlan()
				x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
				b.Dispatch(b.Kernel(arithmetic, "add"), groups(n), threads, y, x, gpu.Values(n))
				p, err := b.Build()
				if err != nil {
					t.Error(err)
					return
				}
				for i := range x.Floats() {
					x.Floats()[i] = float32(100*g + round)
				}
				if err := p.Run(); err != nil {
					t.Error(err)
				}
				for _, v := range y.Floats() {
					if v != float32(100*g+round)+1.5 {
						t.Errorf("goroutine %d, round %d: %g", g, round, v)
						break
					}
				}
				p.Close()
			}
		})
	}
	wg.Wait()
}

func TestTimes(t *testing.T) {
	const n = 1000
	d := device(t)
	b := d.NewPlan()
	x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
	b.Dispatch(b.Kernel(arithmetic, "add"), groups(n), threads, y, x, gpu.Values(n))
	p := build(t, b)
	times, err := p.Time(false)
	if err != nil {
		t.Fatal(err)
	}
	if times.Span <= 0 || times.Busy != times.Span || times.Kernel != 1 || times.Gaps != 0 || times.Encode <= 0 || times.Wall < times.Encode {
		t.Errorf("one kernel: %+v", times)
	}
	b = d.NewPlan()
	x, y = b.Input(gpu.Float, n), b.Output(gpu.Float, n)
	s := b.Scratch(gpu.Float, n)
	b.Dispatch(b.Kernel(arithmetic, "add"), groups(n), threads, s, x, gpu.Values(n))
	b.Dispatch(b.Kernel(arithmetic, "add"), groups(n), threads, y, s, gpu.Values(n))
	if times, err = build(t, b).Time(false); err != nil {
		t.Fatal(err)
	}
	if times.Span <= 0 || times.Busy != 0 || times.Kernel != 0 || times.Gaps != 0 {
		t.Errorf("two kernels, of which Metal does not tell the single times: %+v", times)
	}
}

func TestCompileErrors(t *testing.T) {
	d := device(t)
	mistake := strings.Replace(arithmeticText, "x[i] + TERM", "x[i] + missing", 1)
	line := 1 + strings.Count(mistake[:strings.Index(mistake, "missing")], "\n")
	for _, macros := range []int{0, 1, 7} {
		src := gpu.Source{Name: "mistake.metal", Text: mistake}
		for i := range macros {
			src = src.Define("MACRO"+string(rune('A'+i)), i)
		}
		_, err := d.Kernel(src, "add")
		var e *gpu.CompileError
		if !errors.As(err, &e) {
			t.Fatalf("%v is no compiler's error", err)
		}
		if e.Source != "mistake.metal" || e.Kernel != "add" || e.Line != line || !strings.Contains(e.Message, "missing") || !strings.Contains(e.Log, e.Message) {
			t.Errorf("%d macros: %q in kernel %q at line %d, want kernel add at line %d; log %q", macros, e.Message, e.Kernel, e.Line, line, e.Log)
		}
	}
}

func TestTextThatIsNotUTF8(t *testing.T) {
	_, err := device(t).Kernel(gpu.Source{Name: "latin.metal", Text: arithmeticText + "// \xe4\n"}.Define("TERM", 1), "add")
	if err == nil || !strings.Contains(err.Error(), "latin.metal is not UTF-8") {
		t.Errorf("%v", err)
	}
}

func TestAllocationBeyondTheLimits(t *testing.T) {
	d := driver(t)
	for _, storage := range []gpu.Storage{gpu.Shared, gpu.Private} {
		if _, err := d.Allocate(int(d.Facts().MaxBufferBytes)+1, storage); !errors.Is(err, gpu.ErrOutOfMemory) {
			t.Errorf("storage %d, a buffer that is too large: %v", storage, err)
		}
	}
}

func TestForeignMemoryAndPipelines(t *testing.T) {
	d := driver(t)
	p, m := pipeline(t, d, "add"), allocate(t, d, gpu.Shared)
	region, foreign := gpu.Region{Memory: m}, gpu.Region{Memory: foreignMemory{}}
	for name, c := range map[string]gpu.Command{
		"pipeline": {Kind: gpu.Dispatch, Pipeline: foreignPipeline{}},
		"argument": {Kind: gpu.Dispatch, Pipeline: p, Groups: one, Threads: one, Arguments: []gpu.Binding{{Region: foreign}}},
		"source":   {Kind: gpu.Copy, Source: foreign, Target: region, Bytes: 4},
		"target":   {Kind: gpu.Copy, Source: region, Target: foreign, Bytes: 4},
		"kind":     {Kind: 99},
	} {
		if _, err := d.Record([]gpu.Command{c}); err == nil {
			t.Errorf("%s: recorded", name)
		}
	}
}

type foreignMemory struct{ gpu.Memory }
type foreignPipeline struct{ gpu.Pipeline }

func TestRecordingOutOfTurn(t *testing.T) {
	d := driver(t)
	x, y := allocate(t, d, gpu.Shared), allocate(t, d, gpu.Shared)
	r, err := d.Record([]gpu.Command{{Kind: gpu.Copy, Source: gpu.Region{Memory: x}, Target: gpu.Region{Memory: y}, Bytes: 4}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Wait(); err == nil {
		t.Error("a wait without a submission")
	}
	if err := r.Submit(false); err != nil {
		t.Fatal(err)
	}
	if err := r.Submit(false); err == nil {
		t.Error("a second submission in flight")
	}
	if _, err := r.Wait(); err != nil {
		t.Error(err)
	}
}

// nan reports whether every value is a NaN.
func nan(x []float32) bool {
	for _, v := range x {
		if !math.IsNaN(float64(v)) {
			return false
		}
	}
	return true
}
