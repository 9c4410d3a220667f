//go:build amd64 || arm64

package metal_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/gpu/msl"
	"crossover/metal"
)

// fake is the fake Objective-C runtime of testdata/fake, compiled and loaded: libobjc, and Metal's classes with kernels
// that package emulator compiles and runs.
var fake struct {
	find   func(name string) (uintptr, error)
	set    func(option string, value int64)
	get    func(option string) int64
	living func(class string) int64
}

// fakeVariable names the compiled fake, for the processes that the tests start.
const fakeVariable = "CROSSOVER_TEST_FAKE"

func TestMain(m *testing.M) {
	if mistake := os.Getenv(mistakeVariable); mistake != "" {
		makeMistake(mistake)
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "metal")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(fakeVariable, filepath.Join(dir, "fake.so"))
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// compileFake compiles the fake, unless that has been done.
func compileFake(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	sources, err := filepath.Glob("testdata/fake/*.c")
	if err != nil {
		return err
	}
	arguments := append([]string{"-std=gnu11", "-O1", "-g", "-Wall", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden", "-o", path}, sources...)
	if log, err := exec.Command("cc", append(arguments, "-lm", "-lpthread")...).CombinedOutput(); err != nil {
		return fmt.Errorf("no fake Objective-C runtime: %w %s", err, log)
	}
	return nil
}

// loadFake compiles and loads the fake, once a process.
var loadFake = sync.OnceValue(func() error {
	path := os.Getenv(fakeVariable)
	if err := compileFake(path); err != nil {
		return err
	}
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return err
	}
	fake.find = func(name string) (uintptr, error) { return purego.Dlsym(library, name) }
	purego.RegisterLibFunc(&fake.set, library, "fake_set")
	purego.RegisterLibFunc(&fake.get, library, "fake_get")
	purego.RegisterLibFunc(&fake.living, library, "fake_living")
	kernels, err := emulator.New()
	if err != nil {
		return err
	}
	var connect func(compile, kernel, run uintptr)
	purego.RegisterLibFunc(&connect, library, "fake_connect")
	host := &kernelHost{driver: kernels}
	connect(purego.NewCallback(host.compile), purego.NewCallback(host.kernel), purego.NewCallback(host.run))
	return nil
})

// fakeCores is how many cores the tests say that the fake's GPU has.
const fakeCores = 10

// openDriver opens a driver on the fake.
func openDriver() (gpu.Driver, error) {
	if err := loadFake(); err != nil {
		return nil, err
	}
	return metal.Open(fake.find, fakeCores)
}

// driver returns a driver for a test, on a Mac that of the machine's GPU. It skips the test if there is none.
func driver(t testing.TB) gpu.Driver {
	t.Helper()
	if err := loadFake(); err != nil {
		t.Skip(err)
	}
	d, err := openDriver()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// option sets an option of the fake for the length of a test.
func option(t testing.TB, name string, value int64) {
	t.Helper()
	if err := loadFake(); err != nil {
		t.Skip(err)
	}
	before := fake.get(name)
	fake.set(name, value)
	t.Cleanup(func() { fake.set(name, before) })
}

// kernelHost compiles and runs kernels for the fake.
type kernelHost struct {
	driver gpu.Driver

	mu        sync.Mutex
	libraries []hostLibrary
	kernels   []hostKernel
}

type hostLibrary struct {
	gpu.Library
	functions []msl.Function
}

type hostKernel struct {
	gpu.Pipeline
	arguments   int
	threadgroup bool // whether the last argument is threadgroup memory
}

// compile returns the handle of a library, or 0 with a message like clang's.
func (h *kernelHost) compile(text, message *byte, size uintptr) uintptr {
	source := gpu.Source{Name: "program_source", Text: goText(text)}
	functions, err := msl.Parse(source.Text)
	if err != nil {
		return fail(message, size, fmt.Errorf("program_source:1:1: error: %w", err))
	}
	library, err := h.driver.Compile(source, functions)
	if err != nil {
		var e *gpu.CompileError
		if errors.As(err, &e) {
			err = fmt.Errorf("program_source:%d:9: error: %s\n    x = y;\n        ^\n1 error generated.", e.Line, e.Message)
		}
		return fail(message, size, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.libraries = append(h.libraries, hostLibrary{library, functions})
	return uintptr(len(h.libraries))
}

// kernel returns the handle of a kernel, or 0 where the library has none of that name.
func (h *kernelHost) kernel(library uintptr, name *byte, mostThreads *uint64) uintptr {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.libraries[library-1]
	for i := range l.functions {
		if l.functions[i].Name != goText(name) {
			continue
		}
		p, err := l.Pipeline(&l.functions[i])
		if err != nil {
			return 0
		}
		*mostThreads = uint64(p.MaxThreads())
		arguments := l.functions[i].Arguments()
		h.kernels = append(h.kernels, hostKernel{p, len(arguments), len(arguments) > 0 && arguments[len(arguments)-1].Kind == msl.Threadgroup})
		return uintptr(len(h.kernels))
	}
	return 0
}

// hostBinding is binding of metal.c.
type hostBinding struct {
	memory        unsafe.Pointer
	offset, bytes uint64
	_             uint64
}

// run runs a dispatch and returns 1, or 0 with the reason. Bindings beyond the kernel's arguments are left from another
// kernel.
func (h *kernelHost) run(kernel uintptr, size *[7]uint64, bindings *hostBinding, count uintptr, message *byte, messageSize uintptr) uintptr {
	h.mu.Lock()
	k := h.kernels[kernel-1]
	h.mu.Unlock()
	var arguments [][]byte
	bound := k.arguments
	switch {
	case k.threadgroup:
		bound--
	case size[6] > 0:
		return fail(message, messageSize, errors.New("a kernel without an argument of threadgroup memory is left some, which its arrays may need"))
	}
	for _, b := range unsafe.Slice(bindings, min(int(count), bound)) {
		arguments = append(arguments, unsafe.Slice((*byte)(b.memory), b.bytes)[b.offset:])
	}
	if k.threadgroup {
		arguments = append(arguments, make([]byte, size[6]))
	}
	groups := gpu.Size{X: int(size[0]), Y: int(size[1]), Z: int(size[2])}
	threads := gpu.Size{X: int(size[3]), Y: int(size[4]), Z: int(size[5])}
	if err := emulator.Run(k.Pipeline, groups, threads, arguments); err != nil {
		return fail(message, messageSize, err)
	}
	return 1
}

// fail writes an error where C reads it, and returns 0.
func fail(message *byte, size uintptr, err error) uintptr {
	text := unsafe.Slice(message, size)
	text[copy(text[:size-1], err.Error())] = 0
	return 0
}

// goText copies a C string.
func goText(text *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(text, n))
}
