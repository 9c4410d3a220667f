package resample_test

import (
	"fmt"
	"log"
	"math"

	"crossover/kernels/resample"
)

func ExampleNew() {
	plan, err := resample.New(nil, resample.Params{Up: 160, Down: 147}) // from 44 100 to 48 000 Hz; nil: no calibration
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()
	second := make([]float32, 44100)
	for i := range second {
		second[i] = float32(math.Sin(2 * math.Pi * 1000 * float64(i) / 44100)) // 1000 Hz
	}
	y, err := plan.Resample(nil, second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(y))
	fmt.Printf("%.3f\n", y[24001:24004]) // 24 samples are a half turn
	// Output:
	// 48000
	// [0.130 0.259 0.383]
}
