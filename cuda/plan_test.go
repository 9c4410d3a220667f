//go:build linux && (amd64 || arm64)

package cuda

import (
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"crossover/gpu"
)

func TestFacts(t *testing.T) {
	device, _, _ := openFake(t)
	got := device.Facts()
	want := gpu.Facts{
		API: "cuda", Name: "Fake H1", Driver: got.Driver, Cores: 132, MemoryBytes: 1 << 28, SIMDWidth: 32, MaxThreads: 1024,
		ThreadgroupBytes: 49152, MostThreadgroupBytes: 232448, Registers: 65536, MaxBufferBytes: 1 << 28,
	}
	if got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	if want := "CUDA 13.0, driver " + kernelDriver() + ", NVRTC 13.0"; got.Driver != want {
		t.Errorf("driver %q; want %q", got.Driver, want)
	}
}

func TestPlanComputes(t *testing.T) {
	device, _, _ := openFake(t)
	for _, n := range []int{4, 128, 132, 200_000} {
		p, err := newScalePlan(device, n)
		if err != nil {
			t.Fatal(err)
		}
		for run := range 3 {
			if err := p.check(float32(run)); err != nil {
				t.Errorf("n=%d, run %d: %v", n, run, err)
			}
		}
		p.Close()
	}
}

// RunResident reads what Upload brought and leaves its results on the device until Download.
func TestResident(t *testing.T) {
	device, _, _ := openFake(t)
	p, err := newScalePlan(device, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	set := func(x float32) {
		for i := range p.x.Floats() {
			p.x.Floats()[i] = x
		}
	}
	step := func(run func() error, want float32) {
		t.Helper()
		if err := run(); err != nil {
			t.Fatal(err)
		}
		if got := p.y.Floats()[7]; got != want && !(got != got && want != want) {
			t.Errorf("y = %g; want %g", got, want)
		}
	}
	set(3)
	step(p.Upload, float32(math.NaN()))
	set(100)
	step(p.RunResident, float32(math.NaN()))
	step(p.Download, 7)
	step(p.Run, 201)
}

// Submit returns before the work is done.
func TestWorkIsQueued(t *testing.T) {
	device, _, _ := openFake(t)
	p, err := newScalePlan(device, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.x.Floats()[0] = 1
	if err := p.Submit(); err != nil {
		t.Fatal(err)
	}
	if y := p.y.Floats()[0]; y == y {
		t.Errorf("y = %g before Wait", y)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if y := p.y.Floats()[0]; y != 3 {
		t.Errorf("y = %g; want 3", y)
	}
}

// A plan of everything that there is: a struct by value, a place in a buffer, a constant, memory in both directions, and
// a copy between two kernels.
func TestEveryCommand(t *testing.T) {
	device, _, _ := openFake(t)
	b := device.NewPlan()
	x, steps := b.Input(gpu.Float, 8), b.Constant(gpu.Float, []float32{0, 0, 1, 2, 3, 4})
	sum, before := b.State(gpu.Float, 4), b.Output(gpu.Float, 4)
	k := b.Kernel(testSource, "accumulate")
	b.Dispatch(k, line(1), line(4), sum, x.At(4), gpu.Values(4, float32(10), float32(0.5)))
	b.Copy(before, sum)
	b.Dispatch(k, line(1), line(4), sum, steps.At(2), gpu.Values(4, float32(1), float32(0)))
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	copy(x.Floats(), []float32{9, 9, 9, 9, 1, 2, 3, 4})
	copy(sum.Floats(), []float32{100, 200, 300, 400})
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{110.5, 220.5, 330.5, 440.5} {
		if got := before.Floats()[i]; got != want {
			t.Errorf("before[%d] = %g; want %g", i, got, want)
		}
		if got, want := sum.Floats()[i], want+float32(i+1); got != want {
			t.Errorf("sum[%d] = %g; want %g", i, got, want)
		}
	}

	// The stand-in's kernel takes 10 µs and its copy 5. An event takes 1 µs, and 2 more before a kernel or a copy. The
	// clock subtracts what the events take.
	times, err := p.Time(true)
	if err != nil {
		t.Fatal(err)
	}
	if times.Kernel != 2 || times.Busy != 20*time.Microsecond || times.Gaps != 5*time.Microsecond || times.Span != 25*time.Microsecond {
		t.Errorf("%+v; want 2 kernels, 20 µs busy, 5 µs between them, 25 µs in all", times)
	}
	if times, err = p.Time(false); err != nil {
		t.Fatal(err)
	}
	if times.Kernel != 2 || times.Busy != 20*time.Microsecond || times.Span != 45*time.Microsecond {
		t.Errorf("with four copies more: %+v; want 2 kernels, 20 µs busy, 45 µs in all", times)
	}
	if times.Encode <= 0 || times.Wall < times.Encode {
		t.Errorf("the host's times are %v and %v", times.Encode, times.Wall)
	}
}

// The stand-in makes a pause of 3 µs between kernels that directly follow each other.
func TestTimesOfNeighbours(t *testing.T) {
	device, _, _ := openFake(t)
	b := device.NewPlan()
	x, y := b.Input(gpu.Float, 4), b.State(gpu.Float, 4)
	k := b.Kernel(testSource, "accumulate")
	for range 3 {
		b.Dispatch(k, line(1), line(4), y, x, gpu.Values(4, float32(1), float32(0)))
	}
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	times, err := p.Time(true)
	if err != nil {
		t.Fatal(err)
	}
	if times.Kernel != 3 || times.Busy != 30*time.Microsecond || times.Gaps != 6*time.Microsecond || times.Span != 36*time.Microsecond {
		t.Errorf("%+v; want 3 kernels, 30 µs busy, 6 µs between them, 36 µs in all", times)
	}
}

// Copies that are too long for one node of a graph.
func TestLongCopies(t *testing.T) {
	_, d, f := openFake(t)
	const bytes = mostCopied + 4096
	from, err := d.Allocate(bytes, gpu.Shared)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Free()
	to, err := d.Allocate(bytes, gpu.Shared)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Free()
	places := []int{0, mostCopied - 1, mostCopied, bytes - 1}
	for i, at := range places {
		from.Host()[at] = byte(i + 1)
	}
	r, err := d.Record([]gpu.Command{{Kind: gpu.Copy, Target: gpu.Region{Memory: to}, Source: gpu.Region{Memory: from}, Bytes: bytes}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Submit(true); err != nil {
		t.Fatal(err)
	}
	if got := f.calls("cuMemcpyAsync"); got != 2 {
		t.Errorf("%d copies; want 2", got)
	}
	times, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if times.Kernel != 0 || times.Busy != 0 || times.Span != 10*time.Microsecond {
		t.Errorf("%+v; want no kernel and 10 µs", times)
	}
	for i, at := range places {
		if got := to.Host()[at]; got != byte(i+1) {
			t.Errorf("byte %d is %d; want %d", at, got, i+1)
		}
	}
}

// raceDetector reports whether the tests run under -race. The detector makes sync.Pool drop objects at random, also in
// package purego.
func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// A recording that is submitted once makes no graph. A second submission makes one.
func TestGraphsAreMadeForWhatComesAgain(t *testing.T) {
	device, _, f := openFake(t)
	p, err := newScalePlan(device, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for run, want := range []int{0, 1, 1, 1} {
		if err := p.check(float32(run)); err != nil {
			t.Fatal(err)
		}
		if got := f.live(liveExecutable); got != want {
			t.Errorf("after %d runs there are %d graphs, want %d", run+1, got, want)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	if raceDetector() {
		t.Skip("sync.Pool drops objects at random under the race detector")
	}
	device, _, _ := openFake(t)
	p, err := newScalePlan(device, 1024)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, run := range map[string]func() error{"Run": p.Run, "RunResident": p.RunResident} {
		got := testing.AllocsPerRun(100, func() {
			if err := run(); err != nil {
				t.Fatal(err)
			}
		})
		if got != 0 {
			t.Errorf("%v allocations per %s", got, name)
		}
	}
}

// A kernel whose buffers share memory is compiled without the promise that they do not. The stand-in ends the process
// if a kernel breaks that promise.
func TestSameMemory(t *testing.T) {
	device, _, f := openFake(t)
	for range 2 {
		b := device.NewPlan()
		y := b.State(gpu.Float, 8)
		b.Dispatch(b.Kernel(testSource, "accumulate"), line(1), line(8), y, y, gpu.Values(8, float32(1), float32(0)))
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		for i := range y.Floats() {
			y.Floats()[i] = float32(i)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if got := y.Floats()[7]; got != 14 {
			t.Errorf("y = %g; want 14", got)
		}
		p.Close()
	}
	if got := f.calls("nvrtcCompileProgram"); got != 2 {
		t.Errorf("compiled %d times; want once with the promise and once without", got)
	}
}

// Goroutines move between threads, but a context is current only on one thread.
func TestConcurrentPlans(t *testing.T) {
	device, _, _ := openFake(t)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for round := range 5 {
				p, err := newScalePlan(device, 64)
				if err != nil {
					t.Error(err)
					return
				}
				for run := range 20 {
					if err := p.check(float32(g + round + run)); err != nil {
						t.Error(err)
					}
					runtime.Gosched()
				}
				p.Close()
			}
		})
	}
	group.Wait()
}

// Plans are closed, memory is trimmed and programs are forgotten. Then nothing is left but streams for later plans.
func TestNothingIsLeft(t *testing.T) {
	device, d, f := openFake(t)
	for _, n := range []int{64, 4096} {
		p, err := newScalePlan(device, n)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.check(1); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Time(false); err != nil {
			t.Fatal(err)
		}
		p.Close()
		p.Close()
	}
	device.Trim()
	device.Forget()
	for range 100 {
		runtime.GC()
		if f.live(liveModule) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond) // until the cleanup has run
	}
	for what, left := range map[string]int{
		"device memory": f.blocks(0), "pinned memory": f.blocks(1), "events": f.live(liveEvent), "graphs": f.live(liveGraph),
		"executable graphs": f.live(liveExecutable), "modules": f.live(liveModule), "programs": f.live(liveProgram),
		"streams": f.live(liveStream) - len(d.streams),
	} {
		if left != 0 {
			t.Errorf("%d %s left", left, what)
		}
	}
}

func TestSpareStreamsAreFew(t *testing.T) {
	device, _, f := openFake(t)
	var plans []*scalePlan
	for range mostSpareStreams/4 + 10 { // four recordings each
		p, err := newScalePlan(device, 4)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	for _, p := range plans {
		p.Close()
	}
	if got := f.live(liveStream); got != mostSpareStreams {
		t.Errorf("%d streams are kept; want %d", got, mostSpareStreams)
	}
}

func TestFills(t *testing.T) {
	_, d, _ := openFake(t)
	for _, storage := range []gpu.Storage{gpu.Private, gpu.Shared} {
		m, err := d.Allocate(10_000, storage)
		if err != nil {
			t.Fatal(err)
		}
		if m.Bytes() != 10_000 || (m.Host() != nil) != (storage == gpu.Shared) {
			t.Errorf("storage %v: %d bytes, %d of them the host's", storage, m.Bytes(), len(m.Host()))
		}
		if err := m.Fill(0xa5); err != nil {
			t.Fatal(err)
		}
		seen, err := d.Allocate(10_000, gpu.Shared)
		if err != nil {
			t.Fatal(err)
		}
		r, err := d.Record([]gpu.Command{{Kind: gpu.Copy, Target: gpu.Region{Memory: seen}, Source: gpu.Region{Memory: m}, Bytes: 10_000}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Submit(false); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Wait(); err != nil {
			t.Fatal(err)
		}
		for i, b := range seen.Host() {
			if b != 0xa5 {
				t.Fatalf("storage %v: byte %d is %#x", storage, i, b)
			}
		}
		r.Close()
		seen.Free()
		m.Free()
	}
}

// Each way to launch a kernel that does nothing launches one, on the thread that it was made on.
func TestFloors(t *testing.T) {
	_, d, f := openFake(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	floors, release, err := d.NewFloors()
	if err != nil {
		t.Fatal(err)
	}
	for _, floor := range floors {
		before := f.calls(floor.Name)
		if err := floor.LaunchAndWait(); err != nil {
			t.Errorf("%s: %v", floor.Name, err)
		}
		if got := f.calls(floor.Name) - before; got != 1 {
			t.Errorf("%s was called %d times", floor.Name, got)
		}
	}
	release()
	if left := f.live(liveExecutable) + f.live(liveGraph); left != 0 {
		t.Errorf("%d graphs are left", left)
	}
}

// A plan's code stays although the device has forgotten its program.
func TestForgottenCodeRuns(t *testing.T) {
	device, _, f := openFake(t)
	p, err := newScalePlan(device, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	device.Forget()
	for range 5 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // for a cleanup that must not run
	}
	if f.calls("cuModuleUnload") != 0 {
		t.Fatal("code was unloaded")
	}
	if err := p.check(1); err != nil {
		t.Error(err)
	}
	if _, err := p.Time(true); err != nil {
		t.Error(err)
	}
}
