package recurrent

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
)

// Params are a layer. An LSTM has four gates, in the order input, forget, cell, output. A GRU has three, in the order reset,
// update, new. The rows of a matrix are those of the first gate, one for each hidden unit, then those of the second gate, and
// so on. PyTorch calls the fields weight_ih_l0, weight_hh_l0, bias_ih_l0 and bias_hh_l0.
type Params struct {
	In, Hidden    int       // values of a step of x, and of the state; 1 to 1 Mi
	InputWeights  []float32 // (gates·Hidden)×In, row-major
	HiddenWeights []float32 // (gates·Hidden)×Hidden, row-major
	InputBias     []float32 // gates·Hidden; nil stands for zeros
	HiddenBias    []float32 // gates·Hidden; nil stands for zeros
}

// mostWidth bounds In and Hidden, so that the number of weights does not overflow.
const mostWidth = 1 << 20

// The axes of the operations.
const (
	inputs = iota
	hidden
	batch
	steps
)

// widths are widths of layers that are common.
var widths = []int{32, 64, 80, 128, 256, 512}

var axes = []kernels.Axis{
	{Name: "in", Unit: "columns", Min: 16, Max: 512, Usual: widths},
	{Name: "hidden", Unit: "columns", Min: 16, Max: 512, Usual: widths},
	{Name: "batch", Unit: "sequences", Min: 1, Max: 64, Usual: []int{1, 2, 4, 8, 16, 32, 64}},
	{Name: "steps", Unit: "steps", Min: 50, Max: 1000, Usual: []int{50, 100, 200, 500, 1000}},
}

// The lines of the operations: one sequence of many steps, and many sequences.
const (
	longLine = iota
	wideLine
)

// cell is a kind of recurrent layer.
type cell struct {
	name, formula, source string
	gates                 int

	memory bool // whether there is a state c besides h

	// reference computes a step of one unit in float64. input and own are the unit's products with x and with h, with
	// their biases, by gate. It returns the unit's new h and c.
	reference func(input, own []float64, h, c float64) (nextH, nextC float64)

	// advance computes a step of some units of a sequence. gates has the values of all units for the first gate, then for the
	// second, and so on. An LSTM adds both products in gates, and ignores parts and h. A GRU has the product with h in parts.
	// c is updated in place.
	advance func(y, c, h, gates, parts []float32)
}

// The tensors of a call: y, hn, x and h0, and for a cell with memory cn behind hn and c0 behind h0.
type tensors struct{ y, hn, cn, x, h0, c0 []float32 }

func (c *cell) tensors(a *kernels.Args) tensors {
	if c.memory {
		return tensors{a[0], a[1], a[2], a[3], a[4], a[5]}
	}
	return tensors{y: a[0], hn: a[1], x: a[2], h0: a[3]}
}

// args is the inverse of tensors.
func (c *cell) args(t tensors) kernels.Args {
	if c.memory {
		return kernels.Args{t.y, t.hn, t.cn, t.x, t.h0, t.c0}
	}
	return kernels.Args{t.y, t.hn, t.x, t.h0}
}

// io returns the tensors of a call.
func (c *cell) io(s kernels.Shape) []kernels.Tensor {
	state := []int{s[batch], s[hidden]}
	all := []kernels.Tensor{
		{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[steps], s[batch], s[hidden]}},
		{Name: "hn", Role: kernels.Out, Type: kernels.Float32, Dims: state, InPlaceOf: "h0"},
		{Name: "cn", Role: kernels.Out, Type: kernels.Float32, Dims: state, InPlaceOf: "c0"},
		{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[steps], s[batch], s[inputs]}},
		{Name: "h0", Role: kernels.In, Type: kernels.Float32, Dims: state},
		{Name: "c0", Role: kernels.In, Type: kernels.Float32, Dims: state},
	}
	if !c.memory {
		all = slices.DeleteFunc(all, func(t kernels.Tensor) bool { return t.Name == "cn" || t.Name == "c0" })
	}
	return all
}

// declare returns the operation of a cell.
func declare(c *cell) kernels.Op[Params] {
	return kernels.Declare(kernels.Op[Params]{
		Name: c.name, Formula: c.formula, Source: c.source,
		Axes: axes,
		// The operations of both products, the weights of the state, which are read at every step, the functions of a step, and the
		// steps, which wait for each other.
		Features: []surface.Feature{
			kernels.Power(1, 1, 1, 1), kernels.Power(0, 2, 1, 1), kernels.Power(0, 2, 0, 1), kernels.Power(0, 1, 1, 1),
			kernels.Power(0, 0, 0, 1),
		},
		Lines: []kernels.Line{
			longLine: kernels.Along(axes, "steps", kernels.Param{Name: "in", Value: 128}, kernels.Param{Name: "hidden", Value: 256},
				kernels.Param{Name: "batch", Value: 1}),
			wideLine: kernels.Along(axes, "batch", kernels.Param{Name: "in", Value: 64}, kernels.Param{Name: "hidden", Value: 128},
				kernels.Param{Name: "steps", Value: 100}),
		},
		Params: c.noise,
		IO:     func(_ Params, s kernels.Shape) []kernels.Tensor { return c.io(s) },
		Reference: func(p Params, s kernels.Shape, a *kernels.Args) []float64 {
			return c.layer(p, s[batch], s[steps], c.tensors(a))
		},
		Tolerance: func(kernels.Shape) float64 { return 5e-5 },
		Work: func(s kernels.Shape, _ string) kernels.Work {
			in, units, rows, n := float64(s[inputs]), float64(s[hidden]), float64(s[batch]), float64(s[steps])
			gates, states := float64(c.gates), 2.0
			if c.memory {
				states = 4
			}
			const function = 20 // operations of a logistic function or a tangent, about
			return kernels.Work{
				Bytes:    4 * (gates*units*(in+units+2) + n*rows*(in+units) + states*rows*units),
				Flops:    n * rows * units * (2*gates*(in+units) + function*gates),
				Pieces:   rows,
				Threads:  32 * rows * units,
				Chain:    n,
				Launches: 1 + n,
			}
		},
		// One sequence is judged by its length, several by their number.
		Judged: func(_ Params, s kernels.Shape) (line, size int) {
			if s[batch] == 1 {
				return longLine, s[steps]
			}
			return wideLine, s[batch]
		},
		By: []kernels.Makers[Params]{
			// Products take fewer calls of kernels. Smaller products are divided, and workers with sequences of their own wait for nobody.
			kernels.Revised(1, kernels.Revised(2, kernels.InGo(c.newOwn, c.newOwnParallel), "go-parallel")),
			kernels.OpenBLAS(c.newOpenBLAS),
			kernels.Framework("", c.newFramework),
			kernels.RevisedAt(2, bySingles, kernels.Revised(1, kernels.KernelText("", c.appendLayer))), // faster products
		},
	})
}

// noise returns the layer with which a shape is measured. Its parameters are uniform between −1/√hidden and 1/√hidden, as
// PyTorch initialises them.
func (c *cell) noise(s kernels.Shape) Params {
	rows, scale := c.gates*s[hidden], float32(1/math.Sqrt(float64(s[hidden])))
	values := func(n int, seed uint64) []float32 {
		x := make([]float32, n)
		kernels.Noise(x, seed)
		for i := range x {
			x[i] *= scale
		}
		return x
	}
	return Params{
		In: s[inputs], Hidden: s[hidden],
		InputWeights: values(rows*s[inputs], 11), HiddenWeights: values(rows*s[hidden], 12),
		InputBias: values(rows, 13), HiddenBias: values(rows, 14),
	}
}

// layer computes a call in float64, by the formulas. It returns y, hn and cn one after the other.
func (c *cell) layer(p Params, rows, n int, t tensors) []float64 {
	x, inputWeights, hiddenWeights := widened(t.x), widened(p.InputWeights), widened(p.HiddenWeights)
	y, h, memory := make([]float64, 0, n*rows*p.Hidden), widened(t.h0), widened(t.c0)
	if !c.memory {
		memory = make([]float64, len(h))
	}
	input, own := make([]float64, c.gates), make([]float64, c.gates)
	for step := range n {
		before := slices.Clone(h)
		for row := range rows {
			from, state := x[(step*rows+row)*p.In:][:p.In], before[row*p.Hidden:][:p.Hidden]
			for unit := range p.Hidden {
				for gate := range c.gates {
					at := gate*p.Hidden + unit
					input[gate] = floats.Dot(inputWeights[at*p.In:][:p.In], from) + float64(p.InputBias[at])
					own[gate] = floats.Dot(hiddenWeights[at*p.Hidden:][:p.Hidden], state) + float64(p.HiddenBias[at])
				}
				i := row*p.Hidden + unit
				h[i], memory[i] = c.reference(input, own, before[i], memory[i])
			}
		}
		y = append(y, h...)
	}
	if !c.memory {
		memory = nil
	}
	return slices.Concat(y, h, memory)
}

func widened(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// logistic is 1/(1+e⁻ˣ) in float64.
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// plan is what the typed plans have in common.
type plan struct {
	plan *kernels.Plan[Params]
	cell *cell
	of   Params

	spare [4][]float32 // states in place of those of a call: see filled
}

// newPlan returns the plan of a layer, with copies of its parameters.
func newPlan(d *dispatch.Dispatcher, op *kernels.Op[Params], c *cell, p Params) (*plan, error) {
	if p.In < 1 || p.In > mostWidth || p.Hidden < 1 || p.Hidden > mostWidth {
		return nil, fmt.Errorf("%s: In is %d, Hidden is %d: want 1 to %d of each", c.name, p.In, p.Hidden, mostWidth)
	}
	rows := c.gates * p.Hidden
	for _, bias := range []*[]float32{&p.InputBias, &p.HiddenBias} {
		if *bias == nil {
			*bias = make([]float32, rows)
		}
	}
	for _, of := range []struct {
		name          string
		values        *[]float32
		rows, columns int
	}{
		{"InputWeights", &p.InputWeights, rows, p.In}, {"HiddenWeights", &p.HiddenWeights, rows, p.Hidden},
		{"InputBias", &p.InputBias, rows, 1}, {"HiddenBias", &p.HiddenBias, rows, 1},
	} {
		if len(*of.values) != of.rows*of.columns {
			return nil, fmt.Errorf("%s: %s has %d values, want %d×%d = %d", c.name, of.name, len(*of.values), of.rows, of.columns,
				of.rows*of.columns)
		}
		*of.values = slices.Clone(*of.values)
	}
	return &plan{plan: kernels.NewPlan(d, op, p), cell: c, of: p}, nil
}

// forward computes a call.
func (p *plan) forward(t tensors) error {
	kernels.Made(p.plan)
	rows, n := p.shape(&t)
	if rows == 0 {
		return nil
	}
	if n == 0 {
		begin(t.hn, t.h0)
		begin(t.cn, t.c0)
		return nil
	}
	p.fill(&t, rows)
	return p.plan.Run(kernels.Shape{inputs: p.of.In, hidden: p.of.Hidden, batch: rows, steps: n}, p.cell.args(t))
}

// begin sets a state to an initial one, in which nil stands for zeros. Both may be the same slice.
func begin(state, initial []float32) {
	if initial == nil {
		clear(state)
	}
	copy(state, initial)
}

// fill replaces the states that are nil by states of the plan.
func (p *plan) fill(t *tensors, rows int) {
	size := rows * p.of.Hidden
	for i, of := range []struct{ initial, final *[]float32 }{{&t.h0, &t.hn}, {&t.c0, &t.cn}} {
		if i == 1 && !p.cell.memory {
			return
		}
		if *of.initial == nil {
			p.spare[2*i] = grown(p.spare[2*i], size)
			*of.initial = p.spare[2*i][:size]
			clear(*of.initial)
		}
		if *of.final == nil {
			p.spare[2*i+1] = grown(p.spare[2*i+1], size)
			*of.final = p.spare[2*i+1][:size]
		}
	}
}

// shape returns the numbers of sequences and steps of a call. It panics if the lengths of the tensors do not fit.
func (p *plan) shape(t *tensors) (rows, n int) {
	type state struct {
		name   string
		values []float32
	}
	states := [...]state{{"h0", t.h0}, {"c0", t.c0}, {"hn", t.hn}, {"cn", t.cn}}
	first := slices.IndexFunc(states[:], func(s state) bool { return s.values != nil })
	rows = 1
	if first >= 0 {
		of := states[first]
		if rows = len(of.values) / p.of.Hidden; len(of.values)%p.of.Hidden != 0 {
			panic(fmt.Sprintf("%s: %s has %d values, want batch·Hidden, a multiple of %d", p.cell.name, of.name, len(of.values), p.of.Hidden))
		}
		for _, s := range states[first+1:] {
			if s.values != nil && len(s.values) != len(of.values) {
				panic(fmt.Sprintf("%s: %s has %d values, want as many as %s, %d", p.cell.name, s.name, len(s.values), of.name, len(of.values)))
			}
		}
	}
	if rows > 0 {
		n = len(t.x) / (rows * p.of.In)
	}
	if len(t.x) != n*rows*p.of.In {
		panic(fmt.Sprintf("%s: x has %d values, want steps·batch·In, a multiple of %d·%d", p.cell.name, len(t.x), rows, p.of.In))
	}
	if len(t.y) != n*rows*p.of.Hidden {
		panic(fmt.Sprintf("%s: y has %d values, want steps·batch·Hidden = %d·%d·%d = %d, because x has %d", p.cell.name, len(t.y),
			n, rows, p.of.Hidden, n*rows*p.of.Hidden, len(t.x)))
	}
	return rows, n
}

// Explain says which implementation computes a call of so many sequences and steps, and why. It assumes the placement of the
// last call.
func (p *plan) Explain(sequences, count int) dispatch.Explanation {
	return p.plan.Explain(kernels.Shape{inputs: p.of.In, hidden: p.of.Hidden, batch: sequences, steps: count})
}

// SetMaxError sets the greatest error that calls accept: see [kernels.Plan.SetMaxError].
func (p *plan) SetMaxError(most float64) error { return p.plan.SetMaxError(most) }

// Close releases what the implementations hold, such as GPU memory. The garbage collector does the same for a dropped plan.
func (p *plan) Close() { p.plan.Close() }
