package kernels

import (
	"os"
	"runtime"
	"slices"
	"sync"

	"crossover/cuda"
	"crossover/gpu"
	"crossover/metal"
	"crossover/native/accelerate"
	"crossover/pool"
)

// Backends are what implementations are made of. A program has those of [Here]; tests bring their own.
type Backends struct {
	Pool       *pool.Pool
	GPUs       []*gpu.Backend // none is opened before an implementation on it is asked for
	Accelerate bool           // whether Apple's framework, or what stands in for it, is among the libraries
}

// Here returns the backends of this machine, always the same ones. It opens no device and loads no library.
var Here = sync.OnceValue(func() *Backends {
	return &Backends{
		Pool:       pool.Shared(),
		GPUs:       slices.Concat(metal.Backends(), cuda.Backends()),
		Accelerate: runtime.GOOS == "darwin" || os.Getenv(accelerate.Environment) != "",
	}
})

// SeparateMemory reports whether a GPU that works has memory of its own, so that it matters whether a call's data lie
// there. It opens the GPUs.
func (b *Backends) SeparateMemory() bool {
	for _, g := range b.GPUs {
		if device, err := g.OpenFit(); err == nil && !device.Facts().Unified {
			return true
		}
	}
	return false
}

// HasGPU reports whether a GPU works. It opens them until one does.
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

// Trim gives the GPU memory that no plan uses back to the system and returns how many bytes that was. A program that
// dispatches lets memory pressure call it:
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

// Forget drops the compiled kernels and the spare memory of every GPU that is open, so that the next call is as cold as
// it gets in a process: contexts and libraries stay loaded.
func (b *Backends) Forget() {
	for _, g := range b.GPUs {
		if device := g.Opened(); device != nil {
			device.Forget()
			device.Trim()
		}
	}
}
