package recurrent

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// layers are sizes of layers: whole vectors, and others.
var layers = [][2]int{{8, 12}, {5, 7}}

// small returns the operation with lines of small layers, which an emulated GPU computes in time.
func small(op kernels.Op[Params]) *kernels.Op[Params] {
	op.Axes = slices.Clone(op.Axes)
	for i := range op.Axes {
		op.Axes[i].Min = 1
	}
	op.Lines = nil
	for _, l := range layers {
		in, units := kernels.Param{Name: "in", Value: l[0]}, kernels.Param{Name: "hidden", Value: l[1]}
		op.Lines = append(op.Lines,
			kernels.Along(op.Axes, "steps", in, units, kernels.Param{Name: "batch", Value: 1}),
			kernels.Along(op.Axes, "batch", in, units, kernels.Param{Name: "steps", Value: 3}))
	}
	return &op
}

var sizes = kerneltest.Options{Sizes: []int{1, 2, 3, 5, 17, 33}, Most: 70 << 10, Emulated: 300}

func TestLSTM(t *testing.T) { kerneltest.Run(t, small(LSTM), sizes) }
func TestGRU(t *testing.T)  { kerneltest.Run(t, small(GRU), sizes) }

// TestDeclaredShapes has the layers that are measured, with few steps.
func TestDeclaredShapes(t *testing.T) {
	for _, op := range []*kernels.Op[Params]{&LSTM, &GRU} {
		b := kerneltest.Backends(t)
		for _, i := range op.CaseOf(b, op.Lines[longLine]).Implementations {
			switch {
			case i.Missing() != nil:
			case i.Processor == kernels.GPU:
				kerneltest.Shapes(t, op, b, i.Name, kernels.Shape{inputs: 128, hidden: 256, batch: 1, steps: 1},
					kernels.Shape{inputs: 64, hidden: 128, batch: 3, steps: 2})
			default:
				kerneltest.Shapes(t, op, b, i.Name, op.Lines[longLine].At(50), kernels.Shape{inputs: 64, hidden: 128, batch: 9, steps: 20})
			}
		}
	}
}

// TestDivisions has every division of the work among simdgroups, each with rows and units that do not fill it.
func TestDivisions(t *testing.T) {
	for _, test := range []struct {
		rows, units, cores int
		want               division
	}{
		{1, 256, 132, division{1, 1}}, {1, 256, 10, division{1, 8}}, {64, 128, 132, division{8, 4}}, {64, 256, 132, division{8, 8}},
		{2, 512, 132, division{2, 2}}, {3, 512, 10, division{4, 8}}, {8, 128, 132, division{2, 2}}, {1, 7, 1, division{1, 8}},
		{1, 1, 80, division{1, 1}},
	} {
		if got := divide(test.rows, test.units, test.cores); got != test.want {
			t.Errorf("%d sequences of %d units on %d cores: %+v, want %+v", test.rows, test.units, test.cores, got, test.want)
		}
	}
}

// TestEveryDivision computes five sequences with every number of rows of a simdgroup. Its units do not fill the last threadgroup.
func TestEveryDivision(t *testing.T) {
	for _, c := range []*cell{&lstm, &gru} {
		s := kernels.Shape{inputs: 3, hidden: 4 + c.gates, batch: 5, steps: 2}
		p := c.noise(s)
		in := c.sequences(s)
		want := c.layer(p, s[batch], s[steps], in)
		for rows := 1; rows <= mostRows; rows *= 2 {
			teams := 1 + 3*(4-c.gates)
			b := emulator.Open(t).NewPlan()
			var buffers []*gpu.Buffer
			values := c.args(in)
			for i, tensor := range c.io(s) {
				if tensor.Role == kernels.In {
					buffers = append(buffers, b.Input(gpu.Float, len(values[i])))
				} else {
					buffers = append(buffers, b.Output(gpu.Float, tensor.Len()))
				}
			}
			c.appendBy(division{rows, teams}, b, p, s, buffers)
			plan, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			var got []float32
			for i, buffer := range buffers {
				copy(buffer.Floats(), values[i])
			}
			if err := plan.Run(); err != nil {
				t.Errorf("%s, %d rows, %d teams: %v", c.name, rows, teams, err)
			}
			for i, buffer := range buffers {
				if values[i] == nil {
					got = append(got, buffer.Floats()...)
				}
			}
			if off := kernels.RelativeError(got, want); !(off <= 1e-6) {
				t.Errorf("%s, %d rows, %d teams: error %.2g, allowed 1e-6", c.name, rows, teams, off)
			}
			plan.Close()
		}
	}
}

// TestLongRows has layers whose rows of weights are several turns long, and one that ends within a turn.
func TestLongRows(t *testing.T) {
	b := kerneltest.Backends(t)
	if b.GPUs == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	for _, op := range []*kernels.Op[Params]{&LSTM, &GRU} {
		kerneltest.Shapes(t, op, b, kerneltest.GPUName, kernels.Shape{inputs: 2, hidden: 45, batch: 2, steps: 2},
			kernels.Shape{inputs: 2, hidden: 140, batch: 1, steps: 1}, kernels.Shape{inputs: 2, hidden: 516, batch: 1, steps: 1},
			// numbers of units that are no multiple of 4, with 1, 4 and 8 sequences a simdgroup
			kernels.Shape{inputs: 2, hidden: 315, batch: 1, steps: 1}, kernels.Shape{inputs: 2, hidden: 150, batch: 4, steps: 2},
			kernels.Shape{inputs: 2, hidden: 133, batch: 16, steps: 1})
	}
}

// sequences returns the inputs of a call, and nil for its outputs.
func (c *cell) sequences(s kernels.Shape) tensors {
	t := tensors{x: make([]float32, s[steps]*s[batch]*s[inputs]), h0: make([]float32, s[batch]*s[hidden]), c0: make([]float32, s[batch]*s[hidden])}
	for seed, x := range [][]float32{t.x, t.h0, t.c0} {
		kernels.Noise(x, uint64(seed))
	}
	return t
}

// pytorch returns the layer that PyTorch computed, its sequences, and its outputs. There are 40 steps of 3 sequences.
func pytorch(t *testing.T, name string) (p Params, x []float32, y []float64) {
	t.Helper()
	read := func(array string) []float32 {
		return kerneltest.ReadArchived[float32](t, "testdata/pytorch.npz", name+"_"+array)
	}
	return Params{In: 24, Hidden: 32, InputWeights: read("weight_ih_l0"), HiddenWeights: read("weight_hh_l0"),
			InputBias: read("bias_ih_l0"), HiddenBias: read("bias_hh_l0")}, read("x"),
		kerneltest.ReadArchived[float64](t, "testdata/pytorch.npz", name+"_out")
}

// TestPyTorch compares every implementation and the reference with layers that PyTorch computed in float64 from states of
// zeros: all steps in one call, and then in calls of some steps, each by another implementation. A state must mean the same to
// all of them, and so the final states of a call must be right.
func TestPyTorch(t *testing.T) {
	const rows, n = 3, 40
	for _, c := range []struct {
		*cell
		op *kernels.Op[Params]
	}{{&lstm, &LSTM}, {&gru, &GRU}} {
		p, x, want := pytorch(t, c.name)
		zeros := make([]float32, rows*p.Hidden)
		whole := tensors{x: x, h0: zeros, c0: zeros}
		for i, got := range c.layer(p, rows, n, whole)[:len(want)] {
			if !(math.Abs(got-want[i]) <= 1e-12) {
				t.Fatalf("%s: the reference's value %d is %.17g, want %.17g", c.name, i, got, want[i])
			}
		}
		plans := kerneltest.Plans(t, c.op, p)
		var names []string
		for name := range plans {
			names = append(names, name)
		}
		slices.Sort(names)
		run := func(name string, first, last int, h, memory []float32, y []float32) (hn, cn []float32) {
			hn, cn = make([]float32, len(h)), make([]float32, len(h))
			a := c.args(tensors{y, hn, cn, x[first*rows*p.In : last*rows*p.In], h, memory})
			if err := plans[name].Run(kernels.Shape{inputs: p.In, hidden: p.Hidden, batch: rows, steps: last - first}, a); err != nil {
				t.Fatalf("%s: %s: %v", c.name, name, err)
			}
			return hn, cn
		}
		check := func(name string, y []float32) {
			if off := kernels.RelativeError(y, want); !(off <= 1e-6) {
				t.Errorf("%s: %s: error %.2g, allowed 1e-6", c.name, name, off)
			}
		}
		for _, name := range names {
			y := make([]float32, len(want))
			run(name, 0, n, zeros, zeros, y)
			check(name, y)
		}
		y, h, memory := make([]float32, len(want)), zeros, zeros
		for first, turn := 0, 0; first < n; turn++ {
			last := min(first+1+turn%4, n)
			h, memory = run(names[turn%len(names)], first, last, h, memory, y[first*rows*p.Hidden:last*rows*p.Hidden])
			first = last
		}
		check("in turns", y)
	}
}

// TestWorkers has pools of several workers, which divide the sequences, or the units if there are few sequences.
func TestWorkers(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	for _, c := range []*cell{&lstm, &gru} {
		units := int(math.Sqrt(2*leastProducts/float64(c.gates))) + 5 // two blocks, of which the last is no whole panel
		for _, test := range []struct {
			shape kernels.Shape
			teams int // that are worth some sequences each; units are divided if there are fewer of them than blocks
		}{
			{kernels.Shape{inputs: 7, hidden: units, batch: 1, steps: 5}, 1}, {kernels.Shape{inputs: 7, hidden: units, batch: 3, steps: 40}, 1},
			{kernels.Shape{inputs: 7, hidden: units, batch: 13, steps: 10}, 3}, {kernels.Shape{inputs: 7, hidden: 9, batch: 13, steps: 60}, 3},
			{kernels.Shape{inputs: 7, hidden: 40, batch: 2, steps: 200}, 2}, {kernels.Shape{inputs: 7, hidden: 9, batch: 2, steps: 1}, 1},
		} {
			s := test.shape
			p := c.noise(s)
			o := c.newOwnParallel(p, workers).(*own)
			if want := 1 + min(1, units/s[hidden]); s[hidden] == units && len(o.blocks) != want {
				t.Errorf("%s of %d units: %d blocks, want %d", c.name, s[hidden], len(o.blocks), want)
			}
			if o.rows = s[batch]; o.teams(s[steps]) != test.teams {
				t.Errorf("%s at %v: %d teams, want %d", c.name, s, o.teams(s[steps]), test.teams)
			}
			in := c.sequences(s)
			want := c.layer(p, s[batch], s[steps], in)
			for range 2 {
				out := in
				out.y, out.hn, out.cn = make([]float32, s[steps]*s[batch]*p.Hidden), slices.Clone(in.h0), slices.Clone(in.h0)
				a := c.args(out)
				if err := o.Run(s, &a); err != nil {
					t.Fatal(err)
				}
				got := slices.Concat(out.y, out.hn, out.cn)[:len(want)]
				if off := kernels.RelativeError(got, want); !(off <= 1e-6) {
					t.Errorf("%s at %v: error %.2g, allowed 1e-6", c.name, s, off)
				}
			}
		}
	}
}

// TestSpecials puts strange values into one sequence of several. The other sequences must stay as they are, and the outputs
// of that one must be those of the formulas.
func TestSpecials(t *testing.T) {
	const rows, n, bad = 5, 4, 2
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		*cell
		op *kernels.Op[Params]
	}{{&lstm, &LSTM}, {&gru, &GRU}} {
		s := kernels.Shape{inputs: 6, hidden: 10, batch: rows, steps: n}
		p := c.noise(s)
		in := func() tensors { return c.sequences(s) }
		x := func(t tensors) *float32 { return &t.x[(rows+bad)*p.In+3] } // of the second step
		for what, change := range map[string]func(tensors){
			"a NaN in x":             func(t tensors) { *x(t) = nan },
			"an infinity in x":       func(t tensors) { *x(t) = inf },
			"a negative infinity":    func(t tensors) { *x(t) = -inf },
			"saturated gates":        func(t tensors) { *x(t) = 1e30 },
			"negative saturation":    func(t tensors) { *x(t) = -1e30 },
			"a denormal":             func(t tensors) { *x(t) = 1e-42 },
			"a NaN in h0":            func(t tensors) { t.h0[bad*p.Hidden] = nan },
			"an infinity in h0":      func(t tensors) { t.h0[bad*p.Hidden+1] = inf },
			"a NaN in c0":            func(t tensors) { t.c0[bad*p.Hidden+2] = nan },
			"an infinity in c0":      func(t tensors) { t.c0[bad*p.Hidden+3] = -inf },
			"a large memory":         func(t tensors) { t.c0[bad*p.Hidden+4] = 1e30 },
			"two infinities in x":    func(t tensors) { *x(t), t.x[(rows+bad)*p.In] = inf, -inf },
			"everything is infinite": func(t tensors) { fill(t.h0[bad*p.Hidden:(bad+1)*p.Hidden], []float32{inf}) },
		} {
			changed := in()
			change(changed)
			want := c.layer(p, rows, n, changed)
			plain := c.layer(p, rows, n, in())
			for i, w := range want {
				if (i/p.Hidden)%rows != bad && w != plain[i] {
					t.Fatalf("%s: %s: the reference lets it reach another sequence", c.name, what)
				}
			}
			for name, plan := range kerneltest.Plans(t, c.op, p) {
				changed.y, changed.hn, changed.cn = make([]float32, n*rows*p.Hidden), make([]float32, rows*p.Hidden), make([]float32, rows*p.Hidden)
				if err := plan.Run(s, c.args(changed)); err != nil {
					t.Fatal(err)
				}
				got := slices.Concat(changed.y, changed.hn, changed.cn)[:len(want)]
				for i, w := range want {
					g := float64(got[i])
					if math.IsNaN(w) != math.IsNaN(g) || math.IsInf(w, 0) && g != w || math.Abs(g-w) > 1e-5*max(1, math.Abs(w)) {
						t.Errorf("%s: %s: %s: output %d of sequence %d is %g, want %g", c.name, name, what, i%p.Hidden, i/p.Hidden%rows, g, w)
						break
					}
				}
			}
		}
	}
}

// TestCells compares the vector code with Go, at all lengths around a vector, on values that saturate and on strange ones.
func TestCells(t *testing.T) {
	special := []float32{0, 1e-42, 1e30, -1e30, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 88, -88, 104.5, 20, -20}
	for n := range 28 {
		for seed := range uint64(6) {
			values := func(count int, part uint64) []float32 {
				x := make([]float32, count)
				kernels.Noise(x, 10*seed+part)
				for i := range x {
					if x[i] *= 8; seed > 2 && i%5 == 0 {
						x[i] = special[(i+int(seed))%len(special)]
					}
				}
				return x
			}
			gates, parts, state := values(4*n, 1), values(3*n, 2), values(n, 3)
			same := func(what string, got, want []float32) {
				for i := range want {
					g, w := float64(got[i]), float64(want[i])
					if g != w && !(math.IsNaN(g) && math.IsNaN(w)) && !(math.Abs(g-w) <= 2e-6*max(1, math.Abs(w))) {
						t.Errorf("%s of %d units: unit %d is %g, want %g", what, n, i, g, w)
					}
				}
			}
			y, want, c, cWant := make([]float32, n), make([]float32, n), slices.Clone(state), slices.Clone(state)
			advanceLSTM(y, c, gates)
			advanceLSTMGo(want, cWant, gates)
			same("lstm", y, want)
			same("the memory", c, cWant)
			advanceGRU(y, state, gates[:3*n], parts)
			advanceGRUGo(want, state, gates[:3*n], parts)
			same("gru", y, want)
		}
	}
}

// TestRefuses has shapes that are too large for a GPU.
func TestRefuses(t *testing.T) {
	for _, c := range []*cell{&lstm, &gru} {
		p := c.noise(kernels.Shape{inputs: 1, hidden: 1})
		for _, s := range []kernels.Shape{{inputs: 1, hidden: 1, batch: 1, steps: mostSteps + 1}, {inputs: 1, hidden: 1, batch: 1 << 40, steps: 1}} {
			b := emulator.Open(t).NewPlan()
			tensors := make([]*gpu.Buffer, len(lstm.io(s)))
			for i := range tensors {
				tensors[i] = b.Output(gpu.Float, 4)
			}
			if b.Facts().MaxBufferBytes == 0 && s[steps] == 1 {
				continue
			}
			c.appendLayer(b, p, s, tensors)
			if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
				t.Errorf("%s at %v: error %v, want one that refuses the shape", c.name, s, err)
			}
		}
	}
}

// TestManySequences has more sequences than a grid has places in its second dimension.
func TestManySequences(t *testing.T) {
	const rows = 600_000
	p := gru.noise(kernels.Shape{inputs: 1, hidden: 1})
	b := emulator.Open(t).NewPlan()
	y, hn, x, h0 := b.Output(gpu.Float, rows), b.Output(gpu.Float, rows), b.Input(gpu.Float, rows), b.Input(gpu.Float, rows)
	gru.appendLayer(b, p, kernels.Shape{inputs: 1, hidden: 1, batch: rows, steps: 1}, []*gpu.Buffer{y, hn, x, h0})
	if err := b.Err(); err != nil {
		t.Error(err)
	}
}

func TestPlan(t *testing.T) {
	s := kernels.Shape{inputs: 3, hidden: 5, batch: 2, steps: 4}
	p := lstm.noise(s)
	kept := Params{p.In, p.Hidden, slices.Clone(p.InputWeights), slices.Clone(p.HiddenWeights), slices.Clone(p.InputBias), slices.Clone(p.HiddenBias)}
	plan, err := NewLSTM(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	for _, x := range [][]float32{p.InputWeights, p.HiddenWeights, p.InputBias, p.HiddenBias} {
		clear(x) // the plan has copies
	}
	x, h0, c0 := make([]float32, 24), make([]float32, 10), make([]float32, 10)
	y, hn, cn := make([]float32, 40), make([]float32, 10), make([]float32, 10)
	for seed, x := range [][]float32{x, h0, c0} {
		kernels.Noise(x, uint64(seed))
	}
	if err := plan.Forward(y, hn, cn, x, h0, c0); err != nil {
		t.Fatal(err)
	}
	want := lstm.layer(kept, 2, 4, tensors{x: x, h0: h0, c0: c0})
	if off := kernels.RelativeError(slices.Concat(y, hn, cn), want); !(off <= 1e-6) {
		t.Errorf("error %.2g, allowed 1e-6", off)
	}
	if n := testing.AllocsPerRun(10, func() { _ = plan.Forward(y, hn, cn, x, h0, c0) }); n != 0 {
		t.Errorf("%g allocations a call, want 0", n)
	}
	if e := plan.Explain(1, 60); e.Case != "lstm/in=128,hidden=256,batch=1" || e.Size != 60 {
		t.Errorf("one sequence is judged by %s at %d", e.Case, e.Size)
	}
	if e := plan.Explain(7, 60); e.Case != "lstm/in=64,hidden=128,steps=100" || e.Size != 7 {
		t.Errorf("seven sequences are judged by %s at %d", e.Case, e.Size)
	}
	if err := plan.Forward(nil, hn, cn, nil, h0, c0); err != nil || !slices.Equal(hn, h0) || !slices.Equal(cn, c0) {
		t.Errorf("no steps: %v, states %v and %v; want the initial ones", err, hn, cn)
	}
	if err := plan.Forward(nil, nil, nil, nil, nil, nil); err != nil {
		t.Errorf("no sequences: %v", err)
	}
	for want, call := range map[string]func(){
		"lstm: h0 has 7 values, want batch·Hidden, a multiple of 5":                     func() { _ = plan.Forward(y, hn[:7], cn[:7], x, h0[:7], c0[:7]) },
		"lstm: hn has 5 values, want as many as h0, 10":                                 func() { _ = plan.Forward(y, hn[:5], cn, x, h0, c0) },
		"lstm: cn has 5 values, want as many as h0, 10":                                 func() { _ = plan.Forward(y, hn, cn[:5], x, h0, c0) },
		"lstm: c0 has 5 values, want as many as h0, 10":                                 func() { _ = plan.Forward(y, hn, cn, x, h0, c0[:5]) },
		"lstm: x has 21 values, want steps·batch·In, a multiple of 2·3":                 func() { _ = plan.Forward(y, hn, cn, x[:21], h0, c0) },
		"lstm: y has 30 values, want steps·batch·Hidden = 4·2·5 = 40, because x has 24": func() { _ = plan.Forward(y[:30], hn, cn, x, h0, c0) },
		"lstm: y has 0 values, want steps·batch·Hidden = 8·1·5 = 40, because x has 24":  func() { _ = plan.Forward(nil, nil, nil, x, nil, nil) },
		"lstm: cn has 3 values, want as many as hn, 10":                                 func() { _ = plan.Forward(y, hn, cn[:3], x, nil, nil) },
		"lstm: x has 24 values, want steps·batch·In, a multiple of 0·3":                 func() { _ = plan.Forward(nil, nil, nil, x, h0[:0], nil) },
	} {
		func() {
			defer func() {
				if message := recover(); message != want {
					t.Errorf("panic %q, want %q", message, want)
				}
			}()
			call()
		}()
	}
}

// TestStates leaves out states and biases, and has final states in the memory of the initial ones.
func TestStates(t *testing.T) {
	for _, c := range []*cell{&lstm, &gru} {
		op := &LSTM
		if !c.memory {
			op = &GRU
		}
		for _, s := range []kernels.Shape{
			{inputs: 3, hidden: 37, batch: 1, steps: 1}, {inputs: 3, hidden: 37, batch: 1, steps: 4}, {inputs: 3, hidden: 37, batch: 3, steps: 1},
		} {
			layer := c.noise(s)
			layer.InputBias, layer.HiddenBias = make([]float32, c.gates*s[hidden]), make([]float32, c.gates*s[hidden])
			full := c.sequences(s)
			zeros := make([]float32, s[batch]*s[hidden])
			full.y, full.hn, full.cn = make([]float32, s[steps]*s[batch]*s[hidden]), slices.Clone(zeros), slices.Clone(zeros)
			if !c.memory {
				full.c0, full.cn = nil, nil
			}
			initial := full
			if initial.h0, initial.c0 = zeros, nil; c.memory {
				initial.c0 = zeros
			}
			fromZero, fromState := c.layer(layer, s[batch], s[steps], initial), c.layer(layer, s[batch], s[steps], full)
			bare := layer
			bare.InputBias, bare.HiddenBias = nil, nil
			p, err := newPlan(nil, op, c, bare)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			check := func(what string, want []float64, call tensors, got ...[]float32) {
				t.Helper()
				if err := p.forward(call); err != nil {
					t.Fatal(err)
				}
				found := slices.Concat(got...)
				if off := kernels.RelativeError(found, want[:len(found)]); !(off <= 1e-6) {
					t.Errorf("%s at %v, %s: error %.2g, allowed 1e-6", c.name, s, what, off)
				}
			}
			// A call leaves numbers in the plan's own states, which the next one must not read.
			for range 3 {
				call := full
				call.h0, call.c0 = nil, nil
				check("no initial states", fromZero, call, call.y, call.hn, call.cn)
				if call.hn = nil; c.memory {
					check("no h", fromZero, call, call.y)
				}
				if call.cn = nil; s[batch] == 1 {
					check("no states", fromZero, call, call.y)
					if n := testing.AllocsPerRun(5, func() { _ = p.forward(call) }); n != 0 {
						t.Errorf("%s: %g allocations without states, want 0", c.name, n)
					}
				}
				call = full
				call.hn, call.cn = nil, nil
				check("no final states", fromState, call, call.y)
				call.hn, call.cn = slices.Clone(full.h0), slices.Clone(full.c0)
				call.h0, call.c0 = call.hn, call.cn
				check("in place", fromState, call, call.y, call.hn, call.cn)
			}
			state := slices.Clone(full.h0)
			if err := p.forward(tensors{hn: state}); err != nil || slices.Max(state) != 0 || slices.Min(state) != 0 {
				t.Errorf("%s: no steps from no state: %v, state %v, want zeros", c.name, err, state)
			}
		}
	}
}

// TestStatesInPlace has final states in the memory of the initial ones, by every implementation and in each placement. The
// threadgroups of a GPU write some units of the state before others have read them, and package gpu keeps the two apart.
func TestStatesInPlace(t *testing.T) {
	for _, unified := range []bool{false, true} {
		b := kerneltest.Backends(t, emulator.Unified(unified))
		for _, c := range []*cell{&lstm, &gru} {
			op := &LSTM
			if !c.memory {
				op = &GRU
			}
			for _, i := range op.CaseOf(b, op.Lines[longLine]).Implementations {
				if i.Missing() == nil {
					statesInPlace(t, b, op, c, i.Name)
				}
			}
		}
	}
}

func statesInPlace(t *testing.T, b *kernels.Backends, op *kernels.Op[Params], c *cell, implementation string) {
	t.Helper()
	ordinary := func(n int) []float32 { return make([]float32, n) }
	shared := func(n int) []float32 {
		x, free, err := b.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(free)
		return x
	}
	for _, s := range []kernels.Shape{{inputs: 3, hidden: 37, batch: 3, steps: 1}, {inputs: 3, hidden: 37, batch: 1, steps: 4}} {
		layer, in := c.noise(s), c.sequences(s)
		want := c.layer(layer, s[batch], s[steps], in)
		for _, alloc := range []func(n int) []float32{ordinary, shared} {
			copied := func(values []float32) []float32 {
				x := alloc(len(values))
				copy(x, values)
				return x
			}
			call := tensors{y: alloc(s[steps] * s[batch] * s[hidden]), hn: copied(in.h0), x: copied(in.x)}
			if call.h0 = call.hn; c.memory {
				call.cn = copied(in.c0)
				call.c0 = call.cn
			}
			of, err := kernels.NewPlanOf(b, op, layer, implementation)
			if err != nil {
				t.Fatal(err)
			}
			err = (&plan{plan: of, cell: c, of: layer}).forward(call)
			of.Close()
			if err != nil {
				t.Fatal(err)
			}
			if off := kernels.RelativeError(slices.Concat(call.y, call.hn, call.cn), want); !(off <= 1e-6) {
				t.Errorf("%s, %s at %v: error %.2g, allowed 1e-6", c.name, implementation, s, off)
			}
		}
	}
}

// A call of no steps leaves states as they are, also in place.
func TestNoStepsInPlace(t *testing.T) {
	for _, c := range []*cell{&lstm, &gru} {
		layer := c.noise(kernels.Shape{inputs: 1, hidden: 2, batch: 1, steps: 1})
		op := &LSTM
		if !c.memory {
			op = &GRU
		}
		p, err := newPlan(nil, op, c, layer)
		if err != nil {
			t.Fatal(err)
		}
		defer p.plan.Close()
		h, m := []float32{1, 2}, []float32(nil)
		if c.memory {
			m = []float32{3, 4}
		}
		if err := p.forward(tensors{hn: h, h0: h, cn: m, c0: m}); err != nil || !slices.Equal(h, []float32{1, 2}) || c.memory && !slices.Equal(m, []float32{3, 4}) {
			t.Errorf("%s: the states are %v and %v: %v", c.name, h, m, err)
		}
		if err := p.forward(tensors{hn: h, cn: m}); err != nil || !slices.Equal(h, []float32{0, 0}) || c.memory && !slices.Equal(m, []float32{0, 0}) {
			t.Errorf("%s: without initial states they are %v and %v: %v", c.name, h, m, err)
		}
	}
}

func TestNewErrors(t *testing.T) {
	good := gru.noise(kernels.Shape{inputs: 3, hidden: 2})
	for want, change := range map[string]func(p *Params){
		"gru: In is 0, Hidden is 2: want 1 to 1048576 of each":                func(p *Params) { p.In = 0 },
		"gru: In is 3, Hidden is -1: want 1 to 1048576 of each":               func(p *Params) { p.Hidden = -1 },
		"gru: In is 1125899906842624, Hidden is 2: want 1 to 1048576 of each": func(p *Params) { p.In = 1 << 50 },
		"gru: InputWeights has 17 values, want 6×3 = 18":                      func(p *Params) { p.InputWeights = p.InputWeights[1:] },
		"gru: HiddenWeights has 0 values, want 6×2 = 12":                      func(p *Params) { p.HiddenWeights = nil },
		"gru: InputBias has 5 values, want 6×1 = 6":                           func(p *Params) { p.InputBias = p.InputBias[1:] },
		"gru: HiddenBias has 18 values, want 6×1 = 6":                         func(p *Params) { p.HiddenBias = p.InputWeights },
	} {
		p := good
		change(&p)
		if _, err := NewGRU(nil, p); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestNoise checks that measured layers have the parameters that PyTorch begins with, so that gates are not saturated.
func TestNoise(t *testing.T) {
	p := lstm.noise(kernels.Shape{inputs: 16, hidden: 64})
	for _, x := range [][]float32{p.InputWeights, p.HiddenWeights, p.InputBias, p.HiddenBias} {
		if most := slices.Max(x); !(most <= 0.125 && most > 0.1) {
			t.Errorf("the greatest parameter is %g, want 1/√64 at most", most)
		}
	}
	if reflect.DeepEqual(p.InputBias, p.HiddenBias) {
		t.Error("both biases are the same")
	}
}

func TestPrograms(t *testing.T) {
	kerneltest.Programs(t, small(LSTM), LSTMProgram, 3)
	kerneltest.Programs(t, small(GRU), GRUProgram, 3)
}

func BenchmarkRecurrent(b *testing.B) {
	for _, op := range []*kernels.Op[Params]{&LSTM, &GRU} {
		b.Run(op.Name, func(b *testing.B) {
			kerneltest.Benchmark(b, op, op.Lines[longLine], 100)
			kerneltest.Benchmark(b, op, op.Lines[wideLine], 2, 8, 64)
		})
	}
}

// BenchmarkWorkers times one sequence by one core, and by blocks of units on all cores.
func BenchmarkWorkers(b *testing.B) {
	for _, c := range []*cell{&lstm, &gru} {
		for _, units := range []int{64, 128, 192, 256, 384, 512} {
			s := kernels.Shape{inputs: 64, hidden: units, batch: 1, steps: 100}
			p := c.noise(s)
			t := tensors{make([]float32, 100*units), make([]float32, units), make([]float32, units), make([]float32, 6400), make([]float32, units), make([]float32, units)}
			kernels.Noise(t.x, 1)
			a := c.args(t)
			for _, blocks := range []int{1, pool.Shared().Workers()} {
				b.Run(fmt.Sprintf("%s/units=%d/blocks=%d", c.name, units, blocks), func(b *testing.B) {
					o := c.own(p, pool.Shared())
					o.blocks = c.blocks(p, blocks)
					for b.Loop() {
						_ = o.Run(s, &a)
					}
				})
			}
		}
	}
}
