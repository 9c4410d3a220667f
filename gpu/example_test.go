package gpu_test

import (
	"fmt"
	"log"

	"crossover/gpu"
	"crossover/gpu/dryrun"
)

// Builder.Build compares every argument with the signature in the kernel's text. The GPU of this example computes
// nothing, so the example runs on every machine.
func ExampleBuilder() {
	source := gpu.Source{Name: "double.metal", Text: `#include <metal_stdlib>
using namespace metal;

kernel void twice(device float* y [[buffer(0)]],
                  device const float* x [[buffer(1)]],
                  constant uint& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = 2 * x[i];
    }
}
`}
	device, err := dryrun.Backends()[0].Open()
	if err != nil {
		log.Fatal(err)
	}
	build := func(x gpu.Type) error {
		b := device.NewPlan()
		input, output := b.Input(x, 1000), b.Output(gpu.Float, 1000)
		groups, threads := gpu.Size{X: 4, Y: 1, Z: 1}, gpu.Size{X: 256, Y: 1, Z: 1}
		b.Dispatch(b.Kernel(source, "twice"), groups, threads, output, input, gpu.Values(1000))
		plan, err := b.Build()
		if err != nil {
			return err
		}
		plan.Close() // a program writes input.Floats(), calls plan.Run, and reads output.Floats()
		return nil
	}
	fmt.Println(build(gpu.Float))
	fmt.Println(build(gpu.Uint))
	// Output:
	// <nil>
	// gpu: double.metal: kernel twice: argument 1 (x): a buffer of uint; want float
}
