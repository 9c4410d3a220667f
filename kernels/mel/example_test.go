package mel_test

import (
	"fmt"
	"log"

	"crossover/kernels/mel"
)

func ExampleNew() {
	plan, err := mel.New(nil, mel.Params{SampleRate: 22050, NFFT: 2048, Bands: 40})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	const frames = 10
	power := make([]float32, frames*plan.Bins())
	bands, err := plan.Transform(nil, power)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Bins(), "bins in,", len(bands)/frames, "bands out")
	// Output: 1025 bins in, 40 bands out
}
