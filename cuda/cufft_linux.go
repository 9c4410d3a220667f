//go:build amd64 || arm64

package cuda

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"crossover/gpu"
)

// cufft is cuFFT as far as it is used. Every function returns a cufftResult.
// Reference: https://docs.nvidia.com/cuda/cufft/
type cufft struct {
	planMany, destroy, setStream function

	// planning is held while planMany runs. With 16 goroutines that planned at once, it has failed with
	// CUFFT_INTERNAL_ERROR (5).
	planning sync.Mutex

	execR2C, execC2R, execC2C function
	getProperty               function
	version                   string
}

// Values from cufft.h.
const (
	cufftR2C         = 0x2a
	cufftC2R         = 0x2c
	cufftC2C         = 0x29
	cufftForward     = -1
	cufftInverse     = 1
	cufftAllocFailed = 2
)

// loadCUFFT finds and loads cuFFT.
func loadCUFFT(driverMajor int) (*cufft, error) {
	l := &cufft{}
	// cuFFT has version numbers of its own: 12 is CUDA 13's, 11 is CUDA 12's.
	find := search{environment: "CROSSOVER_LIBCUFFT", names: versions("libcufft.so", driverMajor, -1), advice: "install the CUDA toolkit's cuFFT"}
	err := find.open(named(map[string]*function{
		"cufftPlanMany": &l.planMany, "cufftDestroy": &l.destroy, "cufftSetStream": &l.setStream,
		"cufftExecR2C": &l.execR2C, "cufftExecC2R": &l.execC2R, "cufftExecC2C": &l.execC2C, "cufftGetProperty": &l.getProperty,
	})...)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	if l.version, err = propertyVersion("cuFFT", &l.getProperty); err != nil {
		return nil, err
	}
	return l, nil
}

// check returns the error of a call.
func (l *cufft) check(f *function, status int32) error {
	switch status {
	case 0:
		return nil
	case cufftAllocFailed:
		return fmt.Errorf("cuda: %s: no memory for its plan: %w", f.name, gpu.ErrOutOfMemory)
	}
	return fmt.Errorf("cuda: %s: cufftResult %d", f.name, status)
}

// transform is a plan of cuFFT on the memory that it works on.
type transform struct {
	driver    *driver
	library   *cufft
	function  *function
	plan      uintptr
	arguments []uintptr
}

// FFTMissing returns nil where cuFFT is there.
func (d *driver) FFTMissing() error {
	_, err := d.cufft()
	return err
}

// FFTVersion returns "cuFFT 12.0.0".
func (d *driver) FFTVersion() string {
	l, err := d.cufft()
	if err != nil {
		return ""
	}
	return l.version
}

// NewFFT readies a transform. A transform to real values overwrites src.
func (d *driver) NewFFT(dst, src gpu.Region, t gpu.Transform) (gpu.External, error) {
	l, plan, err := d.planFFT(t)
	if err != nil {
		return nil, err
	}
	out := &transform{driver: d, library: l, plan: plan, arguments: []uintptr{plan, place(src), place(dst)}}
	switch {
	case t.Complex:
		direction := cufftForward
		if t.Inverse {
			direction = cufftInverse
		}
		out.function, out.arguments = &l.execC2C, append(out.arguments, uintptr(direction))
	case t.Inverse:
		out.function = &l.execC2R
	default:
		out.function = &l.execR2C
	}
	return out, nil
}

// CompileFFT makes a plan and destroys it. For the first plan of a length, cuFFT compiles kernels, which takes 30 to 500 ms beside
// an H200. It keeps them, so the next plan takes 1 to 10 ms.
func (d *driver) CompileFFT(t gpu.Transform) error {
	l, plan, err := d.planFFT(t)
	if err == nil {
		d.destroyFFT(l, plan)
	}
	return err
}

// planFFT makes a plan of a transform.
func (d *driver) planFFT(t gpu.Transform) (l *cufft, plan uintptr, err error) {
	if l, err = d.cufft(); err != nil {
		return nil, 0, err
	}
	if t.N < 1 || t.Batch < 1 || !fits32(t.N, t.Batch) {
		return nil, 0, fmt.Errorf("cuda: cuFFT takes no %d rows of %d values (want each at least 1 and less than 2^31)", t.Batch, t.N)
	}
	kind := uintptr(cufftR2C)
	switch {
	case t.Complex:
		kind = cufftC2C
	case t.Inverse:
		kind = cufftC2R
	}
	if err := d.enter(); err != nil {
		return nil, 0, err
	}
	defer d.leave()
	handle, length := new(int32), int32(t.N)
	l.planning.Lock()
	status := l.planMany.call(uintptr(unsafe.Pointer(handle)), 1, uintptr(unsafe.Pointer(&length)), 0, 1, 0, 0, 1, 0, kind, uintptr(t.Batch))
	l.planning.Unlock()
	if err := l.check(&l.planMany, status); err != nil {
		return nil, 0, err
	}
	return l, uintptr(*handle), nil
}

// destroyFFT destroys a plan.
func (d *driver) destroyFFT(l *cufft, plan uintptr) {
	if d.enter() == nil {
		l.destroy.call(plan)
		d.leave()
	}
}

// Encode appends the transform to a stream, with the context current.
func (t *transform) Encode(stream uintptr) error {
	if t.arguments == nil {
		return errors.New("cuda: the transform is closed")
	}
	l := t.library
	if err := l.check(&l.setStream, l.setStream.call(t.plan, stream)); err != nil {
		return err
	}
	return l.check(t.function, t.function.call(t.arguments...))
}

// Close destroys the plan.
func (t *transform) Close() {
	if t.arguments == nil {
		return
	}
	t.driver.destroyFFT(t.library, t.plan)
	t.arguments = nil
}
