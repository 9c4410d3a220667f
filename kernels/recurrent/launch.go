package recurrent

import (
	_ "embed"
	"fmt"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/matmul"
)

//go:embed recurrent.metal
var text string

// mostSteps is the greatest number of steps of a launch plan, which has a kernel for each. A plan of more steps would take
// longer to make than a program would save.
const mostSteps = 1 << 16

// appendLayer appends a layer by our kernels: one product for x and the weights of the input at all steps, and then a kernel
// for each step.
func (c *cell) appendLayer(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	c.appendBy(divide(s[batch], p.Hidden, b.Facts().Cores), b, p, s, t)
}

// appendBy is appendLayer with a division of the work.
func (c *cell) appendBy(d division, b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	rows, n, width := s[batch], s[steps], c.gates*p.Hidden
	if n > mostSteps {
		b.Refuse(fmt.Errorf("%s: %d steps, too many for a GPU (want at most %d): %w", c.name, n, mostSteps, kernels.ErrRefused))
		return
	}
	if bytes := 4 * float64(n) * float64(rows) * float64(width); b.Facts().MaxBufferBytes > 0 && bytes > float64(b.Facts().MaxBufferBytes) {
		b.Refuse(fmt.Errorf("%s: the gates of %d steps of %d sequences do not fit into a buffer of %s: %w: %w", c.name, n, rows,
			b.Facts().Name, gpu.ErrOutOfMemory, kernels.ErrRefused))
		return
	}
	gates := b.Scratch(gpu.Float, n*rows*width)
	weights, bias := b.Constant(gpu.Float, p.HiddenWeights), b.Constant(gpu.Float, c.slots(p))

	y, hn, x, h0 := t[0], t[1], t[2], t[3]
	if c.memory {
		x, h0 = t[3], t[4]
	}
	matmul.Launch(b, gates, x, b.Constant(gpu.Float, p.InputWeights), n*rows, width, p.In, true)
	kernel := b.Kernel(d.source(c, p.Hidden), c.name+"_step")
	groups := gpu.Size{X: ceilDiv(rows, d.rows), Y: ceilDiv(p.Hidden, d.teams), Z: 1}
	threads := gpu.Size{X: 32 * d.teams, Y: 1, Z: 1}
	for step := range n {
		h, last := h0.As(gpu.Float), 0
		if step > 0 {
			h = y.At((step - 1) * rows * p.Hidden)
		}
		if step == n-1 {
			last = 1
		}
		states := []gpu.Argument{hn}
		if c.memory {
			cn, before := t[2], t[5]
			if step > 0 {
				before = cn
			}
			states = append(states, cn, before)
		}
		arguments := append([]gpu.Argument{y.At(step * rows * p.Hidden)}, states...)
		b.Dispatch(kernel, groups, threads,
			append(arguments, h, gates.At(step*rows*width), weights, bias, gpu.Values(rows, p.Hidden, last))...)
	}
}

// slots returns the biases in the order of the kernels' slots, of which there are four for each unit. The slots of an LSTM are
// its gates. Those of a GRU are r, z, the product with h for n, and the product with x for n.
func (c *cell) slots(p Params) []float32 {
	if c.memory {
		sum, _ := c.biases(p)
		return sum
	}
	all := make([]float32, 0, 4*p.Hidden)
	for i := range 2 * p.Hidden {
		all = append(all, p.InputBias[i]+p.HiddenBias[i])
	}
	all = append(all, p.HiddenBias[2*p.Hidden:]...)
	return append(all, p.InputBias[2*p.Hidden:]...)
}

// division says how the kernel of a step divides the work: the sequences of a simdgroup, and the simdgroups of a threadgroup.
type division struct{ rows, teams int }

// divide returns the division for a number of sequences on a GPU of the given number of cores. A simdgroup reads the weights
// of a unit once for its rows, and there are enough simdgroups for every core.
func divide(rows, units, cores int) division {
	d := division{rows: 1, teams: 1}
	for d.rows < mostRows && d.rows < rows && units*ceilDiv(rows, 2*d.rows) >= 2*cores {
		d.rows *= 2
	}
	for d.teams < mostTeams && ceilDiv(units, 2*d.teams)*ceilDiv(rows, d.rows) >= cores {
		d.teams *= 2
	}
	return d
}

// The greatest numbers of rows of a simdgroup, whose four sums each fill its lanes, and of simdgroups in a threadgroup.
const (
	mostRows  = 8
	mostTeams = 8
)

func (d division) source(c *cell, units int) gpu.Source {
	sums, width, turns := 4, 1, 1
	if !c.memory {
		sums = 3
	}
	if units%4 == 0 {
		width = 4
	}
	most := 4
	if d.rows > 4 || d.rows > 2 && width == 4 { // the loads of one turn are many enough
		most = 1
	}
	for turns < most && turns*32*width < units {
		turns *= 2
	}
	return gpu.Source{Name: "recurrent.metal", Text: text}.Define("ROWS", d.rows).Define("SUMS", sums).Define("WIDTH", width).
		Define("TURNS", turns)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// bySingles reports whether a lane loads single weights, because the number of units is no multiple of 4.
func bySingles(s kernels.Shape) bool { return s[hidden]%4 != 0 }
