//go:build amd64 || arm64

package cuda

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// libnvrtc is NVRTC as far as it is used. Every function returns an nvrtcResult.
// Reference: https://docs.nvidia.com/cuda/nvrtc/
type libnvrtc struct {
	version                          function
	createProgram, destroyProgram    function
	compileProgram                   function
	getCUBINSize, getCUBIN           function
	getProgramLogSize, getProgramLog function
	getErrorString                   function
}

func (l *libnvrtc) load(driverMajor int) error {
	find := search{
		environment: "CROSSOVER_LIBNVRTC",
		names:       versions("libnvrtc.so", driverMajor, 0),
		companions:  []string{"libnvrtc-builtins.so.*"},
		advice:      "install the CUDA toolkit's NVRTC",
	}
	return find.open(named(map[string]*function{
		"nvrtcVersion":           &l.version,
		"nvrtcCreateProgram":     &l.createProgram,
		"nvrtcDestroyProgram":    &l.destroyProgram,
		"nvrtcCompileProgram":    &l.compileProgram,
		"nvrtcGetCUBINSize":      &l.getCUBINSize,
		"nvrtcGetCUBIN":          &l.getCUBIN,
		"nvrtcGetProgramLogSize": &l.getProgramLogSize,
		"nvrtcGetProgramLog":     &l.getProgramLog,
		"nvrtcGetErrorString":    &l.getErrorString,
	})...)
}

// compiler makes machine code of kernel texts.
type compiler struct {
	libnvrtc
	version      string // "NVRTC 13.0"
	architecture string // "sm_90"
	cache        cache
}

func newCompiler(driverMajor int, architecture string) (*compiler, error) {
	c := &compiler{architecture: architecture}
	if err := c.load(driverMajor); err != nil {
		return nil, err
	}
	major, minor := new(int32), new(int32)
	if err := c.check(&c.libnvrtc.version, c.libnvrtc.version.call(uintptr(unsafe.Pointer(major)), uintptr(unsafe.Pointer(minor)))); err != nil {
		return nil, err
	}
	c.version = fmt.Sprintf("NVRTC %d.%d", *major, *minor)
	c.cache = newCache()
	return c, nil
}

func (c *compiler) check(f *function, status int32) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", f.name, c.statusText(status))
}

func (c *compiler) statusText(status int32) string {
	return cString(c.getErrorString.pointer(uintptr(status)))
}

// options of every compilation. FP32 multiplications and additions are fused; nothing is approximated unless the text
// says fast::.
func (c *compiler) options() []string {
	return []string{
		"--gpu-architecture=" + c.architecture,
		"--device-as-default-execution-space",
		"--std=c++17",
		"--fmad=true",
		"--disable-warnings",
	}
}

// compile returns the machine code of a program's text. If NVRTC refuses the text, log is what NVRTC said. Several goroutines
// may compile at a time. From CUDA 12.3 on, NVRTC computes for all of them at once. Earlier versions let them wait.
func (c *compiler) compile(name, text string) (code []byte, log string, err error) {
	handle := new(uintptr)
	headers, headerNames := []*byte{zeroTerminated(Prelude)}, []*byte{zeroTerminated(PreludeName)}
	err = c.check(&c.createProgram, c.createProgram.call(uintptr(unsafe.Pointer(handle)), uintptr(unsafe.Pointer(zeroTerminated(text))),
		uintptr(unsafe.Pointer(zeroTerminated(name))), 1, uintptr(unsafe.Pointer(&headers[0])), uintptr(unsafe.Pointer(&headerNames[0]))))
	runtime.KeepAlive(headers)
	runtime.KeepAlive(headerNames)
	if err != nil {
		return nil, "", err
	}
	defer c.destroyProgram.call(uintptr(unsafe.Pointer(handle)))
	var options []*byte
	for _, o := range c.options() {
		options = append(options, zeroTerminated(o))
	}
	status := c.compileProgram.call(*handle, uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])))
	runtime.KeepAlive(options)
	if status != 0 {
		return nil, c.log(*handle), c.check(&c.compileProgram, status)
	}
	size := new(uintptr)
	if err := c.check(&c.getCUBINSize, c.getCUBINSize.call(*handle, uintptr(unsafe.Pointer(size)))); err != nil {
		return nil, "", err
	}
	if *size == 0 {
		return nil, "", fmt.Errorf("%s made no machine code for %s", c.version, c.architecture)
	}
	code = make([]byte, *size)
	if err := c.check(&c.getCUBIN, c.getCUBIN.call(*handle, uintptr(unsafe.Pointer(&code[0])))); err != nil {
		return nil, "", err
	}
	return code, "", nil
}

func (c *compiler) log(program uintptr) string {
	size := new(uintptr)
	if c.getProgramLogSize.call(program, uintptr(unsafe.Pointer(size))) != 0 || *size == 0 {
		return ""
	}
	text := make([]byte, *size)
	if c.getProgramLog.call(program, uintptr(unsafe.Pointer(&text[0]))) != 0 {
		return ""
	}
	return strings.TrimRight(string(text), "\x00")
}

// library is a compiled text, loaded into the context.
type library struct {
	driver    *driver
	source    gpu.Source
	functions []msl.Function
	module    uintptr

	once        sync.Once
	overlapping *library // the same text for buffers that share memory, compiled when first needed
	err         error
}

// Compile returns the library of a text, from the cache if the cache has it.
func (d *driver) Compile(src gpu.Source, functions []msl.Function) (gpu.Library, error) {
	return d.compile(src, functions, false)
}

func (d *driver) compile(src gpu.Source, functions []msl.Function, overlapping bool) (*library, error) {
	c := d.compiler
	text := program(src, functions, overlapping)
	key := c.cache.key(c, text)
	if code := c.cache.read(key); code != nil {
		// If the driver refuses the cached code, it gets a fresh copy. Only a second refusal is an error.
		if l, err := d.loadLibrary(src, functions, code); err == nil {
			return l, nil
		}
	}
	code, log, err := c.compile(src.Name, text)
	if log != "" {
		return nil, compileError(src, functions, err.Error(), log)
	}
	if err != nil {
		return nil, fmt.Errorf("cuda: %s: %w", src.Name, err)
	}
	l, err := d.loadLibrary(src, functions, code)
	if err != nil {
		return nil, err
	}
	c.cache.write(key, code)
	return l, nil
}

func (d *driver) loadLibrary(src gpu.Source, functions []msl.Function, code []byte) (*library, error) {
	module := new(uintptr)
	if err := d.do(&d.moduleLoadData, uintptr(unsafe.Pointer(module)), uintptr(unsafe.Pointer(&code[0]))); err != nil {
		return nil, err
	}
	l := &library{driver: d, source: src, functions: functions, module: *module}
	runtime.AddCleanup(l, d.unload, *module)
	return l, nil
}

// unload unloads a module, unless the context was released, which has done so.
func (d *driver) unload(module uintptr) {
	d.unloading.Lock()
	defer d.unloading.Unlock()
	_ = d.do(&d.moduleUnload, module)
}

// pipeline is a kernel's entry point.
type pipeline struct {
	library    *library
	declared   *msl.Function
	address    uintptr // the CUfunction
	maxThreads int
}

// Pipeline returns a kernel.
func (l *library) Pipeline(f *msl.Function) (gpu.Pipeline, error) { return l.pipeline(f) }

func (l *library) pipeline(f *msl.Function) (*pipeline, error) {
	d := l.driver
	handle, threads := new(uintptr), new(int32)
	if err := d.do(&d.moduleGetFunction, uintptr(unsafe.Pointer(handle)), l.module, uintptr(unsafe.Pointer(zeroTerminated(entryPrefix+f.Name)))); err != nil {
		return nil, err
	}
	if err := d.do(&d.funcGetAttribute, uintptr(unsafe.Pointer(threads)), functionMaxThreadsPerBlock, *handle); err != nil {
		return nil, err
	}
	return &pipeline{library: l, declared: f, address: *handle, maxThreads: int(*threads)}, nil
}

// allow readies the kernel for launches with so many bytes of shared memory beside what it declares. Above 48 KiB CUDA wants to be
// asked. The function remembers the answer, and launch plans of one kernel may differ, so all get the most that there is.
func (p *pipeline) allow(bytes int) error {
	if bytes == 0 {
		return nil
	}
	d := p.library.driver
	declared := new(int32)
	if err := d.do(&d.funcGetAttribute, uintptr(unsafe.Pointer(declared)), functionSharedBytes, p.address); err != nil {
		return err
	}
	most := d.facts.MostThreadgroupBytes - int(*declared)
	if bytes > most {
		return fmt.Errorf("cuda: kernel %s: %d bytes of threadgroup memory; beside its own %d there are %d", p.declared.Name, bytes, *declared, most)
	}
	return d.do(&d.funcSetAttribute, p.address, functionMaxDynamicSharedBytes, uintptr(most))
}

// MaxThreads is how many threads of this kernel fit into a threadgroup.
func (p *pipeline) MaxThreads() int { return p.maxThreads }

// ReadyOverlap compiles the text for buffers that share memory.
func (p *pipeline) ReadyOverlap() error {
	l := p.library
	l.once.Do(func() { l.overlapping, l.err = l.driver.compile(l.source, l.functions, true) })
	return l.err
}

// overlapping returns the kernel for buffers that share memory.
func (p *pipeline) overlapping() (*pipeline, error) {
	if err := p.ReadyOverlap(); err != nil {
		return nil, err
	}
	return p.library.overlapping.pipeline(p.declared)
}

// Forget removes from the disk what this process compiled. Libraries in use stay.
func (d *driver) Forget() { d.compiler.cache.forget() }
