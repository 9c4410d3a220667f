// Package onset computes the onset strength of a spectrogram in decibels: how much its bands rise from one frame to the next.
//
//	O[t] = 1/bands · Σ_b max(0, L[t−shift,b] − L[t−shift−1,b]),   and 0 for t ≤ shift
//
// L is frames×bands, row-major, and O has a value for each frame, in decibels. Frames of a centred transform know n_fft/2
// samples of what comes, and shift makes up for them. This is librosa's onset_strength of a spectrogram with its defaults: lag
// 1, max_size 1, the mean of the bands, no detrending, and, with shift = n_fft/(2·hop), center. Strengths that the shift moves
// past the last frame are left out.
//
// The package picks no peaks. The usual steps are New with [Params], and Transform. An Example of package kernels has all
// steps from samples on.
//
// Sources: S. Böck, G. Widmer, Maximum filter vibrato suppression for onset detection, DAFx-13, 2013;
// https://librosa.org/doc/0.10.2/generated/librosa.onset.onset_strength.html.
package onset

import (
	_ "embed"
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/mel"
	"crossover/native/accelerate"
)

// Params are what all calls of a plan have in common.
type Params struct {
	Bands int // 1 to 16 Mi

	// Shift is the number of frames by which onsets are moved to later frames, at least 0 and less than 2³¹ − 1. For centred
	// frames it is n_fft/(2·hop), rounded down. For frames that begin at their first sample it is 0.
	Shift int
}

// mostBands is the greatest number of bands.
const mostBands = 1 << 24

func (p Params) check() error {
	if p.Bands < 1 || p.Bands > mostBands {
		return fmt.Errorf("onset: Bands is %d: want 1 to %d", p.Bands, mostBands)
	}
	if p.Shift < 0 || p.Shift > math.MaxInt32-1 {
		return fmt.Errorf("onset: Shift is %d: want 0 to 2^31-2", p.Shift)
	}
	return nil
}

// The axes of the operation.
const (
	bands = iota
	frames
)

var axes = []kernels.Axis{
	{Name: "bands", Unit: "bands", Min: 20, Max: 1025, Usual: []int{40, 64, 80, 96, 128, 257, 513, 1025}},
	// 64 Ki frames are 25 minutes of audio.
	{Name: "frames", Unit: "frames", Min: 1, Max: 64 << 10},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:     "onset-strength",
	Formula:  "O[t] = mean over b of max(0, L[t-shift,b] - L[t-shift-1,b]) dB, 0 for t ≤ shift = 2, L spectrogram in dB, frames×bands",
	Source:   "Böck, Widmer, DAFx-13, 2013; librosa 0.10.2, librosa.onset.onset_strength",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	// librosa's default number of bands, and its default transform of 2048 points every 512 samples.
	Lines:  []kernels.Line{kernels.Along(axes, "frames", kernels.Param{Name: "bands", Value: 128})},
	Params: func(s kernels.Shape) Params { return Params{Bands: s[bands], Shift: 2} },
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "O", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[frames]}},
			{Name: "L", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[frames], p.Bands}},
		}
	},
	Fill: func(p Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		mel.Fill(mel.Params{SampleRate: 22050, NFFT: 2048, Bands: p.Bands}, in, a[1])
		for i, v := range a[1] {
			a[1][i] = float32(10 * math.Log10(max(1e-10, float64(v))))
		}
	},
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p, a[1]) },
	Tolerance: func(kernels.Shape) float64 { return 1e-3 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		rows, n := float64(s[frames]), float64(s[frames])*float64(s[bands])
		return kernels.Work{Bytes: 4 * (n + rows), Flops: 3 * n, Pieces: rows, Threads: n / 4}
	},
	By: []kernels.Makers[Params]{
		kernels.Revised(1, kernels.OverRows(newLoop)), // vector code
		kernels.Framework("", newFramework),
		kernels.KernelText("", appendFrames),
	},
})

// newLoop returns the loop over the frames of a spectrogram.
func newLoop(p Params, _ int) (kernels.Loop, error) {
	const aboutAMicrosecond = 8192 // values
	return kernels.Loop{
		Rows:           func(s *kernels.Shape) int { return s[frames] },
		PerMicrosecond: aboutAMicrosecond / float64(p.Bands), Unit: 32,
		Do: func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
			for t := lo; t < hi; t++ {
				a[0][t] = 0
				if before := t - p.Shift - 1; before >= 0 {
					a[0][t] = rise(a[1][(before+1)*p.Bands:][:p.Bands], a[1][before*p.Bands:][:p.Bands]) / float32(p.Bands)
				}
			}
		},
	}, nil
}

// newFramework computes by Apple's vDSP, some frames at a time.
func newFramework(p Params) (kernels.Runner, error) {
	const together = 32 // frames
	rises := make([]float32, together*p.Bands)
	return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
		dst, x := a[0], a[1]
		silent := min(s[frames], p.Shift+1)
		clear(dst[:silent])
		for t := silent; t < s[frames]; t += together {
			count := min(together, s[frames]-t)
			before := x[(t-p.Shift-1)*p.Bands:]
			r := rises[:count*p.Bands]
			accelerate.Subtract(r, before[p.Bands:][:len(r)], before[:len(r)])
			accelerate.Raise(r, r, 0)
			for i := range count {
				dst[t+i] = accelerate.Sum(r[i*p.Bands:][:p.Bands]) / float32(p.Bands)
			}
		}
		return nil
	}), nil
}

//go:embed onset.metal
var text string

const (
	simdgroups    = 4  // in a threadgroup
	longestRun    = 8  // frames of a simdgroup
	groupsPerCore = 16 // simdgroups at least; otherwise they take fewer frames
)

// appendFrames appends our own kernel.
func appendFrames(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	if s[frames] > math.MaxInt32/2 || p.Bands > math.MaxInt32/2 {
		b.Refuse(fmt.Errorf("onset: %d frames of %d bands are too many for a GPU: %w", s[frames], p.Bands, kernels.ErrRefused))
		return
	}
	width := 1
	if p.Bands%4 == 0 {
		width = 4
	}
	run := longestRun
	for run > 1 && s[frames] < run*groupsPerCore*b.Facts().Cores {
		run /= 2
	}
	source := gpu.Source{Name: "onset.metal", Text: text}.Define("BANDS", p.Bands).Define("WIDTH", width).Define("RUN", run)
	b.Dispatch(b.Kernel(source, "onset"), gpu.Size{X: (s[frames] + run*simdgroups - 1) / (run * simdgroups), Y: 1, Z: 1},
		gpu.Size{X: 32 * simdgroups, Y: 1, Z: 1}, t[0], t[1], gpu.Values(s[frames], p.Shift))
}

// Plan computes onset strengths by the implementation that is fastest at their number of frames. Only one goroutine at a time
// may use a Plan.
type Plan struct {
	// Explain takes a number of frames.
	*kernels.SizedPlan[Params]

	params Params
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if a parameter is out of its
// range.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(frames, kernels.Shape{bands: p.Bands}), p}, nil
}

// Transform returns the onset strength of each frame of a spectrogram in decibels: see package decibels. decibels is
// frames×Bands, row-major. The result is in dst's memory if its capacity suffices and in new memory otherwise. It must not
// overlap decibels. With Shift+1 frames or fewer, all strengths are 0. A NaN makes the two strengths NaN to which its frame
// belongs, and so do infinities of the same sign in the same band of two frames; Apple's framework may take such rises for 0.
// A rise to +Inf or from −Inf is +Inf.
//
// If dst has the capacity, Transform allocates nothing at a number of frames at which the implementation has run twice. An
// implementation on a GPU remembers only the last few numbers of frames. Transform panics if the length of decibels is not a
// multiple of Bands. It fails only if every implementation fails, and then the returned values are undefined.
func (p *Plan) Transform(dst, decibels []float32) ([]float32, error) {
	kernels.Made(p.SizedPlan)
	if len(decibels)%p.params.Bands != 0 {
		panic(fmt.Sprintf("onset: %d values are not a number of frames of %d bands", len(decibels), p.params.Bands))
	}
	count := len(decibels) / p.params.Bands
	dst = slices.Grow(dst[:0], count)[:count]
	return dst, kernels.RunSized(p.SizedPlan, count, &kernels.Args{dst, decibels})
}

// Fill fills dst with onset strengths of a recording from its beginning, and repeats them until there are enough frames.
// Operations on onset strengths are measured with it. It takes the rises of the level from 512 samples to the next, in
// decibels, as if they were one band: that is quickly made.
func Fill(in kernels.Input, dst []float32) {
	const hop = 512
	strengths := make([]float32, max(1, min(len(dst), len(in.Samples)/hop)))
	samples := make([]float32, (len(strengths)+1)*hop)
	in.Fill(samples)
	level := func(frame int) float64 {
		power := 1e-10
		for _, v := range samples[frame*hop : (frame+1)*hop] {
			power += float64(v) * float64(v)
		}
		return 10 * math.Log10(power)
	}
	before := level(0)
	for t := range strengths {
		now := level(t + 1)
		strengths[t], before = float32(max(0, now-before)), now
	}
	kernels.Input{Samples: strengths}.Fill(dst)
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	_, err := p.Transform(a[0], a[1])
	return err
})

// Reference returns the onset strengths of a spectrogram in float64. decibels is frames×p.Bands, row-major. Reference panics
// if p is out of its range.
func Reference(p Params, decibels []float32) []float64 {
	if err := p.check(); err != nil {
		panic(err)
	}
	out := make([]float64, len(decibels)/p.Bands)
	for t := p.Shift + 1; t < len(out); t++ {
		for b := range p.Bands {
			now, before := decibels[(t-p.Shift)*p.Bands+b], decibels[(t-p.Shift-1)*p.Bands+b]
			out[t] += max(0, float64(now)-float64(before)) / float64(p.Bands)
		}
	}
	return out
}
