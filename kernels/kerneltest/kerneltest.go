// Package kerneltest tests operations by their declarations. Only tests import it. The usual test of an operation is one
// line:
//
//	func TestOp(t *testing.T) { kerneltest.Run(t, &Op) }
//
// [Run] compares every implementation that this machine has, and the operation's kernel text on an emulated GPU, with the
// operation's own reference. It does so at shapes around vectors, simdgroups and threadgroups, with the data in each
// placement, and with NaNs and infinities. It also tests that a warm call allocates nothing, writes nothing but its outputs,
// and keeps no slice of an earlier call. Lengths that change from call to call must cost no memory and change no result.
// [Barriers] tests that each barrier of the kernel text is needed. Short tests try fewer sizes, no lengths that change and
// no barriers, and with the race detector fewer values.
//
// The reference itself is not tested here. Each operation compares its reference with the output of another library, which
// [ReadArray] and [ReadArchived] read from testdata. [Signal] is the input of many of these. No test asserts a time.
package kerneltest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbinet/npyio"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/pool"
)

// generated returns the input without a recording. It is made once, because its sines take longer than most tests.
var generated = sync.OnceValue(kernels.GeneratedInput)

// realGPU is this machine's GPU, if the environment variable CROSSOVER_TEST_GPU is set. Tests then run on it in place of the emulated
// one. A machine without a GPU that computes fails.
var realGPU = sync.OnceValue(func() *gpu.Backend {
	if os.Getenv("CROSSOVER_TEST_GPU") == "" {
		return nil
	}
	err := errors.New("there is none for this system")
	for _, b := range kernels.Here().GPUs {
		if err = b.Probe(); err == nil {
			return b
		}
	}
	panic(fmt.Sprintf("CROSSOVER_TEST_GPU asks for a GPU: %v", err))
})

// GPUName is the name of the implementations on the GPU of the tests: "emulator", or for example "cuda" with CROSSOVER_TEST_GPU.
var GPUName = func() string {
	if b := realGPU(); b != nil {
		return b.API
	}
	return "emulator"
}()

// Emulated reports whether an implementation runs on an emulated GPU, which takes milliseconds for what a GPU computes in microseconds.
func Emulated(implementation string) bool { return strings.HasPrefix(implementation, "emulator") }

// Backends returns the backends of this machine with one emulated GPU in place of the real ones. If there is no C++
// compiler, they have no GPU. With the environment variable CROSSOVER_TEST_GPU, they have this machine's GPU, which knows no options.
func Backends(t testing.TB, options ...emulator.Option) *kernels.Backends {
	t.Helper()
	b := &kernels.Backends{Pool: pool.Shared(), Accelerate: kernels.Here().Accelerate}
	if real := realGPU(); real != nil {
		b.GPUs = []*gpu.Backend{real}
		return b
	}
	emulated := gpu.NewBackend(GPUName, func() (gpu.Driver, error) { return emulator.New(options...) })
	if emulated.Probe() == nil {
		b.GPUs = []*gpu.Backend{emulated}
	}
	return b
}

// EmulatedAlone skips a test that asks something of the GPU that only an emulated one answers.
func EmulatedAlone(t testing.TB) {
	t.Helper()
	if realGPU() != nil {
		t.Skip("asks an emulated GPU, and CROSSOVER_TEST_GPU asks for a real one")
	}
}

// awkward are sizes around the vectors, simdgroups and threadgroups into which implementations divide work.
var awkward = []int{1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 97, 127, 128, 129, 255, 256, 257, 509, 512, 513, 1000, 1021, 1024, 1025,
	2047, 2048, 2050, 4096, 4099}

// Options are those of [Run].
type Options struct {
	Lines    []kernels.Line // besides the declared ones, such as rows of an odd length
	Sizes    []int          // along each line, in place of the usual ones; the axis rounds them
	Most     int            // most words in the inputs and outputs of a shape; 0 stands for 1 Mi
	Emulated int            // the same on the emulated GPU; 0 stands for 64 Ki
	Infinite bool           // an infinity may stand for a NaN, as in recurrences or sums by FFTW
	Numbers  []string       // implementations that may compute a number in place of a NaN
}

// Run tests an operation, in subtests: its declaration, each of its lines, strange values and memory. An implementation
// whose library is missing is left out.
func Run[P any](t *testing.T, op *kernels.Op[P], options ...Options) {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if o.Most == 0 {
		o.Most = 1 << 20
	}
	if o.Emulated == 0 {
		o.Emulated = 64 << 10
	}
	if o.Sizes == nil {
		o.Sizes = awkward
	}
	if !t.Run("declaration", func(t *testing.T) { checkDeclaration(t, op) }) {
		return
	}
	separate, unified := Backends(t), Backends(t, emulator.Unified(true))
	for _, line := range slices.Concat(op.Lines, o.Lines) {
		name := strings.ReplaceAll(line.Name, "/", "_")
		if name == "" {
			name = line.Axis.Name
		}
		t.Run(name, func(t *testing.T) {
			wants := map[int][]float64{} // the reference at each size, which is the same in each placement
			for _, at := range []struct {
				b         *kernels.Backends
				placement kernels.Placement
			}{{separate, kernels.Caller}, {separate, kernels.Shared}, {separate, kernels.Resident}, {unified, kernels.Caller}, {unified, kernels.Shared}} {
				c := op.CaseOf(at.b, line).Placed(at.placement)
				for i, size := range sizes(op, line, o) {
					if testing.Short() && i%4 != 0 {
						continue // the race detector is slow, and it does not look for wrong tails
					}
					checkShape(t, op, &c, line, size, o, at.b == separate && at.placement == kernels.Caller, wants)
				}
			}
		})
	}
	t.Run("values", func(t *testing.T) { checkValues(t, op, separate, o) })
	t.Run("memory", func(t *testing.T) { checkMemory(t, op, separate, o) })
	t.Run("lengths", func(t *testing.T) { checkLengths(t, op, o) })
}

// sizes returns the sizes of a line that Run tries.
func sizes[P any](op *kernels.Op[P], line kernels.Line, o Options) []int {
	var all []int
	for _, n := range append(slices.Clone(o.Sizes), line.Axis.Min) {
		n = min(n, line.Axis.Max)
		if line.Axis.Round != nil {
			n = line.Axis.Round(n)
		}
		if n >= 1 && words(op, line, n) <= o.Most && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

func words[P any](op *kernels.Op[P], line kernels.Line, size int) (n int) {
	s := line.At(size)
	for _, t := range op.IO(op.Params(s), s) {
		n += t.Len()
	}
	return n
}

func checkDeclaration[P any](t *testing.T, op *kernels.Op[P]) {
	if op.Name == "" || op.Formula == "" || op.Source == "" || len(op.Axes) == 0 || len(op.Lines) == 0 {
		t.Errorf("name %q, formula %q, source %q, %d axes and %d lines; want all of them", op.Name, op.Formula, op.Source, len(op.Axes), len(op.Lines))
	}
	all := op.CaseOf(Backends(t), op.Lines[0]).Implementations
	for _, i := range all {
		if (i.ErrorBound > 0) != (all[0].ErrorBound > 0) {
			t.Errorf("%s has the error bound %g, and %s has %g; want a bound of all or of none", i.Name, i.ErrorBound, all[0].Name, all[0].ErrorBound)
		}
	}
	for _, line := range op.Lines {
		s := line.At(line.Axis.Nearest(line.Axis.Min))
		tensors := op.IO(op.Params(s), s)
		for _, of := range tensors {
			if of.InPlaceOf != "" && !slices.ContainsFunc(tensors, func(t kernels.Tensor) bool { return t.Name == of.InPlaceOf && t.Role == kernels.In }) {
				t.Errorf("%s may lie in place of %s, which is no input", of.Name, of.InPlaceOf)
			}
		}
		w := op.Work(s, "")
		if !(w.Bytes > 0) || !(w.Flops > 0) {
			t.Errorf("%s: a call moves %v bytes in %v operations; want more than none", line.Name, w.Bytes, w.Flops)
		}
		for i, tensor := range op.IO(op.Params(s), s) {
			if tensor.Name == "" || tensor.Type == "" || tensor.Len() < 1 {
				t.Errorf("%s: tensor %d is %+v", line.Name, i, tensor)
			}
		}
	}
}

// checkShape calls every implementation at one shape. Two calls must be right, and the second must allocate nothing. wants keeps
// the references of the line.
func checkShape[P any](t *testing.T, op *kernels.Op[P], c *kernels.Case, line kernels.Line, size int, o Options, all bool, wants map[int][]float64) {
	t.Helper()
	emulated := words(op, line, size) <= o.Emulated && !UnderRace() // which does not see what an emulated GPU does to memory
	if !emulated && !all {
		return // no implementation is called
	}
	problem := c.Problem(size, generated())
	defer kernels.Release(problem)
	want := wants[size]
	if want == nil {
		want = problem.Reference()
		if emulated {
			wants[size] = want // another placement asks for it
		}
	}
	for _, i := range c.Implementations {
		onGPU := i.Processor == kernels.GPU
		if i.Missing() != nil || onGPU && !emulated || !onGPU && !all {
			continue
		}
		at := fmt.Sprintf("%s, %s, %s=%d", c.Name, i.Name, c.Axis.Name, size)
		call, err := problem.Bind(i.Name)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		for warm := range 2 {
			var err error
			run := func() { err = call.Run() }
			if warm == 0 || UnderRace() || onGPU && emulator.Racing() {
				run()
			} else if n := allocations(run); n != 0 {
				t.Errorf("%s: %v allocations in a warm call", at, n)
			}
			if err != nil {
				t.Errorf("%s: %v", at, err)
			} else if off, allowed := call.ErrorAgainst(want), c.Allowed(i.Name, size); !(off <= allowed) {
				t.Errorf("%s: error %.2g, allowed %.2g", at, off, allowed)
			}
		}
		call.Release()
	}
}

// allocations returns the number of allocations in a call. It stops the garbage collector, which would empty the pools of
// argument lists. It takes the least of five counts, because allocations of other goroutines count too. It waits before it
// counts again, until they are done.
func allocations(call func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	n := math.Inf(1)
	for range 5 {
		counted := false // AllocsPerRun calls once before it counts
		n = min(n, testing.AllocsPerRun(1, func() {
			if counted {
				call()
			}
			counted = true
		}))
		if n == 0 {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return n
}

// middle returns a line, and a size on it that is neither trivial nor slow to compute.
func middle[P any](op *kernels.Op[P], o Options) (kernels.Line, int) {
	line := op.Lines[0]
	size := line.Axis.Min
	for _, n := range sizes(op, line, o) {
		if words(op, line, n) <= 16<<10 {
			size = max(size, n)
		}
	}
	return line, size
}

// call is a plan's call on memory with guards around each tensor.
type call[P any] struct {
	plan    *kernels.Plan[P]
	shape   kernels.Shape
	tensors []kernels.Tensor
	args    kernels.Args
	guarded [kernels.MostTensors][]float32
}

const (
	guard  = 64 // words before and behind
	canary = 0x1.234p-9
)

func newCall[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, implementation string, line kernels.Line, size int) *call[P] {
	t.Helper()
	s := line.At(size)
	params := op.Params(s)
	plan, err := kernels.NewPlanOf(b, op, params, implementation)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plan.Close)
	c := &call[P]{plan: plan, shape: s, tensors: op.IO(params, s)}
	for i, tensor := range c.tensors {
		c.guarded[i] = make([]float32, tensor.Len()+2*guard)
		for k := range c.guarded[i] {
			c.guarded[i][k] = canary
		}
		c.args[i] = c.guarded[i][guard : guard+tensor.Len() : guard+tensor.Len()]
	}
	op.FillInputs(params, s, generated(), &c.args)
	return c
}

func (c *call[P]) checkGuards(t *testing.T, implementation string) {
	t.Helper()
	for i, g := range c.guarded[:len(c.tensors)] {
		for k, v := range g {
			if (k < guard || k >= len(g)-guard) && v != canary {
				t.Errorf("%s wrote outside of %s, at %d of %d", implementation, c.tensors[i].Name, k-guard, len(c.args[i]))
				return
			}
		}
	}
}

// allowed returns the greatest error of an implementation that counts as right at a shape.
func allowed[P any](op *kernels.Op[P], b *kernels.Backends, implementation string, s kernels.Shape) float64 {
	c := op.CaseOf(b, kernels.Line{At: func(int) kernels.Shape { return s }})
	return c.Allowed(implementation, 0)
}

// available calls f with every implementation that can run here.
func available[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, line kernels.Line, f func(t *testing.T, name string)) {
	c := op.CaseOf(b, line)
	for _, i := range c.Implementations {
		if i.Missing() == nil {
			t.Run(i.Name, func(t *testing.T) { f(t, i.Name) })
		}
	}
}

// checkMemory tests that a call writes nothing but its outputs, keeps no slices of an earlier call, and works in place where
// the declaration says so.
func checkMemory[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, o Options) {
	line, size := middle(op, o)
	available(t, op, b, line, func(t *testing.T, name string) {
		c := newCall(t, op, b, name, line, size)
		before := cloneInputs(c)
		run(t, c)
		c.checkGuards(t, name)
		for i, tensor := range c.tensors {
			if tensor.Role == kernels.In && !sameBits(before[i], c.args[i]) {
				t.Errorf("a call changed its input %s", tensor.Name)
			}
		}
		first := c.args
		kept := cloneOutputs(c)
		for i := range c.tensors {
			c.args[i] = slices.Clone(first[i])
		}
		run(t, c)
		for i, tensor := range c.tensors {
			if tensor.Role == kernels.Out {
				clear(first[i])
			}
		}
		run(t, c)
		for i, tensor := range c.tensors {
			if tensor.Role == kernels.Out && slices.ContainsFunc(first[i], func(v float32) bool { return v != 0 }) {
				t.Errorf("a call wrote to the output %s of an earlier one", tensor.Name)
			}
			if tensor.Role == kernels.Out && !sameBits(kept[i], c.args[i]) {
				t.Errorf("the output %s is another one in other memory", tensor.Name)
			}
		}
		for out, tensor := range c.tensors {
			if tensor.InPlaceOf != "" {
				c.args[out] = c.args[slices.IndexFunc(c.tensors, func(t kernels.Tensor) bool { return t.Name == tensor.InPlaceOf })]
			}
		}
		run(t, c)
		for out, tensor := range c.tensors {
			if tensor.InPlaceOf != "" && !sameBits(kept[out], c.args[out]) {
				t.Errorf("the output %s is another one in place of %s", tensor.Name, tensor.InPlaceOf)
			}
		}
	})
}

func run[P any](t *testing.T, c *call[P]) {
	t.Helper()
	if err := c.plan.Run(c.shape, c.args); err != nil {
		t.Fatal(err)
	}
}

func cloneInputs[P any](c *call[P]) (a kernels.Args) {
	for i, tensor := range c.tensors {
		if tensor.Role == kernels.In {
			a[i] = slices.Clone(c.args[i])
		}
	}
	return a
}

func cloneOutputs[P any](c *call[P]) (a kernels.Args) {
	for i, tensor := range c.tensors {
		if tensor.Role == kernels.Out {
			a[i] = slices.Clone(c.args[i])
		}
	}
	return a
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// values are inputs that no recording has.
var values = []struct {
	name string
	make func(x []float32, rng *rand.Rand)
}{
	{"zeros", func(x []float32, _ *rand.Rand) { clear(x) }},
	{"ones", func(x []float32, _ *rand.Rand) { set(x, 1) }},
	{"denormals", func(x []float32, _ *rand.Rand) { set(x, 1e-40) }},
	{"tiny", func(x []float32, _ *rand.Rand) { scale(x, 1e-18) }},
	{"huge", func(x []float32, _ *rand.Rand) { scale(x, 1e15) }},
	{"a NaN", func(x []float32, rng *rand.Rand) { x[rng.IntN(len(x))] = float32(math.NaN()) }},
	{"an infinity", func(x []float32, rng *rand.Rand) { x[rng.IntN(len(x))] = float32(math.Inf(1)) }},
	{"only infinities", func(x []float32, _ *rand.Rand) { set(x, float32(math.Inf(-1))) }},
}

func set(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

func scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

// checkValues tests that no call fails because of the values of its floating-point inputs, that each NaN of the reference is
// a NaN in every output, and that finite results are right.
func checkValues[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, o Options) {
	values := values
	if UnderRace() {
		values = values[len(values)-2:] // the race detector does not look at results; a NaN or an infinity may take another way
	}
	line, size := middle(op, o)
	available(t, op, b, line, func(t *testing.T, name string) {
		rng := rand.New(rand.NewPCG(1, 2))
		c := newCall(t, op, b, name, line, size)
		plain := cloneInputs(c)
		for _, v := range values {
			for i, tensor := range c.tensors {
				if tensor.Role == kernels.In {
					copy(c.args[i], plain[i])
					if tensor.Type == kernels.Float32 || tensor.Type == kernels.Complex64 {
						v.make(c.args[i], rng)
					}
				}
			}
			run(t, c)
			want := op.Reference(op.Params(c.shape), c.shape, &c.args)
			if !slices.Contains(o.Numbers, name) {
				checkNoNumbers(t, v.name, c, want, o)
			}
			if finite(want) && v.name != "denormals" && v.name != "tiny" {
				if off, most := op.Error(c.tensors, &c.args, want), allowed(op, b, name, c.shape); !(off <= most) && fits(want) {
					t.Errorf("%s: error %.2g, allowed %.2g", v.name, off, most)
				}
			}
		}
	})
}

// fits reports whether values are far from the ends of float32. Near the ends an intermediate result may overflow.
func fits(want []float64) bool {
	for _, v := range want {
		if math.Abs(v) > 1e30 {
			return false
		}
	}
	return true
}

func finite(want []float64) bool {
	for _, v := range want {
		if !isNumber(v) {
			return false
		}
	}
	return true
}

// checkNoNumbers tests that the output has every NaN of the reference. For a complex number it suffices that one part is not
// finite. Algorithms differ here: to turn by a quarter, some swap the parts, and others multiply by zero, which makes both
// parts NaN.
func checkNoNumbers[P any](t *testing.T, what string, c *call[P], want []float64, o Options) {
	t.Helper()
	for i, tensor := range c.tensors {
		if tensor.Role == kernels.In {
			continue
		}
		for k, v := range want[:tensor.Numbers()] {
			if !math.IsNaN(v) || tensor.Type == kernels.Uint32 || tensor.Type == kernels.Int32 {
				continue
			}
			got := 0.0
			if tensor.Type == kernels.Float64 {
				got = kernels.Float64s(c.args[i])[k]
			} else {
				got = float64(c.args[i][k])
			}
			if tensor.Type == kernels.Complex64 && !isNumber(float64(c.args[i][k^1])) {
				continue
			}
			if !math.IsNaN(got) && !(o.Infinite && math.IsInf(got, 0)) {
				t.Errorf("%s: %s[%d] is %v, want NaN", what, tensor.Name, k, got)
				return
			}
		}
		want = want[tensor.Numbers():]
	}
}

func isNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Plans returns a plan of every implementation that can run here or on the emulated GPU, by name. The plans are closed when
// the test ends.
func Plans[P any](t testing.TB, op *kernels.Op[P], params P) map[string]*kernels.Plan[P] {
	t.Helper()
	b := Backends(t)
	all := map[string]*kernels.Plan[P]{}
	for _, i := range op.CaseOf(b, op.Lines[0]).Implementations {
		if i.Missing() != nil {
			continue
		}
		p, err := kernels.NewPlanOf(b, op, params, i.Name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		all[i.Name] = p
	}
	return all
}

// Against compares the reference and every implementation with outputs that another program computed in float64. want has
// the outputs one after the other, as [kernels.Op].Reference returns them. inputs are those of a call, in the order of its
// tensors. allowed is the greatest error of an implementation.
func Against[P any](t *testing.T, op *kernels.Op[P], p P, s kernels.Shape, inputs [][]float32, want []float64, allowed float64) {
	t.Helper()
	var args kernels.Args
	tensors := op.IO(p, s)
	for i, tensor := range tensors {
		if tensor.Role == kernels.Out {
			args[i] = make([]float32, tensor.Len())
			continue
		}
		if len(inputs) == 0 || len(inputs[0]) != tensor.Len() {
			t.Fatalf("%s has %d values, which is not the length of its input", tensor.Name, tensor.Len())
		}
		args[i], inputs = inputs[0], inputs[1:]
	}
	reference := op.Reference(p, s, &args)
	if len(reference) != len(want) {
		t.Fatalf("the reference has %d values, want %d", len(reference), len(want))
	}
	for i, got := range reference {
		if !(math.Abs(got-want[i]) <= 1e-12*max(1, math.Abs(want[i]))) {
			t.Fatalf("the reference's value %d is %.17g, want %.17g", i, got, want[i])
		}
	}
	for name, plan := range Plans(t, op, p) {
		if err := plan.Run(s, args); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if off := op.Error(tensors, &args, want); !(off <= allowed) {
			t.Errorf("%s: error %.2g, allowed %.2g", name, off, allowed)
		}
	}
}

// Benchmark times the implementations of this machine at sizes along a line, with names that benchstat reads.
func Benchmark[P any](b *testing.B, op *kernels.Op[P], line kernels.Line, sizes ...int) {
	c := op.CaseOf(kernels.Here(), line)
	for _, size := range sizes {
		problem := c.Problem(size, generated())
		for _, i := range c.Implementations {
			if i.Missing() != nil {
				continue
			}
			b.Run(fmt.Sprintf("impl=%s/%s=%d", strings.ReplaceAll(i.Name, "/", "-"), line.Axis.Name, size), func(b *testing.B) {
				call, err := problem.Bind(i.Name)
				if err != nil {
					b.Skip(err)
				}
				defer call.Release()
				b.SetBytes(int64(c.Bytes(size)))
				for b.Loop() {
					if err := call.Run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// UnderRace reports whether this binary was built with the race detector. With the race detector, sync.Pool drops items at
// random. Calls into libraries then allocate, because they take their argument lists from a pool.
func UnderRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// ReadArray reads an array from a NumPy file (.npy). If it cannot, it fails the test.
func ReadArray[T float32 | float64 | complex64 | complex128 | int32 | int64](t testing.TB, path string) []T {
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
