package elementwise

import (
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

// operation is what tells one function of the family from another.
type operation struct {
	name       string
	definition string
	source     string

	// loop computes the function on one core. Functions without parameters ignore a and b.
	loop func(dst, src []float32, a, b float32)
	// reference is the same in float64, of one value.
	reference func(x, a, b float64) float64
	// kernel is the function's name in elementwise.metal, and parameters whether it takes a and b.
	kernel     string
	parameters bool
	// a and b are the parameters that the sweep takes.
	a, b float32
	// input turns the recording into values that the function is defined for. It may be nil.
	input func(x float32) float32

	// grain is the least number of elements in a chunk: some tenths of a microsecond with AVX2, as Pool.Grain
	// wants it. Up to one grain go-parallel computes on its caller; past it, it pays for a wake.
	grain int
}

var scaleOperation = &operation{
	name:       "scale",
	definition: "y[i] = a·x[i] + b",
	source:     "IEEE 754-2019, 5.4.1: multiplication and addition, fused or not",
	loop:       scale,
	reference:  func(x, a, b float64) float64 { return a*x + b },
	kernel:     "scale",
	parameters: true,
	a:          1.1,
	b:          -0.3,
	grain:      4 << 10,
}

var logOperation = &operation{
	name:       "log",
	definition: "y[i] = ln x[i]",
	source:     "IEEE 754-2019, 9.2: log",
	loop:       func(dst, src []float32, _, _ float32) { log(dst, src) },
	reference:  func(x, _, _ float64) float64 { return math.Log(x) },
	kernel:     "logarithm",
	input:      func(x float32) float32 { return float32(math.Abs(float64(x))) + 1e-4 },
	grain:      1 << 10,
}

// Plan applies one function with the implementation that is fastest at a slice's length. It must not be used by two
// goroutines at once.
type Plan struct {
	engines *kernels.Engines[function, engine]
}

// NewScale returns the plan of y = a·x + b, which chooses by d; d may be nil.
func NewScale(d *dispatch.Dispatcher, a, b float32) (*Plan, error) {
	return newPlan(d, function{scaleOperation, a, b})
}

// NewLog returns the plan of y = ln x, which chooses by d; d may be nil. The logarithm of 0 is −Inf and that of a
// negative number is NaN, as math.Log has it; denormals have theirs.
func NewLog(d *dispatch.Dispatcher) (*Plan, error) {
	return newPlan(d, function{operation: logOperation})
}

func newPlan(d *dispatch.Dispatcher, f function) (*Plan, error) {
	engines, err := kernels.NewEngines(d, f.operation.name, contenders, f)
	if err != nil {
		return nil, err
	}
	return &Plan{engines}, nil
}

// Apply sets dst[i] to the function of src[i]. dst may be src itself and must not overlap it otherwise. Apply
// allocates nothing once an implementation has been used at a length; a GPU's remembers a few of them. It panics where
// the lengths differ and fails where the chosen implementation does.
func (p *Plan) Apply(dst, src []float32) error {
	if len(dst) != len(src) {
		panic("elementwise: dst and src differ in length")
	}
	if len(src) == 0 {
		return nil
	}
	engine, err := p.engines.For(len(src))
	if err != nil {
		return err
	}
	return engine.apply(dst, src)
}

// Explain says why Apply takes the implementation that it takes for n elements.
func (p *Plan) Explain(n int) dispatch.Explanation { return p.engines.Explain(n) }

// ReferenceScale returns a·x[i] + b in float64.
func ReferenceScale(x []float32, a, b float32) []float64 { return scaleOperation.answer(x, a, b) }

// ReferenceLog returns ln x[i] in float64.
func ReferenceLog(x []float32) []float64 { return logOperation.answer(x, 0, 0) }

func (o *operation) answer(x []float32, a, b float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = o.reference(float64(v), float64(a), float64(b))
	}
	return y
}

// Cases returns the cases of the family.
func Cases() []kernels.Case {
	var cases []kernels.Case
	for _, o := range []*operation{scaleOperation, logOperation} {
		cases = append(cases, kernels.Case{
			Name:            o.name,
			Operation:       o.name,
			Definition:      o.definition,
			Source:          o.source,
			Axis:            kernels.Axis{Name: "n", Unit: "elements", Min: 1 << 10, Max: 1 << 24},
			Tolerance:       func(int) float64 { return 1e-5 },
			Bytes:           func(n int) float64 { return 8 * float64(n) },
			Implementations: contenders.Implementations(),
			Problem: func(n int, in kernels.Input) kernels.Problem {
				return newProblem(o, n, in)
			},
		})
	}
	return cases
}

// problem is one function of the first n values of the recording.
type problem struct {
	function
	x []float32
}

func newProblem(o *operation, n int, in kernels.Input) *problem {
	p := &problem{function{o, o.a, o.b}, make([]float32, n)}
	in.Fill(p.x)
	if o.input != nil {
		for i, v := range p.x {
			p.x[i] = o.input(v)
		}
	}
	return p
}

func (p *problem) Reference() []float64 { return p.operation.answer(p.x, p.a, p.b) }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	engine, err := contenders.New(implementation, p.function)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("%s: %w", p.operation.name, err)
	}
	if e, ok := engine.(*launch); ok {
		return e.bind(p.x)
	}
	y := make([]float32, len(p.x))
	return kernels.Call{
		Run:    func() error { return engine.apply(y, p.x) },
		Output: func() []float32 { return y },
	}, nil
}
