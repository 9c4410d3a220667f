package songs

import (
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
// at sample f·Hop, and there are 1 + samples/Hop frames. The spectra of a long recording are computed part by part. AnalysisGraph
// fails if a parameter is out of its range.
//
// Tempo and beats follow the onset strength, as librosa's beat_track does if it is given one. Given samples alone, beat_track
// takes the median over the bands in place of their mean, and some of its beats are a frame away.
func AnalysisGraph(p AnalysisParams) (*Graph, error) {
	p = p.withDefaults()
	spectra, err := p.spectra(false)
	if err != nil {
		return nil, err
	}
	part, err := p.spectra(true)
	if err != nil {
		return nil, err
	}
	features, err := p.features()
	if err != nil {
		return nil, err
	}
	const name = "analysis"
	return &Graph{
		Name:    name,
		Inputs:  []Input{{"x", kernels.Float32, 10*p.Hop + 1}},
		Stages:  append(spectra, features...),
		Outputs: append([]string{"chroma"}, featureNames...),
		inParts: &inParts{
			frames: &Graph{Name: name, Inputs: []Input{{"x", kernels.Float32, p.NFFT + p.Hop}}, Stages: part, Outputs: []string{"mel", "chroma"}},
			rest:   &Graph{Name: name, Inputs: []Input{{"mel", kernels.Float32, 10 * p.Bands}}, Stages: features, Outputs: featureNames},
			length: p.NFFT, hop: p.Hop, each: []int{p.Bands, chroma.Classes},
		},
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
	params   AnalysisParams
	pipeline *Pipeline
}

// NewAnalysis returns an analysis that chooses by d, which may be nil. It fails if a parameter is out of its range.
func NewAnalysis(d *dispatch.Dispatcher, p AnalysisParams) (*Analysis, error) {
	return NewAnalysisOn(kernels.Here(), d, p)
}

// NewAnalysisOn is [NewAnalysis] on the given backends.
func NewAnalysisOn(b *kernels.Backends, d *dispatch.Dispatcher, p AnalysisParams) (*Analysis, error) {
	g, err := AnalysisGraph(p)
	if err != nil {
		return nil, err
	}
	pipeline, err := NewOn(b, d, g)
	if err != nil {
		return nil, err
	}
	return &Analysis{p.withDefaults(), pipeline}, nil
}

// Frames returns the number of frames of a recording: 1 + samples/Hop.
func (a *Analysis) Frames(samples int) int { return 1 + samples/a.params.Hop }

// Run analyses a recording, mono samples at the sample rate of the parameters, of any length. It fails if there are no samples
// (the error wraps [ErrEmpty]), or if every implementation of a stage fails. The features are valid until the next call. Run
// needs memory for the spectra of 512 frames, or of 16 384 if a GPU may compute some of them, and besides for the mel spectrogram and the
// features, which with librosa's default parameters are 2.7 KB a frame: 0.4 GB for an hour at 22 050 Hz.
//
// Silence has no onsets, and no beats. If a sample is NaN or infinite, the MFCC and the chroma of the frames with it have no
// meaning, and there is neither a tempo nor a beat.
func (a *Analysis) Run(samples []float32) (Features, error) {
	kernels.Made(a.pipeline)
	p := a.pipeline
	if err := p.Run(samples); err != nil {
		return Features{}, err
	}
	f := Features{MFCC: p.Floats("mfcc"), Chroma: p.Floats("chroma"), Onsets: p.Floats("onset"), Tempogram: p.Floats("tempogram")}
	if lag := p.Uint32s("tempo")[0]; lag > 0 {
		f.Tempo = a.params.bpm(lag)
	}
	f.Beats = p.Uint32s("beats")
	f.Beats = f.Beats[:min(len(f.Beats), int(p.Uint32s("beats.count")[0]))]
	return f, nil
}

// Explain says how the last recording was analysed, and why: see [Pipeline.Explain].
func (a *Analysis) Explain() string { return a.pipeline.Explain() }

// Unknown returns the stages that the dispatcher knows nothing of: see [Pipeline.Unknown].
func (a *Analysis) Unknown() []string { return a.pipeline.Unknown() }

// Close releases what the pipeline holds: see [Pipeline.Close].
func (a *Analysis) Close() { a.pipeline.Close() }
