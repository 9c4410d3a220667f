package mfcc_test

import (
	"fmt"
	"log"

	"crossover/kernels/mfcc"
)

func ExampleNew() {
	plan, err := mfcc.New(nil, mfcc.Params{Bands: 40, Coefficients: 13})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	mel := make([]float32, 10*40) // ten silent frames
	cepstra, err := plan.Transform(nil, mel)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d values, the first one %.1f\n", len(cepstra), cepstra[0])
	// Output: 130 values, the first one -632.5
}
