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

func ExampleNewInverse() {
	const n = 8
	plan, err := fft.NewInverse(nil, fft.Params{N: n})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	bins := make([]complex64, n/2+1)
	bins[1] = n / 2 // a cosine of one period
	samples := make([]float32, n)
	if err := plan.Transform(samples, bins); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f %.1f %.1f\n", samples[0], samples[1], samples[4])
	// Output: 1.0 0.7 -1.0
}

func ExampleNewComplexPlan() {
	const n = 6
	plan, err := fft.NewComplexPlan(nil, fft.ComplexParams{N: n, Inverse: true})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	values, result := []complex64{6i, 0, 0, 0, 0, 0}, make([]complex64, n)
	if err := plan.Transform(result, values); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", result[n-1])
	// Output: (0.0+1.0i)
}

// A transform on one core needs no plan and no dispatcher.
func ExampleNewReal() {
	transform := fft.NewReal(6)
	bins := make([]complex64, 6/2+1)
	transform.Forward(bins, []float32{1, 1, 1, 1, 1, 1})
	fmt.Printf("%.1f\n", real(bins[0]))
	// Output: 6.0
}
