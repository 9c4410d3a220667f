package peaks_test

import (
	"fmt"
	"log"

	"crossover/kernels/peaks"
)

func ExampleNew() {
	plan, err := peaks.New(nil, peaks.Onsets(22050, 512)) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	strengths := []float32{0, 0, 1, 0.4, 0, 0, 0, 0.6, 0.5, 0, 0}
	frames, err := plan.Pick(nil, strengths)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(frames)
	// Output: [2 7]
}
