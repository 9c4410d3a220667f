//go:build darwin || linux

package loadable

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// Open loads the library at path and returns its handle. mode is one of purego's modes, such as purego.RTLD_NOW. The error
// is one line with the cause that the loader reports.
func Open(path string, mode int) (handle uintptr, err error) {
	if err = Check(path); err == nil {
		onOneThread(func() { handle, err = purego.Dlopen(path, mode) })
	}
	if err != nil {
		return 0, fmt.Errorf("cannot load %s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	return handle, nil
}

// Symbol returns the address of a function or a variable in a library that Open loaded.
func Symbol(handle uintptr, name string) (address uintptr, err error) {
	onOneThread(func() { address, err = purego.Dlsym(handle, name) })
	return address, err
}

// onOneThread runs f on one thread. f calls the loader, and after a failure asks for the cause. The loader keeps the cause
// for the thread that made the call.
func onOneThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}
