//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ebitengine/purego"

	"crossover/gpu"
)

// fake is a stand-in for the four libraries, loaded for one test: see testdata/fake.c.
type fake struct {
	fail                func(name string, n int, status int32)
	calls               func(name string) int
	live                func(kind int32) int
	blocks              func(host int32) int
	setDevices          func(n int32)
	retained            func() int32 // how often the context is held
	path, folder, cache string
}

// Kinds of objects, as the stand-in numbers them.
const (
	liveStream = iota + 1
	liveEvent
	liveGraph
	liveExecutable
	liveModule
	liveFunction
	liveProgram
	liveTransform
	liveHandle
)

var (
	compiledFake = sync.OnceValues(compileFake)
	fakeFolder   string
	fakeCount    atomic.Int32
)

func TestMain(m *testing.M) {
	status := m.Run()
	if fakeFolder != "" {
		os.RemoveAll(fakeFolder)
	}
	os.Exit(status)
}

// fakeEnvironment names the variable that hands a compiled stand-in to a process of a test.
const fakeEnvironment = "CUDA_TEST_FAKE"

func compileFake() (string, error) {
	if path := os.Getenv(fakeEnvironment); path != "" {
		return path, nil
	}
	folder, err := os.MkdirTemp("", "fake-cuda-")
	if err != nil {
		return "", err
	}
	fakeFolder = folder
	path := filepath.Join(folder, "fake.so")
	command := exec.Command("cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wl,-Bsymbolic", "-o", path,
		filepath.Join("testdata", "fake.c"), "-lm", "-lpthread")
	if message, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, message)
	}
	return path, nil
}

// loadFake makes the package find a stand-in of this test's own, and a cache in an empty folder.
func loadFake(t *testing.T) *fake {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler for the stand-in of CUDA's libraries")
	}
	compiled, err := compiledFake()
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(compiled)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{folder: t.TempDir(), cache: t.TempDir()}
	// A library is loaded once for each path. A path of its own gives the stand-in a state of its own.
	f.path = filepath.Join(f.folder, fmt.Sprintf("fake%d.so", fakeCount.Add(1)))
	if err := os.WriteFile(f.path, image, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LIBCUDA", "LIBNVRTC", "LIBCUFFT", "LIBCUBLAS"} {
		t.Setenv("CROSSOVER_"+name, f.path)
	}
	t.Setenv(cacheEnvironment, f.cache)
	handle, err := purego.Dlopen(f.path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	purego.RegisterLibFunc(&f.fail, handle, "fake_fail")
	purego.RegisterLibFunc(&f.calls, handle, "fake_calls")
	purego.RegisterLibFunc(&f.live, handle, "fake_live")
	purego.RegisterLibFunc(&f.blocks, handle, "fake_blocks")
	purego.RegisterLibFunc(&f.setDevices, handle, "fake_devices")
	purego.RegisterLibFunc(&f.retained, handle, "fake_retained")
	return f
}

// openFake returns a device on a stand-in.
func openFake(t *testing.T) (*gpu.Device, *driver, *fake) {
	t.Helper()
	f := loadFake(t)
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	device, err := gpu.NewDevice(d)
	if err != nil {
		t.Fatal(err)
	}
	return device, d.(*driver), f
}

// text holds the kernels that the stand-in knows.
const text = `#include <metal_stdlib>
using namespace metal;

struct By {
    uint n; float by[2];
};

kernel void scale(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n4 [[buffer(2)]],
                  constant float& a [[buffer(3)]], constant float& b [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    if (i < n4) y[i] = x[i] * a + b;
}

[[max_total_threads_per_threadgroup(64)]]
kernel void accumulate(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant By& p [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) {
    if (i < p.n) y[i] += p.by[0] * x[i] + p.by[1];
}

kernel void share(device float* y [[buffer(0)]], threadgroup float4* shared [[threadgroup(0)]],
                  uint i [[thread_position_in_threadgroup]]) {
    shared[i] = float4(float(i));
    y[i] = shared[i].x;
}

kernel void crash(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i << 30] = 0; }
`

var testSource = gpu.Source{Name: "test.metal", Text: text}

func line(x int) gpu.Size { return gpu.Size{X: x, Y: 1, Z: 1} }

// scalePlan is a plan of y = 2x + 1 for n elements, a multiple of 4.
type scalePlan struct {
	*gpu.Plan
	x, y *gpu.Buffer
}

func newScalePlan(d *gpu.Device, n int) (*scalePlan, error) {
	b := d.NewPlan()
	p := &scalePlan{x: b.Input(gpu.Float4, n/4), y: b.Output(gpu.Float4, n/4)}
	b.Dispatch(b.Kernel(testSource, "scale"), line((n/4+31)/32), line(32), p.y, p.x, gpu.Values(n/4),
		gpu.Values(float32(2)), gpu.Values(float32(1)))
	var err error
	p.Plan, err = b.Build()
	return p, err
}

// run runs the plan on fresh values and returns what is wrong.
func (p *scalePlan) check(seed float32) error {
	for i := range p.x.Floats() {
		p.x.Floats()[i] = seed + float32(i)
		p.y.Floats()[i] = -1
	}
	if err := p.Run(); err != nil {
		return err
	}
	for i, y := range p.y.Floats() {
		if want := 2*(seed+float32(i)) + 1; y != want {
			return fmt.Errorf("y[%d] = %g; want %g", i, y, want)
		}
	}
	return nil
}
