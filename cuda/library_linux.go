//go:build amd64 || arm64

package cuda

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/native/loadable"
)

// function is a function of a loaded library.
type function struct {
	name    string
	address uintptr
}

// call calls the function and returns its status; every function of these libraries returns one. An argument
// uintptr(unsafe.Pointer(p)) gives C the address of a Go object. The directive moves that object to the heap and keeps
// it there until the call is over. It works on exactly that expression, so no helper may stand in for it.
//
//go:uintptrescapes
func (f *function) call(arguments ...uintptr) int32 {
	status, _, _ := purego.SyscallN(f.address, arguments...)
	return int32(status)
}

// pointer calls a function that returns an address.
func (f *function) pointer(argument uintptr) uintptr {
	result, _, _ := purego.SyscallN(f.address, argument)
	return result
}

// named gives functions their names and returns them, sorted by name.
func named(functions map[string]*function) []*function {
	var list []*function
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		functions[name].name = name
		list = append(list, functions[name])
	}
	return list
}

// oldestCUDA and newestCUDA are the major versions of CUDA whose libraries are looked for.
const (
	oldestCUDA = 12
	newestCUDA = 13
)

// versions returns the names of a library of CUDA. The driver's major version comes first, then older ones, which the
// driver runs too, then newer ones. The library's own major version is CUDA's plus offset.
func versions(name string, driverMajor, offset int) []string {
	var names []string
	for major := min(driverMajor, newestCUDA); major >= oldestCUDA; major-- {
		names = append(names, fmt.Sprintf("%s.%d", name, major+offset))
	}
	for major := max(driverMajor+1, oldestCUDA); major <= newestCUDA; major++ {
		names = append(names, fmt.Sprintf("%s.%d", name, major+offset))
	}
	return names
}

// search says how to find a library.
type search struct {
	environment string   // the variable that holds a path, in place of everything else
	names       []string // of the file, in order of preference
	companions  []string // patterns of files beside it that it opens by name
	advice      string   // how to install it
}

// open loads the first file that exists, and looks up the functions. If there is no file, the error is one line that
// says what to install.
func (s *search) open(functions ...*function) error {
	if override := os.Getenv(s.environment); override != "" {
		if err := s.load(override, functions); err != nil {
			return fmt.Errorf("%w (from %s)", err, s.environment)
		}
		return nil
	}
	var first error
	for _, name := range s.names {
		for _, path := range candidates(name) {
			err := s.load(path, functions)
			if err == nil {
				return nil
			}
			if first == nil {
				first = err
			}
		}
	}
	return fmt.Errorf("%w (%s, or set %s to the library's path)", first, s.advice, s.environment)
}

// load loads one file and looks up the functions.
func (s *search) load(path string, functions []*function) error {
	if strings.Contains(path, "/") {
		for _, pattern := range s.companions {
			files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), pattern))
			for _, file := range files {
				// If the library needs a companion that did not load, the library's own error says so.
				_, _ = loadable.Open(file, purego.RTLD_NOW|purego.RTLD_GLOBAL)
			}
		}
	}
	handle, err := loadable.Open(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return err
	}
	for _, f := range functions {
		if f.address, err = loadable.Symbol(handle, f.name); err != nil {
			purego.Dlclose(handle)
			return fmt.Errorf("%s is not the library that is wanted: it has no %s", path, f.name)
		}
	}
	return nil
}

// candidates returns where a file of the given name may be: first the bare name, for the loader's own search, then the
// paths of existing files.
func candidates(name string) []string {
	paths := []string{name}
	for _, folder := range folders() {
		matches, _ := filepath.Glob(filepath.Join(folder, name))
		paths = append(paths, matches...)
	}
	return paths
}

// folders returns patterns of the folders that CUDA's libraries are installed in.
func folders() []string {
	target := map[string]string{"amd64": "x86_64-linux", "arm64": "sbsa-linux"}[runtime.GOARCH]
	var patterns []string
	for _, root := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"} {
		if root == "" {
			continue
		}
		patterns = append(patterns, root, filepath.Join(root, "lib64"), filepath.Join(root, "lib"),
			filepath.Join(root, "targets", target, "lib"))
	}
	for _, root := range []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"), "/usr/local", "/usr",
		filepath.Join(os.Getenv("HOME"), ".local")} {
		if root == "" {
			continue
		}
		for _, packages := range []string{"site-packages", "dist-packages"} {
			patterns = append(patterns, filepath.Join(root, "lib", "python3*", packages, "nvidia", "*", "lib"))
		}
	}
	return patterns
}

// cString copies the text that ends with a zero at an address outside of Go's memory.
func cString(at uintptr) string {
	if at == 0 {
		return ""
	}
	first := outside(at)
	n := 0
	for *(*byte)(unsafe.Add(first, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(first), n))
}

// outside returns a pointer to an address outside of Go's memory. vet suspects every conversion of a uintptr to a
// pointer, so outside reads the pointer out of the variable.
func outside(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// zeroTerminated returns the bytes of a text with the zero that C wants behind it.
func zeroTerminated(text string) *byte { return unsafe.SliceData(append([]byte(text), 0)) }

// oneLine folds a message, which may span lines, into one.
func oneLine(message string) string { return strings.Join(strings.Fields(message), " ") }
