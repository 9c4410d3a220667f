package stagegraph

import (
	"fmt"

	"crossover/kernels"
)

const (
	caseName     = "stage-graph/block=512,cost=4"
	blockSamples = 512
	cost         = 4
)

// Cases returns the case of the family: nodes that each pass four times over a block of 512 samples.
//
// Node v takes the v-th block of the recording and puts it through a one-pole low-pass cost times, from silence each
// time: s ← s + g·(x − s), g = (1 + v mod 7)/8. A pass is a recurrence, which no core can hurry, as most audio nodes
// are.
func Cases() []kernels.Case {
	return []kernels.Case{{
		Name:       caseName,
		Operation:  "stage-graph",
		Definition: "y = Σᵥ Pᵥ⁴(xᵥ), Pᵥ a pass of s ← s + gᵥ·(x − s) over a block, gᵥ = (1 + v mod 7)/8",
		Source:     "Orlarey, Letz, Fober, Adding automatic parallelization to Faust, LAC 2009",
		Params:     []kernels.Param{{Name: "block", Value: blockSamples}, {Name: "cost", Value: cost}},
		Axis:       kernels.Axis{Name: "width", Unit: "nodes", Min: 1, Max: 256},
		Tolerance:  func(int) float64 { return 1e-5 },
		Bytes:      func(width int) float64 { return 4 * blockSamples * (float64(width) + 1) },

		Implementations: contenders.Implementations(),
		Problem:         func(width int, in kernels.Input) kernels.Problem { return newProblem(width, in) },
	}}
}

// lowpass is the node of the case.
type lowpass struct {
	src    []float32
	gain   float32
	passes int
}

func (l *lowpass) Render(dst []float32) {
	copy(dst, l.src)
	for range l.passes {
		s := float32(0)
		for i, x := range dst {
			s += l.gain * (x - s)
			dst[i] = s
		}
	}
}

func newLowpass(v int, src []float32) *lowpass {
	return &lowpass{src: src, gain: float32(1+v%7) / 8, passes: cost}
}

// problem is a stage of lowpass nodes, each on its own block of a recording.
type problem struct {
	src   []float32
	nodes stage
}

func newProblem(width int, in kernels.Input) *problem {
	p := &problem{src: make([]float32, width*blockSamples)}
	in.Fill(p.src)
	for v := range width {
		p.nodes = append(p.nodes, newLowpass(v, p.src[v*blockSamples:(v+1)*blockSamples]))
	}
	return p
}

func (p *problem) Reference() []float64 { return Reference(p.src) }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	engine, err := contenders.New(implementation, p.nodes)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("stagegraph: %w", err)
	}
	if e, ok := engine.(*launch); ok {
		return e.bind(blockSamples)
	}
	dst := make([]float32, blockSamples)
	return kernels.Call{
		Run:    func() error { return engine.render(dst) },
		Output: func() []float32 { return dst },
	}, nil
}

// Reference renders the stage of the case in float64: as many nodes as src holds blocks of 512 samples.
func Reference(src []float32) []float64 {
	y := make([]float64, blockSamples)
	for v := range len(src) / blockSamples {
		gain := float64(1+v%7) / 8
		x := make([]float64, blockSamples)
		for i := range x {
			x[i] = float64(src[v*blockSamples+i])
		}
		for range cost {
			s := 0.0
			for i := range x {
				s += gain * (x[i] - s)
				x[i] = s
			}
		}
		for i := range y {
			y[i] += x[i]
		}
	}
	return y
}
