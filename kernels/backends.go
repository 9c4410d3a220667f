package kernels

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"crossover/cuda"
	"crossover/gpu"
	"crossover/metal"
	"crossover/native/accelerate"
	"crossover/pool"
)

// Backends are what implementations compute with: the pool, the GPUs, Apple's framework. A program has those of [Here].
// Tests make their own.
type Backends struct {
	Pool       *pool.Pool     // of implementations on processors; a device serves any backends and copies by pool.Shared
	GPUs       []*gpu.Backend // each is opened when an implementation on it is first asked for
	Accelerate bool           // whether there are implementations by Apple's framework, or by a library that stands in for it

	number atomic.Uint64 // see identity; 0 before somebody asked
}

// backendsCount is how many backends were asked for their identity.
var backendsCount atomic.Uint64

// identity tells backends apart, also from those that the garbage collector has taken: an address would come back.
func (b *Backends) identity() uint64 {
	if b.number.Load() == 0 {
		b.number.CompareAndSwap(0, backendsCount.Add(1))
	}
	return b.number.Load()
}

// Here returns the backends of this machine. Each call returns the same ones. It opens no device and loads no library.
var Here = sync.OnceValue(func() *Backends {
	return &Backends{
		Pool:       pool.Shared(),
		GPUs:       slices.Concat(metal.Backends(), cuda.Backends()),
		Accelerate: runtime.GOOS == "darwin" || os.Getenv(accelerate.Environment) != "",
	}
})

// SeparateMemory reports whether a GPU that works has memory of its own. Only then does the placement resident differ from
// the others. It opens the GPUs.
func (b *Backends) SeparateMemory() bool {
	for _, g := range b.GPUs {
		if device, err := g.OpenFit(); err == nil && !device.Facts().Unified {
			return true
		}
	}
	return false
}

// HasGPU reports whether a GPU works. It opens GPUs until it finds one that does.
func (b *Backends) HasGPU() bool { return b.device() != nil }

// device returns the first GPU that works, nil where none does.
func (b *Backends) device() *gpu.Device {
	for _, g := range b.GPUs {
		if device, err := g.OpenFit(); err == nil {
			return device
		}
	}
	return nil
}

// Trim gives GPU memory that no plan uses back to the system, and returns the number of bytes. A program calls it when
// memory is short:
//
//	d.OnMemoryPressure(func() { kernels.Here().Trim() })
func (b *Backends) Trim() (bytes int64) {
	for _, g := range b.GPUs {
		if device := g.Opened(); device != nil {
			bytes += device.Trim()
		}
	}
	return bytes
}

// Forget drops the compiled kernels and the spare memory of every GPU that is open. The next call is then as cold as a call
// can be in a process that has run before: contexts and libraries stay loaded.
func (b *Backends) Forget() {
	for _, g := range b.GPUs {
		if device := g.Opened(); device != nil {
			device.Forget()
			device.Trim()
		}
	}
}
