//go:build (darwin || linux) && (amd64 || arm64)

package objc

import (
	"fmt"
	"sync"

	"github.com/ebitengine/purego"
)

// ID is an object or a class; 0 is nil.
type ID uintptr

// Selector is the name of a method as the runtime knows it.
type Selector uintptr

// Symbols returns the address of a C function.
type Symbols func(name string) (uintptr, error)

// library is libobjc. A process has one libobjc, so this is a variable of the package.
var library struct {
	mu     sync.Mutex
	loaded bool

	getClass     func(name string) ID
	registerName func(name string) Selector

	// Called through SyscallN, which allocates nothing.
	send       uintptr // objc_msgSend
	sendStruct uintptr // for methods that return structs of more than two words
	push, pop  uintptr // objc_autoreleasePoolPush, objc_autoreleasePoolPop
}

// declared are the methods that were declared, to be bound when the library is loaded.
var declared []binder

type binder interface {
	bind()
	declaration() Declaration
}

// Load binds libobjc's functions and every method that has been declared; later declarations are bound when they are
// made. It fails where a function is missing. Once it has succeeded it does nothing.
func Load(lookup Symbols) error {
	library.mu.Lock()
	defer library.mu.Unlock()
	if library.loaded {
		return nil
	}
	var getClass, registerName uintptr
	for _, f := range []struct {
		name    string
		address *uintptr
	}{
		{"objc_getClass", &getClass},
		{"sel_registerName", &registerName},
		{"objc_msgSend", &library.send},
		{sendStruct, &library.sendStruct},
		{"objc_autoreleasePoolPush", &library.push},
		{"objc_autoreleasePoolPop", &library.pop},
	} {
		var err error
		if *f.address, err = lookup(f.name); err != nil {
			return fmt.Errorf("objc: the runtime has no %s", f.name)
		}
	}
	purego.RegisterFunc(&library.getClass, getClass)
	purego.RegisterFunc(&library.registerName, registerName)
	library.loaded = true
	for _, m := range declared {
		m.bind()
	}
	return nil
}

// Class returns a class by its name, nil where no loaded framework has it.
//
// Reference: https://developer.apple.com/documentation/objectivec/objc_getclass
func Class(name string) ID { return library.getClass(name) }
