package biquad

import (
	"math"
	"testing"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// strategies returns implementations by every kind of strategy.
func strategies() (all []kernels.Makers[Coefficients]) {
	for name, by := range map[string]func(x extent) strategy{
		"8 vectors a channel":           func(extent) strategy { return strategy{perChannel: true, width: 8} },
		"16 vectors a channel":          func(extent) strategy { return strategy{perChannel: true, width: 16} },
		"walk by 32 threads":            strategy{threads: 32, chunk: 5}.walk,
		"rows of two vectors a thread":  short(2),
		"rows of four vectors a thread": short(4),
		"walk by 64 threads":            strategy{threads: 64, chunk: 1}.walk,
		"walk by 256 threads":           strategy{threads: 256, chunk: 3}.walk,
		"as many parts as threads":      strategy{threads: 32, chunk: 1}.parts,
		"parts of 64 threads":           strategy{threads: 64, chunk: 1}.parts,
		"parts of 256 threads":          strategy{threads: 256, chunk: 3}.parts,
	} {
		all = append(all, forced(name, by))
	}
	return all
}

// forced returns the implementation on a GPU by a given strategy.
func forced(name string, by func(x extent) strategy) kernels.Makers[Coefficients] {
	return kernels.KernelText(name, func(b *gpu.Builder, c Coefficients, s kernels.Shape, t []*gpu.Buffer) {
		x := extent{s[channels], s[samples]}
		appendBy(b, by(x), c, x, t)
	})
}

// short returns the strategy of rows that a simdgroup holds, with chunks of so many vectors. Longer rows have more threads.
func short(chunk int) func(x extent) strategy {
	return func(x extent) strategy {
		if x.vectors() > 32*chunk {
			return strategy{threads: 256, chunk: 3}.walk(x)
		}
		return strategy{threads: 32, chunk: chunk}.walk(x)
	}
}

func TestStrategy(t *testing.T) {
	for _, test := range []struct {
		extent
		want strategy
	}{
		{extent{65536, 32}, strategy{perChannel: true, width: 8}},
		{extent{65536, 256}, strategy{perChannel: true, width: 16}},
		{extent{65536, 320}, strategy{threads: 32, chunk: 3, groups: 1, tiles: 1}},
		{extent{65536, 512}, strategy{threads: 32, chunk: 4, groups: 1, tiles: 1}},
		{extent{65536, 640}, strategy{threads: 32, chunk: 5, groups: 1, tiles: 1}},
		{extent{65536, 641}, strategy{threads: 64, chunk: 5, groups: 1, tiles: 1}},
		{extent{16384, 2048}, strategy{threads: 128, chunk: 5, groups: 1, tiles: 1}},
		{extent{512, 65536}, strategy{threads: 128, chunk: 5, groups: 1, tiles: 26}},
		{extent{1024, 512}, strategy{threads: 128, chunk: 1, groups: 1, tiles: 1}},
		{extent{1, 1}, strategy{threads: 32, chunk: 1, groups: 1, tiles: 1}},
		{extent{1, 4096}, strategy{threads: 256, chunk: 5, groups: 1, tiles: 1}},
		{extent{1, 10240}, strategy{threads: 256, chunk: 5, groups: 1, tiles: 2}},
		{extent{2, 10241}, strategy{threads: 128, chunk: 3, groups: 7, tiles: 1}},
		{extent{1, 1 << 20}, strategy{threads: 256, chunk: 5, groups: 205, tiles: 1}},
		{extent{1, 1 << 22}, strategy{threads: 256, chunk: 5, groups: 205, tiles: 4}},
	} {
		if got := test.strategy(132); got != test.want {
			t.Errorf("%+v: %+v, want %+v", test.extent, got, test.want)
		}
	}
	// No part is empty, and none is left out.
	for n := 1; n < 1<<24; n += 1 + n/7 {
		by := extent{1, n}.strategy(132)
		if tile := 4 * by.threads * by.chunk * by.tiles; (by.groups-1)*tile >= n || by.groups*tile < n || by.groups > by.threads {
			t.Errorf("%d samples: %+v", n, by)
		}
	}
}

// TestStrategies runs every strategy at extents around vectors, chunks, tiles and simdgroups. Some rows are whole vectors.
// Each channel has a state of its own.
func TestStrategies(t *testing.T) {
	op := strict()
	op.By = strategies()
	op.Tolerance = func(kernels.Shape) float64 { return 1e-6 }
	b := kerneltest.Backends(t)
	if b.GPUs == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	c := op.CaseOf(b, op.Lines[0])
	for _, x := range []extent{
		{1, 1}, {1, 2}, {1, 7}, {1, 640}, {1, 641}, {1, 5120}, {1, 5121}, {1, 21001},
		{2, 512}, {3, 5}, {2, 6}, {31, 33}, {32, 32}, {33, 127}, {67, 64}, {5, 1283},
	} {
		shape := kernels.Shape{channels: x.channels, samples: x.n}
		problem := op.Problem(b, shape, kernels.Caller, kernels.Input{Samples: noise(x.channels * x.n)})
		want := problem.Reference()
		for _, i := range c.Implementations {
			call, err := problem.Bind(i.Name)
			if err != nil {
				t.Fatal(err)
			}
			if err := call.Run(); err != nil {
				t.Errorf("%v, %s: %v", x, i.Name, err)
			}
			if off := call.ErrorAgainst(want); !(off <= op.Tolerance(shape)) {
				t.Errorf("%v, %s: error %.2g, want at most 1e-6", x, i.Name, off)
			}
			call.Release()
		}
	}
}

func noise(n int) []float32 {
	x := make([]float32, n)
	kernels.Noise(x, uint64(n))
	return x
}

// TestWords has states to which no signal leads. The kernels read the words of a float64 and return the nearest float32,
// unless a value is too large or too small for one.
func TestWords(t *testing.T) {
	p := kerneltest.Plans(t, &Op, Coefficients{})[kerneltest.GPUName] // y is s1; the next s1 is s2, the next s2 is 0
	if p == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	for _, v := range []float64{
		0, 1, -1, 1.0 / 3, -1.0 / 3, 1e-25, -3e-25, 2e-38, 1e-300, 1 << 30, math.MaxFloat32, -math.MaxFloat32, 1e300, -1e300,
		1 + 0x1p-24, 1 + 0x1p-23 - 0x1p-50, 1 - 0x1p-25, 1 + 0x1p-40, 2 - 0x1p-52, math.Inf(1), math.Inf(-1), math.NaN(),
	} {
		states, y := []state{{v, 0}, {0, v}}, make([]float32, 2)
		process(t, p, states, y)
		want := float32(v)
		after := want
		if math.Abs(v) < 1e-30 {
			after = 0 // because of settle
		}
		if math.Abs(v) > math.MaxFloat32 {
			if y[0]-y[0] == 0 || states[1].s1-states[1].s1 == 0 {
				t.Errorf("%g: the output is %g and the state goes on with %g, want no finite values", v, y[0], states[1].s1)
			}
			continue
		}
		if got := y[0]; got != want && !(math.Abs(v) < 0x1p-126 && got == 0) && !(got != got && v != v) {
			t.Errorf("%g: the output is %g, want %g", v, got, want)
		}
		if got := states[1].s1; got != float64(after) && !(got != got && v != v) {
			t.Errorf("%g: the state goes on with %g, want %g", v, got, after)
		}
	}
}

// TestSmallDifference has states whose s1 and s2 nearly cancel, as in slow filters. Their difference must survive a call.
func TestSmallDifference(t *testing.T) {
	p := kerneltest.Plans(t, &Op, Coefficients{A1: -2, A2: 1})[kerneltest.GPUName] // s1 ← s1 + (s1 + s2), s2 ← −s1
	if p == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	for _, s1 := range []float64{1, -1, 4096, -0.25, 0.7109375, -3000.5} {
		for _, part := range []float64{1e-8, -1e-8, 3e-10, -7e-12, 0} {
			difference := s1 * part
			states := []state{{s1, difference - s1}}
			process(t, p, states, make([]float32, 1))
			// The kernels read so many bits.
			if off := math.Abs(states[0].s1 + states[0].s2 - difference); !(off <= 1e-6*math.Abs(difference)+0x1p-47*math.Abs(s1)) {
				t.Errorf("s1 = %g and s2 = %g more than −s1 end in a difference of %g", s1, difference, states[0].s1+states[0].s2)
			}
		}
	}
}

// In no kernel may a thread read what others have not written yet.
func TestBarriers(t *testing.T) {
	for _, test := range []struct {
		name string
		by   strategy
		x    extent
	}{
		{"channels", strategy{perChannel: true, width: 8}, extent{2, 100}},
		{"short_rows", strategy{threads: 32, chunk: 2, groups: 1, tiles: 1}, extent{3, 200}},
		{"scan", strategy{threads: 64, chunk: 3, groups: 2, tiles: 2}, extent{1, 2500}},
	} {
		t.Run(test.name, func(t *testing.T) {
			op := Op
			op.By = []kernels.Makers[Coefficients]{forced("", func(extent) strategy { return test.by })}
			kerneltest.Barriers(t, &op, kerneltest.GPUName, kernels.Shape{channels: test.x.channels, samples: test.x.n})
		})
	}
}
