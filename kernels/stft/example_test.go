package stft_test

import (
	"fmt"
	"log"

	"crossover/dispatch"
	"crossover/kernels/stft"
)

func ExampleNew() {
	d, err := dispatch.Load("../../calibration.json") // the entry of this host
	if err != nil {
		log.Fatal(err)
	}
	plan, err := stft.New(d, stft.Params{NFFT: 2048, Hop: 512})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	samples := make([]float32, 48000)
	var spectrogram []complex64
	for range 3 {
		spectrogram, err = plan.Transform(spectrogram, samples) // once warm, nothing is allocated
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(plan.Frames(len(samples)), "frames of", plan.Bins(), "bins:", len(spectrogram), "values")
	// Output: 94 frames of 1025 bins: 96350 values
}

// A spectrogram that a program has changed becomes a signal again.
func ExampleNewInverse() {
	params := stft.Params{NFFT: 512, Hop: 128, Window: stft.Hamming, Padding: stft.Reflect}
	forward, err := stft.New(nil, params)
	if err != nil {
		log.Fatal(err)
	}
	defer forward.Close()
	inverse, err := stft.NewInverse(nil, params)
	if err != nil {
		log.Fatal(err)
	}
	defer inverse.Close()

	samples := make([]float32, 4000)
	samples[1000] = 0.5
	spectrogram, err := forward.Transform(nil, samples)
	if err != nil {
		log.Fatal(err)
	}
	for i := range spectrogram {
		spectrogram[i] *= 2
	}
	if err := inverse.Transform(samples, spectrogram); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", samples[1000])
	// Output: 1.000
}
