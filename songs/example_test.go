package songs_test

import (
	"fmt"
	"log"

	"crossover/kernels"
	"crossover/songs"
)

func ExampleNewAnalysis() {
	recording := kernels.GeneratedInput() // a program reads one by audio.ReadWAV
	analysis, err := songs.NewAnalysis(nil, songs.AnalysisParams{SampleRate: recording.SampleRate})
	if err != nil {
		log.Fatal(err)
	}
	defer analysis.Close()

	features, err := analysis.Run(recording.Samples)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f beats a minute, %d beats in %d frames\n", features.Tempo, len(features.Beats), len(features.Onsets))
	// Output: 117 beats a minute, 9 beats in 216 frames
}

func ExampleNew() {
	graph, err := songs.AnalysisGraph(songs.AnalysisParams{SampleRate: 22050, Coefficients: 13})
	if err != nil {
		log.Fatal(err)
	}
	pipeline, err := songs.New(nil, graph)
	if err != nil {
		log.Fatal(err)
	}
	defer pipeline.Close()

	if err := pipeline.Run(kernels.GeneratedInput().Samples); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(pipeline.Floats("mfcc"))/13, "frames of 13 coefficients")
	// Output: 216 frames of 13 coefficients
}
