// Package beats finds the beats in onset strengths at a given tempo, by the dynamic program of Ellis, as librosa's beat_track
// does. With P = round(60·SampleRate/(Hop·BPM)) frames from beat to beat and strengths O that are divided by their standard
// deviation:
//
//	L[i] = Σ_j O[j]·exp(−½·(32·(i−j)/P)²),   j from max(1, i−P) to i+P
//	C[i] = L[i] + max_τ (C[i−τ] − Tightness·ln²(τ/P)),   τ from round(P/2) to 2P
//
// The last beat is the last local maximum of C that is at least half of the median of the local maxima. The beats before it
// follow the best τ back, as far as the first frame with 0.01·max L. Then beats before the first frame and behind the last one
// are left out whose L is above a threshold: half of the root mean square of L at the beats, smoothed by (½, 1, ½), or 0 with
// KeepWeak. Like librosa 0.10.2, L leaves the first strength out, and the mean of the smoothed squares has two places more than
// there are beats.
//
// The beats are exact, and the same on every processor, because all of this is computed in integers: strengths with 20 bits,
// relative to the greatest one, and weights with 18. librosa computes in float64. Where two ways through the beats are equal to
// one part in some 10⁵, librosa may take the other one.
//
// C is a recurrence over frames: a frame waits for the one round(P/2) before it, and all of its work is a look at some 30
// values. One core should win at every size. On a GPU one thread computes everything. It is there as a probe.
//
// The package estimates no tempo: see package tempogram. The usual steps are New with [Params], and Track.
//
// Sources: D. P. W. Ellis, Beat tracking by dynamic programming, Journal of New Music Research 36 (2007), 51–60;
// https://librosa.org/doc/0.10.2/generated/librosa.beat.beat_track.html.
package beats

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/onset"
)

// Params are what all calls of a plan have in common.
type Params struct {
	SampleRate float64 // Hz
	Hop        int     // samples from one frame to the next
	BPM        float64 // the tempo, in beats a minute

	// Tightness says how much beats that are not evenly spaced lose, from 0.001 to 10 000. 0 stands for 100.
	Tightness float64

	KeepWeak bool // keeps the weak beats at both ends; librosa's trim False
}

const (
	mostPeriod = 4096    // frames from beat to beat
	mostFrames = 1 << 20 // of a call; more would leave the range of the integers

	least = 0x1p-126 // magnitude of the greatest strength that is no silence

	strengthBits = 20 // of the greatest strength
	weightBits   = 18 // of the weight 1
	spreadBits   = 8  // behind the point of the standard deviation
	trimBits     = 18 // of the greatest L that is compared with the threshold at the ends
)

// period returns the frames from beat to beat.
func (p Params) period() int {
	frames := math.RoundToEven(60 * p.SampleRate / float64(p.Hop) / p.BPM)
	if !(frames >= 0 && frames <= 2*mostPeriod) {
		return 0
	}
	return int(frames)
}

// nearest returns the least number of frames from beat to beat.
func (p Params) nearest() int { return int(math.RoundToEven(float64(p.period()) / 2)) }

func (p Params) check() error {
	if p.Hop < 1 || p.period() < 2 || p.period() > mostPeriod {
		return fmt.Errorf("beats: %g beats a minute, with frames every %d samples at %g Hz: want 2 to %d frames a beat", p.BPM, p.Hop,
			p.SampleRate, mostPeriod)
	}
	if !(p.Tightness >= 0 && p.Tightness <= 10000) || p.Tightness > 0 && p.Tightness < 1e-3 {
		return fmt.Errorf("beats: Tightness is %g: want 0.001 to 10000, or 0 for 100", p.Tightness)
	}
	return nil
}

// most returns the greatest number of beats among n frames.
func (p Params) most(n int) int { return (n + p.nearest() - 1) / p.nearest() }

// weights returns the weight of each distance in L, as far as it is not 0.
func (p Params) weights() (w []uint32) {
	for k := 0; k <= p.period(); k++ {
		x := 32 * float64(k) / float64(p.period())
		v := math.Round(math.Exp(-0.5*x*x) * (1 << weightBits))
		if v == 0 {
			break
		}
		w = append(w, uint32(v))
	}
	return w
}

// losses returns what the distance τ of two beats costs, from 0 to 2P, in units of weights for a standard deviation of 1.
func (p Params) losses() []uint32 {
	if p.Tightness == 0 {
		p.Tightness = 100
	}
	losses := make([]uint32, 2*p.period()+1)
	for t := p.nearest(); t < len(losses); t++ {
		ratio := math.Log(float64(t)) - math.Log(float64(p.period()))
		losses[t] = uint32(math.Round(p.Tightness * ratio * ratio * (1 << weightBits)))
	}
	return losses
}

// trimShift returns by how much L is shifted right before it is compared with the threshold at the ends.
func (p Params) trimShift() int {
	w := p.weights()
	sum := uint64(w[0])
	for _, v := range w[1:] {
		sum += 2 * uint64(v)
	}
	return bits.Len64(sum) + strengthBits - trimBits
}

// none is the index behind the last beat of a call.
const none = math.MaxUint32

// frames is the axis of the operation.
const frames = 0

var axes = []kernels.Axis{
	// 64 Ki frames are 25 minutes of audio.
	{Name: "frames", Unit: "frames", Min: 16, Max: 64 << 10},
}

// The tensors of a call.
const (
	indices = iota
	count
	strengths
)

// measured is what a sweep measures with: librosa's default rate and hop, and the tempo that librosa expects.
var measured = Params{SampleRate: 22050, Hop: 512, BPM: 120}

func oneLine() kernels.Line {
	line := kernels.Along(axes, "frames")
	line.OneWinner = "each frame waits for one before it"
	return line
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name: "beat-tracking",
	Formula: "beats by C[i] = L[i] + max over τ from P/2 to 2P of (C[i-τ] - 100·ln²(τ/P)), L onset strengths ÷ their standard deviation, " +
		"smoothed by exp(-½·(32·k/P)²), P = 22 frames; and their number",
	Source: "Ellis, Journal of New Music Research 36 (2007), 51–60; librosa 0.10.2, librosa.beat.beat_track",
	Axes:   axes,
	Lines:  []kernels.Line{oneLine()},
	Params: func(kernels.Shape) Params { return measured },
	Check:  Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			indices:   {Name: "beats", Role: kernels.Out, Type: kernels.Uint32, Dims: []int{p.most(s[frames])}},
			count:     {Name: "count", Role: kernels.Out, Type: kernels.Uint32, Dims: []int{1}},
			strengths: {Name: "O", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[frames]}},
		}
	},
	Fill: func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) { onset.Fill(in, a[strengths]) },
	Reference: func(p Params, s kernels.Shape, a *kernels.Args) []float64 {
		out := slices.Repeat([]float64{none}, p.most(s[frames]))
		found := Reference(p, a[strengths])
		for i, n := range found {
			out[i] = float64(n)
		}
		return append(out, float64(len(found)))
	},
	Tolerance: func(kernels.Shape) float64 { return 0 },
	Judge:     kernels.Exact,
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[frames])
		each := float64(2*len(measured.weights()) + 2*len(measured.losses()))
		return kernels.Work{Bytes: 5 * n, Flops: each * n, Pieces: 1, Threads: 1, Chain: n * each}
	},
	By: []kernels.Makers[Params]{
		kernels.InGo(newSerial, newParallel),
		kernels.KernelText("", appendBeats),
	},
})

// Plan tracks beats by the implementation that is fastest at the number of frames. Only one goroutine at a time may use a Plan.
type Plan struct {
	// Explain takes a number of frames.
	*kernels.SizedPlan[Params]

	params Params
	count  [1]uint32
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if a parameter is out of its range, or
// if there are not 2 to 4096 frames from beat to beat.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Plan{SizedPlan: kernels.NewPlan(d, &Op, p).Along(frames, kernels.Shape{}), params: p}, nil
}

// Track returns the frames of onset strengths that are beats, in ascending order. They are in dst's memory if its capacity
// suffices for a beat every half period, and in new memory otherwise. Silence has no beats: all magnitudes are below
// 2⁻¹²⁶ then. Strengths of which one is NaN or infinite have none either.
//
// If dst has the capacity, Track allocates nothing at a number of frames at which the implementation has run twice. An
// implementation on a GPU remembers only the last few numbers of frames. Track panics if there are more than 1 Mi frames. It
// fails only if every implementation fails, and then the returned frames are undefined.
func (p *Plan) Track(dst []uint32, onsets []float32) ([]uint32, error) {
	kernels.Made(p.SizedPlan)
	if len(onsets) > mostFrames {
		panic(fmt.Sprintf("beats: %d frames (want at most %d)", len(onsets), mostFrames))
	}
	most := p.params.most(len(onsets))
	dst = slices.Grow(dst[:0], most)[:most]
	p.count[0] = 0
	err := kernels.RunSized(p.SizedPlan, len(onsets), &kernels.Args{kernels.Uint32Words(dst), kernels.Uint32Words(p.count[:]), onsets})
	return dst[:min(most, int(p.count[0]))], err
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	found, err := p.Track(kernels.Uint32s(a[indices]), a[strengths])
	kernels.Uint32s(a[count])[0] = uint32(len(found))
	return err
})
