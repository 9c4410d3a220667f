// Package linear applies a fully connected layer to a batch of rows: y = x·Wᵀ + b, in float32.
//
// The layer's weights do not change: [New] copies them, transposed, so that every implementation may read them in the
// order that suits it. Training, sparsity and quantised weights are not here. Programs make a [Plan] and call Forward.
//
// Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html, whose weight layout, out×in, this
// package takes.
package linear

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/matmul"
)

// layer is what an engine is made for.
type layer struct {
	in, out int
	weights []float32 // Wᵀ: in×out, row-major
	bias    []float32 // out
}

func newLayer(weights, bias []float32, in, out int) (layer, error) {
	switch {
	case in < 1 || out < 1:
		return layer{}, fmt.Errorf("linear: in=%d, out=%d: want at least 1 of each", in, out)
	case len(weights) != in*out:
		return layer{}, fmt.Errorf("linear: %d weights, want out×in = %d×%d = %d", len(weights), out, in, in*out)
	case len(bias) != out:
		return layer{}, fmt.Errorf("linear: %d biases, want out = %d", len(bias), out)
	}
	return layer{in, out, transpose(weights, out, in), append([]float32(nil), bias...)}, nil
}

// transpose returns the columns×rows transpose of a rows×columns matrix.
func transpose(x []float32, rows, columns int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j := range columns {
			y[j*rows+i] = x[i*columns+j]
		}
	}
	return y
}

// Plan applies one layer with the implementation that is fastest for a batch. It must not be used by two goroutines at
// once.
type Plan struct {
	layer   layer
	engines *kernels.Engines[layer, engine]
}

// New returns the plan of a layer from in to out features that chooses by d; d may be nil. weights is W, out×in and
// row-major, and bias has out values; both are copied. It fails where a length does not fit.
func New(d *dispatch.Dispatcher, weights, bias []float32, in, out int) (*Plan, error) {
	l, err := newLayer(weights, bias, in, out)
	if err != nil {
		return nil, err
	}
	engines, err := kernels.NewEngines(d, caseName(in, out), contenders, l)
	if err != nil {
		return nil, err
	}
	return &Plan{l, engines}, nil
}

// Forward computes y[r,o] = Σᵢ x[r,i]·W[o,i] + b[o]. x is rows×in, dst is rows×out, both row-major; the number of rows
// is what decides on the implementation. dst must not overlap x. Forward allocates nothing once an implementation has
// been used.
//
// It panics where len(x) is not a multiple of in or dst has not as many rows. It fails where the chosen implementation
// does.
func (p *Plan) Forward(dst, x []float32) error {
	rows := len(x) / p.layer.in
	if len(x) != rows*p.layer.in || len(dst) != rows*p.layer.out {
		panic("linear: slice length is not that of its matrix")
	}
	if rows == 0 {
		return nil
	}
	engine, err := p.engines.For(rows)
	if err != nil {
		return err
	}
	return engine.forward(dst, x, rows)
}

// Explain says why Forward takes the implementation that it takes for a number of rows.
func (p *Plan) Explain(rows int) dispatch.Explanation { return p.engines.Explain(rows) }

func caseName(in, out int) string { return fmt.Sprintf("linear/in=%d,out=%d", in, out) }

// Cases returns the case of the family.
func Cases() []kernels.Case { return []kernels.Case{newCase(1024, 1024)} }

func newCase(in, out int) kernels.Case {
	return kernels.Case{
		Name:       caseName(in, out),
		Operation:  "linear",
		Definition: "y[r,o] = Σᵢ x[r,i]·W[o,i] + b[o], x batch×in, W out×in, row-major",
		Source:     "https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html",
		Params:     []kernels.Param{{Name: "in", Value: in}, {Name: "out", Value: out}},
		Axis:       kernels.Axis{Name: "batch", Unit: "rows", Min: 1, Max: 1024},
		Tolerance:  func(int) float64 { return matmul.Tolerance(in) },
		Bytes: func(batch int) float64 {
			return 4 * (float64(in)*float64(out) + float64(out) + float64(batch)*float64(in+out))
		},
		Implementations: contenders.Implementations(),
		Problem:         func(batch int, _ kernels.Input) kernels.Problem { return newProblem(batch, in, out) },
	}
}

// problem is a layer and a batch of seeded noise.
type problem struct {
	batch, in, out   int
	x, weights, bias []float32
}

func newProblem(batch, in, out int) *problem {
	p := &problem{
		batch: batch, in: in, out: out,
		x: make([]float32, batch*in), weights: make([]float32, out*in), bias: make([]float32, out),
	}
	kernels.Noise(p.x, 1)
	kernels.Noise(p.weights, 2)
	kernels.Noise(p.bias, 3)
	return p
}

func (p *problem) Reference() []float64 { return Reference(p.x, p.weights, p.bias, p.in, p.out) }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	l, err := newLayer(p.weights, p.bias, p.in, p.out)
	if err != nil {
		return kernels.Call{}, err
	}
	engine, err := contenders.New(implementation, l)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("linear: %w", err)
	}
	if e, ok := engine.(*launch); ok {
		return e.bind(p.x, p.batch)
	}
	y := make([]float32, p.batch*p.out)
	return kernels.Call{
		Run:    func() error { return engine.forward(y, p.x, p.batch) },
		Output: func() []float32 { return y },
	}, nil
}

// Reference returns x·Wᵀ + b in float64. x is rows×in, weights is out×in, bias has out values and the result is
// rows×out, all row-major. The product is package matmul's reference.
func Reference(x, weights, bias []float32, in, out int) []float64 {
	rows := len(x) / in
	y := matmul.Reference(x, transpose(weights, out, in), rows, in, out)
	for r := range rows {
		for o, b := range bias {
			y[r*out+o] += float64(b)
		}
	}
	return y
}
