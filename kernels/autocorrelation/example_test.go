package autocorrelation_test

import (
	"fmt"
	"log"

	"crossover/kernels/autocorrelation"
)

func ExampleNew() {
	plan, err := autocorrelation.New(nil, autocorrelation.Params{N: 6})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{1, 0, 0, 1, 0, 0} // a period of three samples
	lags := make([]float32, len(x))
	if err := plan.Transform(lags, x); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f %.3f\n", lags[0], lags[3])
	// Output: 2.000 1.000
}
