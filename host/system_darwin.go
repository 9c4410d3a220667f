package host

import (
	"math"
	"runtime"
	"sync"
	"syscall"

	"github.com/ebitengine/purego"
)

func identify() Facts {
	return appleFacts(syscall.Sysctl, func() int { return loadIOKit().gpuCores() }, runtime.GOARCH, runtime.NumCPU())
}

func observe() Condition {
	return appleCondition(syscall.Sysctl, loadIOKit(), loadObjectiveC(), loadScheduling())
}

// loadIOKit returns nil if a function is missing.
var loadIOKit = sync.OnceValue(func() *ioKit {
	k := new(ioKit)
	if bind("/System/Library/Frameworks/IOKit.framework/IOKit", map[string]any{
		"IOServiceMatching":               &k.serviceMatching,
		"IOServiceGetMatchingServices":    &k.matchingServices,
		"IOIteratorNext":                  &k.next,
		"IORegistryEntryCreateCFProperty": &k.property,
		"IOObjectRelease":                 &k.releaseObject,
		"IOPSCopyPowerSourcesInfo":        &k.copySources,
		"IOPSGetProvidingPowerSourceType": &k.providing,
	}) && bind("/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", map[string]any{
		"CFRelease":                 &k.release,
		"CFGetTypeID":               &k.typeOf,
		"CFNumberGetTypeID":         &k.numberType,
		"CFNumberGetValue":          &k.numberValue,
		"CFStringGetTypeID":         &k.stringType,
		"CFStringCreateWithCString": &k.newString,
		"CFStringGetCString":        &k.stringBytes,
	}) {
		return k
	}
	return nil
})

// loadObjectiveC returns nil if a function is missing. Foundation has NSProcessInfo.
var loadObjectiveC = sync.OnceValue(func() *objectiveC {
	o := new(objectiveC)
	if bind("/System/Library/Frameworks/Foundation.framework/Foundation", nil) &&
		bind("/usr/lib/libobjc.A.dylib", map[string]any{
			"objc_getClass":            &o.class,
			"sel_registerName":         &o.selector,
			"objc_msgSend":             &o.send,
			"objc_autoreleasePoolPush": &o.push,
			"objc_autoreleasePoolPop":  &o.pop,
		}) {
		return o
	}
	return nil
})

// loadScheduling returns nil if a function is missing.
var loadScheduling = sync.OnceValue(func() *scheduling {
	p := new(scheduling)
	if bind("/usr/lib/libSystem.B.dylib", map[string]any{
		"qos_class_self": &p.qosOfThread,
		"qos_class_main": &p.qosOfMain,
		"getpriority":    &p.getPriority,
	}) {
		return p
	}
	return nil
})

// bind loads a library of the system and sets variables to its functions. It reports whether the library has them all.
func bind(path string, functions map[string]any) bool {
	library, err := purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_GLOBAL)
	if err != nil {
		return false
	}
	for name, function := range functions {
		address, err := purego.Dlsym(library, name)
		if err != nil {
			return false
		}
		purego.RegisterFunc(function, address)
	}
	return true
}

// others returns NaN, because the kernel's counters of processor time need a Mach call, which nobody has tried on a Mac yet.
func others() float64 { return math.NaN() }

func undriven() string { return "" }
