package songs

import (
	"errors"
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/attention"
	"crossover/kernels/convlayer"
	"crossover/kernels/elementwise"
	"crossover/kernels/glu"
	"crossover/kernels/linear"
	"crossover/kernels/norm"
	"crossover/kernels/recurrent"
	"crossover/kernels/stft"
)

// SeparatorParams describe a source separator with one block of each kind. Zero lengths stand for those of a song at 44.1 kHz.
// All weights are row-major.
type SeparatorParams struct {
	NFFT   int // samples of a frame; 0 stands for 4096
	Hop    int // samples from one frame to the next; 0 stands for 1024
	Frames int // of a segment, a multiple of 4; 0 stands for 432, which are 441 344 samples, 10 seconds

	// Encoder reduces Frames columns of NFFT+2 parts of a spectrum, real and imaginary, to Frames/4 columns. Its stride is 4. Its
	// outputs are two for each channel of the block.
	Encoder convlayer.Layer
	Norm    norm.GroupParams // of half as many channels
	LSTM    recurrent.Params // from the channels to the channels
	// Decoder and its biases make four spectra of NFFT+2 parts of a column of channels: 4·(NFFT+2) rows.
	Decoder, Bias []float32
}

// stride is the number of frames that the encoder makes one column of.
const stride = 4

func (p SeparatorParams) withDefaults() SeparatorParams {
	if p.NFFT == 0 {
		p.NFFT = 4096
	}
	if p.Hop == 0 {
		p.Hop = 1024
	}
	if p.Frames == 0 {
		p.Frames = 432
	}
	return p
}

// segment returns the number of samples of a segment.
func (p SeparatorParams) segment() int { return (p.Frames - 1) * p.Hop }

// SeparatorGraph declares the separation of one segment: STFT, a convolution over time, GELU, GLU, group norm, attention, LSTM,
// a linear layer, inverse STFT. Its input is x, (Frames − 1)·Hop samples, and its output is y, as many. The graph turns two
// matrices, because a layer over time has a row for each channel, and attention one for each step. Reset comes before each
// segment, for the LSTM begins with zeros. SeparatorGraph fails if a parameter is out of its range.
func SeparatorGraph(p SeparatorParams) (*Graph, error) {
	p = p.withDefaults()
	parts, channels, steps := p.NFFT+2, p.Encoder.Out/2, p.Frames/stride
	switch {
	case p.Frames < stride || p.Frames%stride != 0:
		return nil, fmt.Errorf("songs: Frames is %d (want a multiple of %d)", p.Frames, stride)
	case p.Encoder.In != parts || p.Encoder.Stride != stride || p.Encoder.Out != 2*len(p.Norm.Weights):
		return nil, fmt.Errorf("songs: an encoder of %d inputs and %d outputs with a stride of %d (want %d, %d and %d)", p.Encoder.In,
			p.Encoder.Out, p.Encoder.Stride, parts, 2*len(p.Norm.Weights), stride)
	case p.Norm.Batch > 1:
		return nil, errors.New("songs: the norm has a batch (want one segment)")
	case p.LSTM.In != channels || p.LSTM.Hidden != channels:
		return nil, fmt.Errorf("songs: an LSTM from %d to %d (want %d channels)", p.LSTM.In, p.LSTM.Hidden, channels)
	}
	spectra, err := stft.New(nil, stft.Params{NFFT: p.NFFT, Hop: p.Hop})
	if err != nil {
		return nil, err
	}
	signal, err := stft.NewInverse(nil, stft.Params{NFFT: p.NFFT, Hop: p.Hop})
	if err != nil {
		return nil, err
	}
	encoder, err := convlayer.New1D(nil, p.Encoder)
	if err != nil {
		return nil, err
	}
	if n := encoder.Outputs(p.Frames); n != steps {
		return nil, fmt.Errorf("songs: the encoder makes %d columns of %d frames (want %d: a padding that fits the kernel)", n, p.Frames, steps)
	}
	gate, err := glu.New(nil, glu.Params{Columns: channels * steps})
	if err != nil {
		return nil, err
	}
	groups, err := norm.NewGroup(nil, p.Norm)
	if err != nil {
		return nil, err
	}
	if _, err := recurrent.NewLSTM(nil, p.LSTM); err != nil {
		return nil, err
	}
	for _, bias := range []*[]float32{&p.LSTM.InputBias, &p.LSTM.HiddenBias} {
		if *bias == nil {
			*bias = make([]float32, 4*channels)
		}
	}
	decoder, err := linear.New(nil, p.Decoder, p.Bias, channels, stride*parts)
	if err != nil {
		return nil, err
	}
	over := sized("encoder", encoder.SizedPlan, parts, "columns")
	back := sized("y", signal.SizedPlan, 1, "decoder")
	back.Words, back.Shape = true, Along("x", 1, shapeOf(signal.SizedPlan))
	return &Graph{
		Name:   "separator",
		Inputs: []Input{{"x", kernels.Float32, p.segment()}},
		Stages: []Stage{
			sized("spectra", spectra.SizedPlan, 1, "x"),
			over,
			sized("gelu", elementwise.NewGELU(nil).SizedPlan, 1, "encoder"),
			sized("glu", gate.SizedPlan, 2*channels*steps, "gelu"),
			sized("norm", groups.SizedPlan, channels, "glu"),
			{Name: "attention", Reads: []string{"rows", "rows", "rows"},
				Step:  kernels.StepOf(&attention.Op, attention.Params{Heads: 1, Width: channels}),
				Shape: Always(kernels.Shape{1, channels, steps, steps})},
			{Name: "lstm", Reads: []string{"attention", "h", "c"}, Step: kernels.StepOf(&recurrent.LSTM, p.LSTM),
				Shape: Always(kernels.Shape{channels, channels, 1, steps})},
			sized("decoder", decoder.SizedPlan, channels, "lstm"),
			back,
		},
		Derived: []Derived{
			{"columns", "spectra", Turned, parts}, {"rows", "norm", Turned, steps},
			{Name: "h", Of: "lstm.hn", How: Last}, {Name: "c", Of: "lstm.cn", How: Last},
		},
		Outputs: []string{"y"},
	}, nil
}

// shapeOf returns the shape of a plan's calls by their size.
func shapeOf[P any](p *kernels.SizedPlan[P]) func(size int) kernels.Shape {
	_, shape := kernels.StepOfPlan(p)
	return shape
}

// Separator separates a recording segment by segment. Only one goroutine at a time may use a Separator.
type Separator struct {
	pipeline         *Pipeline
	segment, overlap int
	padded           []float32
}

// NewSeparator returns a separator that chooses by d, which may be nil. A quarter of a segment overlaps with the next one.
// NewSeparator fails if a parameter is out of its range.
func NewSeparator(d *dispatch.Dispatcher, p SeparatorParams) (*Separator, error) {
	g, err := SeparatorGraph(p)
	if err != nil {
		return nil, err
	}
	pipeline, err := New(d, g)
	if err != nil {
		return nil, err
	}
	n := p.withDefaults().segment()
	return &Separator{pipeline: pipeline, segment: n, overlap: n / 4, padded: make([]float32, n)}, nil
}

// Run separates src, any number of samples, and writes as many to dst, which must not overlap src. Where segments overlap, one
// fades out linearly while the next one fades in. The last segment has zeros behind the recording. Run panics if the lengths
// differ. It fails if there are no samples (the error wraps [ErrEmpty]), or if every implementation of a stage fails.
func (s *Separator) Run(dst, src []float32) error {
	kernels.Made(s.pipeline)
	if len(dst) != len(src) {
		panic(fmt.Sprintf("songs: dst has %d samples, want as many as src, %d", len(dst), len(src)))
	}
	return s.run(dst, src, "y")
}

// run writes an output of the pipeline to dst.
func (s *Separator) run(dst, src []float32, output string) error {
	if len(src) == 0 {
		return fmt.Errorf("songs: %s: x: %w", s.pipeline.w.Name, ErrEmpty)
	}
	for from := 0; ; from += s.segment - s.overlap {
		n := copy(s.padded, src[from:])
		clear(s.padded[n:])
		s.pipeline.Reset()
		if err := s.pipeline.Run(s.padded); err != nil {
			return fmt.Errorf("from sample %d on: %w", from, err)
		}
		y, faded := s.pipeline.Floats(output)[:n], 0
		if from > 0 {
			faded = min(n, s.overlap)
			for i, v := range y[:faded] {
				dst[from+i] += (v - dst[from+i]) * (float32(i) + 0.5) / float32(s.overlap)
			}
		}
		copy(dst[from+faded:], y[faded:])
		if from+s.segment >= len(src) {
			return nil
		}
	}
}

// Close releases what the pipeline holds: see [Pipeline.Close].
func (s *Separator) Close() { s.pipeline.Close() }
