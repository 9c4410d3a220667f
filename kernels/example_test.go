package kernels_test

import (
	"fmt"
	"log"
	"math"

	"crossover/kernels"
	"crossover/kernels/decibels"
	"crossover/kernels/elementwise"
	"crossover/kernels/mel"
	"crossover/kernels/mfcc"
	"crossover/kernels/onset"
	"crossover/kernels/softmax"
	"crossover/kernels/stft"
)

func ExampleBackends_Alloc() {
	x, free, err := kernels.Here().Alloc(2 * 1024) // shared with the GPU; ordinary memory where there is none
	if err != nil {
		log.Fatal(err)
	}
	defer free() // nothing else gives the memory back

	plan, err := softmax.New(nil, softmax.Params{Columns: 1024})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()
	if err := plan.Apply(x, x); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.6f\n", x[0])
	// Output: 0.000977
}

// This example declares an operation, y = x², with one loop in Go, and calls its plan.
func ExampleOp() {
	const n = 0 // the only axis
	axes := []kernels.Axis{{Name: "n", Unit: "elements", Min: 1 << 10, Max: 1 << 24}}
	square := kernels.Op[struct{}]{
		Name:    "square",
		Formula: "y[i] = x[i]²",
		Source:  "arithmetic",
		Axes:    axes,
		Lines:   []kernels.Line{kernels.Along(axes, "n")},
		Params:  func(kernels.Shape) struct{} { return struct{}{} },
		IO: func(_ struct{}, s kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{
				{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[n]}},
				{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[n]}},
			}
		},
		Reference: func(_ struct{}, _ kernels.Shape, a *kernels.Args) []float64 {
			y := make([]float64, len(a[1]))
			for i, v := range a[1] {
				y[i] = float64(v) * float64(v)
			}
			return y
		},
		Tolerance: func(kernels.Shape) float64 { return 1e-6 },
		Work: func(s kernels.Shape, _ string) kernels.Work {
			return kernels.Work{Bytes: 8 * float64(s[n]), Flops: float64(s[n])}
		},
		By: []kernels.Makers[struct{}]{
			kernels.OverRows(func(struct{}, int) (kernels.Loop, error) { // "go" and "go-parallel"
				return kernels.Loop{
					Rows:           func(s *kernels.Shape) int { return s[n] },
					PerMicrosecond: 4096,
					Do: func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
						for i := lo; i < hi; i++ {
							a[0][i] = a[1][i] * a[1][i]
						}
					},
				}, nil
			}),
		},
	}

	plan := kernels.NewPlan(nil, &square, struct{}{})
	defer plan.Close()
	y, x := make([]float32, 3), []float32{1, 2, 3}
	if err := plan.Run(kernels.Shape{n: len(x)}, kernels.Args{y, x}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)

	for _, c := range square.Cases(kernels.Here()) {
		fmt.Println(c.Name, c.Placed(kernels.Shared).Name, c.Placed(kernels.Resident).Name)
	}
	// Output:
	// [1 4 9]
	// square square/shared square/resident
}

// This example goes from samples to onset strengths and to mel-frequency cepstral coefficients. Onset strengths are computed of
// decibels. The coefficients are computed of power, because package mfcc takes decibels itself.
func Example_onsetsAndCoefficients() {
	const sampleRate, nFFT, hop, bands = 22050, 2048, 512, 128
	frames, err := stft.New(nil, stft.Params{NFFT: nFFT, Hop: hop}) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer frames.Close()
	power := elementwise.NewPower(nil)
	defer power.Close()
	filters, err := mel.New(nil, mel.Params{SampleRate: sampleRate, NFFT: nFFT, Bands: bands})
	if err != nil {
		log.Fatal(err)
	}
	defer filters.Close()
	level, err := decibels.New(nil, decibels.Params{})
	if err != nil {
		log.Fatal(err)
	}
	defer level.Close()
	onsets, err := onset.New(nil, onset.Params{Bands: bands, Shift: nFFT / (2 * hop)})
	if err != nil {
		log.Fatal(err)
	}
	defer onsets.Close()
	cepstrum, err := mfcc.New(nil, mfcc.Params{Bands: bands, Coefficients: 13})
	if err != nil {
		log.Fatal(err)
	}
	defer cepstrum.Close()

	samples := make([]float32, sampleRate) // a second, with a tone of 440 Hz in the second half
	for i := range samples[sampleRate/2:] {
		samples[sampleRate/2+i] = float32(math.Sin(2 * math.Pi * 440 / sampleRate * float64(i)))
	}

	spectrogram, err := frames.Transform(nil, samples)
	if err != nil {
		log.Fatal(err)
	}
	powers := make([]float32, len(spectrogram))
	if err := power.Apply(powers, spectrogram); err != nil {
		log.Fatal(err)
	}
	melPower, err := filters.Transform(nil, powers)
	if err != nil {
		log.Fatal(err)
	}
	melDecibels := make([]float32, len(melPower))
	if err := level.Convert(melDecibels, melPower); err != nil {
		log.Fatal(err)
	}
	strengths, err := onsets.Transform(nil, melDecibels)
	if err != nil {
		log.Fatal(err)
	}
	coefficients, err := cepstrum.Transform(nil, melPower) // power, not decibels
	if err != nil {
		log.Fatal(err)
	}

	loudest := 0
	for t, v := range strengths {
		if v > strengths[loudest] {
			loudest = t
		}
	}
	fmt.Printf("%d frames, the strongest onset at %.2f s\n", len(strengths), float64(loudest)*hop/sampleRate)
	fmt.Printf("%d coefficients, the first one %.0f\n", len(coefficients), coefficients[0])
	// Output:
	// 44 frames, the strongest onset at 0.53 s
	// 572 coefficients, the first one -443
}
