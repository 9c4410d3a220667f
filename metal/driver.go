//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ebitengine/purego"

	"crossover/gpu"
	"crossover/metal/objc"
)

// driver is a GPU with its queue.
type driver struct {
	device, queue objc.ID
	facts         gpu.Facts
	version       string // of macOS: "macOS 15.1"
	missingMPS    error  // why the GPU has no Metal Performance Shaders; nil where it has them

	// mostProduct is how many bytes (m + 2k)·n floats may take in an m×k by k×n product of Metal Performance Shaders. On
	// M1 and M2, from 2³¹ on, some rows of the result are NaN.
	//
	// Source: measurements of the maintainers of Metal.jl, https://github.com/JuliaGPU/Metal.jl
	mostProduct int

	allocated atomic.Int64 // bytes in all buffers
}

// mostInFlight is how many command buffers the queue takes before it makes its caller wait. A queue takes 64 by
// default. Throughput is measured with 64 calls in flight, so the limit is higher.
const mostInFlight = 128

// Open opens the system's default GPU. lookup finds the C functions of libobjc, Metal and Metal Performance Shaders; the last
// may be missing. Metal does not tell how many cores a GPU has. The caller passes the number as cores, or 0 if the caller does
// not know it either. Programs use [Backends], which looks in the system's frameworks; tests look in a fake.
func Open(lookup objc.Symbols, cores int) (gpu.Driver, error) {
	d, err := open(lookup, cores)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func open(lookup objc.Symbols, cores int) (_ *driver, err error) {
	createDevice, err := lookup("MTLCreateSystemDefaultDevice")
	if err != nil {
		return nil, errors.New("metal: the Metal framework has no MTLCreateSystemDefaultDevice")
	}
	if err := objc.Load(lookup); err != nil {
		return nil, fmt.Errorf("metal: %w", err)
	}
	// Reference: https://developer.apple.com/documentation/metal/mtlcreatesystemdefaultdevice()
	var create func() objc.ID
	purego.RegisterFunc(&create, createDevice)
	d := &driver{}
	objc.InPool(func() {
		if d.device = create(); d.device == 0 {
			err = errors.New("metal: this Mac has no GPU that Metal can use")
			return
		}
		if d.queue = newCommandQueue.Call(d.device, mostInFlight); d.queue == 0 {
			err = errors.New("metal: the GPU gives no command queue")
			objc.Release(d.device)
			return
		}
		d.version = systemVersion()
		has := familiesOf(d.device)
		d.facts = describe(d.device, has, d.version)
		d.facts.Cores = cores
		d.mostProduct = has.mostProduct()
		if d.missingMPS = findMPS(lookup, d.device); d.missingMPS == nil && d.facts.Lacks != "" {
			// MPSSupportsMTLDevice may say yes here, but Apple supports Metal Performance Shaders in no virtual
			// machine.
			d.missingMPS = fmt.Errorf("metal: Metal Performance Shaders are not supported on %s, a GPU of family %s", d.facts.Name, has)
		}
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// simdWidth is the number of threads that run in step on every GPU of Apple's. Metal reports it for pipelines only, so
// it is checked there.
const simdWidth = 32

// describe returns what Metal tells of a device.
func describe(device objc.ID, has familySet, version string) gpu.Facts {
	name := goString(deviceName.Call(device))
	return gpu.Facts{
		API:              "metal",
		Name:             name,
		Driver:           "Metal, " + version,
		MemoryBytes:      int64(recommendedWorkingSet.Call(device)),
		Unified:          hasUnifiedMemory.Call(device),
		SIMDWidth:        simdWidth,
		MaxThreads:       int(maxThreadsPerThreadgroup.Call(device).Width),
		ThreadgroupBytes: int(maxThreadgroupMemory.Call(device)),
		MaxBufferBytes:   int64(maxBufferLength.Call(device)),
		Families:         has.String(),
		SIMDMatrices:     has.matrices(),
		Lacks:            has.lacks(name),
	}
}

// systemVersion returns the version of the system, of which Metal's compiler and drivers are a part.
func systemVersion() string {
	v := operatingSystemVersion.Call(processInfo.Call(objc.Class("NSProcessInfo")))
	if v.Patch == 0 {
		return fmt.Sprintf("macOS %d.%d", v.Major, v.Minor)
	}
	return fmt.Sprintf("macOS %d.%d.%d", v.Major, v.Minor, v.Patch)
}

func (d *driver) Facts() gpu.Facts { return d.facts }

// Forget does nothing: this package keeps nothing, and cannot drop the compiled texts that macOS keeps.
func (d *driver) Forget() {}

// Close gives the GPU back. Compiled texts that are still reachable hold it themselves.
func (d *driver) Close() {
	objc.InPool(func() {
		objc.Release(d.queue)
		objc.Release(d.device)
	})
}

// goString copies an NSString; nil is "".
func goString(s objc.ID) string {
	if s == 0 {
		return ""
	}
	return utf8String.Call(s)
}

// nsString returns an autoreleased NSString, nil where s is not UTF-8.
func nsString(s string) objc.ID { return stringWithUTF8.Call(objc.Class("NSString"), s) }
