package reduce_test

import (
	"fmt"
	"log"

	"crossover/kernels/reduce"
)

// of prints what a plan makes of values, and closes it.
func of(plan *reduce.Plan, x ...float32) {
	defer plan.Close()
	y, err := plan.Of(x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
}

func ExampleNewSum() {
	plan := reduce.NewSum(nil)
	defer plan.Close()

	sum, err := plan.Of([]float32{1, 2, 3, 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: 10
}

func ExampleNewMean() {
	of(reduce.NewMean(nil), 1, 2, 3, 4)
	// Output: 2.5
}

func ExampleNewMax() {
	of(reduce.NewMax(nil), 1, 4, 2)
	// Output: 4
}

func ExampleNewMin() {
	of(reduce.NewMin(nil), 1, 4, -2)
	// Output: -2
}

func ExampleNewArgMax() {
	plan := reduce.NewArgMax(nil)
	defer plan.Close()

	loudest, err := plan.Of([]float32{0.1, 0.9, 0.3, 0.9})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(loudest)
	// Output: 1
}
