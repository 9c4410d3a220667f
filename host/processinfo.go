package host

import "runtime"

// objectiveC is what Foundation is asked, by the functions of the Objective-C runtime. On macOS it is bound to it; tests
// bind it to functions of their own.
//
// Reference: https://developer.apple.com/documentation/objectivec/objective-c-runtime
type objectiveC struct {
	class    func(name string) ref            // objc_getClass
	selector func(name string) ref            // sel_registerName
	send     func(receiver, selector ref) ref // objc_msgSend, for messages without arguments
	push     func() ref                       // objc_autoreleasePoolPush
	pop      func(pool ref)                   // objc_autoreleasePoolPop
}

// processThermalStates are the words for NSProcessInfoThermalState, from 0 on.
//
// Reference: https://developer.apple.com/documentation/foundation/nsprocessinfothermalstate
var processThermalStates = []string{"nominal", "fair", "serious", "critical"}

// thermalState returns what NSProcessInfo says of the machine. A nil o says "unknown".
func (o *objectiveC) thermalState() string {
	if o == nil {
		return "unknown"
	}
	// A pool belongs to its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer o.pop(o.push())
	class := o.class("NSProcessInfo")
	if class == 0 {
		return "unknown"
	}
	process := o.send(class, o.selector("processInfo"))
	if process == 0 {
		return "unknown"
	}
	state := o.send(process, o.selector("thermalState"))
	if state >= ref(len(processThermalStates)) {
		return "unknown"
	}
	return processThermalStates[state]
}
