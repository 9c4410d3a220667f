package convlayer_test

import (
	"fmt"
	"log"

	"crossover/kernels/convlayer"
)

func ExampleNew1D() {
	plan, err := convlayer.New1D(nil, convlayer.Layer{ // nil: no calibration, so the processor computes
		In: 1, Out: 2, Kernel: 3, Stride: 1, Padding: 1,
		Weights: []float32{ // out×in×kernel
			-1, 0, 1, // differences
			1, 1, 1, // sums
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{1, 2, 4, 8} // one channel
	y := make([]float32, 2*plan.Outputs(4))
	if err := plan.Run(y, x); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y[:4], y[4:])
	// Output: [2 3 6 -4] [3 7 14 12]
}

func ExampleNew2D() {
	plan, err := convlayer.New2D(nil, convlayer.ImageLayer{
		In: 1, Out: 1, Kernel: convlayer.Both(2), Stride: convlayer.Both(2),
		Weights: []float32{1, 1, 1, 1}, Bias: []float32{0.5},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{ // 2×4
		1, 2, 3, 4,
		5, 6, 7, 8,
	}
	height, width := plan.Outputs(2, 4)
	y := make([]float32, height*width)
	if err := plan.Run(y, x, 2, 4); err != nil {
		log.Fatal(err)
	}
	fmt.Println(height, width, y)
	// Output: 1 2 [14.5 22.5]
}
