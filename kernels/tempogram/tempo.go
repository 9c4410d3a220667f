package tempogram

import (
	"fmt"
	"math"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/autocorrelation"
	"crossover/kernels/onset"
)

// TempoParams are what all calls of a plan of the tempo have in common.
type TempoParams struct {
	SampleRate float64 // Hz
	Hop        int     // samples from one frame to the next

	// Start is the tempo that is expected, above 0 and at most 1000 beats a minute. 0 stands for 120.
	Start float64
}

const (
	tempoSeconds = 8    // of a window
	fastest      = 320  // beats a minute; a tempo is below it
	weight       = 1e6  // of a mean
	leastMean    = 1e-6 // below which a mean counts as 0: a float32 transform leaves rounding errors of some 1e-7
	usualStart   = 120
)

// window returns the frames of a window and the lags of a row.
func (p TempoParams) window() int { return int(math.Floor(tempoSeconds*p.SampleRate)) / max(1, p.Hop) }

// bpm returns the tempo of a lag in beats a minute.
func (p TempoParams) bpm(lag int) float64 { return 60 * p.SampleRate / (float64(p.Hop) * float64(lag)) }

// first returns the least lag whose tempo is slow enough.
func (p TempoParams) first() int {
	lag := 1
	for lag < p.window() && p.bpm(lag) >= fastest {
		lag++
	}
	return lag
}

func (p TempoParams) check() error {
	if !(p.SampleRate > 0 && p.SampleRate <= 1e9) || p.Hop < 1 || p.window() < 2 || p.window() > mostWindow {
		return fmt.Errorf("tempo: frames every %d samples at a sample rate of %g Hz: want 2 to %d frames in 8 seconds", p.Hop, p.SampleRate,
			mostWindow)
	}
	if !(p.Start >= 0 && p.Start <= 1000) {
		return fmt.Errorf("tempo: Start is %g: want up to 1000 beats a minute, or 0 for %d", p.Start, usualStart)
	}
	return nil
}

// prior returns what is added to the score of each lag. That of the lags before the first one is −Inf.
func (p TempoParams) prior() []float64 {
	if p.Start == 0 {
		p.Start = usualStart
	}
	prior := make([]float64, p.window())
	for lag := range prior {
		prior[lag] = math.Inf(-1)
		if lag >= p.first() {
			octaves := math.Log2(p.bpm(lag)) - math.Log2(p.Start)
			prior[lag] = -0.5 * octaves * octaves
		}
	}
	return prior
}

// measured is what a sweep measures with: librosa's default rate and hop.
var measured = TempoParams{SampleRate: 22050, Hop: 512}

// Tempo declares the tempo of onset strengths: the lag k with the greatest
//
//	ln(1 + 10⁶·m[k]) − ½·log₂²(b[k]/Start),   b[k] = 60·SampleRate/(Hop·k) < 320
//
// where m[k] is the mean over all frames of a tempogram with windows of 8 seconds, and b[k] the tempo of the lag in beats a
// minute. Of equal ones it is the least lag. This is librosa's tempo with its defaults. A mean below 10⁻⁶ counts as 0, where
// librosa, in float64, goes on. If two lags are within a rounding error of each other, implementations may choose either.
//
// The implementations make no tempogram. A mean of autocorrelations is the transform of a mean of power spectra, so each frame
// costs one transform.
//
// Sources: D. P. W. Ellis, Beat tracking by dynamic programming, Journal of New Music Research 36 (2007), 51–60;
// https://librosa.org/doc/0.10.2/generated/librosa.feature.tempo.html.
var Tempo = kernels.Declare(kernels.Op[TempoParams]{
	Name: "tempo",
	Formula: "the lag k with the greatest ln(1 + 10⁶·m[k]) - ½·log₂²(b[k]/120), m[k] = mean over t of tempogram T[t,k] with a window of " +
		"8 s, b[k] = 60·22050/(512·k) < 320 beats a minute",
	Source: "Ellis, Journal of New Music Research 36 (2007), 51–60; librosa 0.10.2, librosa.feature.tempo",
	Axes:   axes[frames:],
	Lines:  []kernels.Line{kernels.Along(axes[frames:], "frames")},
	Params: func(kernels.Shape) TempoParams { return measured },
	Check:  TempoParams.check,
	IO: func(_ TempoParams, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "lag", Role: kernels.Out, Type: kernels.Uint32, Dims: []int{1}},
			{Name: "O", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[0]}},
		}
	},
	Fill: func(_ TempoParams, _ kernels.Shape, in kernels.Input, a *kernels.Args) { onset.Fill(in, a[1]) },
	Reference: func(p TempoParams, _ kernels.Shape, a *kernels.Args) []float64 {
		return []float64{float64(TempoReference(p, a[1]))}
	},
	Tolerance: func(kernels.Shape) float64 { return 0 },
	Judge:     kernels.Exact,
	Work: func(s kernels.Shape, _ string) kernels.Work {
		window := measured.window()
		w := autocorrelation.Work(window, s[0])
		w.Bytes, w.Flops, w.Launches = 4*float64(s[0]+window), w.Flops/2, 7
		return w
	},
	By: slices.Concat(tempoOnProcessors(),
		[]kernels.Makers[TempoParams]{kernels.KernelText("", appendTempo), kernels.VendorFFT("", newTempoVendor)}),
})

// choose returns the lag with the greatest score, and 0 if means are no numbers.
func choose(means, prior []float64) (lag int) {
	most := math.Inf(-1)
	for k, m := range means {
		if m-m != 0 {
			return 0
		}
		if m < leastMean {
			m = 0
		}
		if score := math.Log1p(weight*m) + prior[k]; score > most {
			lag, most = k, score
		}
	}
	return lag
}

// TempoPlan estimates tempos by the implementation that is fastest at the number of frames. Only one goroutine at a time may
// use a TempoPlan.
type TempoPlan struct {
	// Explain takes a number of frames.
	*kernels.SizedPlan[TempoParams]

	params TempoParams
	lag    [1]uint32
}

// NewTempo returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if p.Start is out of its range,
// or if 8 seconds do not have 2 to 1 Mi frames.
func NewTempo(d *dispatch.Dispatcher, p TempoParams) (*TempoPlan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &TempoPlan{SizedPlan: kernels.NewPlan(d, &Tempo, p).Along(0, kernels.Shape{}), params: p}, nil
}

// Estimate returns the tempo of onset strengths in beats a minute. It is that of a whole number of frames. It is 0 if there are
// no strengths, or if one is NaN or infinite. The tempo of silence is the one nearest to Start.
//
// Estimate allocates nothing at a number of frames at which the implementation has run twice. An implementation on a GPU
// remembers only the last few numbers of frames. Estimate fails only if every implementation fails.
func (p *TempoPlan) Estimate(strengths []float32) (float64, error) {
	if len(strengths) == 0 {
		return 0, nil
	}
	err := kernels.RunSized(p.SizedPlan, len(strengths), &kernels.Args{kernels.Uint32Words(p.lag[:]), strengths})
	if err != nil || p.lag[0] == 0 {
		return 0, err
	}
	return p.params.bpm(int(p.lag[0])), nil
}

// TempoProgram is the [kernels.Program] of the tempo.
var TempoProgram = kernels.NewProgram(NewTempo, func(p *TempoPlan, _ kernels.Shape, a *kernels.Args) error {
	_, err := p.Estimate(a[1])
	kernels.Uint32s(a[0])[0] = p.lag[0]
	return err
})

// TempoReference returns the lag of the tempo of onset strengths, by the definition in float64, and 0 where there is none. It
// panics if p is out of its range.
func TempoReference(p TempoParams, strengths []float32) int {
	if err := p.check(); err != nil {
		panic(err)
	}
	if len(strengths) == 0 {
		return 0
	}
	means := make([]float64, p.window())
	for row := range slices.Chunk(Reference(Params{p.window()}, strengths), p.window()) {
		for k, v := range row {
			means[k] += v / float64(len(strengths))
		}
	}
	return choose(means, p.prior())
}
