package stagegraph

import (
	"fmt"
	"math"
	"testing"

	"crossover/kernels"
)

// TestReference holds the reference against the impulse response of four one-poles of gain ⅛, worked out by hand: at
// sample n it is C(n+3, 3)·(1/8)⁴·(7/8)ⁿ.
func TestReference(t *testing.T) {
	src := make([]float32, 2*blockSamples) // the second node is silent
	src[0] = 1
	got := Reference(src)
	for n := range got {
		choose := float64((n+3)*(n+2)*(n+1)) / 6
		want := choose * math.Pow(1.0/8, 4) * math.Pow(7.0/8, float64(n))
		if math.Abs(got[n]-want) > 1e-14 {
			t.Fatalf("sample %d is %g, want %g", n, got[n], want)
		}
	}
}

func TestCase(t *testing.T) {
	c := Cases()[0]
	for _, width := range []int{1, 2, 3, 17, 64, 256} {
		problem := c.Problem(width, kernels.GeneratedInput())
		want := problem.Reference()
		bits := map[kernels.Processor][]float32{} // of the first implementation on a processor
		for _, implementation := range c.Implementations {
			t.Run(fmt.Sprintf("%s/width=%d", implementation.Name, width), func(t *testing.T) {
				if err := implementation.Missing(); err != nil {
					t.Skip(err)
				}
				call, err := problem.Bind(implementation.Name)
				if err != nil {
					t.Fatal(err)
				}
				defer call.Release()
				for range 2 {
					if err := call.Run(); err != nil {
						t.Fatal(err)
					}
					if e := kernels.RelativeError(call.Output(), want); !(e <= c.Tolerance(width)) {
						t.Errorf("relative error %.2g, tolerance %.2g", e, c.Tolerance(width))
					}
				}
				if allocations := testing.AllocsPerRun(5, func() { call.Run() }); allocations != 0 {
					t.Errorf("%g allocations a call, want 0", allocations)
				}
				first := bits[implementation.Processor]
				if first == nil {
					first = append(first, call.Output()...)
					bits[implementation.Processor] = first
				}
				for i, v := range call.Output() {
					if math.Float32bits(v) != math.Float32bits(first[i]) {
						t.Fatalf("sample %d is %g, %g before", i, v, first[i])
					}
				}
			})
		}
	}
	if _, err := c.Problem(1, kernels.Input{}).Bind("abacus"); err == nil {
		t.Error("Bind accepted an unknown implementation")
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

// TestEngines renders blocks of changing length and checks that every node is rendered once a block.
func TestEngines(t *testing.T) {
	for _, implementation := range processors.Implementations() {
		t.Run(implementation.Name, func(t *testing.T) {
			nodes := stage{&counter{0}, &counter{100}, &counter{1000}}
			e, err := processors.New(implementation.Name, nodes)
			if err != nil {
				t.Fatal(err)
			}
			next := float32(1100)
			for _, n := range []int{64, 3000, 1, 0, 64} {
				dst := make([]float32, n)
				for i := range dst {
					dst[i] = -1 // must not be added to
				}
				if err := e.render(dst); err != nil {
					t.Fatal(err)
				}
				for i, v := range dst {
					if v != next {
						t.Fatalf("block of %d: sample %d is %g, want %g", n, i, v, next)
					}
					next += 3
				}
			}
		})
	}
}

func TestPlan(t *testing.T) {
	if _, err := New(nil, nil); err == nil {
		t.Error("New accepted a stage without nodes")
	}
	nodes := []Node{&counter{1}, &counter{2}}
	plan, err := New(nil, nodes)
	if err != nil {
		t.Fatal(err)
	}
	nodes[0] = nil // the plan has a copy
	dst := make([]float32, 4)
	if err := plan.Render(dst); err != nil {
		t.Fatal(err)
	}
	if want := [4]float32{3, 5, 7, 9}; [4]float32(dst) != want {
		t.Errorf("mix %v, want %v", dst, want)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Render(dst) }); allocations != 0 {
		t.Errorf("%g allocations a block, want 0", allocations)
	}
}

func BenchmarkStageGraph(b *testing.B) {
	c := Cases()[0]
	for _, width := range []int{1, 2, 4, 16, 64} {
		problem := c.Problem(width, kernels.GeneratedInput())
		for _, implementation := range c.Implementations {
			b.Run(fmt.Sprintf("impl=%s/width=%d", implementation.Name, width), func(b *testing.B) {
				if err := implementation.Missing(); err != nil {
					b.Skip(err)
				}
				call, err := problem.Bind(implementation.Name)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					call.Run()
				}
			})
		}
	}
}
