//go:build !((darwin || linux) && (amd64 || arm64))

package fftw

import (
	"fmt"
	"runtime"
	"unsafe"
)

func load() (*library, error) {
	return nil, fmt.Errorf("fftw: not supported on %s/%s (want linux or darwin on amd64 or arm64)",
		runtime.GOOS, runtime.GOARCH)
}

func loadThreads() (*threadLibrary, error) { return nil, Probe() }

// The functions below are never called, because there is no library to call.

func planWithThreads(*threadLibrary, int) {}

func planMany(uintptr, int, int, unsafe.Pointer, int, unsafe.Pointer, int, uint32) uintptr { return 0 }

func planManyComplex(uintptr, int, int, unsafe.Pointer, unsafe.Pointer, int, uint32) uintptr {
	return 0
}

func invoke(uintptr, []uintptr) {}

func destroy(uintptr, uintptr) {}
