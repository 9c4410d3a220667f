//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"crossover/gpu"
)

// oneLineWith fails the test where an error is not one line that holds every text.
func oneLineWith(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one with %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than one line", err)
	}
}

func TestOpenFails(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, f *fake)
		want  []string
	}{
		"no driver": {
			func(t *testing.T, f *fake) { t.Setenv("CROSSOVER_LIBCUDA", filepath.Join(f.folder, "none.so")) },
			[]string{"cuda: ", "none.so", "CROSSOVER_LIBCUDA"},
		},
		"no library at all": {
			func(t *testing.T, f *fake) {
				t.Setenv("CROSSOVER_LIBCUDA", filepath.Join(f.folder, "text.so"))
				os.WriteFile(filepath.Join(f.folder, "text.so"), []byte("hello"), 0o644)
			},
			[]string{"not a whole ELF library"},
		},
		"a library that is cut off": {
			func(t *testing.T, f *fake) {
				image, _ := os.ReadFile(f.path)
				t.Setenv("CROSSOVER_LIBCUDA", filepath.Join(f.folder, "cut.so"))
				os.WriteFile(filepath.Join(f.folder, "cut.so"), image[:8192], 0o644)
			},
			[]string{"cut.so"},
		},
		"another library": {
			func(t *testing.T, f *fake) { t.Setenv("CROSSOVER_LIBCUDA", "libm.so.6") },
			[]string{"libm.so.6 is not the library that is wanted: it has no cu"},
		},
		"no GPU": {
			func(t *testing.T, f *fake) { f.fail("cuInit", 1, 100) },
			[]string{"cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device"},
		},
		"no GPU that is visible": {
			func(t *testing.T, f *fake) { f.setDevices(0) },
			[]string{"no device", "CUDA_VISIBLE_DEVICES"},
		},
		"an old driver": {
			func(t *testing.T, f *fake) { f.fail("cuInit", 1, 35) },
			[]string{"CUDA_ERROR_INSUFFICIENT_DRIVER"},
		},
		"no NVRTC": {
			func(t *testing.T, f *fake) { t.Setenv("CROSSOVER_LIBNVRTC", filepath.Join(f.folder, "none.so")) },
			[]string{"cuda: ", "none.so", "CROSSOVER_LIBNVRTC"},
		},
		"an error that has no name": {
			func(t *testing.T, f *fake) { f.fail("cuDevicePrimaryCtxRetain", 1, 12345) },
			[]string{"cuDevicePrimaryCtxRetain: error 12345"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := loadFake(t)
			test.spoil(t, f)
			_, err := open()
			oneLineWith(t, err, test.want...)
		})
	}
}

// If nothing is installed and no variable is set, the message says what to install.
func TestNothingInstalled(t *testing.T) {
	for _, s := range []search{
		findCUDA,
		{environment: "CROSSOVER_NONE", names: []string{"libnone.so.13", "libnone.so.12"}, advice: "install the CUDA toolkit"},
	} {
		s.names = append([]string{"libnone.so.1"}, s.names[1:]...)
		oneLineWith(t, s.open(), "libnone.so.1", "install ", s.environment)
	}
}

func TestSearch(t *testing.T) {
	f := loadFake(t)
	root := t.TempDir()
	image, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	place := func(path string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, image, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("VIRTUAL_ENV", root)
	s := search{environment: "CROSSOVER_NONE", names: versions("libsearched.so", 13, 0), advice: "install it"}
	version := &function{name: "nvrtcVersion"}
	oneLineWith(t, s.open(version), "libsearched.so.13")
	place("lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libsearched.so.12")
	if err := s.open(version); err != nil || version.address == 0 {
		t.Errorf("in a Python package: %v", err)
	}
	for _, folder := range []string{"lib64", "lib", "."} {
		t.Setenv("CUDA_HOME", filepath.Join(root, "home"))
		place(filepath.Join("home", folder, "libsearched.so.13"))
		if got, want := candidates("libsearched.so.13"), filepath.Join(root, "home", folder, "libsearched.so.13"); !slices.Contains(got, want) {
			t.Errorf("candidates %q; want %q among them", got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct {
		driver, offset int
		want           []string
	}{
		{11, 0, []string{"l.so.12", "l.so.13"}},
		{12, 0, []string{"l.so.12", "l.so.13"}},
		{13, 0, []string{"l.so.13", "l.so.12"}},
		{13, -1, []string{"l.so.12", "l.so.11"}},
		{14, 0, []string{"l.so.13", "l.so.12"}},
	} {
		if got := versions("l.so", test.driver, test.offset); !slices.Equal(got, test.want) {
			t.Errorf("driver %d: %q; want %q", test.driver, got, test.want)
		}
	}
}

// scenario makes a plan, runs it in every way and closes it.
func scenario(device *gpu.Device) error {
	p, err := newScalePlan(device, 64)
	if err != nil {
		return err
	}
	defer p.Close()
	for run := range 2 { // the first time by calls, the second time by a graph
		if err := p.check(float32(run)); err != nil {
			return err
		}
	}
	if _, err := p.Time(true); err != nil {
		return err
	}
	return nil
}

// calledInScenario are the driver's functions that scenario needs. The value says whether a failure fails the plan.
var calledInScenario = map[string]bool{
	"cuCtxSetCurrent": true, "cuModuleLoadData": true, "cuModuleGetFunction": true, "cuFuncGetAttribute": true,
	"cuMemAlloc_v2": true, "cuMemHostAlloc": true, "cuMemsetD8Async": true, "cuMemcpyAsync": true, "cuLaunchKernel": true,
	"cuStreamCreate": true, "cuStreamBeginCapture_v2": true, "cuStreamEndCapture": true, "cuGraphInstantiateWithFlags": true,
	"cuGraphUpload": true, "cuGraphLaunch": true, "cuStreamSynchronize": true, "cuEventCreate": true,
	"cuEventRecordWithFlags": true, "cuEventElapsedTime": true,
	"cuGraphDestroy": false, "cuGraphExecDestroy": false, "cuEventDestroy_v2": false,
}

// Every call of the driver fails once, at every place, with an error that leaves the device as it was. The plan fails
// with that error, the device is not lost, and the next plan works.
func TestEveryCallFails(t *testing.T) {
	for name, needed := range calledInScenario {
		if name == "cuCtxSetCurrent" || name == "cuStreamSynchronize" || name == "cuStreamEndCapture" {
			continue // after their failure the state of the stream is unknown
		}
		t.Run(name, func(t *testing.T) {
			device, d, f := openFake(t)
			for n := 1; ; n++ {
				device.Forget()
				d.events = eventCosts{} // as in a new device
				before := f.calls(name)
				f.fail(name, n, 2)
				err := scenario(device)
				if f.calls(name)-before < n {
					if n == 1 {
						t.Error("the scenario never calls it")
					}
					return
				}
				switch {
				case err != nil && !errors.Is(err, gpu.ErrOutOfMemory):
					t.Errorf("call %d: %v; want out of memory", n, err)
				case err == nil && needed:
					t.Errorf("call %d: no error", n)
				case err != nil && !needed:
					t.Errorf("call %d: %v; want no error where something is given back", n, err)
				}
				if err := scenario(device); err != nil {
					t.Errorf("after call %d failed: %v", n, err)
				}
				device.Trim()
				if !needed {
					continue // a failed call gives nothing back
				}
				if blocks := f.blocks(0) + f.blocks(1); blocks != 0 {
					t.Errorf("call %d: %d blocks of memory are left", n, blocks)
				}
				if left := f.live(liveExecutable) + f.live(liveGraph) + f.live(liveProgram) + f.live(liveEvent); left != 0 {
					t.Errorf("call %d: %d graphs, events or programs are left", n, left)
				}
			}
		})
	}
}

// The device is lost, at every place. The plan fails with ErrLost, later calls fail at once without asking the driver,
// and closing is harmless.
func TestDeviceIsLost(t *testing.T) {
	for name, needed := range calledInScenario {
		if !needed {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n += 1 + n/4 {
				device, d, f := openFake(t)
				before := f.calls(name)
				f.fail(name, n, 719)
				err := scenario(device)
				if f.calls(name)-before < n {
					return
				}
				if err != nil {
					oneLineWith(t, err, "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure")
					if !errors.Is(err, gpu.ErrLost) {
						t.Errorf("call %d: %v is not ErrLost", n, err)
					}
				}
				asked := f.calls("cuCtxSetCurrent")
				if err := scenario(device); !errors.Is(err, gpu.ErrLost) {
					t.Errorf("call %d: %v afterwards; want ErrLost", n, err)
				}
				if _, err := d.Allocate(1, gpu.Shared); !errors.Is(err, gpu.ErrLost) {
					t.Errorf("call %d: memory afterwards: %v; want ErrLost", n, err)
				}
				device.Trim()
				if got := f.calls("cuCtxSetCurrent"); got != asked {
					t.Errorf("call %d: the driver was asked %d times after it was lost", n, got-asked)
				}
			}
		})
	}
}

// If work may still be in flight, memory must not be used again. The device then counts as lost, whatever the error is.
func TestNothingIsKnown(t *testing.T) {
	for _, name := range []string{"cuCtxSetCurrent", "cuStreamSynchronize"} {
		for _, n := range []int{1, 2, 5} {
			device, _, f := openFake(t)
			f.fail(name, n, 2)
			err := scenario(device)
			oneLineWith(t, err, name+": CUDA_ERROR_OUT_OF_MEMORY")
			if !errors.Is(err, gpu.ErrLost) {
				t.Errorf("%s, call %d: %v; want ErrLost", name, n, err)
			}
			if err := scenario(device); !errors.Is(err, gpu.ErrLost) {
				t.Errorf("%s, call %d: %v afterwards; want ErrLost", name, n, err)
			}
		}
	}
}

// A kernel that faults does not pass for a fast one.
func TestKernelFaults(t *testing.T) {
	for _, timed := range []bool{false, true} {
		device, _, _ := openFake(t)
		b := device.NewPlan()
		b.Dispatch(b.Kernel(testSource, "crash"), line(1), line(1), b.Output(gpu.Float, 4))
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		var times gpu.Times
		if timed {
			times, err = p.Time(true)
		} else {
			err = p.Run()
		}
		oneLineWith(t, err, "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS")
		if !errors.Is(err, gpu.ErrLost) || times != (gpu.Times{}) {
			t.Errorf("%v, %+v; want ErrLost and no times", err, times)
		}
		if err := p.Run(); !errors.Is(err, gpu.ErrLost) {
			t.Errorf("%v afterwards; want ErrLost", err)
		}
		p.Close()
	}
}

func TestOutOfMemory(t *testing.T) {
	device, _, f := openFake(t)
	_, err := newScalePlan(device, 1<<26) // 256 MiB in, 256 MiB out
	oneLineWith(t, err, "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY: out of memory")
	if !errors.Is(err, gpu.ErrOutOfMemory) || errors.Is(err, gpu.ErrLost) {
		t.Errorf("%v; want ErrOutOfMemory and not ErrLost", err)
	}
	if err := scenario(device); err != nil {
		t.Errorf("a smaller plan afterwards: %v", err)
	}
	device.Trim()
	if blocks := f.blocks(0); blocks != 0 {
		t.Errorf("%d blocks of device memory are left", blocks)
	}
}

func TestDriverTooOldForNVRTC(t *testing.T) {
	device, _, f := openFake(t)
	f.fail("cuModuleLoadData", 1, 209)
	_, err := device.Kernel(testSource, "scale")
	oneLineWith(t, err, "CUDA_ERROR_NO_BINARY_FOR_GPU", "update NVIDIA's driver")
}

func TestCompileErrors(t *testing.T) {
	device, _, f := openFake(t)
	for name, test := range map[string]struct {
		text, macro, kernel string
		line                int
		message             string
	}{
		"in a kernel": {
			text: "#include <metal_stdlib>\n\nkernel void bad(device float* y [[buffer(0)]]) {\n    y[0] = nosuch;\n}\n",
			line: 4, kernel: "bad", message: `identifier "nosuch" is undefined`,
		},
		"behind a kernel": {
			text: "kernel void good(device float* y [[buffer(0)]]) {\n}\nstatic inline float nosuch() { return 0; }\n",
			line: 3, message: `identifier "nosuch" is undefined`,
		},
		"in a macro": {
			text:  "kernel void good(device float* y [[buffer(0)]]) {\n}\n",
			macro: "nosuch", message: `macros of bad.metal(1): identifier "nosuch" is undefined`,
		},
		"in an entry point": {
			text: "[[max_total_threads_per_threadgroup(nosuch)]]\nkernel void good(device float* y [[buffer(0)]]) {\n}\n",
			line: 1, message: `identifier "nosuch" is undefined`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := gpu.Source{Name: "bad.metal", Text: test.text}
			if test.macro != "" {
				src = src.Define("MACRO", test.macro)
			}
			_, err := device.Kernel(src, "good")
			var e *gpu.CompileError
			if !errors.As(err, &e) {
				t.Fatalf("%v is no CompileError", err)
			}
			oneLineWith(t, err, "bad.metal", test.message)
			if e.Source != "bad.metal" || e.Line != test.line && test.macro == "" || e.Kernel != test.kernel || !strings.Contains(e.Log, "warning #177-D") {
				t.Errorf("%+v; want kernel %q, line %d", e, test.kernel, test.line)
			}
		})
	}
	if left := f.live(liveProgram); left != 0 {
		t.Errorf("%d programs are left", left)
	}
}

// Texts are compiled before a sweep by all processors at once.
func TestCompilingAtTheSameTime(t *testing.T) {
	device, _, f := openFake(t)
	const texts = 64
	var all sync.WaitGroup
	for n := range texts {
		all.Go(func() {
			src := gpu.Source{Name: "k.metal", Text: "kernel void good(device float* y [[buffer(0)]]) {\n}\n"}.Define("N", n)
			if _, err := device.Kernel(src, "good"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := f.calls("nvrtcCompileProgram"); got != texts {
		t.Errorf("%d compilations, want %d", got, texts)
	}
	if left := f.live(liveProgram); left != 0 {
		t.Errorf("%d programs are left", left)
	}
}

func TestNVRTCFails(t *testing.T) {
	for name, want := range map[string]string{
		"nvrtcCreateProgram": "NVRTC_ERROR_INVALID_OPTION", "nvrtcCompileProgram": "NVRTC_ERROR_INVALID_OPTION",
		"nvrtcGetCUBINSize": "NVRTC_ERROR_INVALID_OPTION", "nvrtcGetCUBIN": "NVRTC_ERROR_INVALID_OPTION",
	} {
		device, _, f := openFake(t)
		f.fail(name, 1, 5)
		_, err := device.Kernel(testSource, "scale")
		oneLineWith(t, err, "test.metal", want)
		if left := f.live(liveProgram); left != 0 {
			t.Errorf("%s: %d programs are left", name, left)
		}
	}
}
