//go:build amd64 || arm64

package cuda

import (
	"fmt"
	"unsafe"

	"crossover/gpu"
)

// Values of CUresult that this package reacts to.
const (
	errorOutOfMemory    = 2
	errorNoBinary       = 209
	errorUnsupportedPTX = 222
)

// fatal holds the values of CUresult after which the context cannot be used any more, or the device is gone.
var fatal = map[int32]bool{
	4:   true, // DEINITIALIZED
	46:  true, // DEVICE_UNAVAILABLE
	201: true, // INVALID_CONTEXT
	214: true, // ECC_UNCORRECTABLE
	220: true, // NVLINK_UNCORRECTABLE
	226: true, // CONTAINED
	700: true, // ILLEGAL_ADDRESS
	702: true, // LAUNCH_TIMEOUT
	709: true, // CONTEXT_IS_DESTROYED
	710: true, // ASSERT
	714: true, // HARDWARE_STACK_ERROR
	715: true, // ILLEGAL_INSTRUCTION
	716: true, // MISALIGNED_ADDRESS
	717: true, // INVALID_ADDRESS_SPACE
	718: true, // INVALID_PC
	719: true, // LAUNCH_FAILED
	999: true, // UNKNOWN
}

// statusError returns the error of a CUresult: nil for success, else one line with the function, the name of the error
// and the driver's description of it.
func (l *libcuda) statusError(f *function, status int32) error {
	if status == 0 {
		return nil
	}
	name, description := new(uintptr), new(uintptr)
	l.getErrorName.call(uintptr(status), uintptr(unsafe.Pointer(name)))
	l.getErrorString.call(uintptr(status), uintptr(unsafe.Pointer(description)))
	text := cString(*name)
	if text == "" {
		text = fmt.Sprintf("error %d", status)
	}
	if more := cString(*description); more != "" {
		text += ": " + oneLine(more)
	}
	switch {
	case status == errorOutOfMemory:
		return fmt.Errorf("cuda: %s: %s: %w", f.name, text, gpu.ErrOutOfMemory)
	case status == errorNoBinary || status == errorUnsupportedPTX:
		return fmt.Errorf("cuda: %s: %s (the driver is too old for this NVRTC; update NVIDIA's driver)", f.name, text)
	case fatal[status]:
		return fmt.Errorf("cuda: %s: %s: %w", f.name, text, gpu.ErrLost)
	}
	return fmt.Errorf("cuda: %s: %s", f.name, text)
}
