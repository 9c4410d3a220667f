package recurrent_test

import (
	"fmt"
	"log"

	"crossover/kernels/recurrent"
)

func ExampleNewLSTM() {
	// One unit whose input and output gates are open and which forgets nothing: it adds up the tangents of its input.
	layer := recurrent.Params{
		In: 1, Hidden: 1,
		InputWeights:  []float32{0, 0, 1, 0}, // i, f, g, o
		HiddenWeights: []float32{0, 0, 0, 0},
		InputBias:     []float32{50, 50, 0, 50},
		HiddenBias:    []float32{0, 0, 0, 0},
	}
	plan, err := recurrent.NewLSTM(nil, layer) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{0.5, 0.5, -1} // three steps of one sequence
	y := make([]float32, 3)
	h, c := make([]float32, 1), make([]float32, 1)         // before the first step
	lastH, lastC := make([]float32, 1), make([]float32, 1) // after the last
	if err := plan.Forward(y, lastH, lastC, x, h, c); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f, the last state is %.4f and %.4f\n", y, lastH, lastC)
	// Output: [0.4318 0.7279 0.1612], the last state is [0.1612] and [0.1626]
}

func ExampleNewGRU() {
	// One unit that moves half of the way to the tangent of its input at each step.
	layer := recurrent.Params{
		In: 1, Hidden: 1,
		InputWeights:  []float32{0, 0, 1}, // r, z, n
		HiddenWeights: []float32{0, 0, 0},
		InputBias:     []float32{0, 0, 0},
		HiddenBias:    []float32{0, 0, 0},
	}
	plan, err := recurrent.NewGRU(nil, layer) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{50, 50, 50} // three steps of one sequence
	y, last := make([]float32, 3), make([]float32, 1)
	if err := plan.Forward(y, last, x, make([]float32, 1)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y, last)
	// Output: [0.5 0.75 0.875] [0.875]
}
