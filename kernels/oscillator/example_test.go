package oscillator_test

import (
	"fmt"
	"log"

	"crossover/kernels/oscillator"
)

func ExampleNew() {
	plan, err := oscillator.New(nil, oscillator.Params{ // nil: no calibration, so the processor computes
		SampleRate: 48000,
		Voices:     []oscillator.Voice{{Frequency: 12000, Sustain: 1, Gate: 1}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	block := make([]float32, 4)
	for range 2 { // each block goes on where the one before ended
		if err := plan.Render(block); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", block)
	}
	plan.Reset() // back to the first sample
	// Output:
	// [0.00 0.75 -0.50 -0.75]
	// [0.00 0.75 -0.50 -0.75]
}
