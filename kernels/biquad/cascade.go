package biquad

import (
	_ "embed"
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/recurrence/launch"
	"crossover/pool"
)

// CascadeParams are what all calls of a [CascadePlan] have in common.
type CascadeParams struct {
	// Sections has the coefficients of 1 to 32 sections. The output of each is the input of the next. NewCascade copies them.
	Sections []Coefficients
}

// sectionCount is the third axis of the cascade. The others are those of a section.
const sectionCount = 2

// mostSections is the number of sections that cascade.metal has room for.
const mostSections = 32

var cascadeAxes = append(slices.Clone(axes), kernels.Axis{Name: "sections", Unit: "sections", Min: 1, Max: 16, Usual: []int{2, 3, 4, 5, 8, 10}})

// CascadeOp declares the cascade of sections, as scipy.signal.sosfilt has it. It is measured with a Butterworth low-pass at
// 1000 Hz for a sample rate of 22 050 Hz, whose order is twice the number of sections.
var CascadeOp = kernels.Declare(kernels.Op[CascadeParams]{
	Name:     "biquad-cascade",
	Formula:  "sections one after the other, each y = b0·x + s1, s1 ← b1·x − a1·y + s2, s2 ← b2·x − a2·y; Butterworth low-pass, 1000 Hz at 22 050 Hz",
	Source:   "https://ccrma.stanford.edu/~jos/filters/Series_Second_Order_Sections.html",
	Axes:     cascadeAxes,
	Features: []surface.Feature{kernels.Power(1, 1, 1)},
	Lines: []kernels.Line{
		kernels.Along(cascadeAxes, "channels", kernels.Param{Name: "n", Value: 512}, kernels.Param{Name: "sections", Value: 4}),
		longCascade(),
	},
	Params: func(s kernels.Shape) CascadeParams {
		sections, err := butterworth(1000, 22050, s[sectionCount]) // Check refuses too many
		if err != nil {
			panic(err) // the frequencies are constants
		}
		return CascadeParams{sections}
	},
	Check: CascadeParams.check,
	IO: func(p CascadeParams, s kernels.Shape) []kernels.Tensor {
		rows, states := []int{s[channels], s[samples]}, []int{s[channels], len(p.Sections), 2}
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: rows, InPlaceOf: "x"},
			{Name: "after", Role: kernels.Out, Type: kernels.Float64, Dims: states},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: rows},
			{Name: "before", Role: kernels.In, Type: kernels.Float64, Dims: states},
		}
	},
	// A recording, from silence.
	Fill: func(_ CascadeParams, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		in.Fill(a[2])
		clear(a[3])
	},
	Reference: func(p CascadeParams, s kernels.Shape, a *kernels.Args) []float64 {
		states := slices.Clone(statesOf(a[3]))
		want := cascaded(p.Sections, states, a[2])
		for _, s := range states {
			want = append(want, s.s1, s.s2)
		}
		return want
	},
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Judge:     kernels.WithState,
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n, sections := float64(s[channels])*float64(s[samples]), float64(s[sectionCount])
		return kernels.Work{Bytes: 8*n + 32*float64(s[channels])*sections, Flops: 9 * sections * n, Pieces: float64(s[channels]),
			Threads: float64(s[channels]), Chain: float64(s[samples])}
	},
	By: []kernels.Makers[CascadeParams]{
		kernels.Revised(1, kernels.OverRows(newCascadeLoop)), // vector code
		kernels.Framework("", newFrameworkCascade),
		kernels.KernelText("", appendCascade),
	},
})

// longCascade is the line of one long channel.
func longCascade() kernels.Line {
	line := kernels.Along(cascadeAxes, "n", kernels.Param{Name: "channels", Value: 1}, kernels.Param{Name: "sections", Value: 4})
	line.OneWinner = "each sample waits for the one before it"
	return line
}

// LowpassCascade returns the sections of a Butterworth low-pass with the given cutoff, at which its gain is −3 dB. The order
// of the filter is twice the number of sections. The sharpest section is the last one, so that the others have attenuated
// what it could overload on. LowpassCascade fails unless sampleRate/1e6 ≤ cutoff < sampleRate/2 and there are 1 to 32
// sections. Both frequencies are in hertz.
//
// Source: R. Bristow-Johnson, Audio EQ Cookbook, https://www.w3.org/TR/audio-eq-cookbook/, LPF; the Q of section k of S is
// 1/(2·sin(π·(2k+1)/(4S))), from the poles of the prototype: A. Oppenheim and R. Schafer, Discrete-Time Signal Processing,
// 3rd ed., 2010, appendix B.1.
func LowpassCascade(cutoff, sampleRate float64, sections int) ([]Coefficients, error) {
	if sections < 1 || sections > mostSections {
		return nil, fmt.Errorf("biquad-cascade: %d sections: want 1 to %d", sections, mostSections)
	}
	return butterworth(cutoff, sampleRate, sections)
}

// butterworth is LowpassCascade of any number of sections.
func butterworth(cutoff, sampleRate float64, sections int) ([]Coefficients, error) {
	all := make([]Coefficients, sections)
	for k := range all {
		var err error
		damping := 2 * math.Sin(math.Pi*float64(2*k+1)/float64(4*sections))
		if all[sections-1-k], err = damped(cutoff, sampleRate, damping); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// check fails if there are too few or too many sections, or if one does not pass Check.
func (p CascadeParams) check() error {
	if len(p.Sections) < 1 || len(p.Sections) > mostSections {
		return fmt.Errorf("biquad-cascade: %d sections: want 1 to %d", len(p.Sections), mostSections)
	}
	for k, c := range p.Sections {
		if err := c.Check(); err != nil {
			return fmt.Errorf("section %d: %w", k, err)
		}
	}
	return nil
}

// CascadePlan filters blocks of audio by a cascade, by the implementation that is fastest at their shape: see
// [kernels.StatePlan]. Process filters the next block, and Reset goes back to silence.
//
// What sections hand to each other is float64 on a processor, float32 on a GPU. A NaN or an infinity in a channel reaches all
// later outputs of that channel, until Reset, and no other channel.
type CascadePlan = kernels.StatePlan[CascadeParams]

// NewCascade returns the plan of a cascade on count channels. The plan chooses by d, which may be nil: see [kernels.NewPlan].
// NewCascade copies the sections. It fails if there are not 1 to 32 sections, if the coefficients of one do not pass Check, or
// if count is not 1 to 1 Mi.
func NewCascade(d *dispatch.Dispatcher, p CascadeParams, count int) (*CascadePlan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	p.Sections = slices.Clone(p.Sections)
	return kernels.NewStatePlan(d, &CascadeOp, p, samples, channels, kernels.Shape{sectionCount: len(p.Sections)}, count)
}

// CascadeProgram is the [kernels.Program] of the operation.
var CascadeProgram = kernels.StateProgram(channels, NewCascade)

// cascaded returns src filtered by the definition in float64, from the given states, which are len(sections) for each channel.
// It updates the states.
func cascaded(sections []Coefficients, states []state, src []float32) []float64 {
	y := make([]float64, len(src))
	for i, v := range src {
		y[i] = float64(v)
	}
	n := len(src) * len(sections) / len(states)
	for i := range states {
		c, s := sections[i%len(sections)], &states[i]
		channel := i / len(sections)
		for t := channel * n; t < (channel+1)*n; t++ {
			x := y[t]
			y[t] = c.B0*x + s.s1
			s.s1 = c.B1*x - c.A1*y[t] + s.s2
			s.s2 = c.B2*x - c.A2*y[t]
		}
		s.settle()
	}
	return y
}

// cascade is a cascade on a processor.
type cascade []section

func newCascade(p CascadeParams) cascade {
	all := make(cascade, len(p.Sections))
	for k, c := range p.Sections {
		all[k] = newSection(c)
	}
	return all
}

// stretch holds what sections hand to each other.
type stretch [settleEvery]float64

// abreast is a cascade that filters up to four channels side by side. Eight would not be faster: the sections of four are enough to
// keep a core busy.
type abreast struct {
	cascade
	all []fourfold // of each section
}

func newAbreast(p CascadeParams) *abreast {
	f := &abreast{cascade: newCascade(p)}
	for k := range f.cascade {
		f.all = append(f.all, f.cascade[k].all)
	}
	return f
}

// workspace is the memory of a worker.
type workspace struct {
	between stretch
	states  []four // of each section
}

// newCascadeLoop returns a loop over channels.
func newCascadeLoop(p CascadeParams, workers int) (kernels.Loop, error) {
	f, spaces := newAbreast(p), make([]workspace, workers)
	for i := range spaces {
		spaces[i].states = make([]four, len(f.cascade))
	}
	return kernels.Loop{
		Rows: func(s *kernels.Shape) int { return s[channels] },
		Grain: func(s *kernels.Shape, rows int, p *pool.Pool) int {
			unit, aboutAMicrosecond := 1, 512.0 // channels, and samples by one section
			if cascadeByVectors(rows, s[samples]) {
				unit, aboutAMicrosecond = lanes, 2048
			}
			return p.Grain(rows, aboutAMicrosecond/(float64(len(f.cascade))*float64(s[samples])), unit)
		},
		Do: func(worker int, s *kernels.Shape, a *kernels.Args, lo, hi int) {
			count := len(f.cascade)
			copy(a[1][4*count*lo:4*count*hi], a[3][4*count*lo:4*count*hi])
			f.channels(statesOf(a[1]), a[0], a[2], lo, hi, &spaces[worker])
		},
	}, nil
}

// channels filters the channels from lo to hi−1. dst may be src.
func (f *abreast) channels(s []state, dst, src []float32, lo, hi int, w *workspace) {
	sections := len(f.cascade)
	count := len(s) / sections
	n := len(src) / count
	switch {
	case lo == hi || n == 0:
	case sections == 1:
		f.cascade[0].channels(s, dst, src, lo, hi)
	case !cascadeByVectors(count, n):
		f.besideGo(s[lo*sections:hi*sections], dst[lo*n:hi*n], src[lo*n:hi*n], w)
	default:
		for c := lo; c < hi; c += lanes {
			end := min(c+lanes, hi)
			f.beside(s[c*sections:end*sections], dst[c*n:end*n], src[c*n:end*n], w)
		}
	}
}

// besideGo filters channels, one after the other. dst may be src.
func (f *abreast) besideGo(s []state, dst, src []float32, w *workspace) {
	sections := len(f.cascade)
	n := len(src) * sections / len(s)
	for ; len(s) > 0; s, dst, src = s[sections:], dst[n:], src[n:] {
		f.filter(s[:sections], dst[:n], src[:n], &w.between)
	}
}

// filter filters one channel. dst may be src.
//
// Two sections run side by side: while the first one waits for its last state, the core computes the second one's output for
// the sample before. A third and a fourth section would need more than the 16 registers of amd64.
func (f cascade) filter(states []state, dst, src []float32, between *stretch) {
	for len(src) > 0 {
		n := min(settleEvery, len(src))
		x := between[:n]
		for i, v := range src[:n] {
			x[i] = float64(v)
		}
		k := 0
		for ; k+2 <= len(f); k += 2 {
			f[k].pair(&f[k+1], &states[k], &states[k+1], x)
		}
		if k < len(f) {
			f[k].alone(&states[k], x)
		}
		for i, v := range x {
			dst[i] = float32(v)
		}
		for k := range states {
			states[k].settle()
		}
		src, dst = src[n:], dst[n:]
	}
}

// pair filters x in place by two sections.
func (f *section) pair(g *section, s, t *state, x []float64) {
	b0, c1, c2, a1, a2 := f.b0, f.c1, f.c2, f.a1, f.a2
	d0, e1, e2, h1, h2 := g.b0, g.c1, g.c2, g.a1, g.a2
	s1, s2, t1, t2 := s.s1, s.s2, t.s1, t.s2
	for i, v := range x {
		w := b0*v + s1
		s1, s2 = (c1*v+s2)-a1*s1, c2*v-a2*s1
		x[i] = d0*w + t1
		t1, t2 = (e1*w+t2)-h1*t1, e2*w-h2*t1
	}
	*s, *t = state{s1, s2}, state{t1, t2}
}

// alone filters x in place by one section.
func (f *section) alone(s *state, x []float64) {
	b0, c1, c2, a1, a2 := f.b0, f.c1, f.c2, f.a1, f.a2
	s1, s2 := s.s1, s.s2
	for i, v := range x {
		x[i] = b0*v + s1
		s1, s2 = (c1*v+s2)-a1*s1, c2*v-a2*s1
	}
	*s = state{s1, s2}
}

//go:embed cascade.metal
var cascadeText string

// appendCascade appends a cascade with one thread for each channel.
func appendCascade(b *gpu.Builder, p CascadeParams, s kernels.Shape, t []*gpu.Buffer) {
	source := gpu.Source{Name: "section.metal+cascade.metal", Text: sectionText + cascadeText}.Define("SECTIONS", len(p.Sections))
	values := make([]any, 0, 6*mostSections)
	for _, usual := range newCascade(p) {
		f := usual.near()
		values = append(values, f.b0, f.c1, f.c2, f.e1, f.e2, f.turn)
	}
	for len(values) < cap(values) {
		values = append(values, float32(0))
	}
	launch.Channels(b, source, 8, gpu.Values(values...), launch.Extent{Channels: s[channels], N: s[samples]}, t[0], t[1], t[2], t[3])
}
