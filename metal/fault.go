//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"
	"strings"

	"crossover/gpu"
	"crossover/metal/objc"
)

var (
	errNoCommandBuffer = errors.New("metal: the queue gives no command buffer")
	errNoEncoder       = errors.New("metal: the command buffer gives no encoder")
	errNotInFlight     = errors.New("metal: nothing is in flight; Submit comes first")
	errInFlight        = errors.New("metal: the recording is in flight; Wait comes first")
)

// completed is the status of a command buffer that has run without a fault.
//
// Reference: https://developer.apple.com/documentation/metal/mtlcommandbufferstatus
const completed = 4

// fault returns what went wrong in a command buffer that has been waited for, or nil.
func fault(buffer objc.ID) error {
	s := status.Call(buffer)
	if s == completed {
		return nil
	}
	err := bufferError.Call(buffer)
	if err == 0 {
		return fmt.Errorf("metal: the command buffer ended with status %d and no error", s)
	}
	code := errorCode.Call(err)
	description := oneLine(goString(localizedDescription.Call(err)))
	if domain := goString(errorDomain.Call(err)); domain != "MTLCommandBufferErrorDomain" {
		return fmt.Errorf("metal: the GPU failed: %s (%s %d)", description, domain, code)
	}
	reason := commandBufferErrors[code]
	if reason.name == "" {
		reason.name = fmt.Sprintf("error %d", code)
	}
	if reason.wraps == nil {
		return fmt.Errorf("metal: the GPU failed: %s: %s", reason.name, description)
	}
	return fmt.Errorf("metal: the GPU failed: %s: %s: %w", reason.name, description, reason.wraps)
}

// commandBufferErrors are the codes of MTLCommandBufferErrorDomain, and which of them end more than one command buffer.
//
// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffererror-swift.struct/code
var commandBufferErrors = map[int]struct {
	name  string
	wraps error
}{
	1:  {name: "internal error"},
	2:  {name: "a kernel ran too long"},
	3:  {name: "a kernel used memory that is not its own"},
	4:  {name: "the system takes no more work from this process", wraps: gpu.ErrLost},
	7:  {name: "the process may not use the GPU", wraps: gpu.ErrLost},
	8:  {name: "too little memory", wraps: gpu.ErrOutOfMemory},
	9:  {name: "a buffer is gone"},
	10: {name: "too little memory in tiles"},
	11: {name: "the GPU was removed", wraps: gpu.ErrLost},
	12: {name: "a kernel's stack ran over"},
}

// oneLine folds a message that may span lines into one.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
