package biquad_test

import (
	"fmt"
	"log"

	"crossover/kernels/biquad"
)

func ExampleNew() {
	lowpass, err := biquad.Lowpass(1000, 48000) // hertz
	if err != nil {
		log.Fatal(err)
	}
	plan, err := biquad.New(nil, lowpass, 1) // one channel; nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	block := make([]float32, 512)
	for range 2 { // the state carries over from block to block
		for i := range block {
			block[i] = 1
		}
		if err := plan.Process(block, block); err != nil { // in place
			log.Fatal(err)
		}
		fmt.Printf("%.3f … %.3f\n", block[0], block[len(block)-1])
	}
	// Output:
	// 0.004 … 1.000
	// 1.000 … 1.000
}
