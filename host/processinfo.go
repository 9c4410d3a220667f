package host

import "runtime"

// objectiveC holds the functions of the Objective-C runtime through which this package asks Foundation. Tests set
// functions of their own.
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

// thermalState returns the thermal state of NSProcessInfo. It returns "unknown" for a nil o.
func (o *objectiveC) thermalState() string {
	state, told := o.ask("thermalState")
	if !told || state >= ref(len(processThermalStates)) {
		return "unknown"
	}
	return processThermalStates[state]
}

// powerMode says whether the machine is in low-power mode. It returns "unknown" for a nil o.
//
// Reference: https://developer.apple.com/documentation/foundation/nsprocessinfo/islowpowermodeenabled. It exists since macOS
// 12, the oldest version that Go supports.
func (o *objectiveC) powerMode() string {
	answer, told := o.ask("isLowPowerModeEnabled")
	switch {
	case !told:
		return "unknown"
	case uint8(answer) != 0: // a BOOL is one byte; the other bytes of the register are undefined
		return "low"
	}
	return "normal"
}

// ask sends a message without arguments to the only object of NSProcessInfo. With a nil o, told is false.
func (o *objectiveC) ask(selector string) (answer ref, told bool) {
	if o == nil {
		return 0, false
	}
	// A pool belongs to its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer o.pop(o.push())
	class := o.class("NSProcessInfo")
	if class == 0 {
		return 0, false
	}
	process := o.send(class, o.selector("processInfo"))
	if process == 0 {
		return 0, false
	}
	return o.send(process, o.selector(selector)), true
}
