//go:build amd64 || arm64

package cuda

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/gpu"
)

// backend is CUDA on this system.
var backend = gpu.NewBackend("cuda", open)

// Backends returns CUDA, which is not opened yet.
func Backends() []*gpu.Backend { return []*gpu.Backend{backend} }

// driver is the first device of this process, in its primary context.
type driver struct {
	libcuda
	facts    gpu.Facts
	compiler *compiler
	cufft    func() (*cufft, error)
	cublas   func() (*cublas, error)
	loaded   atomic.Pointer[cublas] // what cublas has returned

	device  int32
	context [1]uintptr // the argument of cuCtxSetCurrent
	lost    atomic.Pointer[error]

	unloading sync.Mutex // held while the garbage collector unloads code, and while the context is released

	mu      sync.Mutex
	streams []uintptr // made, and not in use

	eventsMu sync.Mutex
	events   eventCosts // zero until they are measured
}

// open readies the device. If a driver, a device or NVRTC is missing, open fails with one line.
func open() (gpu.Driver, error) {
	d := &driver{}
	if err := d.load(); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	if err := d.check(&d.init, d.init.call(0)); err != nil {
		return nil, err
	}
	version, count, device := new(int32), new(int32), new(int32)
	if err := d.check(&d.driverGetVersion, d.driverGetVersion.call(uintptr(unsafe.Pointer(version)))); err != nil {
		return nil, err
	}
	if err := d.check(&d.deviceGetCount, d.deviceGetCount.call(uintptr(unsafe.Pointer(count)))); err != nil {
		return nil, err
	}
	if *count < 1 {
		return nil, errors.New("cuda: the driver lists no device (check nvidia-smi and CUDA_VISIBLE_DEVICES)")
	}
	if err := d.check(&d.deviceGet, d.deviceGet.call(uintptr(unsafe.Pointer(device)), 0)); err != nil {
		return nil, err
	}
	var err error
	if d.facts, err = d.readFacts(*device); err != nil {
		return nil, err
	}
	major, minor := int(*version)/1000, int(*version)%1000/10
	if d.compiler, err = newCompiler(major, d.architecture(*device)); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	d.facts.Driver = fmt.Sprintf("CUDA %d.%d, driver %s, %s", major, minor, kernelDriver(), d.compiler.version)
	// The driver waits by spinning. On an H200 launch and wait then take 9 µs, and 22 µs if the thread sleeps.
	if err := d.check(&d.primaryCtxSetFlags, d.primaryCtxSetFlags.call(uintptr(*device), contextScheduleSpin)); err != nil {
		return nil, err
	}
	context := new(uintptr)
	if err := d.check(&d.primaryCtxRetain, d.primaryCtxRetain.call(uintptr(unsafe.Pointer(context)), uintptr(*device))); err != nil {
		return nil, err
	}
	d.device, d.context[0] = *device, *context
	d.cufft = sync.OnceValues(func() (*cufft, error) { return loadCUFFT(major) })
	d.cublas = sync.OnceValues(func() (*cublas, error) {
		l, err := loadCUBLAS(major)
		d.loaded.Store(l)
		return l, err
	})
	return d, nil
}

// errReleased is what is asked of a closed driver fails with.
var errReleased = fmt.Errorf("cuda: the context was released: %w", gpu.ErrLost)

// Close gives the context back. If nobody else in the process holds it, CUDA frees everything that was made in it, also pinned
// memory. A lost context frees nothing of it before that: on an H100, cuMemFreeHost and cuStreamDestroy then fail.
func (d *driver) Close() {
	d.mu.Lock()
	streams := d.streams
	d.streams = nil
	d.mu.Unlock()
	for _, stream := range streams {
		_ = d.do(&d.streamDestroy, stream)
	}
	if l := d.loaded.Load(); l != nil {
		d.destroyBenches(l)
	}
	d.unloading.Lock()
	defer d.unloading.Unlock()
	d.lost.CompareAndSwap(nil, &errReleased)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.ctxSetCurrent.call(0)
	d.primaryCtxRelease.call(uintptr(d.device))
}

// readFacts asks for what launch plans depend on.
func (d *driver) readFacts(device int32) (gpu.Facts, error) {
	name := make([]byte, 256)
	if err := d.check(&d.deviceGetName, d.deviceGetName.call(uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(device))); err != nil {
		return gpu.Facts{}, err
	}
	memory := new(uintptr)
	if err := d.check(&d.deviceTotalMem, d.deviceTotalMem.call(uintptr(unsafe.Pointer(memory)), uintptr(device))); err != nil {
		return gpu.Facts{}, err
	}
	facts := gpu.Facts{
		API:            "cuda",
		Name:           strings.TrimRight(string(name), "\x00"),
		MemoryBytes:    int64(*memory),
		MaxBufferBytes: int64(*memory),
	}
	for _, a := range []struct {
		to        *int
		attribute uintptr
	}{
		{&facts.Cores, attributeMultiprocessorCount},
		{&facts.SIMDWidth, attributeWarpSize},
		{&facts.MaxThreads, attributeMaxThreadsPerBlock},
		{&facts.ThreadgroupBytes, attributeMaxSharedMemoryPerBlock},
		{&facts.MostThreadgroupBytes, attributeMaxSharedMemoryPerBlockOptin},
		{&facts.Registers, attributeMaxRegistersPerBlock},
	} {
		value, err := d.attribute(a.attribute, device)
		if err != nil {
			return gpu.Facts{}, err
		}
		*a.to = value
	}
	return facts, nil
}

func (d *driver) attribute(attribute uintptr, device int32) (int, error) {
	value := new(int32)
	err := d.check(&d.deviceGetAttribute, d.deviceGetAttribute.call(uintptr(unsafe.Pointer(value)), attribute, uintptr(device)))
	return int(*value), err
}

// architecture returns the name of the device's machine code: "sm_90".
func (d *driver) architecture(device int32) string {
	major, _ := d.attribute(attributeComputeCapabilityMajor, device)
	minor, _ := d.attribute(attributeComputeCapabilityMinor, device)
	return fmt.Sprintf("sm_%d%d", major, minor)
}

// kernelDriver returns the version of the kernel's part of the driver, "580.159.04".
func kernelDriver() string {
	version, err := os.ReadFile("/sys/module/nvidia/version")
	if err != nil {
		return "of unknown version"
	}
	return strings.TrimSpace(string(version))
}

// Facts returns what the device is.
func (d *driver) Facts() gpu.Facts { return d.facts }

// check returns the error of a call. If the error means that the device is lost, check remembers that.
func (d *driver) check(f *function, status int32) error {
	if status == 0 {
		return nil
	}
	err := d.statusError(f, status)
	if fatal[status] {
		d.lost.CompareAndSwap(nil, &err)
	}
	return err
}

// vital is check for calls after whose failure work may still be in flight. Any such failure counts as the loss of the
// device.
func (d *driver) vital(f *function, status int32) error {
	if status == 0 {
		return nil
	}
	err := d.statusError(f, status)
	if !errors.Is(err, gpu.ErrLost) {
		err = fmt.Errorf("%w: %w", err, gpu.ErrLost)
	}
	d.lost.CompareAndSwap(nil, &err)
	return err
}

// enter makes the context current on the goroutine's thread, and keeps the goroutine on that thread until leave. A
// context is current for a thread, and a goroutine may move to another thread between two calls. enter fails once the
// device is lost. Call leave only after an enter that returned nil.
func (d *driver) enter() error {
	if lost := d.lost.Load(); lost != nil {
		return *lost
	}
	runtime.LockOSThread()
	if status, _, _ := purego.SyscallN(d.ctxSetCurrent.address, d.context[:]...); int32(status) != 0 {
		runtime.UnlockOSThread()
		return d.vital(&d.ctxSetCurrent, int32(status))
	}
	return nil
}

func (d *driver) leave() { runtime.UnlockOSThread() }

// do calls a function with the context current.
//
//go:uintptrescapes
func (d *driver) do(f *function, arguments ...uintptr) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	return d.check(f, f.call(arguments...))
}

// takeStream returns a stream that is not in use.
func (d *driver) takeStream() (uintptr, error) {
	d.mu.Lock()
	if n := len(d.streams); n > 0 {
		stream := d.streams[n-1]
		d.streams = d.streams[:n-1]
		d.mu.Unlock()
		return stream, nil
	}
	d.mu.Unlock()
	stream := new(uintptr)
	err := d.do(&d.streamCreate, uintptr(unsafe.Pointer(stream)), streamNonBlocking)
	return *stream, err
}

// mostSpareStreams is how many streams are kept for later recordings.
const mostSpareStreams = 64

// giveStream takes back a stream whose work is done.
func (d *driver) giveStream(stream uintptr) {
	d.mu.Lock()
	if len(d.streams) < mostSpareStreams {
		d.streams = append(d.streams, stream)
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	_ = d.do(&d.streamDestroy, stream)
}

// fits32 reports whether numbers fit into C's int.
func fits32(values ...int) bool {
	for _, v := range values {
		if v < 0 || v > math.MaxInt32 {
			return false
		}
	}
	return true
}
