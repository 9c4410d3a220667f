package beats_test

import (
	"fmt"
	"log"

	"crossover/kernels/beats"
)

func ExampleNew() {
	plan, err := beats.New(nil, beats.Params{SampleRate: 22050, Hop: 512, BPM: 129}) // 20 frames from beat to beat
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	strengths := make([]float32, 130)
	for t := 5; t < len(strengths); t += 20 {
		strengths[t] = 1
	}
	strengths[65] = 0 // a beat that nobody plays
	frames, err := plan.Track(nil, strengths)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(frames)
	// Output: [5 25 45 65 85 105 125]
}
