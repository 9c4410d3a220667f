package linear

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/matmul"
)

//go:embed linear.metal
var text string

// launch applies a layer on a GPU, with our kernels or with a vendor's library. The weights go to the device with every
// plan, and so once for every number of rows.
type launch struct {
	layer
	device  *gpu.Device
	library gpu.GEMM // nil for our kernels
	plans   kernels.Plans[*launchPlan]
}

// launchPlan is the launch plan of one number of rows.
type launchPlan struct {
	*gpu.Plan
	x, y *gpu.Buffer
}

func newLaunch(d *gpu.Device, l layer) (engine, error) { return &launch{layer: l, device: d}, nil }

func newLibrary(d *gpu.Device, library gpu.GEMM, l layer) (engine, error) {
	return &launch{layer: l, device: d, library: library}, nil
}

func (e *launch) plan(rows int) (*launchPlan, error) {
	if most := max(rows, e.in, e.out); most > math.MaxInt32 {
		return nil, fmt.Errorf("linear: a matrix has %d rows or columns; want at most %d on a GPU", most, math.MaxInt32)
	}
	b := e.device.NewPlan()
	p := &launchPlan{x: b.Input(gpu.Float, rows*e.in), y: b.Output(gpu.Float, rows*e.out)}
	bias := b.Constant(gpu.Float, e.bias)
	switch {
	case e.library != nil:
		e.fill(b, p.y, bias, rows)
		transposed := rows <= libraryTransposedRows
		w := e.constant(b, transposed)
		b.Encode(func() (gpu.External, error) {
			return e.library.NewGEMM(p.y.Region(), p.x.Region(), w.Region(), rows, e.out, e.in, transposed, 1, 1)
		})
	case rows <= e.mostFewRows():
		e.fewRows(b, p.y, p.x, e.constant(b, true), bias, rows)
	default:
		matmul.LaunchBias(b, p.y, p.x, e.constant(b, false), bias, rows, e.out, e.in, false)
	}
	var err error
	p.Plan, err = b.Build()
	return p, err
}

// libraryTransposedRows is the number of rows up to which cuBLAS is faster with W than with Wᵀ: at 1024×1024 on an H200,
// 3.6 µs against 8.6 for one row, 5.8 against 8.1 for four, 9.3 against 8.6 for eight.
const libraryTransposedRows = 4

// constant returns the weights on the device: W, out×in, of which a library or a kernel takes the transpose, or Wᵀ.
func (e *launch) constant(b *gpu.Builder, transposed bool) *gpu.Buffer {
	if transposed {
		return b.Constant(gpu.Float, transpose(e.weights, e.in, e.out))
	}
	return b.Constant(gpu.Float, e.weights)
}

// fill writes the bias into every row of y.
func (e *launch) fill(b *gpu.Builder, y, bias *gpu.Buffer, rows int) {
	const threads = 256
	b.Dispatch(b.Kernel(chooseFew(1).source(e.in), "fill"),
		gpu.Size{X: rows, Y: ceilDiv(e.out, threads), Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1}, y, bias, gpu.Values(e.out))
}

// few says how the kernel few_rows divides the work; its macros explain the fields.
type few struct{ rows, outputs, teams, split, unroll int }

// mostFewRows returns the number of rows up to which few_rows, which reads the weights again for every eight rows, is
// faster than the matrix product. On an H200, at 1024×1024, 24 rows took 6.9 µs against 8.1, 32 rows 7.8 against 8.0, and
// 48 rows 10.4 against 10.1; at 2048×2048, 16 rows took 11.4 against 18.2 and 32 rows 19.7 against 16.0; at 4096×4096,
// 16 rows 48 against 50.
func (l *layer) mostFewRows() int {
	if l.in*l.out <= 1<<20 {
		return 32
	}
	return 16
}

// chooseFew returns the division for a number of rows, of 28 that were tried at 1024×1024 on an H200. One row took
// 3.5 µs, two and four 3.8, eight 4.7 and 16 6.1; a copy of as many bytes as the weights have, 4 MiB, takes 3.6 µs there,
// and what bounds both is the launch and one way to memory and back.
func chooseFew(rows int) few {
	switch {
	case rows == 1:
		return few{rows: 1, outputs: 4, teams: 1, split: 8, unroll: 1}
	case rows == 2:
		return few{rows: 2, outputs: 4, teams: 2, split: 4, unroll: 2}
	case rows <= 4:
		return few{rows: 4, outputs: 4, teams: 2, split: 4, unroll: 2}
	}
	return few{rows: 8, outputs: 2, teams: 4, split: 2, unroll: 1}
}

func (f few) source(in int) gpu.Source {
	vector := 0
	if in%4 == 0 {
		vector = 1
	}
	return gpu.Source{Name: "linear.metal", Text: text}.Define("ROWS", f.rows).Define("OUTPUTS", f.outputs).
		Define("TEAMS", f.teams).Define("SPLIT", f.split).Define("UNROLL", f.unroll).Define("VECTOR", vector)
}

// fewRows appends y = x·Wᵀ + b with weights W, out×in.
func (e *launch) fewRows(b *gpu.Builder, y, x, weights, bias *gpu.Buffer, rows int) {
	f := chooseFew(rows)
	b.Dispatch(b.Kernel(f.source(e.in), "few_rows"),
		gpu.Size{X: ceilDiv(e.out, f.teams*f.outputs), Y: ceilDiv(rows, f.rows), Z: 1},
		gpu.Size{X: 32 * f.teams * f.split, Y: 1, Z: 1}, y, x, weights, bias, gpu.Values(rows, e.in, e.out))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func (e *launch) forward(dst, x []float32, rows int) error {
	p, err := e.plans.For(rows, e.plan)
	if err != nil {
		return err
	}
	copy(p.x.Floats(), x)
	if err := p.Run(); err != nil {
		return err
	}
	copy(dst, p.y.Floats())
	return nil
}

// bind returns the call that applies the layer to x, which lies in the plan's own memory already.
func (e *launch) bind(x []float32, rows int) (kernels.Call, error) {
	p, err := e.plan(rows)
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.x.Floats(), x)
	return kernels.PlanCall(p.Plan, p.y.Floats), nil
}
