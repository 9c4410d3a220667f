// Package peaks picks the peaks of onset strengths, or of any other values, as librosa.util.peak_pick does. Frame n is a peak if
//
//	x[n] ≥ x[j]      for all j from n − PreMax to n + PostMax − 1,
//	x[n] ≥ m + Delta, where m is the mean of x[j] for j from n − PreAvg to n + PostAvg − 1, and
//	n > p + Wait      for the peak p before it.
//
// Windows end where the frames do. [Onsets] returns the parameters of librosa's onset_detect, which moves strengths to [0, 1]
// first. This package does not.
//
// The peaks are exact, and the same on every processor: a mean is the float32 sum of its values in the order of frames, divided
// by their number, and values of a magnitude below 2⁻⁶⁰ count as 0, so that no processor meets a denormal. librosa's means are
// in float64. Where a value is within a rounding error of m + Delta, librosa may decide otherwise.
//
// The first two conditions look at each frame alone, and take a few nanoseconds of a core: most frames have a neighbour that is
// greater. The third one is a recurrence over frames. So a GPU, which finds candidates side by side and has one thread choose
// among them, is there as a probe. One launch takes as long as a core does for some thousand frames, a minute of audio.
//
// The usual steps are New with [Params], and Pick.
//
// Sources: S. Böck, F. Krebs, M. Schedl, Evaluating the online capabilities of onset detection methods, ISMIR 2012;
// https://librosa.org/doc/0.10.2/generated/librosa.util.peak_pick.html.
package peaks

import (
	"fmt"
	"math"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/onset"
)

// Params are what all calls of a plan have in common. Windows and Wait are numbers of frames, at most 1 Mi. The work of a frame
// without a greater neighbour grows with PreAvg + PostAvg.
type Params struct {
	PreMax  int // before a frame, at least 0
	PostMax int // from a frame on, at least 1
	PreAvg  int // before a frame, at least 0
	PostAvg int // from a frame on, at least 1
	Wait    int // after a peak, at least 0

	Delta float32 // 0, or from 2⁻⁶⁰ to 10³⁰, in the unit of the values
}

// Onsets returns the parameters with which librosa's onset_detect picks peaks of strengths in [0, 1], at a sample rate in Hz
// and with frames that are hop samples apart. [New] refuses them unless both are positive and the windows are in their range.
func Onsets(sampleRate float64, hop int) Params {
	within := func(seconds float64) int {
		frames := math.Floor(seconds * sampleRate / float64(hop))
		if !(sampleRate > 0 && hop > 0 && frames >= 0) {
			return -1
		}
		return int(min(frames, mostFrames+1)) // New refuses both
	}
	return Params{PreMax: within(0.03), PostMax: 1, PreAvg: within(0.1), PostAvg: within(0.1) + 1, Wait: within(0.03), Delta: 0.07}
}

const (
	mostFrames = 1 << 20 // of a window
	tiny       = 0x1p-60 // magnitude below which a value counts as 0
	mostDelta  = 1e30
)

func (p Params) check() error {
	for _, test := range []struct {
		name         string
		value, least int
	}{{"PreMax", p.PreMax, 0}, {"PostMax", p.PostMax, 1}, {"PreAvg", p.PreAvg, 0}, {"PostAvg", p.PostAvg, 1}, {"Wait", p.Wait, 0}} {
		if test.value < test.least || test.value > mostFrames {
			return fmt.Errorf("peaks: %s is %d: want %d to %d", test.name, test.value, test.least, mostFrames)
		}
	}
	if p.Delta != 0 && !(p.Delta >= tiny && p.Delta <= mostDelta) {
		return fmt.Errorf("peaks: Delta is %g: want 0, or %.2g to %g", p.Delta, tiny, mostDelta)
	}
	return nil
}

// most returns the greatest number of peaks among some frames.
func (p Params) most(frames int) int { return (frames + p.Wait) / (p.Wait + 1) }

// none is the index behind the last peak of a call.
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
	values
)

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name: "peak-picking",
	Formula: "the frames n with x[n] = max(x[n-1], x[n]) and x[n] ≥ mean(x[n-4] … x[n+4]) + 0.07 that are more than 1 frame behind " +
		"the peak before; and their number",
	Source: "Böck, Krebs, Schedl, ISMIR 2012; librosa 0.10.2, librosa.util.peak_pick with the parameters of librosa.onset.onset_detect",
	Axes:   axes,
	Lines:  []kernels.Line{kernels.Along(axes, "frames")},
	Params: func(kernels.Shape) Params { return Onsets(22050, 512) },
	Check:  Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			indices: {Name: "indices", Role: kernels.Out, Type: kernels.Uint32, Dims: []int{p.most(s[frames])}},
			count:   {Name: "count", Role: kernels.Out, Type: kernels.Uint32, Dims: []int{1}},
			values:  {Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[frames]}},
		}
	},
	// Onset strengths in [0, 1].
	Fill: func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		onset.Fill(in, a[values])
		most := max(tiny, slices.Max(a[values]))
		for i := range a[values] {
			a[values][i] /= most
		}
	},
	Reference: func(p Params, s kernels.Shape, a *kernels.Args) []float64 {
		out := slices.Repeat([]float64{none}, p.most(s[frames]))
		found := Reference(p, a[values])
		for i, n := range found {
			out[i] = float64(n)
		}
		return append(out, float64(len(found)))
	},
	Tolerance: func(kernels.Shape) float64 { return 0 },
	Judge:     kernels.Exact,
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[frames])
		return kernels.Work{Bytes: 6 * n, Flops: 4 * n, Pieces: n / 64, Threads: n, Chain: n / 32, Launches: 2}
	},
	By: []kernels.Makers[Params]{
		kernels.Revised(1, kernels.InGo(newSerial, newParallel), "go-parallel"),
		kernels.KernelText("", appendPeaks),
	},
})

// Plan picks peaks by the implementation that is fastest at the number of frames. Only one goroutine at a time may use a Plan.
type Plan struct {
	// Explain takes a number of frames.
	*kernels.SizedPlan[Params]

	params Params
	count  [1]uint32
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if a parameter is out of its range.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Plan{SizedPlan: kernels.NewPlan(d, &Op, p).Along(frames, kernels.Shape{}), params: p}, nil
}

// Pick returns the frames of x that are peaks, in ascending order. They are in dst's memory if its capacity suffices for the
// greatest number of peaks that so many frames may have, one in Wait+1, and in new memory otherwise. A frame is no peak if a
// value in one of its windows is NaN. A value of +Inf is greater than every number and not less than a mean of +Inf. A sum of
// values that is beyond the range of float32 is infinite.
//
// If dst has the capacity, Pick allocates nothing at a number of frames at which the implementation has run twice. An
// implementation on a GPU remembers only the last few numbers of frames. Pick fails only if every implementation fails, and
// then the returned frames are undefined.
func (p *Plan) Pick(dst []uint32, x []float32) ([]uint32, error) {
	most := p.params.most(len(x))
	dst = slices.Grow(dst[:0], most)[:most]
	p.count[0] = 0
	err := kernels.RunSized(p.SizedPlan, len(x), &kernels.Args{kernels.Uint32Words(dst), kernels.Uint32Words(p.count[:]), x})
	return dst[:min(len(dst), int(p.count[0]))], err
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	found, err := p.Pick(kernels.Uint32s(a[indices]), a[values])
	kernels.Uint32s(a[count])[0] = uint32(len(found))
	return err
})

// Reference returns the peaks of x, by the definition. It panics if p is out of its range.
func Reference(p Params, x []float32) []int {
	if err := p.check(); err != nil {
		panic(err)
	}
	at := func(j int) float32 {
		if math.Abs(float64(x[j])) < tiny {
			return 0
		}
		return x[j]
	}
	var found []int
	for n := range x {
		peak := len(found) == 0 || n > found[len(found)-1]+p.Wait
		for j := max(0, n-p.PreMax); j < min(n+p.PostMax, len(x)); j++ {
			peak = peak && at(j) <= at(n)
		}
		var sum float32
		lo, hi := max(0, n-p.PreAvg), min(n+p.PostAvg, len(x))
		for j := lo; j < hi; j++ {
			sum += at(j)
		}
		if mean := sum / float32(hi-lo); peak && at(n) >= mean+p.Delta {
			found = append(found, n)
		}
	}
	return found
}
