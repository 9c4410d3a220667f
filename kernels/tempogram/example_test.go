package tempogram_test

import (
	"fmt"
	"log"

	"crossover/kernels/tempogram"
)

func ExampleNew() {
	plan, err := tempogram.New(nil, tempogram.Params{Window: 64})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	strengths := make([]float32, 200)
	for t := 3; t < len(strengths); t += 20 { // an onset every 20 frames
		strengths[t] = 1
	}
	lags, err := plan.Transform(nil, strengths)
	if err != nil {
		log.Fatal(err)
	}
	around := lags[100*64 : 101*64] // frame 100
	fmt.Printf("%.2f %.2f %.2f\n", around[0], around[10], around[20])
	// Output: 1.00 0.00 0.52
}

func ExampleNewTempo() {
	plan, err := tempogram.NewTempo(nil, tempogram.TempoParams{SampleRate: 22050, Hop: 512})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	strengths := make([]float32, 1000)
	for t := 3; t < len(strengths); t += 20 { // an onset every 20 frames
		strengths[t] = 1
	}
	bpm, err := plan.Estimate(strengths)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f beats a minute\n", bpm)
	// Output: 129.2 beats a minute
}
