package phase_test

import (
	"fmt"

	"crossover/kernels/phase"
)

func ExampleNew() {
	plan := phase.New(nil) // nil: no calibration, so the processor computes
	defer plan.Close()
	kick := make([]float32, 4)
	for i, hertz := range []float32{12000, 6000, 3000, 1500} {
		kick[i] = hertz / 48000
	}
	for range 2 { // the phase carries over from block to block
		y := make([]float32, len(kick))
		if err := plan.Accumulate(y, kick); err != nil {
			panic(err)
		}
		fmt.Println(y, plan.Phase())
	}
	// Output:
	// [0.25 0.375 0.4375 0.46875] 0.46875
	// [0.71875 0.84375 0.90625 0.9375] 0.9375
}
