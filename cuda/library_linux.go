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

// call calls the function and returns the status that every function of these libraries returns. The directive puts
// what uintptr(unsafe.Pointer(p)) among the arguments points to on the heap, where it does not move, and keeps it until
// the call is over; it works on that expression alone, so no helper may stand in for it.
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

// versions returns the names of a library of CUDA: of the driver's major version, then of older ones, which it runs too,
// then of newer ones. The library's own major version is CUDA's and offset.
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
	advice      string   // what brings it
}

// open loads the first of the files that there is, and looks up the functions. Where there is none, the error is one
// line that says what to install.
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
				// The library itself reports a companion that it needed and that did not load.
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

// candidates returns where a file of a name may be: the bare name, for the loader's own search, and then the paths of
// those that exist.
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

// outside is an address outside of Go's memory as a pointer. Reading it through a pointer to the variable spares vet the
// doubt whether it was ever Go's.
func outside(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// zeroTerminated returns the bytes of a text with the zero that C wants behind it.
func zeroTerminated(text string) *byte { return unsafe.SliceData(append([]byte(text), 0)) }

// oneLine folds a message, which may span lines, into one.
func oneLine(message string) string { return strings.Join(strings.Fields(message), " ") }
