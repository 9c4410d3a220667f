package songs

import (
	"fmt"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/beats"
	"crossover/kernels/chroma"
	"crossover/kernels/decibels"
	"crossover/kernels/elementwise"
	"crossover/kernels/mel"
	"crossover/kernels/mfcc"
	"crossover/kernels/onset"
	"crossover/kernels/stft"
	"crossover/kernels/tempogram"
)

// AnalysisParams describe the analysis of a recording. The zero value of each field but the first stands for librosa's default.
type AnalysisParams struct {
	SampleRate   float64 // Hz
	NFFT         int     // samples of a frame; 0 stands for 2048
	Hop          int     // samples from one frame to the next; 0 stands for 512
	Bands        int     // of the mel spectrogram; 0 stands for 128
	Coefficients int     // of the cepstrum; 0 stands for 20
	Window       int     // frames in a window of the tempogram; 0 stands for 384
}

// withDefaults returns the parameters without zeros.
func (p AnalysisParams) withDefaults() AnalysisParams {
	for _, f := range []struct {
		field    *int
		standard int
	}{{&p.NFFT, 2048}, {&p.Hop, 512}, {&p.Bands, 128}, {&p.Coefficients, 20}, {&p.Window, 384}} {
		if *f.field == 0 {
			*f.field = f.standard
		}
	}
	return p
}

// AnalysisGraph declares the analysis of a whole recording. Its input is x, mono samples. Its outputs are mfcc,
// frames×Coefficients; chroma, frames×12; onset, the onset strength of each frame; tempogram, frames×Window; tempo, the lag of
// the tempo in frames; and beats, the frames of the beats, of which there are as many as beats.count says. Frame f is centred
// at sample f·Hop, and there are 1 + samples/Hop frames. AnalysisGraph fails if a parameter is out of its range.
func AnalysisGraph(p AnalysisParams) (*Graph, error) {
	p = p.withDefaults()
	spectra, err := p.spectra(false)
	if err != nil {
		return nil, err
	}
	features, err := p.features()
	if err != nil {
		return nil, err
	}
	return &Graph{
		Name:    "analysis",
		Inputs:  []Input{{"x", kernels.Float32, 10*p.Hop + 1}},
		Stages:  append(spectra, features...),
		Outputs: append([]string{"chroma"}, featureNames...),
	}, nil
}

// featureNames are the outputs that depend on all frames.
var featureNames = []string{"mfcc", "onset", "tempogram", "tempo", "beats", "beats.count"}

// spectra returns the stages that compute a frame from its samples alone.
func (p AnalysisParams) spectra(uncentred bool) ([]Stage, error) {
	transform, err := stft.New(nil, stft.Params{NFFT: p.NFFT, Hop: p.Hop, Uncentred: uncentred})
	if err != nil {
		return nil, err
	}
	bands, err := mel.New(nil, mel.Params{SampleRate: p.SampleRate, NFFT: p.NFFT, Bands: p.Bands})
	if err != nil {
		return nil, err
	}
	classes, err := chroma.New(nil, chroma.Params{SampleRate: p.SampleRate, NFFT: p.NFFT})
	if err != nil {
		return nil, err
	}
	return []Stage{
		sized("stft", transform.SizedPlan, 1, "x"),
		sized("power", elementwise.NewPower(nil).SizedPlan, 1, "stft"),
		sized("mel", bands.SizedPlan, bands.Bins(), "power"),
		sized("chroma", classes.SizedPlan, classes.Bins(), "power"),
	}, nil
}

// features returns the stages behind the mel spectrogram.
func (p AnalysisParams) features() ([]Stage, error) {
	level, err := decibels.New(nil, decibels.Params{})
	if err != nil {
		return nil, err
	}
	cepstrum, err := mfcc.New(nil, mfcc.Params{Bands: p.Bands, Coefficients: p.Coefficients})
	if err != nil {
		return nil, err
	}
	strength, err := onset.New(nil, onset.Params{Bands: p.Bands, Shift: p.NFFT / (2 * p.Hop)})
	if err != nil {
		return nil, err
	}
	lags, err := tempogram.New(nil, tempogram.Params{Window: p.Window})
	if err != nil {
		return nil, err
	}
	tempo, err := tempogram.NewTempo(nil, tempogram.TempoParams{SampleRate: p.SampleRate, Hop: p.Hop})
	if err != nil {
		return nil, err
	}
	tracked := Stage{
		Name: "beats", Reads: []string{"onset"}, Decides: "tempo",
		Decided: func(lag uint32) (kernels.Step, error) {
			plan, err := beats.New(nil, beats.Params{SampleRate: p.SampleRate, Hop: p.Hop, BPM: p.bpm(lag)})
			if err != nil {
				return nil, err
			}
			step, _ := kernels.StepOfPlan(plan.SizedPlan)
			return step, nil
		},
		Shape: func(of Lengths) kernels.Shape { return kernels.Shape{of("onset")} },
	}
	return []Stage{
		sized("decibels", level.SizedPlan, 1, "mel"),
		sized("mfcc", cepstrum.SizedPlan, p.Bands, "mel"),
		sized("onset", strength.SizedPlan, p.Bands, "decibels"),
		sized("tempogram", lags.SizedPlan, 1, "onset"),
		sized("tempo", tempo.SizedPlan, 1, "onset"),
		tracked,
	}, nil
}

// expectedBPM is the tempo of a recording that has none, with which beats are looked for all the same.
const expectedBPM = 120

// bpm returns the tempo of a lag in beats a minute.
func (p AnalysisParams) bpm(lag uint32) float64 {
	if lag == 0 {
		return expectedBPM
	}
	return 60 * p.SampleRate / (float64(p.Hop) * float64(lag))
}

// sized returns a stage of a typed plan that reads one tensor, each elements of which are one of the plan's size.
func sized[P any](name string, plan *kernels.SizedPlan[P], each int, reads string) Stage {
	step, shape := kernels.StepOfPlan(plan)
	return Stage{Name: name, Step: step, Reads: []string{reads}, Shape: Along(reads, each, shape)}
}

// Features are what an [Analysis] finds in a recording. The matrices are row-major, with a row for each frame.
type Features struct {
	MFCC      []float32 // frames×Coefficients
	Chroma    []float32 // frames×12
	Onsets    []float32 // strength of each frame
	Tempogram []float32 // frames×Window
	Tempo     float64   // beats a minute; 0 if a sample is NaN or infinite
	Beats     []uint32  // frames, ascending
}

// Analysis analyses recordings. Only one goroutine at a time may use an Analysis.
type Analysis struct {
	params AnalysisParams
	most   int       // frames whose spectra are in memory at a time; 0 before the first call, which decides: see part
	whole  *Pipeline // of a recording of at most so many frames
	// A longer recording is analysed in two steps: its spectra part by part, and then what depends on all frames.
	spectra, features *Pipeline

	padded, mels, classes []float32

	recorder *Recorder // nil unless spans are recorded
}

// The greatest numbers of frames whose spectra are in memory at a time. Those of librosa's default parameters take 12 KiB each.
// On a processor, 512 of them stay in its caches from stage to stage. On a GPU, more of them are worth more than a cache is,
// and a song should be one part, because its spectra then need not leave the GPU: 16 384 frames are six minutes.
const (
	partOnProcessor = 512
	partOnGPU       = 16384
)

// NewAnalysis returns an analysis that chooses by d, which may be nil. It fails if a parameter is out of its range.
func NewAnalysis(d *dispatch.Dispatcher, p AnalysisParams) (*Analysis, error) {
	return NewAnalysisOn(kernels.Here(), d, p)
}

// NewAnalysisOn is [NewAnalysis] on the given backends.
func NewAnalysisOn(b *kernels.Backends, d *dispatch.Dispatcher, p AnalysisParams) (*Analysis, error) {
	p = p.withDefaults()
	whole, err := AnalysisGraph(p)
	if err != nil {
		return nil, err
	}
	part, err := p.spectra(true)
	if err != nil {
		return nil, err
	}
	rest, err := p.features()
	if err != nil {
		return nil, err
	}
	a := &Analysis{params: p}
	for _, made := range []struct {
		to *(*Pipeline)
		of *Graph
	}{
		{&a.whole, whole},
		{&a.spectra, &Graph{Name: "analysis-spectra", Inputs: []Input{{"x", kernels.Float32, p.NFFT + p.Hop}},
			Stages: part, Outputs: []string{"mel", "chroma"}}},
		{&a.features, &Graph{Name: "analysis-features", Inputs: []Input{{"mel", kernels.Float32, 10 * p.Bands}},
			Stages: rest, Outputs: featureNames}},
	} {
		if *made.to, err = NewOn(b, d, made.of); err != nil {
			return nil, err
		}
	}
	a.spectra.within = &within{a.whole, func(elements []int) []int { return []int{p.samples((elements[0]-p.NFFT)/p.Hop + 1)} }}
	a.features.within = &within{a.whole, func(elements []int) []int { return []int{p.samples(elements[0] / p.Bands)} }}
	return a, nil
}

// samples returns the samples of a recording that has so many frames.
func (p AnalysisParams) samples(frames int) int { return max(1, (frames-1)*p.Hop) }

// Frames returns the number of frames of a recording: 1 + samples/Hop.
func (a *Analysis) Frames(samples int) int { return 1 + samples/a.params.Hop }

// Run analyses a recording, mono samples at the sample rate of the parameters, of any length. It fails if there are no samples
// (the error wraps [ErrEmpty]), or if every implementation of a stage fails. The features are valid until the next call. Run
// needs memory for 12 seconds of spectra, or for 190 seconds where a GPU may compute a stage, and besides for the mel spectrogram
// and the features, which with librosa's default parameters are 2.7 KB a frame: 0.4 GB for an hour at 22 050 Hz.
//
// Silence has no onsets, and no beats. If a sample is NaN or infinite, the MFCC and the chroma of the frames with it have no
// meaning, and there is neither a tempo nor a beat.
func (a *Analysis) Run(samples []float32) (Features, error) {
	kernels.Made(a.whole)
	frames := a.Frames(len(samples))
	if err := a.decide(len(samples)); err != nil {
		return Features{}, err
	}
	if frames <= a.most {
		if err := a.whole.Run(samples); err != nil {
			return Features{}, err
		}
		return a.read(a.whole, a.whole.Floats("chroma")), nil
	}
	a.mels, a.classes = slices.Grow(a.mels[:0], frames*a.params.Bands), slices.Grow(a.classes[:0], frames*chroma.Classes)
	each := a.partOf(frames)
	for first := 0; first < frames; first += each {
		// All parts are equally long, so that nothing is arranged anew. The last one may begin within the one before it.
		from := min(first, frames-each)
		if err := a.spectra.Run(a.part(samples, from, each)); err != nil {
			return Features{}, fmt.Errorf("from frame %d on: %w", from, err)
		}
		m := interval(a.recorder.marks().Moves, joinName)
		begin, known := a.recorder.now(), first-from
		mels, classes := a.spectra.Floats("mel")[known*a.params.Bands:], a.spectra.Floats("chroma")[known*chroma.Classes:]
		a.mels, a.classes = append(a.mels, mels...), append(a.classes, classes...)
		a.recorder.move(joinName, begin, len(mels)+len(classes))
		m.end()
	}
	if err := a.features.Run(a.mels); err != nil {
		return Features{}, err
	}
	return a.read(a.features, a.classes), nil
}

// decide decides how many frames are in memory at a time, before the first call.
func (a *Analysis) decide(samples int) error {
	if a.most > 0 || samples == 0 {
		return nil
	}
	a.most = partOnProcessor
	onGPU, err := a.whole.mayUseGPU(samples)
	if onGPU {
		a.most = partOnGPU
	}
	return err
}

// partOf returns the number of frames of a part of a recording: as few parts as possible, and all about equally long.
func (a *Analysis) partOf(frames int) int {
	parts := (frames + a.most - 1) / a.most
	return (frames + parts - 1) / parts
}

// The moves of a long recording's data, in recorded spans.
const (
	cutName  = "cut parts"
	joinName = "join parts"
)

// part returns the samples of some frames, with zeros outside of the recording. Only those at its two ends are copied.
func (a *Analysis) part(samples []float32, first, frames int) []float32 {
	n, from := (frames-1)*a.params.Hop+a.params.NFFT, first*a.params.Hop-a.params.NFFT/2
	if from >= 0 && from+n <= len(samples) {
		return samples[from : from+n]
	}
	defer interval(a.recorder.marks().Moves, cutName).end()
	begin := a.recorder.now()
	if len(a.padded) < n {
		a.padded = make([]float32, n)
	}
	part := a.padded[:n]
	clear(part)
	copy(part[max(0, -from):], samples[max(0, from):min(len(samples), from+n)])
	a.recorder.move(cutName, begin, n)
	return part
}

// read returns the features of the last call of a pipeline.
func (a *Analysis) read(p *Pipeline, classes []float32) Features {
	f := Features{MFCC: p.Floats("mfcc"), Chroma: classes, Onsets: p.Floats("onset"), Tempogram: p.Floats("tempogram")}
	if lag := p.Uint32s("tempo")[0]; lag > 0 {
		f.Tempo = a.params.bpm(lag)
	}
	f.Beats = p.Uint32s("beats")
	f.Beats = f.Beats[:min(len(f.Beats), int(p.Uint32s("beats.count")[0]))]
	return f
}

// Close releases what the pipelines hold: see [Pipeline.Close].
func (a *Analysis) Close() {
	for _, p := range []*Pipeline{a.whole, a.spectra, a.features} {
		p.Close()
	}
	a.padded, a.mels, a.classes = nil, nil, nil
}
