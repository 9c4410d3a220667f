//go:build (darwin || linux) && (amd64 || arm64)

package objc

// The methods that every object has.
//
// Reference: https://developer.apple.com/documentation/objectivec/nsobject-c.protocol,
// https://developer.apple.com/documentation/objectivec/nsobject-swift.class
var (
	alloc      = Declare[func(ID) ID]("NSObject", "alloc")
	initialise = Declare[func(ID) ID]("NSObject", "init")
	retain     = Declare[func(ID) ID]("NSObject", "retain")
	release    = Declare[func(ID)]("NSObject", "release")
	respondsTo = Declare[func(ID, Selector) bool]("NSObject", "respondsToSelector:")
)

// Alloc returns a new instance of a class, for one of its init methods.
func Alloc(class ID) ID { return alloc.Call(class) }

// New returns a new instance of a class that needs no arguments.
func New(class ID) ID { return initialise.Call(alloc.Call(class)) }

// Retain makes the caller an owner of the object, and returns the object.
func Retain(object ID) ID { return retain.Call(object) }

// Release gives up the caller's ownership of an object.
func Release(object ID) { release.Call(object) }

// Responds reports whether an object has a method. Older systems lack newer methods.
func Responds[F any](object ID, m *Method[F]) bool { return respondsTo.Call(object, m.selector) }

// RetainMessage and ReleaseMessage are what [Retain] and [Release] send.
func RetainMessage() Message  { return retain.Bare() }
func ReleaseMessage() Message { return release.Bare() }
