//go:build (darwin || linux) && (amd64 || arm64)

package fftw

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/native/loadable"
)

const advice = "install the Debian package libfftw3-single3 or the Homebrew package fftw, or set %s to the library's path"

// symbol is the name of a function and the place for its address.
type symbol struct {
	name    string
	address *uintptr
}

// load opens libfftw3f and looks up its functions.
func load() (*library, error) {
	lib := &library{}
	var version, setTimeLimit, alignmentOf uintptr
	err := openFirst(Environment, libraries, []symbol{
		{"fftwf_version", &version},
		{"fftwf_set_timelimit", &setTimeLimit},
		{"fftwf_alignment_of", &alignmentOf},
		{"fftwf_plan_many_dft_r2c", &lib.planForward},
		{"fftwf_plan_many_dft_c2r", &lib.planInverse},
		{"fftwf_plan_many_dft", &lib.planComplex},
		{"fftwf_execute_dft_r2c", &lib.executeForward},
		{"fftwf_execute_dft_c2r", &lib.executeInverse},
		{"fftwf_execute_dft", &lib.executeComplex},
		{"fftwf_destroy_plan", &lib.destroy},
		{"fftwf_forget_wisdom", &lib.forgetWisdom},
	})
	if err != nil {
		return nil, err
	}
	lib.version = cString(version)
	purego.RegisterFunc(&lib.setTimeLimit, setTimeLimit)
	// fftwf_alignment_of returns how far an address is beyond a multiple of the alignment.
	for lib.alignment = 4; lib.alignment < alignment; lib.alignment *= 2 {
		if beyond, _, _ := purego.SyscallN(alignmentOf, lib.alignment); int32(beyond) == 0 {
			break
		}
	}
	return lib, nil
}

// loadThreads opens and initialises libfftw3f_threads.
func loadThreads() (*threadLibrary, error) {
	lib := &threadLibrary{}
	var initThreads uintptr
	err := openFirst(ThreadsEnvironment, threadLibraries, []symbol{
		{"fftwf_init_threads", &initThreads},
		{"fftwf_plan_with_nthreads", &lib.planWithThreads},
	})
	if err != nil {
		return nil, err
	}
	planner.Lock()
	defer planner.Unlock()
	if ok, _, _ := purego.SyscallN(initThreads); int32(ok) == 0 {
		return nil, fmt.Errorf("fftw: fftwf_init_threads failed (the system gave it no threads)")
	}
	threaded = lib
	return lib, nil
}

// openFirst opens the first of the paths that is a library, or the one that the environment variable names, and looks up its
// symbols. If none opens, the error is that of the first.
func openFirst(environment string, paths []string, symbols []symbol) error {
	if override := os.Getenv(environment); override != "" {
		paths = []string{override}
	}
	var first error
	for _, path := range paths {
		err := open(path, symbols)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return fmt.Errorf("fftw: %w ("+advice+")", first, environment)
}

func open(path string, symbols []symbol) error {
	handle, err := loadable.Open(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if *s.address, err = loadable.Symbol(handle, s.name); err != nil {
			purego.Dlclose(handle)
			return fmt.Errorf("%s is not the library that is wanted: it has no %s", path, s.name)
		}
	}
	return nil
}

// cString returns a copy of the zero-terminated text at an address in the library.
func cString(address uintptr) string {
	// The text belongs to C, and Go's garbage collector does not know it. vet reports every conversion of a uintptr to a
	// pointer, so this reads the pointer out of the variable.
	first := *(**byte)(unsafe.Pointer(&address))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(first), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(first, n))
}

func planWithThreads(lib *threadLibrary, threads int) {
	purego.SyscallN(lib.planWithThreads, uintptr(threads))
}

// planMany calls fftwf_plan_many_dft_r2c or fftwf_plan_many_dft_c2r for contiguous rows.
func planMany(function uintptr, n, batch int, in unsafe.Pointer, inStride int, out unsafe.Pointer, outStride int, flags uint32) uintptr {
	length := int32(n)
	plan, _, _ := purego.SyscallN(function, 1, uintptr(unsafe.Pointer(&length)), uintptr(batch),
		uintptr(in), 0, 1, uintptr(inStride), uintptr(out), 0, 1, uintptr(outStride), uintptr(flags))
	return plan
}

// planManyComplex calls fftwf_plan_many_dft for contiguous rows.
func planManyComplex(function uintptr, n, batch int, in, out unsafe.Pointer, sign int, flags uint32) uintptr {
	length := int32(n)
	plan, _, _ := purego.SyscallN(function, 1, uintptr(unsafe.Pointer(&length)), uintptr(batch),
		uintptr(in), 0, 1, uintptr(n), uintptr(out), 0, 1, uintptr(n), uintptr(sign), uintptr(flags))
	return plan
}

func invoke(function uintptr, arguments []uintptr) { purego.SyscallN(function, arguments...) }

func destroy(function, plan uintptr) { purego.SyscallN(function, plan) }
