package kernels

import (
	"fmt"

	"crossover/gpu"
	"crossover/native/accelerate"
)

// Append appends an operation to a launch plan. t are the tensors of the call in the order of [Op].IO, as buffers that
// are whole vectors of four words long; what lies between the end of a tensor and that of its buffer is undefined.
// It reports a shape that it does not take by the builder's Refuse.
type Append[P any] func(b *gpu.Builder, p P, s Shape, t []*gpu.Buffer)

// KernelText returns the implementations that run an operation's own kernel text: one for each GPU, named after its API
// ("cuda", "metal"), or after it and the variant ("cuda/direct") where variant is not empty.
func KernelText[P any](variant string, describe Append[P]) Makers[P] {
	return KernelTextFor(variant, func(*gpu.Device, P) (Append[P], error) { return describe, nil })
}

// KernelTextFor is KernelText for operations that prepare something for parameters before their first call.
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

// vendorFFTs and vendorGEMMs are what the vendors call theirs, by API.
var (
	vendorFFTs  = map[string]string{"cuda": "cufft", "metal": "mpsgraph"}
	vendorGEMMs = map[string]string{"cuda": "cublas", "metal": "mps"}
)

// VendorFFT returns the implementations that a GPU vendor's FFT computes: "cufft", "mpsgraph", with the variant behind
// the name where it is not empty. build makes what appends the operation by the library.
func VendorFFT[P any](variant string, build func(d *gpu.Device, library gpu.FFT, p P) (Append[P], error)) Makers[P] {
	return vendorLibrary(vendorFFTs, variant, gpu.FFT.FFTMissing, gpu.FFT.FFTVersion, build)
}

// VendorGEMM is VendorFFT for the vendor's matrix multiplication: "cublas", "mps".
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

// Framework returns the implementation that Apple's framework computes, "accelerate" or, where variant is not empty,
// "accelerate/" and the variant; none where the framework is not among the backends.
func Framework[P any](variant string, build func(p P) (Runner, error)) Makers[P] {
	return func(b *Backends, _ *Op[P]) []Maker[P] {
		if !b.Accelerate {
			return nil
		}
		return []Maker[P]{{
			Implementation: Implementation{Name: variantOf("accelerate", variant), Processor: CPU, Probe: accelerate.Probe},
			New:            build,
		}}
	}
}
