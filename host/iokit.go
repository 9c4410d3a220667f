package host

import "bytes"

// ref is a reference to an object of macOS, or 0.
type ref uintptr

// ioKit holds the functions of IOKit and CoreFoundation that this package calls. On macOS they are those of the
// frameworks. Tests set functions of their own.
//
// Reference: IOKitLib.h and IOPowerSources.h of IOKit; CFBase.h, CFNumber.h and CFString.h of CoreFoundation.
type ioKit struct {
	serviceMatching  func(class string) ref                                           // IOServiceMatching
	matchingServices func(port uint32, matching ref, iterator *uint32) (failed int32) // IOServiceGetMatchingServices
	next             func(iterator uint32) (service uint32)                           // IOIteratorNext
	property         func(service uint32, key, allocator ref, options uint32) ref     // IORegistryEntryCreateCFProperty
	releaseObject    func(object uint32) (failed int32)                               // IOObjectRelease
	copySources      func() ref                                                       // IOPSCopyPowerSourcesInfo
	providing        func(sources ref) ref                                            // IOPSGetProvidingPowerSourceType

	release     func(object ref)                                               // CFRelease
	typeOf      func(object ref) uint                                          // CFGetTypeID
	numberType  func() uint                                                    // CFNumberGetTypeID
	numberValue func(number ref, kind int, value *int64) bool                  // CFNumberGetValue
	stringType  func() uint                                                    // CFStringGetTypeID
	newString   func(allocator ref, text string, encoding uint32) ref          // CFStringCreateWithCString
	stringBytes func(s ref, text *byte, size int, encoding uint32) (fits bool) // CFStringGetCString
}

const (
	mainPort  = 0          // kIOMainPortDefault
	allocator = ref(0)     // kCFAllocatorDefault
	utf8      = 0x08000100 // kCFStringEncodingUTF8
	int64Type = 4          // kCFNumberSInt64Type
)

// mostOfAKind is more parts of any kind than a chip has.
const mostOfAKind = 1 << 16

// gpuCores returns the number of cores of the GPU in an Apple chip, or 0 if IOKit's registry does not say or k is nil. The
// number is a property of the GPU's driver.
func (k *ioKit) gpuCores() int {
	if k == nil {
		return 0
	}
	key := k.newString(allocator, "gpu-core-count", utf8)
	if key == 0 {
		return 0
	}
	defer k.release(key)
	matching := k.serviceMatching("AGXAccelerator")
	if matching == 0 {
		return 0
	}
	var services uint32
	if k.matchingServices(mainPort, matching, &services) != 0 { // it releases matching
		return 0
	}
	defer k.releaseObject(services)
	cores := 0
	for service := k.next(services); service != 0; service = k.next(services) {
		cores = max(cores, k.count(service, key))
		k.releaseObject(service)
	}
	return cores
}

// count returns a property that is a number of parts, or 0 if the property is not a plausible number.
func (k *ioKit) count(service uint32, key ref) int {
	property := k.property(service, key, allocator, 0)
	if property == 0 {
		return 0
	}
	defer k.release(property)
	var value int64
	if k.typeOf(property) != k.numberType() || !k.numberValue(property, int64Type, &value) || value < 0 || value > mostOfAKind {
		return 0
	}
	return int(value)
}

// powerSource returns Condition.Power. It returns "unknown" for a nil k.
func (k *ioKit) powerSource() string {
	if k == nil {
		return "unknown"
	}
	sources := k.copySources()
	if sources == 0 {
		return "unknown"
	}
	defer k.release(sources)
	kind := k.providing(sources) // a constant, which must not be released
	if kind == 0 || k.typeOf(kind) != k.stringType() {
		return "unknown"
	}
	var text [32]byte
	if !k.stringBytes(kind, &text[0], len(text), utf8) {
		return "unknown"
	}
	name, _, _ := bytes.Cut(text[:], []byte{0})
	switch string(name) {
	case "AC Power":
		return "mains"
	case "Battery Power", "UPS Power":
		return "battery"
	}
	return "unknown"
}
