package recurrence

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// started returns an operation whose channels begin with states of their own, and lines with other numbers of channels and
// samples, which are not whole vectors or pairs.
func started[P any](op kernels.Op[P]) *kernels.Op[P] {
	op.Lines = append(slices.Clone(op.Lines),
		kernels.Along(axes, "n", kernels.Param{Name: "channels", Value: 3}),
		kernels.Along(axes, "channels", kernels.Param{Name: "n", Value: 33}))
	fill := op.Fill
	op.Fill = func(p P, s kernels.Shape, input kernels.Input, a *kernels.Args) {
		fill(p, s, input, a)
		values := op.IO(p, s)[before]
		state := make([]float32, values.Numbers())
		kernels.Noise(state, 5)
		if values.Type == kernels.Float32 {
			copy(a[before], state)
			return
		}
		for i, v := range state {
			kernels.Float64s(a[before])[i] = math.Abs(float64(v)) / 3
		}
	}
	return &op
}

func testOp[P any](t *testing.T, op kernels.Op[P]) {
	kerneltest.Run(t, started(op), kerneltest.Options{Sizes: []int{1, 2, 33, 129, 257, 1000, 3001}, Most: 60_000, Emulated: 8 << 10,
		Infinite: true})
}

// testBarriers removes the barriers of the text with a thread for each channel.
func testBarriers[P any](t *testing.T, op *kernels.Op[P]) {
	kerneltest.Barriers(t, op, kerneltest.GPUName, kernels.Shape{channels: 2, samples: 300})
}

// testBlocks filters a signal in blocks, each by another implementation, and compares the output with that of the reference
// in one piece. A state must mean the same to all implementations.
func testBlocks[P any](t *testing.T, op *kernels.Op[P], p P, allowed float64) {
	t.Helper()
	const n, block, width = 6000, 601, 3
	src := make([]float32, width*n)
	kernels.GeneratedInput().Fill(src)
	of, words := op.IO(p, kernels.Shape{width, n})[before], 0
	words = of.Len()
	zero := kernels.Float64Words(make([]float64, words))[:words]
	whole := kernels.Args{in: src, before: zero}
	want := op.Reference(p, kernels.Shape{width, n}, &whole)[:width*n]

	plans := kerneltest.Plans(t, op, p)
	names := make([]string, 0, len(plans))
	for name := range plans {
		names = append(names, name)
	}
	slices.Sort(names)
	got, state, next := make([]float32, len(src)), slices.Clone(zero), slices.Clone(zero)
	for from, turn := 0, 0; from < n; from, turn = from+block, turn+1 {
		length := min(block, n-from)
		x, y := make([]float32, width*length), make([]float32, width*length)
		for c := range width {
			copy(x[c*length:(c+1)*length], src[c*n+from:])
		}
		if err := plans[names[turn%len(names)]].Run(kernels.Shape{width, length}, kernels.Args{y, next, x, state}); err != nil {
			t.Fatal(err)
		}
		state, next = next, state
		for c := range width {
			copy(got[c*n+from:], y[c*length:(c+1)*length])
		}
	}
	if off := kernels.RelativeError(got, want); !(off <= allowed) {
		t.Errorf("%+v: relative error %.2g, allowed %.2g", p, off, allowed)
	}
}

// testSilence checks that a state which decays ends in zeros, not in denormals that would slow down every later block.
func testSilence[P any](t *testing.T, op *kernels.Op[P], p P, start float64) {
	t.Helper()
	for name, plan := range kerneltest.Plans(t, op, p) {
		for _, width := range []int{1, 3} {
			s := kernels.Shape{width, 900}
			of := op.IO(p, s)[before]
			state := kernels.Float64Words(make([]float64, of.Len()))[:of.Len()]
			next := slices.Clone(state)
			for i := range of.Numbers() {
				if of.Type == kernels.Float64 {
					kernels.Float64s(state)[i] = start
				} else {
					state[i] = float32(start)
				}
			}
			x := make([]float32, width*900)
			for range 2 {
				if err := plan.Run(s, kernels.Args{slices.Clone(x), next, x, state}); err != nil {
					t.Fatal(err)
				}
				state, next = next, state
			}
			if slices.ContainsFunc(state, func(v float32) bool { return v != 0 }) {
				t.Errorf("%s, %d channels: the state ends in %v…, want zeros", name, width, state[:min(4, len(state))])
			}
		}
	}
}

// testPlan checks the typed plan: blocks, Reset, Close, wrong lengths, no samples, and no allocation.
func testPlan[P any](t *testing.T, op *kernels.Op[P], build func(d *dispatch.Dispatcher, p P, count int) (*Plan[P], error), p P) {
	t.Helper()
	const n, width = 4000, 3
	src := make([]float32, width*n)
	kernels.GeneratedInput().Fill(src)
	plan, err := build(nil, p, width)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	words := op.IO(p, kernels.Shape{width, n})[before].Len()
	want := op.Reference(p, kernels.Shape{width, n}, &kernels.Args{in: src, before: kernels.Float64Words(make([]float64, words))[:words]})[:len(src)]
	for pass := range 3 {
		got := make([]float32, len(src))
		block := make([]float32, width*500)
		for start := 0; start < n; start += 500 {
			for c := range width {
				copy(block[c*500:(c+1)*500], src[c*n+start:])
			}
			if err := plan.Process(block, block); err != nil {
				t.Fatal(err)
			}
			for c := range width {
				copy(got[c*n+start:], block[c*500:(c+1)*500])
			}
		}
		if e := kernels.RelativeError(got, want); !(e <= 5e-6) {
			t.Errorf("pass %d: relative error %.2g, allowed 5e-6", pass, e)
		}
		if pass == 0 {
			plan.Reset()
		} else {
			plan.Close()
		}
	}
	if err := plan.Process(nil, nil); err != nil {
		t.Errorf("no samples: %v", err)
	}
	x := make([]float32, width*64)
	for range 2 {
		if err := plan.Process(x, x); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = plan.Process(x, x) }); n != 0 {
		t.Errorf("%g allocations a call, want 0", n)
	}
	if e := plan.Explain(64); e.Case != op.Name+"/n=512" || e.Size != width {
		t.Errorf("judged by %s at %d, want %s/n=512 at %d", e.Case, e.Size, op.Name, width)
	}
	for name, call := range map[string]func(){
		"different lengths": func() { _ = plan.Process(x[:63], x) },
		"a part of a row":   func() { _ = plan.Process(x[:64], x[:64]) },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, op.Name+": dst has ") {
					t.Errorf("%s: panic %q", name, message)
				}
			}()
			call()
		}()
	}
	for _, count := range []int{-1, 0, 1<<20 + 1, math.MaxInt} {
		if _, err := build(nil, p, count); err == nil || !strings.Contains(err.Error(), "channels: want 1 to 1048576") {
			t.Errorf("%d channels: %v", count, err)
		}
	}
}

// refused checks that every parameter out of its range gives an error of one line that says what is accepted.
func refused[P any](t *testing.T, build func(d *dispatch.Dispatcher, p P, count int) (*Plan[P], error), want string, bad ...P) {
	t.Helper()
	for _, p := range bad {
		if _, err := build(nil, p, 1); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want an error with %q", p, err, want)
		}
	}
}

// outputs returns the output of a plan of one channel, after silence.
func outputs[P any](t *testing.T, build func(d *dispatch.Dispatcher, p P, count int) (*Plan[P], error), p P, x ...float32) []float32 {
	t.Helper()
	plan, err := build(nil, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	y := make([]float32, len(x))
	if err := plan.Process(y, x); err != nil {
		t.Fatal(err)
	}
	return y
}

func benchmark[P any](b *testing.B, op *kernels.Op[P]) {
	for line, sizes := range [][]int{longLine: {256, 65536}, wideLine: {1, 2, 16, 256}} {
		b.Run(fmt.Sprint(op.Lines[line].Name), func(b *testing.B) { kerneltest.Benchmark(b, op, op.Lines[line], sizes...) })
	}
}
