package recurrence_test

import (
	"fmt"
	"log"
	"math"

	"crossover/kernels/recurrence"
)

func ExampleNewEnvelope() {
	plan, err := recurrence.NewEnvelope(nil, recurrence.EnvelopeParams{ // nil: no calibration, so the processor computes
		Attack: 0, Release: 0.1, SampleRate: 20, // seconds and hertz
	}, 1) // one channel
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	for _, block := range [][]float32{{0, -1, 0}, {0, 0, 0}} { // the state carries over from block to block
		if err := plan.Process(block, block); err != nil { // in place
			log.Fatal(err)
		}
		fmt.Printf("%.3f\n", block)
	}
	// Output:
	// [0.000 1.000 0.607]
	// [0.368 0.223 0.135]
}

func ExampleNewCompressor() {
	plan, err := recurrence.NewCompressor(nil, recurrence.CompressorParams{
		Threshold: -20, Ratio: 4, SampleRate: 48000, // at once: no attack, no release
	}, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	y := make([]float32, 3)
	if err := plan.Process(y, []float32{0.01, 0.1, 1}); err != nil { // −40, −20 and 0 dB
		log.Fatal(err)
	}
	for _, v := range y {
		fmt.Printf("%.1f dB\n", 20*math.Log10(float64(v)))
	}
	// Output:
	// -40.0 dB
	// -20.0 dB
	// -15.0 dB
}

func ExampleNewLadder() {
	plan, err := recurrence.NewLadder(nil, recurrence.LadderParams{Cutoff: 1000, Resonance: 0.2, SampleRate: 48000}, 2) // stereo
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	block := make([]float32, 2*480) // all samples of the left channel, and then those of the right one
	for i := range 480 {
		block[i], block[480+i] = 0.1, -0.1
	}
	if err := plan.Process(block, block); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f %.4f\n", block[479], block[959])
	// Output: 0.0556 -0.0556
}

func ExampleNewComb() {
	plan, err := recurrence.NewComb(nil, recurrence.CombParams{Delay: 2, Blend: 1, Feedback: 0.5}, 1) // an echo
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	y := make([]float32, 6)
	if err := plan.Process(y, []float32{1, 0, 0, 0, 0, 0}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	// Output: [1 0 0.5 0 0.25 0]
}
