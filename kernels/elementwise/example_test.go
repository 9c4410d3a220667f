package elementwise_test

import (
	"fmt"
	"log"

	"crossover/kernels/elementwise"
)

// apply prints what a plan makes of values, and closes it.
func apply(plan *elementwise.Plan, x ...float32) {
	defer plan.Close()
	y := make([]float32, len(x))
	if err := plan.Apply(y, x); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", y)
}

func ExampleNewScale() {
	plan := elementwise.NewScale(nil, 2, 1) // y = 2x + 1
	defer plan.Close()

	x := []float32{1, 2, 3}
	if err := plan.Apply(x, x); err != nil {
		log.Fatal(err)
	}
	fmt.Println(x)
	// Output: [3 5 7]
}

func ExampleNewGain() {
	apply(elementwise.NewGain(nil, 0.5), 0.5, -1) // 6 dB less
	// Output: [0.250 -0.500]
}

func ExampleNewAbs() {
	apply(elementwise.NewAbs(nil), 0.5, -1)
	// Output: [0.500 1.000]
}

func ExampleNewSoftClip() {
	apply(elementwise.NewSoftClip(nil, 2), 0, 0.1, -0.5, 3)
	// Output: [0.000 0.197 -0.762 1.000]
}

func ExampleNewExp() {
	apply(elementwise.NewExp(nil), 0, 1, -1, 100)
	// Output: [1.000 2.718 0.368 +Inf]
}

func ExampleNewLog() {
	apply(elementwise.NewLog(nil), 1, 10, 0)
	// Output: [0.000 2.303 -Inf]
}

func ExampleNewLog1p() {
	apply(elementwise.NewLog1p(nil), 0, 1, -1)
	// Output: [0.000 0.693 -Inf]
}

func ExampleNewPow() {
	apply(elementwise.NewPow(nil, 0.5), 0, 2, 9, -1)
	// Output: [0.000 1.414 3.000 NaN]
}

func ExampleNewGELU() {
	apply(elementwise.NewGELU(nil), 0, 1, -1, -10)
	// Output: [0.000 0.841 -0.159 -0.000]
}

func ExampleNewGELUTanh() {
	apply(elementwise.NewGELUTanh(nil), 0, 1, -1, -10)
	// Output: [0.000 0.841 -0.159 -0.000]
}

func ExampleNewPower() {
	plan := elementwise.NewPower(nil)
	defer plan.Close()

	spectrum := []complex64{3 + 4i, -2}
	power := make([]float32, len(spectrum))
	if err := plan.Apply(power, spectrum); err != nil {
		log.Fatal(err)
	}
	fmt.Println(power)
	// Output: [25 4]
}

func ExampleNewMagnitude() {
	plan := elementwise.NewMagnitude(nil)
	defer plan.Close()

	spectrum := []complex64{3 + 4i, -2}
	magnitude := make([]float32, len(spectrum))
	if err := plan.Apply(magnitude, spectrum); err != nil {
		log.Fatal(err)
	}
	fmt.Println(magnitude)
	// Output: [5 2]
}
