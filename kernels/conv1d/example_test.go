package conv1d_test

import (
	"fmt"
	"log"

	"crossover/kernels/conv1d"
)

func ExampleNew() {
	plan, err := conv1d.New(nil, []float32{1, 0.5}) // each sample, and half of the one before it
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	y, err := plan.Convolve(nil, []float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", y)
	// Output: [1.00 2.50 4.00 1.50]
}

func ExampleNewStream() {
	stream, err := conv1d.NewStream(nil, []float32{1, 0, 0, 0.5}, 2) // an echo after three samples; blocks of two samples
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	fmt.Println("each call within", stream.Deadline(48000))
	for _, block := range [][]float32{{1, 2}, {3, 4}, {5, 6}} {
		if err := stream.Process(block, block); err != nil { // in place
			log.Fatal(err)
		}
		fmt.Printf("%.1f\n", block)
	}
	// Output:
	// each call within 41.666µs
	// [1.0 2.0]
	// [3.0 4.5]
	// [6.0 7.5]
}
