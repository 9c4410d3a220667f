package fft_test

import (
	"fmt"
	"log"
	"math"

	"crossover/kernels/fft"
)

func ExampleNew() {
	const n = 8
	plan, err := fft.New(nil, fft.Params{N: n})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	rows := make([]float32, 2*n)
	for j := range n {
		rows[j] = float32(math.Cos(2 * math.Pi * float64(j) / n)) // one period
		rows[n+j] = 1                                             // a constant
	}
	bins := make([]complex64, 2*(n/2+1))
	if err := plan.Transform(bins, rows); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("bin 1 of the first row: %.1f\n", real(bins[1]))
	fmt.Printf("bin 0 of the second row: %.1f\n", real(bins[n/2+1]))
	// Output:
	// bin 1 of the first row: 4.0
	// bin 0 of the second row: 8.0
}

// A transform on one core needs no plan and no dispatcher.
func ExampleNewReal() {
	transform := fft.NewReal(6)
	bins := make([]complex64, 6/2+1)
	transform.Forward(bins, []float32{1, 1, 1, 1, 1, 1})
	fmt.Printf("%.1f\n", real(bins[0]))
	// Output: 6.0
}
