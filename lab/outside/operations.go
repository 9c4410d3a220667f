package main

import (
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/attention"
	"crossover/kernels/autocorrelation"
	"crossover/kernels/beats"
	"crossover/kernels/biquad"
	"crossover/kernels/chroma"
	"crossover/kernels/conv1d"
	"crossover/kernels/convlayer"
	"crossover/kernels/decibels"
	"crossover/kernels/elementwise"
	"crossover/kernels/fft"
	"crossover/kernels/glu"
	"crossover/kernels/linear"
	"crossover/kernels/lora"
	"crossover/kernels/matmul"
	"crossover/kernels/mel"
	"crossover/kernels/mfcc"
	"crossover/kernels/norm"
	"crossover/kernels/onset"
	"crossover/kernels/oscillator"
	"crossover/kernels/peaks"
	"crossover/kernels/phase"
	"crossover/kernels/recurrence"
	"crossover/kernels/recurrent"
	"crossover/kernels/reduce"
	"crossover/kernels/resample"
	"crossover/kernels/rmsnorm"
	"crossover/kernels/sampling"
	"crossover/kernels/softmax"
	"crossover/kernels/stagegraph"
	"crossover/kernels/stft"
	"crossover/kernels/tempogram"
)

// operations are those that are measured, a line each: its declaration, which shapes are drawn, and how a program calls its
// typed plan.
var operations = []operation{
	of(&elementwise.Scale, elements, rows(func(d *dispatch.Dispatcher, p elementwise.Params) (*elementwise.Plan, error) {
		return elementwise.NewScale(d, p.A, p.B), nil
	})),
	of(&elementwise.Gain, elements, function1(elementwise.NewGain)),
	of(&elementwise.Abs, elements, function(elementwise.NewAbs)),
	of(&elementwise.SoftClip, elements, function1(elementwise.NewSoftClip)),
	of(&elementwise.Exp, elements, function(elementwise.NewExp)),
	of(&elementwise.Log, elements, function(elementwise.NewLog)),
	of(&elementwise.Log1p, elements, function(elementwise.NewLog1p)),
	of(&elementwise.Pow, elements, function1(elementwise.NewPow)),
	of(&elementwise.GELU, elements, function(elementwise.NewGELU)),
	of(&elementwise.GELUTanh, elements, function(elementwise.NewGELUTanh)),
	of(&glu.Op, gates, one(0, glu.New, func(p *glu.Plan, a *kernels.Args) error { return p.Apply(a[0], a[1]) })),
	of(&reduce.Sum, elements, reduction(reduce.NewSum)),
	of(&reduce.Mean, elements, reduction(reduce.NewMean)),
	of(&reduce.Max, elements, reduction(reduce.NewMax)),
	of(&reduce.Min, elements, reduction(reduce.NewMin)),
	of(&reduce.ArgMax, elements, one(0, argMax, func(p *reduce.IndexPlan, a *kernels.Args) error { _, err := p.Of(a[1]); return err })),
	of(&fft.Op, transforms, transform),
	of(&fft.InverseOp, transforms, inverse),
	of(&fft.ComplexOp, transforms, complexTransform),
	of(&stft.Op, spectrograms, spectrogram),
	of(&stft.InverseOp, inverseSpectrograms, one(2, stft.NewInverse, func(p *stft.InversePlan, a *kernels.Args) error {
		return p.Transform(a[0], kernels.Complex(a[1]))
	})),
	of(&elementwise.Power, elements, complexFunction(elementwise.NewPower)),
	of(&elementwise.Magnitude, elements, complexFunction(elementwise.NewMagnitude)),
	of(&mel.Op, melSpectrograms, melSpectrogram),
	of(&decibels.Op, elements, one(0, decibels.New, func(p *decibels.Plan, a *kernels.Args) error { return p.Convert(a[0], a[1]) })),
	of(&mfcc.Op, cepstra, cepstrum),
	of(&chroma.Op, pitches, pitch),
	of(&onset.Op, strengths, strength),
	of(&autocorrelation.Op, correlations, correlation),
	of(&tempogram.Op, tempograms, one(1, tempogram.New, func(p *tempogram.Plan, a *kernels.Args) error {
		_, err := p.Transform(a[0], a[1])
		return err
	})),
	of(&tempogram.Tempo, recordings, one(0, tempogram.NewTempo, func(p *tempogram.TempoPlan, a *kernels.Args) error {
		_, err := p.Estimate(a[1])
		return err
	})),
	of(&peaks.Op, envelopes, one(0, peaks.New, func(p *peaks.Plan, a *kernels.Args) error {
		_, err := p.Pick(kernels.Uint32s(a[0]), a[2])
		return err
	})),
	of(&beats.Op, envelopes, one(0, beats.New, func(p *beats.Plan, a *kernels.Args) error {
		_, err := p.Track(kernels.Uint32s(a[0]), a[2])
		return err
	})),
	of(&matmul.Op, products, product),
	of(&linear.Op, layers, layer),
	of(&lora.Op, adapters, adapter),
	of(&lora.OnLayer, adapters, adapter),
	of(&attention.Op, queries, attend),
	of(&conv1d.Op, convolutions, convolve),
	of(&convlayer.Conv1D, sequenceLayers, one(4, sequenceLayer, func(p *convlayer.Plan1D, a *kernels.Args) error { return p.Run(a[0], a[1]) })),
	of(&convlayer.Conv2D, imageLayers, imageLayer),
	of(&conv1d.StreamOp, streams, stream),
	of(&resample.Op, conversions, change),
	of(&softmax.Op, matrices, rows(softmax.New)),
	of(&rmsnorm.Op, matrices, rows(rmsnorm.New)),
	of(&norm.Layer, matrices, rows(norm.NewLayer)),
	of(&norm.Group, images, groupNorm),
	of(&sampling.Greedy, matrices, one(0, sampling.NewGreedy, func(p *sampling.GreedyPlan, a *kernels.Args) error {
		return p.Choose(kernels.Uint32s(a[0]), a[1])
	})),
	of(&sampling.TopK, vocabularies, one(0, sampling.NewTopK, func(p *sampling.TopKPlan, a *kernels.Args) error {
		return p.Sample(a[0], kernels.Uint32s(a[1]), kernels.Uint32s(a[2]), a[3], a[4])
	})),
	of(&recurrent.LSTM, sequences, lstm),
	of(&recurrent.GRU, sequences, gru),
	of(&biquad.Op, channels, filter),
	of(&biquad.CascadeOp, cascades, cascade),
	of(&recurrence.Comb, recurrences, recurring(recurrence.NewComb)),
	of(&recurrence.Envelope, recurrences, recurring(recurrence.NewEnvelope)),
	of(&recurrence.Compressor, recurrences, recurring(recurrence.NewCompressor)),
	of(&recurrence.Ladder, recurrences, recurring(recurrence.NewLadder)),
	of(&oscillator.Op, voices, render),
	of(&phase.Op, increments, sweep),
	of(&stagegraph.Op, stages, stage),
}

// The distributions. A call of the best implementation takes at most some 50 ms on two cores, and its data take at most
// 256 MiB: see takes.
var (
	elements = distribution{axes: []values{{powers{1 << 10, 1 << 24}, whole{1 << 10, 1 << 24}}}}

	transforms = distribution{
		axes: []values{
			{
				list{160, 240, 320, 400, 441, 480, 512, 640, 800, 882, 960, 1200, 1323, 1764, 1920, 2205, 2400, 4410, 4800, 9600},
				powers{64, 1 << 20}, smooth{64, 1_049_760}, primes{61, 131_071}, whole{64, 1 << 17},
			},
			{list{1}, list{2, 4, 8, 16, 32, 64, 100, 128, 256}, whole{1, 1024}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<22 },
	}

	spectrograms = distribution{
		axes: []values{
			{powers{256, 4096}, list{320, 400, 480, 640, 800, 882, 960, 1200, 1764, 1920, 2400}},
			{share{0, 2}, share{0, 4}, share{0, 8}, list{160}, list{441}},
			{seconds{0.2, 300}},
		},
		takes: func(s kernels.Shape) bool { return s[1] <= s[0] && s[2]/s[1]*s[0] <= 3<<23 },
	}

	melSpectrograms = distribution{
		axes: []values{
			{list{40, 64, 80, 96, 128}, whole{40, 128}},
			{powers{256, 4096}, list{400, 480, 800, 1200, 1920}},
			{whole{1, 16 << 10}},
		},
		takes: func(s kernels.Shape) bool { return s[1]*s[2] <= 1<<25 },
	}

	cepstra = distribution{
		axes: []values{
			{list{12, 13, 20, 40}, whole{8, 64}},
			{list{40, 64, 80, 96, 128}, whole{40, 128}},
			{whole{1, 64 << 10}},
		},
		takes: func(s kernels.Shape) bool { return s[0] <= s[1] },
	}

	pitches = distribution{
		axes: []values{
			{powers{1024, 16384}, list{2206, 4410}},
			{whole{1, 8 << 10}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<25 },
	}

	strengths = distribution{
		axes: []values{
			{list{40, 64, 80, 96, 128, 257, 513}, whole{20, 1025}},
			{whole{1, 64 << 10}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<23 },
	}

	correlations = distribution{
		axes: []values{
			{list{480, 512, 1024, 2048, 2205, 4096, 22050, 44100, 48000}, powers{64, 1 << 19}, whole{64, 1 << 19}},
			{list{1}, list{2, 4, 8, 16, 32, 64, 100, 128, 256}, whole{1, 1024}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<21 },
	}

	tempograms = distribution{
		axes: []values{
			{list{128, 192, 256, 344, 384, 512, 768, 1024}, whole{32, 2048}},
			{whole{1, 16 << 10}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<22 },
	}

	recordings = distribution{axes: []values{{whole{40, 16 << 10}}}}

	envelopes = distribution{axes: []values{{whole{40, 64 << 10}}}}

	products = distribution{
		axes: []values{
			{list{1, 8, 16, 32, 64, 100, 128, 256, 512}, whole{1, 2048}},
			{list{64, 80, 128, 256, 384, 512, 768, 1024, 2048, 3072, 4096}, whole{16, 4096}},
			{list{64, 80, 128, 256, 384, 512, 768, 1024, 2048, 3072, 4096}, whole{16, 4096}},
		},
		takes: func(s kernels.Shape) bool {
			return s[0] != s[1] && s[1] != s[2] && s[0] != s[2] && s[0]*s[1]*s[2] <= 1<<31
		},
	}

	layers = distribution{
		axes: []values{
			{list{64, 80, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072}, whole{64, 3072}},
			{list{64, 80, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072}, whole{64, 3072}},
			{list{1}, list{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, whole{1, 1024}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1]*s[2] <= 1<<31 },
	}

	adapters = distribution{
		axes: []values{
			{list{256, 384, 512, 768, 1024, 1536, 2048}, whole{64, 2048}},
			{list{4, 8, 16, 32, 64}, whole{4, 64}},
			{list{1}, list{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, whole{1, 4096}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[0]*s[2] <= 1<<31 },
	}

	queries = distribution{
		axes: []values{
			{list{1, 4, 8, 12, 16, 32}, whole{1, 64}},
			{list{32, 64, 80, 96, 128}, whole{16, 256}},
			{list{1}, list{16, 64, 100, 128, 197, 256, 512, 1024}, whole{1, 2048}},
			{list{16, 64, 100, 128, 197, 256, 512, 1024, 2048}, whole{16, 4096}},
		},
		takes: func(s kernels.Shape) bool { return s[2] <= s[3] && s[0]*s[1]*s[2]*s[3] <= 1<<30 },
	}

	convolutions = distribution{
		axes: []values{
			{powers{512, 1 << 20}, list{4410, 4800, 22050, 44100, 48000, 220500, 480000}, whole{512, 1 << 20}},
			{list{9, 15, 31, 63, 64, 127, 128, 255, 256, 511, 512}, powers{1 << 10, 1 << 15}, whole{8, 1 << 15}},
		},
		takes: func(s kernels.Shape) bool { return s[1] <= s[0] },
	}

	sequenceLayers = distribution{
		axes: []values{
			{list{1, 2, 16, 32, 48, 64, 96, 128, 256, 384, 512}, whole{1, 512}},
			{list{16, 32, 48, 64, 96, 128, 256, 384, 512}, whole{1, 512}},
			{list{3}, list{1, 2, 4, 5, 7, 8, 9, 11, 16}},
			{list{1}, list{2, 4, 5, 8}},
			{list{80, 160, 441, 480, 512, 1000, 1500, 3000, 4410, 8192, 48000}, whole{16, 1 << 16}},
		},
		takes: func(s kernels.Shape) bool { return s[3] <= s[2] && s[0]*s[1]*s[2]/s[3]*s[4] <= 1<<30 },
	}

	imageLayers = distribution{
		axes: []values{
			{list{1, 2, 3, 16, 32, 64, 128, 256}, whole{1, 256}},
			{list{16, 32, 64, 96, 128, 256}, whole{1, 256}},
			{list{3}, list{1, 2, 4, 5, 7}},
			{list{1}, list{2, 4}},
			{list{7, 14, 28, 40, 56, 64, 80, 128}, whole{4, 256}},
			{list{7, 14, 28, 56, 64, 100, 128, 256, 431, 1000, 2000}, whole{4, 2048}},
		},
		takes: func(s kernels.Shape) bool {
			return s[3] <= s[2] && s[0]*s[1]*s[2]*s[2]/(s[3]*s[3])*s[4]*s[5] <= 1<<30
		},
	}

	streams = distribution{
		axes: []values{
			{powers{64, 4096}, list{441, 480, 882, 960}, whole{64, 4096}},
			{powers{1 << 10, 1 << 16}, list{22050, 44100, 48000}, whole{1 << 10, 1 << 16}},
		},
	}

	conversions = distribution{
		axes: []values{
			{list{1, 2, 3, 147, 160, 320}, whole{1, 16}},
			{list{1, 2, 3, 147, 160, 441}, whole{1, 16}},
			{list{441, 480, 512, 1024, 2048, 22050, 44100, 48000, 220500, 480000}, whole{256, 1 << 20}},
		},
		takes: func(s kernels.Shape) bool { return s[0] != s[1] && s[2]*max(s[0], s[1])/s[1] <= 1<<21 },
	}

	matrices = distribution{
		axes: []values{
			{list{1, 4, 8, 12, 16, 32, 64, 128, 512, 1024}, whole{1, 8192}},
			{list{32, 64, 128, 197, 256, 384, 512, 768, 1024, 2048, 4096, 32000, 50257, 128256}, whole{32, 128 << 10}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<24 },
	}

	images = distribution{
		axes: []values{
			{list{1}, list{2, 4, 8, 16}, whole{1, 32}},
			{list{32, 64, 128, 256, 320, 512, 640, 1024, 1280}},
			{list{64, 256, 1024, 4096, 16384}, whole{16, 1 << 16}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1]*s[2] <= 1<<24 },
	}

	gates = distribution{
		axes: []values{
			{list{1, 4, 8, 12, 16, 32, 64, 128, 512, 1024}, whole{1, 8192}},
			{list{32, 64, 128, 256, 384, 512, 768, 1024, 2048, 4096}, whole{32, 16 << 10}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<23 },
	}

	inverseSpectrograms = distribution{
		axes: []values{
			{powers{256, 4096}, list{400, 480, 800, 960, 1200, 1920, 2400}},
			{share{0, 2}, share{0, 4}, share{0, 8}},
			{seconds{0.2, 300}},
		},
		takes: func(s kernels.Shape) bool { return s[1] <= s[0] && s[2] > s[0] && s[2]/s[1]*s[0] <= 1<<24 },
	}

	vocabularies = distribution{
		axes: []values{
			{list{1, 2, 4, 8, 16, 32}, whole{1, 64}},
			{list{1024, 8192, 32000, 50257, 128256}, whole{1 << 10, 128 << 10}},
			{list{1, 5, 10, 40, 50, 100}, whole{1, 100}},
		},
	}

	channels = distribution{
		axes: []values{
			{list{1}, list{2}, list{4, 6, 8, 12, 16, 24, 32, 64}, whole{1, 64}},
			{list{64, 128, 256, 441, 480, 512, 1024, 2048, 4096}, whole{64, 1 << 20}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<23 },
	}

	sequences = distribution{
		axes: []values{
			{list{40, 64, 80, 128, 256, 512}, whole{16, 512}},
			{list{32, 64, 128, 256, 512}, whole{16, 512}},
			{list{1}, list{2, 4, 8, 16, 32, 64}, whole{1, 64}},
			{list{50, 100, 200, 400, 500, 1000}, whole{50, 1000}},
		},
		takes: func(s kernels.Shape) bool { return (s[0]+s[1])*s[1]*s[2]*s[3] <= 1<<28 },
	}

	cascades = distribution{
		axes:  []values{channels.axes[0], channels.axes[1], {list{2, 3, 4, 5, 8, 10}, whole{1, 16}}},
		takes: func(s kernels.Shape) bool { return s[0]*s[1]*s[2] <= 1<<22 },
	}

	recurrences = distribution{
		axes:  channels.axes,
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<20 },
	}

	voices = distribution{
		axes: []values{
			{list{1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256}, whole{1, 256}},
			{list{64, 128, 256, 441, 480, 512, 1024, 2048, 4096}, whole{64, 48000}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1] <= 1<<22 },
	}

	increments = distribution{
		axes: []values{{list{64, 128, 256, 441, 480, 512, 1024, 2048, 4096}, whole{64, 1 << 22}}},
	}

	stages = distribution{
		axes: []values{
			{list{1, 2, 4, 8, 16, 32, 64, 128}, whole{1, 128}},
			{list{32, 64, 128, 256, 441, 480, 512, 1024, 2048}},
			{list{1, 2, 4, 8}, whole{1, 32}},
		},
		takes: func(s kernels.Shape) bool { return s[0]*s[1]*s[2] <= 1<<22 },
	}
)

// operation is a line of the table.
type operation struct {
	name            string
	axes            []string
	shapes          distribution
	implementations func() []string                        // that can run here, by name
	tensors         func(s kernels.Shape) []kernels.Tensor // of a call
	bind            func(s kernels.Shape, m memory) (binding, error)
}

// binding makes plans for one shape. All of them compute on the same data.
type binding func(d *dispatch.Dispatcher) (calls, error)

// calls is a typed plan and the call that a program repeats.
type calls struct {
	plan plan
	size int // that Explain takes
	run  func() error
}

// plan is what typed plans have in common.
type plan interface {
	Explain(size int) dispatch.Explanation
	Close()
}

func (c calls) explain() dispatch.Explanation { return c.plan.Explain(c.size) }

// maker makes the typed plan that chooses by d, for calls at a shape with the tensors a, whose order is that of the
// operation's IO.
type maker[P any] = func(d *dispatch.Dispatcher, p P, s kernels.Shape, a *kernels.Args) (calls, error)

// of returns a line of the table.
func of[P any](op *kernels.Op[P], shapes distribution, build maker[P]) operation {
	o := operation{name: op.Name, shapes: shapes}
	for _, axis := range op.Axes {
		o.axes = append(o.axes, axis.Name)
	}
	o.implementations = func() []string {
		var names []string
		for _, i := range op.Cases(kernels.Here())[0].Implementations {
			if i.Missing() == nil {
				names = append(names, i.Name)
			}
		}
		return names
	}
	o.tensors = func(s kernels.Shape) []kernels.Tensor { return op.IO(op.Params(s), s) }
	o.bind = func(s kernels.Shape, m memory) (binding, error) {
		p := op.Params(s)
		a, err := data(op, p, s, m)
		return func(d *dispatch.Dispatcher) (calls, error) { return build(d, p, s, a) }, err
	}
	return o
}

// data returns the tensors of a call, with the inputs that the operation is measured with.
func data[P any](op *kernels.Op[P], p P, s kernels.Shape, m memory) (*kernels.Args, error) {
	a := &kernels.Args{}
	for i, t := range op.IO(p, s) {
		var err error
		if a[i], err = m.alloc(t.Len()); err != nil {
			return nil, err
		}
		kernels.Noise(a[i], uint64(i)) // of outputs too, so that no page is touched for the first time in a call
	}
	if op.Fill != nil {
		op.Fill(p, s, kernels.GeneratedInput(), a)
	}
	return a, nil
}

// rows makes the plan of an operation on rows of a matrix, or on single values.
func rows[P any](build func(d *dispatch.Dispatcher, p P) (*kernels.RowPlan[P], error)) maker[P] {
	return func(d *dispatch.Dispatcher, p P, s kernels.Shape, a *kernels.Args) (calls, error) {
		plan, err := build(d, p)
		return calls{plan, s[0], func() error { return plan.Apply(a[0], a[1]) }}, err
	}
}

// function makes the plan of a function of single values.
func function(build func(d *dispatch.Dispatcher) *elementwise.Plan) maker[elementwise.Params] {
	return rows(func(d *dispatch.Dispatcher, _ elementwise.Params) (*elementwise.Plan, error) { return build(d), nil })
}

// function1 makes the plan of a function that has a constant.
func function1(build func(d *dispatch.Dispatcher, constant float32) *elementwise.Plan) maker[elementwise.Params] {
	return rows(func(d *dispatch.Dispatcher, p elementwise.Params) (*elementwise.Plan, error) {
		return build(d, p.A), nil
	})
}

// complexFunction makes the plan of a function of complex values.
func complexFunction(build func(d *dispatch.Dispatcher) *elementwise.ComplexPlan) maker[elementwise.Params] {
	return func(d *dispatch.Dispatcher, _ elementwise.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
		plan, x := build(d), kernels.Complex(a[1])
		return calls{plan, s[0], func() error { return plan.Apply(a[0], x) }}, nil
	}
}

// one is the call of an operation whose typed plan takes the tensors as they are. size is the axis that Explain takes.
func one[P any, T plan](size int, build func(d *dispatch.Dispatcher, p P) (T, error), call func(p T, a *kernels.Args) error) maker[P] {
	return func(d *dispatch.Dispatcher, p P, s kernels.Shape, a *kernels.Args) (calls, error) {
		plan, err := build(d, p)
		return calls{plan, s[size], func() error { return call(plan, a) }}, err
	}
}

func reduction(build func(d *dispatch.Dispatcher) *reduce.Plan) maker[reduce.Params] {
	return one(0, func(d *dispatch.Dispatcher, _ reduce.Params) (*reduce.Plan, error) { return build(d), nil },
		func(p *reduce.Plan, a *kernels.Args) error { _, err := p.Of(a[1]); return err })
}

func argMax(d *dispatch.Dispatcher, _ reduce.Params) (*reduce.IndexPlan, error) {
	return reduce.NewArgMax(d), nil
}

func transform(d *dispatch.Dispatcher, p fft.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := fft.New(d, p)
	bins := kernels.Complex(a[0])
	return calls{plan, s[1], func() error { return plan.Transform(bins, a[1]) }}, err
}

func inverse(d *dispatch.Dispatcher, p fft.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := fft.NewInverse(d, p)
	bins := kernels.Complex(a[1])
	return calls{plan, s[1], func() error { return plan.Transform(a[0], bins) }}, err
}

func complexTransform(d *dispatch.Dispatcher, p fft.ComplexParams, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := fft.NewComplexPlan(d, p)
	dst, src := kernels.Complex(a[0]), kernels.Complex(a[1])
	return calls{plan, s[1], func() error { return plan.Transform(dst, src) }}, err
}

func spectrogram(d *dispatch.Dispatcher, p stft.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := stft.New(d, p)
	bins := kernels.Complex(a[0])
	return calls{plan, s[2], func() error { _, err := plan.Transform(bins, a[1]); return err }}, err
}

func melSpectrogram(d *dispatch.Dispatcher, p mel.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := mel.New(d, p)
	return calls{plan, s[2], func() error { _, err := plan.Transform(a[0], a[1]); return err }}, err
}

func cepstrum(d *dispatch.Dispatcher, p mfcc.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := mfcc.New(d, p)
	return calls{plan, s[2], func() error { _, err := plan.Transform(a[0], a[1]); return err }}, err
}

func pitch(d *dispatch.Dispatcher, p chroma.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := chroma.New(d, p)
	return calls{plan, s[1], func() error { _, err := plan.Transform(a[0], a[1]); return err }}, err
}

func strength(d *dispatch.Dispatcher, p onset.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := onset.New(d, p)
	return calls{plan, s[1], func() error { _, err := plan.Transform(a[0], a[1]); return err }}, err
}

func correlation(d *dispatch.Dispatcher, p autocorrelation.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := autocorrelation.New(d, p)
	return calls{plan, s[1], func() error { return plan.Transform(a[0], a[1]) }}, err
}

// productPlan is a plan whose Explain takes a shape.
type productPlan struct {
	*matmul.Plan
	m, k, n int
}

func (p productPlan) Explain(int) dispatch.Explanation { return p.Plan.Explain(p.m, p.k, p.n) }

func product(d *dispatch.Dispatcher, _ matmul.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	m, k, n := s[0], s[1], s[2]
	plan := matmul.New(d)
	return calls{productPlan{plan, m, k, n}, 0, func() error { return plan.Multiply(a[0], a[1], a[2], m, k, n) }}, nil
}

func layer(d *dispatch.Dispatcher, p linear.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	// A program has the weights as out×in. Their values do not matter.
	plan, err := linear.New(d, p.Transposed, p.Bias, p.In, p.Out)
	return calls{plan, s[2], func() error { return plan.Forward(a[0], a[1]) }}, err
}

// sequencePlan is a plan whose Explain takes numbers of sequences and steps.
type sequencePlan struct {
	plan interface {
		Explain(sequences, count int) dispatch.Explanation
		Close()
	}
	sequences, count int
}

func (p sequencePlan) Explain(int) dispatch.Explanation { return p.plan.Explain(p.sequences, p.count) }
func (p sequencePlan) Close()                           { p.plan.Close() }

func lstm(d *dispatch.Dispatcher, p recurrent.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := recurrent.NewLSTM(d, p)
	return calls{sequencePlan{plan, s[2], s[3]}, 0, func() error { return plan.Forward(a[0], a[1], a[2], a[3], a[4], a[5]) }}, err
}

func gru(d *dispatch.Dispatcher, p recurrent.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := recurrent.NewGRU(d, p)
	return calls{sequencePlan{plan, s[2], s[3]}, 0, func() error { return plan.Forward(a[0], a[1], a[2], a[3]) }}, err
}

func adapter(d *dispatch.Dispatcher, p lora.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := lora.New(d, p)
	return calls{plan, s[2], func() error { return plan.Forward(a[0], a[1]) }}, err
}

// attentionPlan is a plan whose Explain takes the numbers of queries and keys.
type attentionPlan struct {
	*attention.Plan
	steps, keys int
}

func (p attentionPlan) Explain(int) dispatch.Explanation { return p.Plan.Explain(p.steps, p.keys) }

func attend(d *dispatch.Dispatcher, p attention.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := attention.New(d, p)
	return calls{attentionPlan{plan, s[2], s[3]}, 0, func() error { return plan.Attend(a[0], a[1], a[2], a[3]) }}, err
}

func groupNorm(d *dispatch.Dispatcher, p norm.GroupParams, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := norm.NewGroup(d, p)
	return calls{plan, s[2], func() error { return plan.Apply(a[0], a[1]) }}, err
}

func convolve(d *dispatch.Dispatcher, p conv1d.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := conv1d.New(d, p.Taps)
	return calls{plan, s[0], func() error { _, err := plan.Convolve(a[0], a[1]); return err }}, err
}

func sequenceLayer(d *dispatch.Dispatcher, p convlayer.Params) (*convlayer.Plan1D, error) {
	return convlayer.New1D(d, p.Sequences())
}

// imagePlan is a plan whose Explain takes a shape.
type imagePlan struct {
	*convlayer.Plan2D
	height, width int
}

func (p imagePlan) Explain(int) dispatch.Explanation { return p.Plan2D.Explain(p.height, p.width) }

func imageLayer(d *dispatch.Dispatcher, p convlayer.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := convlayer.New2D(d, p.ImageLayer)
	return calls{imagePlan{plan, s[4], s[5]}, 0, func() error { return plan.Run(a[0], a[1], s[4], s[5]) }}, err
}

func stream(d *dispatch.Dispatcher, p conv1d.StreamParams, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := conv1d.NewStream(d, p.Taps, p.Block)
	return calls{plan, s[0], func() error { return plan.Process(a[0], a[2]) }}, err
}

func change(d *dispatch.Dispatcher, p resample.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := resample.New(d, p)
	return calls{plan, s[2], func() error { _, err := plan.Resample(a[0], a[1]); return err }}, err
}

func filter(d *dispatch.Dispatcher, c biquad.Coefficients, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := biquad.New(d, c, s[0])
	return calls{plan, s[1], func() error { return plan.Process(a[0], a[2]) }}, err
}

func cascade(d *dispatch.Dispatcher, p biquad.CascadeParams, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := biquad.NewCascade(d, p, s[0])
	return calls{plan, s[1], func() error { return plan.Process(a[0], a[2]) }}, err
}

// recurring returns a call of the plans that build makes.
func recurring[P any](build func(d *dispatch.Dispatcher, p P, count int) (*recurrence.Plan[P], error)) func(d *dispatch.Dispatcher, p P,
	s kernels.Shape, a *kernels.Args) (calls, error) {
	return func(d *dispatch.Dispatcher, p P, s kernels.Shape, a *kernels.Args) (calls, error) {
		plan, err := build(d, p, s[0])
		return calls{plan, s[1], func() error { return plan.Process(a[0], a[2]) }}, err
	}
}

// render renders the beginning of the notes, again and again. Later the voices fall silent.
func render(d *dispatch.Dispatcher, p oscillator.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan, err := oscillator.New(d, p)
	return calls{plan, s[1], func() error { plan.Reset(); return plan.Render(a[0]) }}, err
}

// sweep adds up the increments of an oscillator.
func sweep(d *dispatch.Dispatcher, _ phase.Params, s kernels.Shape, a *kernels.Args) (calls, error) {
	plan := phase.New(d)
	return calls{plan, s[0], func() error { return plan.Accumulate(a[0], a[2]) }}, nil
}

// lowpass is a node of a program: passes of a smoothing filter over a block.
type lowpass struct {
	gain   float32
	passes int
	x      []float32
}

func (n lowpass) Render(dst []float32) {
	copy(dst, n.x)
	for range n.passes {
		var s float32
		for i, x := range dst {
			s += n.gain * (x - s)
			dst[i] = s
		}
	}
}

func stage(d *dispatch.Dispatcher, _ stagegraph.Stage, s kernels.Shape, a *kernels.Args) (calls, error) {
	width, block, cost := s[0], s[1], s[2]
	nodes := make([]stagegraph.Node, width)
	for i := range nodes {
		nodes[i] = lowpass{float32(1+i%7) / 8, cost, a[1][i*block : (i+1)*block]}
	}
	plan, err := stagegraph.New(d, nodes)
	return calls{plan, block, func() error { return plan.Render(a[0]) }}, err
}
