package kernels

import (
	"fmt"

	"crossover/gpu"
	"crossover/native/accelerate"
)

// Append appends the kernels of an operation at a shape to a launch plan. t holds the tensors of the call in the order of
// [Op].IO. The length of a buffer is a multiple of four words. The words between the end of a tensor and the end of its
// buffer are undefined, may be NaN, and must not reach a result. If an Append does not take a shape, it calls the builder's
// Refuse with an error that wraps [ErrRefused].
type Append[P any] func(b *gpu.Builder, p P, s Shape, t []*gpu.Buffer)

// Growing appends the kernels of an operation some of whose inputs grow by a row in each call, as a decoder's keys do. These
// inputs lie in memory of the GPU that has room for more calls. So one launch plan serves them all.
type Growing[P any] struct {
	// Axis is the axis that is one longer in each call.
	Axis int
	// Append is as an [Append], at a shape in which Axis is not the length of the call but the room. The first value of length,
	// a buffer of uints, is the length. rows has a buffer for each tensor that grows, in the order of t, and nil for the others.
	// The kernels put the rows behind those of earlier calls first. The buffer of a tensor that grows has the room's dimensions.
	Append func(b *gpu.Builder, p P, s Shape, t, rows []*gpu.Buffer, length *gpu.Buffer)
}

// KernelText returns the implementations by the operation's own kernel text, one for each GPU. An implementation has the
// name of the GPU's API ("cuda", "metal"). If variant is not empty, the name ends with it ("cuda/direct").
func KernelText[P any](variant string, describe Append[P]) Makers[P] {
	return KernelTextFor(variant, func(*gpu.Device, P) (Append[P], error) { return describe, nil })
}

// KernelTextFor is [KernelText] for operations that prepare something before the first call, such as the transform of a
// filter. build is called once for each runner.
func KernelTextFor[P any](variant string, build func(d *gpu.Device, p P) (Append[P], error)) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		var all []Maker[P]
		for _, g := range b.GPUs {
			all = append(all, Maker[P]{
				Implementation: Implementation{
					Name: variantOf(g.API, variant), Processor: GPU, Probe: g.Probe, Version: func() string {
						if device := g.Opened(); device != nil {
							return device.Facts().Driver
						}
						return ""
					},
				},
				New: func(p P) (Runner, error) {
					device, err := g.OpenFit()
					if err != nil {
						return nil, err
					}
					describe, err := build(device, p)
					if err != nil {
						return nil, err
					}
					return newLaunch(op, device, p, describe), nil
				},
			})
		}
		return all
	}
}

func variantOf(name, variant string) string {
	if variant == "" {
		return name
	}
	return name + "/" + variant
}

// vendorFFTs and vendorGEMMs are the names of the vendors' libraries, by API.
var (
	vendorFFTs  = map[string]string{"cuda": "cufft", "metal": "mpsgraph"}
	vendorGEMMs = map[string]string{"cuda": "cublas", "metal": "mps"}
)

// VendorFFT returns the implementations by the FFT libraries of the GPUs' vendors, "cufft" and "mpsgraph". If variant is not
// empty, the names end with it. build returns a function that appends the library's kernels to a launch plan.
func VendorFFT[P any](variant string, build func(d *gpu.Device, library gpu.FFT, p P) (Append[P], error)) Makers[P] {
	return vendorLibrary(vendorFFTs, variant, gpu.FFT.FFTMissing, gpu.FFT.FFTVersion, build)
}

// VendorGEMM is [VendorFFT] for the vendors' matrix multiplication, "cublas" and "mps".
func VendorGEMM[P any](variant string, build func(d *gpu.Device, library gpu.GEMM, p P) (Append[P], error)) Makers[P] {
	return vendorLibrary(vendorGEMMs, variant, gpu.GEMM.GEMMMissing, gpu.GEMM.GEMMVersion, build)
}

func vendorLibrary[P, L any](names map[string]string, variant string, missing func(L) error, version func(L) string,
	build func(*gpu.Device, L, P) (Append[P], error)) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		var all []Maker[P]
		for _, g := range b.GPUs {
			name := names[g.API]
			if name == "" {
				continue
			}
			library := func() (*gpu.Device, L, error) {
				var none L
				device, err := g.OpenFit()
				if err != nil {
					return nil, none, err
				}
				lib, ok := device.Driver().(L)
				if !ok {
					return nil, none, fmt.Errorf("the %s driver does not offer %s", g.API, name)
				}
				return device, lib, missing(lib)
			}
			all = append(all, Maker[P]{
				Implementation: Implementation{
					Name: variantOf(name, variant), Processor: GPU,
					Probe: func() error {
						_, _, err := library()
						return err
					},
					Version: func() string {
						_, lib, err := library()
						if err != nil {
							return ""
						}
						return version(lib)
					},
				},
				New: func(p P) (Runner, error) {
					device, lib, err := library()
					if err != nil {
						return nil, err
					}
					describe, err := build(device, lib, p)
					if err != nil {
						return nil, err
					}
					return newLaunch(op, device, p, describe), nil
				},
			})
		}
		return all
	}
}

// Framework returns the implementation by Apple's Accelerate framework, "accelerate". If variant is not empty, the name ends
// with it. Framework returns none if the backends lack the framework.
func Framework[P any](variant string, build func(p P) (Runner, error)) Makers[P] {
	return func(b *Backends, _ *Op[P]) []Maker[P] {
		if !b.Accelerate {
			return nil
		}
		return []Maker[P]{{
			Implementation: Implementation{Name: variantOf("accelerate", variant), Processor: CPU, Cores: LibraryCores, Probe: accelerate.Probe},
			New:            build,
		}}
	}
}
