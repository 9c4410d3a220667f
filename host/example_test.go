package host_test

import (
	"fmt"

	"crossover/host"
)

func ExampleFamily() {
	fmt.Println(host.Family("Apple M3 Max"))
	// Output: apple-m3
}

func ExampleIdentify() {
	facts := host.Identify()
	fmt.Println(facts.Architecture != "", facts.Cores > 0)
	// Output: true true
}
