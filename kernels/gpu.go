package kernels

import (
	"fmt"
	"strings"

	_ "crossover/cuda" // registers its API where the system may have it
	"crossover/gpu"
	_ "crossover/metal" // likewise
)

// OnGPU returns the contenders that run a family's own kernel text: one for each API of this system, named after it
// ("cuda", "metal"), or after it and the variant ("cuda/direct") where variant is not empty. build makes an engine
// for a device.
func OnGPU[P, E any](variant string, build func(*gpu.Device, P) (E, error)) Contenders[P, E] {
	var table Contenders[P, E]
	for _, api := range gpu.APIs() {
		name := api
		if variant != "" {
			name += "/" + variant
		}
		table = append(table, Contender[P, E]{
			Implementation: Implementation{
				Name:      name,
				Processor: GPU,
				Probe:     func() error { return gpu.Probe(api) },
				Version: func() string {
					device, err := gpu.OpenFit(api)
					if err != nil {
						return ""
					}
					return device.Facts().Driver
				},
			},
			New: func(p P) (E, error) { return onDevice(api, p, build) },
		})
	}
	return table
}

func onDevice[P, E any](api string, p P, build func(*gpu.Device, P) (E, error)) (E, error) {
	device, err := gpu.OpenFit(api)
	if err != nil {
		var none E
		return none, err
	}
	return build(device, p)
}

// fftLibraries and gemmLibraries are what the vendors call theirs, by API.
var (
	fftLibraries  = map[string]string{"cuda": "cufft", "metal": "mpsgraph"}
	gemmLibraries = map[string]string{"cuda": "cublas", "metal": "mps"}
)

// GPUFFT returns the contenders that a vendor's FFT computes: "cufft", "mpsgraph". build makes an engine for a device
// and its library.
func GPUFFT[P, E any](build func(*gpu.Device, gpu.FFT, P) (E, error)) Contenders[P, E] {
	return vendor(fftLibraries, gpu.FFT.FFTMissing, gpu.FFT.FFTVersion, build)
}

// GPUGEMM returns the contenders that a vendor's matrix multiplication computes: "cublas", "mps". build makes an engine
// for a device and its library.
func GPUGEMM[P, E any](build func(*gpu.Device, gpu.GEMM, P) (E, error)) Contenders[P, E] {
	return vendor(gemmLibraries, gpu.GEMM.GEMMMissing, gpu.GEMM.GEMMVersion, build)
}

func vendor[P, E, L any](names map[string]string, missing func(L) error, version func(L) string,
	build func(*gpu.Device, L, P) (E, error)) Contenders[P, E] {
	var table Contenders[P, E]
	for _, api := range gpu.APIs() {
		name := names[api]
		if name == "" {
			continue
		}
		library := func() (*gpu.Device, L, error) {
			var none L
			device, err := gpu.OpenFit(api)
			if err != nil {
				return nil, none, err
			}
			lib, ok := device.Driver().(L)
			if !ok {
				return nil, none, fmt.Errorf("the %s driver does not offer %s", api, name)
			}
			return device, lib, missing(lib)
		}
		table = append(table, Contender[P, E]{
			Implementation: Implementation{
				Name:      name,
				Processor: GPU,
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
			New: func(p P) (E, error) {
				device, lib, err := library()
				if err != nil {
					var none E
					return none, err
				}
				return build(device, lib, p)
			},
		})
	}
	return table
}

// PlanCall returns the call that runs a plan whose inputs have been written. output returns the plan's results, in the
// order of Problem.Reference; it is called after a run. The call owns the plan.
func PlanCall(p *gpu.Plan, output func() []float32) Call {
	return Call{
		Run:    p.Run,
		Output: output,
		Close:  p.Close,
		GPU: &GPUCall{
			Submit: p.Submit,
			Wait:   p.Wait,
			Time:   func() (gpu.Times, error) { return p.Time(false) },

			BusBytes: float64(p.Transfers()),

			plan: p,
		},
	}
}

// GPUCall is what a call can do beside when a GPU computes it.
type GPUCall struct {
	Submit func() error              // starts Run and returns
	Wait   func() error              // returns when the caller can read the output
	Time   func() (gpu.Times, error) // is Run, with the device's own account of the time

	// BusBytes is how many bytes Run carries between host and device: 0 where they share memory and where the data
	// stay on the device.
	BusBytes float64

	plan *gpu.Plan
}

// SeparateGPUMemory reports whether this machine has a GPU that works and has memory of its own, so that it matters
// where a call's data lie. It opens the GPUs.
func SeparateGPUMemory() bool {
	for _, api := range gpu.APIs() {
		if device, err := gpu.OpenFit(api); err == nil && !device.Facts().Unified {
			return true
		}
	}
	return false
}

// TrimGPUs gives the GPU memory that no plan uses back to the system and returns how many bytes that was. A program
// that dispatches lets memory pressure call it:
//
//	d.OnMemoryPressure(func() { kernels.TrimGPUs() })
func TrimGPUs() (bytes int64) {
	for _, device := range gpu.Opened() {
		bytes += device.Trim()
	}
	return bytes
}

// ForgetGPUs drops the compiled kernels and the spare memory of every GPU that is open, so that the next call is as
// cold as it gets in a process: contexts and libraries stay loaded.
func ForgetGPUs() {
	for _, device := range gpu.Opened() {
		device.Forget()
		device.Trim()
	}
}

// Resident returns the case with its data where its implementation computes: a GPU call finds its input on the device
// and leaves its output there, so no transfer counts. For implementations on the processor nothing changes. Where
// device and host share memory it is the same case under another name, and of no use.
func (c Case) Resident() Case {
	if c.placed != nil {
		return c.placed(Resident)
	}
	if strings.Contains(c.Name, "/") {
		c.Name += ",resident"
	} else {
		c.Name += "/resident"
	}
	c.Params = append(c.Params[:len(c.Params):len(c.Params)], Param{Name: "resident", Value: 1})
	problem := c.Problem
	c.Problem = func(size int, in Input) Problem { return residentProblem{problem(size, in)} }
	return c
}

type residentProblem struct{ Problem }

func (p residentProblem) Bind(implementation string) (Call, error) {
	c, err := p.Problem.Bind(implementation)
	if err != nil || c.GPU == nil {
		return c, err
	}
	plan, output := c.GPU.plan, c.Output
	if err := plan.Upload(); err != nil {
		c.Release()
		return Call{}, err
	}
	return Call{
		Run: plan.RunResident,
		Output: func() []float32 {
			if plan.Download() != nil {
				return nil
			}
			return output()
		},
		Close: plan.Close,
		GPU: &GPUCall{
			Submit: plan.SubmitResident,
			Wait:   plan.Wait,
			Time:   func() (gpu.Times, error) { return plan.Time(true) },
			plan:   plan,
		},
	}, nil
}

// Plans keeps the plans of the sizes that were used last, for engines that take any size. The zero value is ready. It
// is for one goroutine at a time.
type Plans[T interface{ Close() }] = PlansBy[int, T]

// PlansBy is Plans for engines whose plans depend on more than one number: S is all that they depend on.
type PlansBy[S comparable, T interface{ Close() }] struct {
	recent []sizedPlan[S, T] // most recent first
}

type sizedPlan[S comparable, T interface{ Close() }] struct {
	size S
	plan T
}

// mostPlans is how many sizes an engine keeps a plan for: signal chains alternate between a few.
const mostPlans = 4

// For returns the plan of a size, building it where it is not among the recent ones. A plan that is pushed out is
// closed.
func (c *PlansBy[S, T]) For(size S, build func(size S) (T, error)) (T, error) {
	for i := range c.recent {
		if c.recent[i].size != size {
			continue
		}
		hit := c.recent[i]
		copy(c.recent[1:i+1], c.recent[:i])
		c.recent[0] = hit
		return hit.plan, nil
	}
	plan, err := build(size)
	if err != nil {
		return plan, err
	}
	if len(c.recent) == mostPlans {
		c.recent[mostPlans-1].plan.Close()
		c.recent = c.recent[:mostPlans-1]
	}
	c.recent = append([]sizedPlan[S, T]{{size, plan}}, c.recent...)
	return plan, nil
}

// Close closes every plan.
func (c *PlansBy[S, T]) Close() {
	for _, p := range c.recent {
		p.plan.Close()
	}
	c.recent = nil
}
