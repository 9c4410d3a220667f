//go:build linux && (amd64 || arm64)

package cuda

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// misuses are mistakes for which the stand-in must end the process. The other tests rely on that.
var misuses = map[string]struct {
	commit func(d *driver)
	want   string
}{
	"no context": {
		func(d *driver) {
			done := make(chan bool)
			go func() {
				defer close(done)
				runtime.LockOSThread() // to a thread that may never have called CUDA, or for which there is no context now
				d.ctxSetCurrent.call(0)
				d.streamCreate.call(uintptr(unsafe.Pointer(new(uintptr))), streamNonBlocking)
			}()
			<-done
		},
		"no context",
	},
	"memory freed twice": {
		func(d *driver) {
			m, _ := d.Allocate(64, gpu.Private)
			at := m.(*memory).address
			m.Free()
			d.do(&d.memFree, at)
		},
		"cuMemFree_v2: memory that is not allocated",
	},
	"pinned memory freed as device memory": {
		func(d *driver) {
			m, _ := d.Allocate(64, gpu.Shared)
			d.do(&d.memFree, m.(*memory).address)
		},
		"cuMemFree_v2: memory of the other kind",
	},
	"a stream after its end": {
		func(d *driver) {
			stream, _ := d.takeStream()
			d.do(&d.streamDestroy, stream)
			d.do(&d.streamSynchronize, stream)
		},
		"cuStreamSynchronize: a handle that was destroyed",
	},
	"a stream destroyed before its work is done": {
		func(d *driver) {
			m, _ := d.Allocate(64, gpu.Private)
			stream, _ := d.takeStream()
			d.do(&d.memsetD8Async, m.(*memory).address, 0, 64, stream)
			d.do(&d.streamDestroy, stream)
		},
		"cuStreamDestroy_v2: work that was not waited for",
	},
	"more threads than the kernel takes": {
		func(d *driver) {
			p := testPipeline(d, "accumulate")
			d.do(&d.launchKernel, p.address, 1, 1, 1, 65, 1, 1, 0, must(d.takeStream()), 0, 0)
		},
		"cuLaunchKernel: more threads than the kernel takes",
	},
	"a launch without arguments": {
		func(d *driver) {
			p := testPipeline(d, "scale")
			d.do(&d.launchKernel, p.address, 1, 1, 1, 32, 1, 1, 0, must(d.takeStream()), 0, 0)
		},
		"cuLaunchKernel: too few arguments",
	},
	"a recording submitted twice": {
		func(d *driver) {
			m, _ := d.Allocate(64, gpu.Private)
			region := gpu.Region{Memory: m}
			r, _ := d.Record([]gpu.Command{{Kind: gpu.Copy, Target: region, Source: region, Bytes: 64}})
			r.Submit(false)
			r.Submit(false)
		},
		"cuGraphLaunch: a recording that is in flight",
	},
	"a module unloaded in use": {
		func(d *driver) {
			p := testPipeline(d, "scale")
			d.do(&d.moduleUnload, p.library.module)
			d.do(&d.launchKernel, p.address, 1, 1, 1, 32, 1, 1, 0, must(d.takeStream()), 0, 0)
		},
		"cuLaunchKernel: a handle that was destroyed",
	},
	"a broken promise": {
		func(d *driver) {
			p := testPipeline(d, "accumulate")
			m, _ := d.Allocate(64, gpu.Private)
			// Two regions of one buffer look like two buffers, so overlap does not see that they overlap.
			one, two := *m.(*memory), *m.(*memory)
			size := gpu.Size{X: 1, Y: 1, Z: 1}
			r, _ := d.Record([]gpu.Command{{Kind: gpu.Dispatch, Pipeline: p, Groups: size, Threads: size, Arguments: []gpu.Binding{
				{Region: gpu.Region{Memory: &one}}, {Region: gpu.Region{Memory: &two}}, {Value: make([]byte, 12)},
			}}})
			r.Submit(false)
			r.Wait()
		},
		"cuLaunchKernel: restricted pointers to the same memory",
	},
	"device memory touched by the host": {
		func(d *driver) {
			m, _ := d.Allocate(64, gpu.Private)
			*(*byte)(outside(m.(*memory).address)) = 1
		},
		"SIGSEGV",
	},
	"a product in another mode": {
		func(d *driver) {
			m, _ := d.Allocate(64, gpu.Private)
			region := gpu.Region{Memory: m}
			e, _ := d.NewProduct(gpu.Product{C: region, A: region, B: region, M: 1, N: 1, K: 1, Alpha: 1})
			p := e.(*product)
			d.do(&p.library.setMathMode, p.bench.handle, 3) // TF32
			d.enter()
			p.Encode(must(d.takeStream()))
		},
		"cublasSgemm_v2: a mode that is not FP32",
	},
	"an FFT plan destroyed twice": {
		func(d *driver) {
			m, _ := d.Allocate(64, gpu.Private)
			region := gpu.Region{Memory: m}
			e, _ := d.NewFFT(region, region, gpu.Transform{N: 4, Batch: 1, Complex: true})
			e.Close()
			d.do(&e.(*transform).library.destroy, e.(*transform).plan)
		},
		"cufftDestroy: a handle that was destroyed",
	},
}

func testPipeline(d *driver, name string) *pipeline {
	functions := must(msl.Parse(text))
	l := must(d.compile(testSource, functions, false))
	for i := range functions {
		if functions[i].Name == name {
			return must(l.pipeline(&functions[i]))
		}
	}
	panic(name)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestMisuseIsCaught commits each mistake in a process of its own.
func TestMisuseIsCaught(t *testing.T) {
	if name := os.Getenv("CUDA_TEST_MISUSE"); name != "" {
		_, d, _ := openFake(t)
		misuses[name].commit(d)
		return
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler for the stand-in of CUDA's libraries")
	}
	compiled, err := compiledFake()
	if err != nil {
		t.Fatal(err)
	}
	for name, misuse := range misuses {
		t.Run(name, func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run=^TestMisuseIsCaught$")
			command.Env = append(os.Environ(), "CUDA_TEST_MISUSE="+name, fakeEnvironment+"="+compiled,
				"TMPDIR="+t.TempDir()) // the process ends before it removes its own
			out, err := command.CombinedOutput()
			if err == nil {
				t.Fatal("the process lived on")
			}
			if !strings.Contains(string(out), misuse.want) {
				t.Errorf("the process ended without %q: %.600s", misuse.want, out)
			}
		})
	}
}
