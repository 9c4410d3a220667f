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

// meanings says what computes by the name of an implementation.
var meanings = map[string]string{
	"go":                "our code in Go, on one core",
	"go-parallel":       "our code in Go, on all cores",
	"accelerate":        "Apple's framework Accelerate, on the processor",
	"fftw":              "transforms of the library FFTW, on one core",
	"fftw-parallel":     "transforms of the library FFTW, on all cores",
	"openblas":          "matrix products of the library OpenBLAS, on one core",
	"openblas-parallel": "matrix products of the library OpenBLAS, on all cores",
	"metal":             "our kernels, on Apple's GPU",
	"mps":               "matrix products of Apple's Metal Performance Shaders, on its GPU",
	"mpsgraph":          "transforms of Apple's MPSGraph, on its GPU",
	"cuda":              "our kernels, on NVIDIA's GPU",
	"cufft":             "transforms of NVIDIA's cuFFT, on its GPU",
	"cublas":            "matrix products of NVIDIA's cuBLAS, on its GPU",
}

// Meaning says for people what computes by the name of an implementation without its variant. It returns "" for an unknown
// name.
func Meaning(implementation string) string { return meanings[implementation] }

// Backends are what implementations compute with: the pool, the GPUs, Apple's framework. A program uses those of [Here].
// Tests make their own.
type Backends struct {
	Pool       *pool.Pool     // for implementations on the processor; GPU devices copy by pool.Shared
	GPUs       []*gpu.Backend // each is opened at its first use
	Accelerate bool           // there is Apple's framework, or a library that stands in for it

	number atomic.Uint64 // see identity; 0 until it is asked for
}

// backendsCount is the number of backends that have an identity.
var backendsCount atomic.Uint64

// identity returns a number that no other backends ever have. An address would not do, because the garbage collector reuses
// addresses.
func (b *Backends) identity() uint64 {
	if b.number.Load() == 0 {
		b.number.CompareAndSwap(0, backendsCount.Add(1))
	}
	return b.number.Load()
}

// Here returns the backends of this machine. Each call returns the same pointer. Here opens no device and loads no library.
var Here = sync.OnceValue(func() *Backends {
	return &Backends{
		Pool:       pool.Shared(),
		GPUs:       slices.Concat(metal.Backends(), cuda.Backends()),
		Accelerate: runtime.GOOS == "darwin" || os.Getenv(accelerate.Environment) != "",
	}
})

// SeparateMemory reports whether a working GPU has memory of its own. Only then does the placement resident differ from
// shared. SeparateMemory opens the GPUs.
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

// device returns the first GPU that works, or nil.
func (b *Backends) device() *gpu.Device {
	for _, g := range b.GPUs {
		if device, err := g.OpenFit(); err == nil {
			return device
		}
	}
	return nil
}

// Trim gives GPU memory that no plan uses back to the system, and returns the number of bytes. A program calls Trim when
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

// Forget drops the compiled kernels and the spare memory of every open GPU. The next call compiles its kernels again.
// Contexts and libraries stay loaded. Sweeps of cold calls use Forget.
func (b *Backends) Forget() {
	for _, g := range b.GPUs {
		if device := g.Opened(); device != nil {
			device.Forget()
			device.Trim()
		}
	}
}
