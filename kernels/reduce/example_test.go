package reduce_test

import (
	"fmt"
	"log"

	"crossover/kernels/reduce"
)

func ExampleNewSum() {
	plan := reduce.NewSum(nil)
	defer plan.Close()

	sum, err := plan.Sum([]float32{1, 2, 3, 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: 10
}
