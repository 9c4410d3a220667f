package stagegraph

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
)

// rendered returns in float64 what a stage of lowpass nodes renders.
func rendered(nodes []*lowpass, n int) []float64 {
	y := make([]float64, n)
	for _, node := range nodes {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(node.src[i])
		}
		for range node.passes {
			s := 0.0
			for i := range x {
				s += float64(node.gain) * (x[i] - s)
				x[i] = s
			}
		}
		for i := range y {
			y[i] += x[i]
		}
	}
	return y
}

// TestLaunch renders stages at the edges of lanes, parts of a block and simdgroups, with nodes of different numbers of
// passes, twice: the bits must be the same again.
func TestLaunch(t *testing.T) {
	device := emulator.Open(t)
	for _, size := range []struct{ width, n int }{
		{1, 1}, {1, 16}, {1, 512}, {1, 513}, {2, 17}, {3, 31}, {7, 33}, {8, 512}, {9, 1100}, {17, 512}, {33, 100},
	} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.n), func(t *testing.T) {
			var nodes []*lowpass
			var s stage
			for v := range size.width {
				src := make([]float32, size.n)
				kernels.Noise(src, uint64(v))
				node := newLowpass(v, src)
				node.passes = 1 + v%5
				nodes, s = append(nodes, node), append(s, node)
			}
			e, err := newLaunch(device, s)
			if err != nil {
				t.Fatal(err)
			}
			defer e.(*launch).plans.Close()
			first, again := make([]float32, size.n), make([]float32, size.n)
			for _, dst := range [][]float32{first, again} {
				if err := e.render(dst); err != nil {
					t.Fatal(err)
				}
			}
			if e := kernels.RelativeError(first, rendered(nodes, size.n)); !(e <= 1e-6) {
				t.Errorf("relative error %.2g, want below 1e-6", e)
			}
			for i := range first {
				if math.Float32bits(first[i]) != math.Float32bits(again[i]) {
					t.Fatalf("sample %d is %g, and %g the second time", i, first[i], again[i])
				}
			}
		})
	}
}

// TestLaunchCase runs the case's problem as a sweep does.
func TestLaunchCase(t *testing.T) {
	device := emulator.Open(t)
	for _, width := range []int{1, 64} {
		p := newProblem(width, kernels.GeneratedInput())
		e, err := newLaunch(device, p.nodes)
		if err != nil {
			t.Fatal(err)
		}
		call, err := e.(*launch).bind(blockSamples)
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(call.Output(), p.Reference()); !(e <= 1e-6) {
			t.Errorf("%d nodes: relative error %.2g, want below 1e-6", width, e)
		}
		call.Release()
	}
}

func TestLaunchWarm(t *testing.T) {
	device := emulator.Open(t)
	e, err := newLaunch(device, newProblem(3, kernels.GeneratedInput()).nodes)
	if err != nil {
		t.Fatal(err)
	}
	defer e.(*launch).plans.Close()
	if err := e.render(nil); err != nil {
		t.Errorf("no samples: %v", err)
	}
	dst := make([]float32, 64)
	if got := testing.AllocsPerRun(5, func() { e.render(dst) }); got != 0 && !emulator.Racing() {
		t.Errorf("%g allocations a call", got)
	}
	if err := e.render(make([]float32, blockSamples+1)); err == nil || !strings.Contains(err.Error(), "node 0 holds 512") {
		t.Errorf("a block longer than its input: error %v", err)
	}
	if _, err := newLaunch(device, stage{&counter{}}); err == nil || !strings.Contains(err.Error(), "has no kernel") {
		t.Errorf("a node of Go code: error %v", err)
	}
}

// TestLaunchNeedsBarriers removes each barrier from the text in turn; a run must then fail.
func TestLaunchNeedsBarriers(t *testing.T) {
	device := emulator.Open(t)
	defer func(whole string) { text = whole }(text)
	const barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
	parts := strings.Split(text, barrier)
	for i := 1; i < len(parts); i++ {
		text = strings.Join(parts[:i], barrier) + strings.Join(parts[i:], barrier)
		var s stage
		for v := range 3 {
			s = append(s, newLowpass(v, make([]float32, 600)))
		}
		e, err := newLaunch(device, s)
		if err != nil {
			t.Fatal(err)
		}
		if e.render(make([]float32, 600)) == nil {
			t.Errorf("nothing fails without barrier %d of %d", i, len(parts)-1)
		}
		e.(*launch).plans.Close()
	}
}
