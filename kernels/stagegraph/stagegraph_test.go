package stagegraph

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// strict is the operation with a tolerance just above the errors of the implementations, and with lines around lanes and
// parts of a block.
func strict(blocks ...int) *kernels.Op[Stage] {
	op := Op
	op.Lines = slices.Clone(Op.Lines)
	for _, n := range blocks {
		op.Lines = append(op.Lines, kernels.Along(axes, "width", kernels.Param{Name: "block", Value: n}, kernels.Param{Name: "cost", Value: 5}))
	}
	op.Tolerance = func(kernels.Shape) float64 { return 1e-6 }
	return &op
}

// widths are numbers of nodes around what workers take.
var widths = []int{1, 2, 3, 7, 8, 9, 17, 33, 64}

func TestOp(t *testing.T) {
	kerneltest.Run(t, strict(1, 16, 33, 513), kerneltest.Options{Sizes: []int{1, 2, 7, 9, 33, 256}, Emulated: 5 << 10})
}

// Nodes of one stage need not be alike.
func TestNodesOfDifferentPasses(t *testing.T) {
	op := strict(33, 1100)
	op.Params = func(s kernels.Shape) Stage {
		nodes := newLowpasses(s[width], 0)
		for v := range nodes {
			nodes[v].passes = 1 + v%s[cost]
		}
		return nodes
	}
	kerneltest.Run(t, op, kerneltest.Options{Sizes: []int{1, 9}})
}

// A lane must not read samples, and the mix must not read sums, that are not written yet.
func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, kernels.Shape{width: 3, block: 600, cost: 4})
}

// TestReference compares the reference with the impulse response of four one-poles of gain ⅝. By hand, it is C(n+3,
// 3)·(5/8)⁴·(3/8)ⁿ at sample n.
func TestReference(t *testing.T) {
	s := kernels.Shape{width: 2, block: 512, cost: 4}
	src := make([]float32, 2*512) // the first node is silent
	src[512] = 1
	for n, got := range Op.Reference(Op.Params(s), s, &kernels.Args{1: src}) {
		choose := float64((n+3)*(n+2)*(n+1)) / 6
		want := choose * math.Pow(5.0/8, 4) * math.Pow(3.0/8, float64(n))
		if math.Abs(got-want) > 1e-14 {
			t.Fatalf("sample %d is %g, want %g", n, got, want)
		}
	}
}

// A short block of many passes leaves no denormals, of which a float32 has few bits.
func TestNoDenormals(t *testing.T) {
	s := kernels.Shape{width: 1, block: 16, cost: 64}
	a := kernels.Args{1: make([]float32, 16)}
	Op.Fill(Op.Params(s), s, kernels.GeneratedInput(), &a)
	for n, y := range Op.Reference(Op.Params(s), s, &a) {
		if a := math.Abs(y); a < 0x1p-126 {
			t.Errorf("sample %d is %g", n, y)
		}
	}
}

// All implementations on the processor give the same bits.
func TestSameBits(t *testing.T) {
	for _, count := range append(widths, 256) {
		s := Op.Lines[0].At(count)
		x := make([]float32, count*s[block])
		kernels.Noise(x, uint64(count))
		all := kerneltest.Plans(t, &Op, Op.Params(s))
		var mixes [2][]float32
		for call := range 3 { // go-parallel divides nothing in the first one
			for i, name := range []string{"go", "go-parallel"} {
				mixes[i] = make([]float32, s[block])
				if err := all[name].Run(s, kernels.Args{mixes[i], x}); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(mixes[0], mixes[1]) {
				t.Errorf("%d nodes, call %d: go and go-parallel differ", count, call)
			}
		}
	}
}

// counter is a node with a memory: its samples count up.
type counter struct{ next float32 }

func (c *counter) Render(dst []float32) {
	for i := range dst {
		dst[i] = c.next
		c.next++
	}
}

// TestBlocks renders blocks of changing length, and checks that every node is rendered once for each block.
func TestBlocks(t *testing.T) {
	for _, name := range []string{"go", "go-parallel"} {
		plan, err := kernels.NewPlanOf(kernels.Here(), &Op, Stage(program{&counter{0}, &counter{100}, &counter{1000}}), name)
		if err != nil {
			t.Fatal(err)
		}
		next := float32(1100)
		for _, n := range []int{64, 3000, 1, 0, 64} {
			dst := make([]float32, n)
			for i := range dst {
				dst[i] = -1 // must be overwritten
			}
			if err := plan.Run(kernels.Shape{width: 3, block: n}, kernels.Args{dst}); err != nil {
				t.Fatal(err)
			}
			for i, v := range dst {
				if v != next {
					t.Fatalf("%s, block of %d: sample %d is %g, want %g", name, n, i, v, next)
				}
				next += 3
			}
		}
	}
}

// busy is a node that takes a time, and then counts up.
type busy struct {
	counter
	takes time.Duration
}

func (b *busy) Render(dst []float32) {
	if b.takes > 0 { // a look at the clock is no light work everywhere
		for start := time.Now(); time.Since(start) < b.takes; {
		}
	}
	b.counter.Render(dst)
}

// Only nodes that together take long enough are divided, and the plan follows nodes whose cost changes.
func TestLightNodesAreNotDivided(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	nodes := []*busy{{}, {}}
	stage := program{}
	for _, node := range nodes {
		stage = append(stage, node)
	}
	plan, err := kernels.NewPlanOf(&kernels.Backends{Pool: workers}, &Op, Stage(stage), "go-parallel")
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	render := func(calls int) (divided uint64) {
		before := workers.Divided()
		for range calls {
			if err := plan.Run(kernels.Shape{width: len(nodes), block: 4}, kernels.Args{make([]float32, 4)}); err != nil {
				t.Fatal(err)
			}
		}
		return workers.Divided() - before
	}
	// Beside other programs, a light node may seem to be a heavy one for a while.
	undivided := func() bool {
		for range 100 {
			if render(100) <= 50 {
				return true
			}
		}
		return false
	}
	if !undivided() {
		t.Error("calls of light nodes are divided again and again")
	}
	for _, node := range nodes {
		node.takes = 20 * time.Microsecond
	}
	render(100)
	if divided := render(20); divided < 20 {
		t.Errorf("%d of 20 calls of heavy nodes were divided", divided)
	}
	for _, node := range nodes {
		node.takes = 0
	}
	if !undivided() {
		t.Error("calls of nodes that have become light are divided again and again")
	}
}

func TestPlan(t *testing.T) {
	if _, err := New(nil, nil); err == nil {
		t.Error("New accepted a stage without nodes")
	}
	if _, err := New(nil, []Node{&counter{1}, nil}); err == nil || err.Error() != "stagegraph: node 1 is nil: want something to render" {
		t.Errorf("a nil node: %v", err)
	}
	nodes := []Node{&counter{1}, &counter{2}}
	plan, err := New(nil, nodes)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	nodes[0] = nil // the plan has a copy
	dst := make([]float32, 4)
	if err := plan.Render(dst); err != nil {
		t.Fatal(err)
	}
	if want := [4]float32{3, 5, 7, 9}; [4]float32(dst) != want {
		t.Errorf("mix %v, want %v", dst, want)
	}
	if e := plan.Explain(100); e.Case != "stage-graph/block=512,cost=4" || e.Size != 2 {
		t.Errorf("chosen by %s at %d", e.Case, e.Size)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Render(dst) }); allocations != 0 {
		t.Errorf("%g allocations a block, want 0", allocations)
	}
}

// Nodes that are Go code have no kernel. A GPU refuses them, and the plan of a program asks no GPU.
func TestGoNodesStayOnTheProcessor(t *testing.T) {
	if processors().GPUs != nil {
		t.Error("a program's plan may open a GPU")
	}
	b := &kernels.Backends{Pool: processors().Pool, GPUs: []*gpu.Backend{
		gpu.NewBackend(kerneltest.GPUName, func() (gpu.Driver, error) { return emulator.New() }),
	}}
	plan, err := kernels.NewPlanOf(b, &Op, Stage(program{&counter{}}), kerneltest.GPUName)
	if err != nil {
		t.Skip(err)
	}
	defer plan.Close()
	if err := plan.Run(kernels.Shape{width: 1, block: 4}, kernels.Args{make([]float32, 4)}); !errors.Is(err, kernels.ErrRefused) {
		t.Errorf("error %v, want one that refuses", err)
	}
}

func BenchmarkStageGraph(b *testing.B) {
	kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 2, 4, 16, 64)
}
