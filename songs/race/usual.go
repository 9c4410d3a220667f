package race

import (
	"fmt"
	"slices"
	"strings"

	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/convlayer"
	"crossover/kernels/lora"
	"crossover/kernels/norm"
	"crossover/kernels/oscillator"
	"crossover/kernels/recurrence"
	"crossover/kernels/recurrent"
	"crossover/kernels/sampling"
	"crossover/songs"
)

// Names are the pipelines of Usual.
var Names = []string{"analysis", "separator", "synthesiser", "decoder"}

// All stands for all names on a command line.
const All = "all"

// Named returns the names that a command line asks for, each once and in the order of Names. It fails if there is none, or if one
// is no pipeline.
func Named(names []string) ([]string, error) {
	switch {
	case slices.Equal(names, []string{All}):
		return Names, nil
	case len(names) == 0:
		return nil, fmt.Errorf("--pipelines is empty: want some of %s, or --pipelines alone for all", strings.Join(Names, ", "))
	}
	for _, name := range names {
		if !slices.Contains(Names, name) {
			return nil, fmt.Errorf("--pipelines %.40q: no such pipeline (want some of %s)", name, strings.Join(Names, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(Names), func(name string) bool { return !slices.Contains(names, name) }), nil
}

// AllUsual returns the sessions of [Usual] for some pipelines, in the order of Names.
func AllUsual(names []string, in kernels.Input) (all []Session, err error) {
	for _, name := range Names {
		if !slices.Contains(names, name) {
			continue
		}
		more, err := Usual(name, in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, more...)
	}
	return all, nil
}

// Usual returns sessions of a pipeline with parameters that programs have. in is the recording for those that take one. It is
// repeated where it is too short. Usual fails for another name than those of Names, and for a recording that the pipeline
// does not take.
//
//   - The analysis of 1, 3, 10, 30 and 90 seconds, and of a song of 4 minutes, by librosa's parameters.
//   - The separator of one segment of 1, 3, 10 and 30 seconds. A song is separated segment by segment, so there is no longer one.
//   - The synthesiser renders one second at 44.1 kHz in blocks of 64, 128, 256, 512 and 1024 samples, with 16 voices and a response of a
//     second.
//   - The decoder makes 128 steps with a width of 256, 384, 512, 768 and 1024, and a vocabulary of 2048 tokens, as those of audio codecs.
//     Another width has other weights, so widths are near each other: what fits into a cache, and which library is fastest, changes
//     within a factor of 2.
func Usual(name string, in kernels.Input) ([]Session, error) {
	if len(in.Samples) == 0 || !(in.SampleRate >= 1 && in.SampleRate <= mostRate) {
		return nil, fmt.Errorf("songs: %d samples at %g Hz (want a recording of 1 to %d Hz)", len(in.Samples), in.SampleRate, mostRate)
	}
	switch name {
	case "analysis":
		return analyses(in)
	case "separator":
		return separators(in)
	case "synthesiser":
		return synthesisers()
	case "decoder":
		return decoders()
	}
	return nil, fmt.Errorf("songs: no pipeline %.40q (want one of %q)", name, Names)
}

// mostRate is the greatest rate of a recording in Hz. Four minutes of it take 740 MB.
const mostRate = 768_000

func analyses(in kernels.Input) (all []Session, err error) {
	g, err := songs.AnalysisGraph(songs.AnalysisParams{SampleRate: in.SampleRate})
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		seconds int
		length  string
	}{{1, "1 s"}, {3, "3 s"}, {10, "10 s"}, {30, "30 s"}, {90, "90 s"}, {240, "4 min"}} {
		x := make([]float32, int(float64(of.seconds)*in.SampleRate))
		in.Fill(x)
		all = append(all, Session{g, of.length, in.Name, [][][]float32{{x}}})
	}
	return all, nil
}

func separators(in kernels.Input) (all []Session, err error) {
	const nFFT, hop, channels, perSecond = 4096, 1024, 48, 43
	layer := convlayer.Layer{In: nFFT + 2, Out: 2 * channels, Kernel: 8, Stride: 4, Padding: 2}
	layer.Weights, layer.Bias = weights(1, layer.In*layer.Out*layer.Kernel, 0.02), weights(2, layer.Out, 0.1)
	p := songs.SeparatorParams{
		NFFT: nFFT, Hop: hop, Encoder: layer,
		Norm: norm.GroupParams{Groups: 4, Weights: weights(3, channels, 1), Bias: weights(4, channels, 1)},
		LSTM: recurrent.Params{In: channels, Hidden: channels, InputWeights: weights(5, 4*channels*channels, 0.2),
			HiddenWeights: weights(6, 4*channels*channels, 0.2)},
		Decoder: weights(7, 4*(nFFT+2)*channels, 0.2), Bias: weights(8, 4*(nFFT+2), 0.1),
	}
	for _, seconds := range []int{1, 3, 10, 30} {
		p.Frames = (perSecond*seconds + 5) / 4 * 4 // a multiple of the stride
		g, err := songs.SeparatorGraph(p)
		if err != nil {
			return nil, err
		}
		x := make([]float32, (p.Frames-1)*hop)
		in.Fill(x)
		all = append(all, Session{g, fmt.Sprintf("%d s", seconds), in.Name, [][][]float32{{x}}})
	}
	return all, nil
}

func synthesisers() (all []Session, err error) {
	const rate, voices = 44100, 16
	filter, err := biquad.LowpassCascade(4000, rate, 2)
	if err != nil {
		return nil, err
	}
	p := songs.SynthesiserParams{
		Voices: oscillator.Params{SampleRate: rate}, Level: 1. / voices, Filter: filter,
		Compressor: recurrence.CompressorParams{Threshold: -20, Ratio: 4, Knee: 6, Attack: 0.001, Release: 0.05, SampleRate: rate},
		Response:   weights(1, rate, 0.01),
	}
	for v := range voices {
		p.Voices.Voices = append(p.Voices.Voices, oscillator.Voice{Frequency: 55 * float64(v+1), Detune: 7, Attack: 0.01, Decay: 0.1,
			Sustain: 0.6, Gate: 0.7, Release: 0.2})
	}
	for _, block := range []int{64, 128, 256, 512, 1024} {
		p.Block = block
		g, err := songs.SynthesiserGraph(p)
		if err != nil {
			return nil, err
		}
		s := Session{Graph: g, Length: fmt.Sprintf("1 s by %d samples", block), Audio: "generated"}
		for at := 0; at < rate; at += block {
			s.Calls = append(s.Calls, [][]float32{kernels.Uint32Words([]uint32{uint32(at), 0})})
		}
		all = append(all, s)
	}
	return all, nil
}

func decoders() (all []Session, err error) {
	const vocabulary, rank, steps = 2048, 8, 128
	for _, width := range []int{256, 384, 512, 768, 1024} {
		by := float32(1 / float64(width))
		g, err := songs.DecoderGraph(songs.DecoderParams{
			Width: width, Heads: width / 64, Norm: weights(1, width, 1), Query: weights(2, width*width, 8*by),
			Key: weights(3, width*width, 8*by), Value: weights(4, width*width, 8*by),
			Logits: lora.Params{In: width, Out: vocabulary, Rank: rank, A: weights(5, width*rank, by), B: weights(6, rank*vocabulary, 1),
				Scale: 2, Weights: weights(7, vocabulary*width, 1), Bias: weights(8, vocabulary, 1)},
			TopK: sampling.TopKParams{Columns: vocabulary, K: 50, Temperature: 1},
		})
		if err != nil {
			return nil, err
		}
		s := Session{Graph: g, Length: fmt.Sprintf("%d steps of width %d", steps, width), Audio: "generated"}
		for step := range steps {
			s.Calls = append(s.Calls, [][]float32{weights(uint64(10+step), width, 1), {(float32(step) + 0.5) / steps}})
		}
		all = append(all, s)
	}
	return all, nil
}

// weights returns seeded noise in [−by, by).
func weights(seed uint64, n int, by float32) []float32 {
	x := make([]float32, n)
	kernels.Noise(x, seed)
	for i := range x {
		x[i] *= by
	}
	return x
}
