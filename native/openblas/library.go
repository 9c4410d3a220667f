//go:build (darwin || linux) && (amd64 || arm64)

package openblas

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/native/loadable"
	"crossover/pool/affinity"
)

// load opens the first of the platform's candidates that is OpenBLAS, or the library that Environment names.
func load() (*library, error) {
	paths := candidates
	if override := os.Getenv(Environment); override != "" {
		paths = []string{override}
	}
	var first error
	for _, path := range paths {
		lib, err := open(path)
		if err == nil {
			return lib, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("openblas: %w (install the Debian package libopenblas0-pthread or the Homebrew package"+
		" openblas, or set %s to the library's path)", first, Environment)
}

// patience is how long OpenBLAS's threads poll for work after a call before they sleep: 2^16 processor cycles, some tens of
// microseconds, as in package pool. By default a thread polls for about 2^26 cycles. After every parallel call, it would
// then take a core for tens of milliseconds from another implementation in a measurement, or from another part of the
// program.
const patience = "16"

const patienceVariable = "OPENBLAS_THREAD_TIMEOUT"

// open loads one library. If it chose code without AVX2 for a processor that has it, open loads it once more and says which code to
// choose, unless the environment does.
func open(path string) (*library, error) {
	lib, err := openFor(path, "")
	if _, set := os.LookupEnv(coreVariable); err != nil || set {
		return lib, err
	}
	return lib.forThisProcessor(path)
}

// forThisProcessor returns the library itself, or the one at path loaded once more if better code can be chosen.
func (lib *library) forThisProcessor(path string) (*library, error) {
	core := betterCore(lib.core)
	if core == "" {
		return lib, nil
	}
	purego.Dlclose(lib.handle) // somebody else may hold it open: then it keeps its code
	if better, err := openFor(path, core); err == nil {
		return better, nil
	}
	return openFor(path, "")
}

// openFor loads one library and looks up its functions. OpenBLAS reads its environment while it is loaded. core is the processor core
// whose code it chooses, or "" for its own choice.
func openFor(path, core string) (*library, error) {
	for _, v := range []struct{ name, value string }{{patienceVariable, patience}, {coreVariable, core}} {
		if _, set := os.LookupEnv(v.name); !set && v.value != "" {
			os.Setenv(v.name, v.value)
			defer os.Unsetenv(v.name)
		}
	}
	lib := &library{}
	lib.clear.Store(-1)
	var err error
	lib.helpers = affinity.Named("openblas", func() {
		lib.handle, err = loadable.Open(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	})
	if err != nil {
		return nil, err
	}
	var getThreads, getConfig, getCore uintptr
	for _, symbol := range []struct {
		name    string
		address *uintptr
	}{
		{"sgemm_", &lib.sgemm},
		{"sgemv_", &lib.sgemv},
		{"openblas_set_num_threads", &lib.setThreads},
		{"openblas_get_num_threads", &getThreads},
		{"openblas_get_config", &getConfig},
		{"openblas_get_corename", &getCore},
	} {
		if *symbol.address, err = loadable.Symbol(lib.handle, symbol.name); err != nil {
			purego.Dlclose(lib.handle)
			return nil, fmt.Errorf("%s is not OpenBLAS: it has no %s", path, symbol.name)
		}
	}

	var numThreads func() int32
	var config, coreName func() string
	purego.RegisterFunc(&numThreads, getThreads)
	purego.RegisterFunc(&config, getConfig)
	purego.RegisterFunc(&coreName, getCore)
	lib.threads = max(1, int(numThreads()))
	lib.current = lib.threads
	lib.core = coreName()
	lib.version, lib.small = version(config(), lib.core), hasSmallProducts(lib.core)
	return lib, nil
}

// newArguments returns arguments with the addresses of their numbers filled in.
func newArguments() *arguments {
	g := &arguments{one: 1}
	g.gemm = [13]uintptr{
		address(&g.transA), address(&g.transB), address(&g.m), address(&g.n), address(&g.k), address(&g.alpha),
		0, address(&g.lda), 0, address(&g.ldb), address(&g.beta), 0, address(&g.ldc),
	}
	g.gemv = [11]uintptr{
		address(&g.transA), address(&g.m), address(&g.n), address(&g.alpha), 0, address(&g.lda), 0, address(&g.one),
		address(&g.beta), 0, address(&g.one),
	}
	return g
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// callGemm calls sgemm_. Objects on Go's heap do not move, and g is on the heap and keeps every slice alive that C uses. So
// the addresses are valid during the call. The arguments are already in a slice, so calling C allocates nothing.
func callGemm(lib *library, g *arguments) {
	g.gemm[6] = address(unsafe.SliceData(g.a))
	g.gemm[8] = address(unsafe.SliceData(g.b))
	g.gemm[11] = address(unsafe.SliceData(g.c))
	purego.SyscallN(lib.sgemm, g.gemm[:]...)
	runtime.KeepAlive(g)
}

// callGemv calls sgemv_ in the same way.
func callGemv(lib *library, g *arguments) {
	g.gemv[4] = address(unsafe.SliceData(g.a))
	g.gemv[6] = address(unsafe.SliceData(g.b))
	g.gemv[9] = address(unsafe.SliceData(g.c))
	purego.SyscallN(lib.sgemv, g.gemv[:]...)
	runtime.KeepAlive(g)
}

// setThreads calls openblas_set_num_threads.
func setThreads(lib *library, threads int) { purego.SyscallN(lib.setThreads, uintptr(threads)) }
