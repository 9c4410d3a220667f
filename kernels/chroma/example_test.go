package chroma_test

import (
	"fmt"
	"log"

	"crossover/kernels/chroma"
)

func ExampleNew() {
	plan, err := chroma.New(nil, chroma.Params{SampleRate: 44000, NFFT: 4400})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	power := make([]float32, plan.Bins())
	power[44] = 1 // 440 Hz
	classes, err := plan.Transform(nil, power)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("C %.2f, G# %.2f, A %.2f, A# %.2f\n", classes[0], classes[8], classes[9], classes[10])
	// Output: C 0.00, G# 0.14, A 1.00, A# 0.14
}
