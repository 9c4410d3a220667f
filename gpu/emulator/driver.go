//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"crossover/gpu"
	"crossover/gpu/msl"
	"crossover/native/loadable"
)

// Limits of the emulated device: what Metal's smallest GPUs have.
const (
	mostThreads      = 1024
	threadgroupBytes = 32 << 10 // of arrays
)

// New returns a driver, or says what is missing. What it compiles is kept in the user's folder of caches, in
// crossover-emulator, until it was not used for a week.
func New(options ...Option) (gpu.Driver, error) {
	c, err := findCompiler()
	if err != nil {
		return nil, err
	}
	d := &driver{compiler: c, settings: settings{memoryLimit: 64 << 30, threadgroup: threadgroupBytes, loseAfter: -1}}
	for _, o := range options {
		o(&d.settings)
	}
	return d, nil
}

// driver implements gpu.Driver.
type driver struct {
	settings
	compiler *compiler

	mu        sync.Mutex // held while commands run; guards the fields below
	allocated int64
	submitted int
	lost      bool
	clock     uint64 // advances at every threadgroup and barrier
}

func (d *driver) Facts() gpu.Facts {
	return gpu.Facts{
		API:                  "emulator",
		MostThreadgroupBytes: d.threadgroup,
		Name:                 "emulator",
		Driver:               d.compiler.version,
		Cores:                1,
		MemoryBytes:          d.memoryLimit,
		Unified:              d.unified,
		SIMDWidth:            32,
		MaxThreads:           mostThreads,
		ThreadgroupBytes:     threadgroupBytes,
		MaxBufferBytes:       d.memoryLimit,
	}
}

// images holds the texts that this process has compiled, by source.
var images struct {
	sync.Mutex
	of map[string]func() (*image, error)
}

func (d *driver) Compile(src gpu.Source, functions []msl.Function) (gpu.Library, error) {
	key := fmt.Sprintf("%q", src)
	images.Lock()
	load := images.of[key]
	if load == nil {
		load = sync.OnceValues(func() (*image, error) { return d.compiler.build(src, functions) })
		if images.of == nil {
			images.of = map[string]func() (*image, error){}
		}
		images.of[key] = load
	}
	images.Unlock()
	im, err := load()
	if err == nil {
		return &library{image: im, source: src.Name, threadgroup: d.threadgroup}, nil
	}
	if compile := (*gpu.CompileError)(nil); !errors.As(err, &compile) {
		images.Lock()
		delete(images.of, key) // a full disk may have room the next time
		images.Unlock()
	}
	return nil, err
}

// Forget does nothing: an image stays loaded, and loading its file again would give the same memory to two images.
func (d *driver) Forget() {}

// Close loses the device. Memory must be freed before.
func (d *driver) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.allocated != 0 {
		panic(fmt.Sprintf("emulator: the driver is closed while %d bytes are allocated", d.allocated))
	}
	d.lost = true
}

// library implements gpu.Library.
type library struct {
	*image
	source      string
	threadgroup int // bytes that a threadgroup has
}

func (l *library) Pipeline(f *msl.Function) (gpu.Pipeline, error) {
	most, err := loadable.Symbol(l.handle, "emulator_most_"+f.Name)
	if err != nil {
		return nil, err
	}
	p := &pipeline{library: l, function: f}
	if p.entry, err = loadable.Symbol(l.handle, "emulator_run_"+f.Name); err != nil {
		return nil, err
	}
	threads, _, _ := purego.SyscallN(most)
	p.most = min(int(uint32(threads)), mostThreads)
	return p, nil
}

// pipeline implements gpu.Pipeline.
type pipeline struct {
	*library
	function *msl.Function
	entry    uintptr // of the function that runs it
	most     int
}

func (p *pipeline) MaxThreads() int { return p.most }

// memory implements gpu.Memory.
type memory struct {
	driver  *driver
	all     []byte
	shadow  []byte // which thread used which word when
	storage gpu.Storage
	freed   bool
}

// shadowBytes is the size of runtime.cpp's Shadow, one for each 4 bytes of memory.
const shadowBytes = 16

func (d *driver) Allocate(bytes int, storage gpu.Storage) (gpu.Memory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.lost:
		return nil, fmt.Errorf("emulator: %w", gpu.ErrLost)
	case bytes < 1:
		return nil, fmt.Errorf("emulator: an allocation of %d bytes; want at least 1", bytes)
	case d.allocated+int64(bytes) > d.memoryLimit:
		return nil, fmt.Errorf("emulator: %d bytes beside the %d that are taken: %w", bytes, d.allocated, gpu.ErrOutOfMemory)
	}
	m := &memory{driver: d, storage: storage}
	var err error
	if m.all, err = mapped(bytes); err != nil {
		return nil, err
	}
	if m.shadow, err = mapped((bytes + 3) / 4 * shadowBytes); err != nil {
		_ = unix.Munmap(m.all)
		return nil, err
	}
	d.allocated += int64(bytes)
	return m, nil
}

func mapped(bytes int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("emulator: %d bytes: %w: %w", bytes, gpu.ErrOutOfMemory, err)
	}
	return b, nil
}

func (m *memory) Bytes() int { return len(m.all) }

func (m *memory) Host() []byte {
	if m.storage == gpu.Private {
		return nil
	}
	return m.all
}

func (m *memory) Fill(value byte) error {
	m.driver.mu.Lock()
	defer m.driver.mu.Unlock()
	if m.freed {
		return errFreed
	}
	for i := range m.all {
		m.all[i] = value
	}
	return nil
}

func (m *memory) Free() {
	m.driver.mu.Lock()
	defer m.driver.mu.Unlock()
	if m.freed {
		panic("emulator: memory is freed twice")
	}
	m.freed = true
	m.driver.allocated -= int64(len(m.all))
	_ = unix.Munmap(m.all)
	_ = unix.Munmap(m.shadow)
	m.all, m.shadow = nil, nil
}
