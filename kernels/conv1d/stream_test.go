package conv1d

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// TestStreamOp has short filters, so that the emulated GPU takes part, blocks of odd lengths, and filters of one partition.
func TestStreamOp(t *testing.T) {
	op := StreamOp
	op.Axes = slices.Clone(streamAxes)
	op.Axes[streamBlock].Min, op.Axes[streamTaps].Min = 1, 1
	along := func(axis, fixed string, value int) kernels.Line {
		return kernels.Along(op.Axes, axis, kernels.Param{Name: fixed, Value: value})
	}
	op.Lines = []kernels.Line{along("block", "taps", 700), along("taps", "block", 64), along("taps", "block", 45)}
	op.By = slices.DeleteFunc(slices.Clone(op.By), func(m kernels.Makers[StreamParams]) bool {
		return slices.ContainsFunc(m(kerneltest.Backends(t), &op), func(m kernels.Maker[StreamParams]) bool { return isFFTW(m.Name) })
	})
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 2, 7, 63, 64, 65, 256, 441, 1024}, Emulated: 8 << 10, Infinite: true})
}

// TestStreamFFTW has two of its lengths, because FFTW would plan for each.
func TestStreamFFTW(t *testing.T) {
	b := kerneltest.Backends(t)
	for _, s := range []kernels.Shape{{256, 2000}, {441, 8192}} {
		try(t, &StreamOp, b, s, tolerance, func(name string) bool { return !isFFTW(name) })
	}
}

// TestStreamMeasured has a shape that is measured.
func TestStreamMeasured(t *testing.T) {
	try(t, &StreamOp, kerneltest.Backends(t), kernels.Shape{512, 32768}, tolerance, func(name string) bool {
		return !strings.HasPrefix(name, "go")
	})
}

// streamed convolves a signal block by block, each in place by the plan that next returns.
func streamed(t *testing.T, p StreamParams, x []float32, next func(turn int) *kernels.Plan[StreamParams]) []float32 {
	t.Helper()
	y := slices.Clone(x)
	state := [2][]float32{make([]float32, p.state()), make([]float32, p.state())}
	for i := range state { // aligned for complex values
		state[i] = kernels.Float64Words(make([]float64, (p.state()+1)/2))[:p.state()]
	}
	for turn := 0; turn*p.Block < len(y); turn++ {
		block := y[turn*p.Block : (turn+1)*p.Block]
		err := next(turn).Run(kernels.Shape{p.Block, len(p.Taps)}, kernels.Args{block, state[(turn+1)%2], block, state[turn%2]})
		if err != nil {
			t.Fatal(err)
		}
	}
	return y
}

// TestStreamIsWhole compares many blocks with the convolution of the whole signal by the definition: by each implementation
// alone, and by all of them in turn. A state must mean the same to all.
func TestStreamIsWhole(t *testing.T) {
	for _, size := range []struct{ block, taps, blocks int }{{64, 1000, 40}, {37, 500, 20}, {64, 64, 5}, {64, 65, 7}, {50, 333, 20}, {256, 100, 6}, {33, 1, 5}, {1, 9, 30}} {
		p := StreamParams{ImpulseResponse(size.taps), size.block}
		x := make([]float32, size.block*size.blocks)
		kernels.Noise(x, 9)
		want := plainConvolution(x, p.Taps)[:len(x)]
		all := kerneltest.Plans(t, &StreamOp, p)
		var names []string
		for name, plan := range all {
			names = append(names, name)
			if e := kernels.RelativeError(streamed(t, p, x, func(int) *kernels.Plan[StreamParams] { return plan }), want); !(e <= 5e-7) {
				t.Errorf("%s, %+v: relative error %.2g", name, size, e)
			}
		}
		slices.Sort(names)
		mixed := streamed(t, p, x, func(turn int) *kernels.Plan[StreamParams] { return all[names[turn%len(names)]] })
		if e := kernels.RelativeError(mixed, want); !(e <= 5e-7) {
			t.Errorf("all in turn, %+v: relative error %.2g", size, e)
		}
	}
}

// TestStreamSciPy compares with scipy.signal.fftconvolve.
func TestStreamSciPy(t *testing.T) {
	x, h := kerneltest.Signal(8192), kerneltest.ReadArchived[float32](t, scipy, "fir_taps_512")
	want := kerneltest.ReadArchived[float64](t, scipy, "convolve_8192_512")[:len(x)]
	p := StreamParams{h, 128}
	for name, plan := range kerneltest.Plans(t, &StreamOp, p) {
		if e := kernels.RelativeError(streamed(t, p, x, func(int) *kernels.Plan[StreamParams] { return plan }), want); !(e <= tolerance) {
			t.Errorf("%s: relative error %.2g", name, e)
		}
	}
}

// TestStreamNaN checks that a NaN and an infinity spoil no block before their own, and none after the filter's reach.
func TestStreamNaN(t *testing.T) {
	p := StreamParams{ImpulseResponse(200), 64} // four partitions
	for name, plan := range kerneltest.Plans(t, &StreamOp, p) {
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
			x := make([]float32, 64*12)
			kernels.Noise(x, 2)
			clean := plainConvolution(x, p.Taps)
			x[64*3+10] = bad
			want := plainConvolution(x, p.Taps)
			y := streamed(t, p, x, func(int) *kernels.Plan[StreamParams] { return plan })
			for i, v := range y {
				number := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
				switch block := i / 64; {
				case (block < 3 || block > 3+4) && !(math.Abs(float64(v)-clean[i]) <= 1e-5):
					t.Fatalf("%s: %g in block 3, output %d is %g, want %g", name, bad, i, v, clean[i])
				case (math.IsNaN(want[i]) || math.IsInf(want[i], 0)) && number:
					t.Fatalf("%s: %g in block 3, output %d is %g, want no number", name, bad, i, v)
				}
			}
		}
	}
}

func TestStream(t *testing.T) {
	h := ImpulseResponse(300)
	x := make([]float32, 128*8)
	kernels.Noise(x, 1)
	want := plainConvolution(x, h)[:len(x)]
	s, err := NewStream(nil, h, 128)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clear(h) // the stream has its own copy
	for pass := range 3 {
		y := slices.Clone(x)
		for block := range slices.Chunk(y, 128) {
			if err := s.Process(block, block); err != nil {
				t.Fatal(err)
			}
		}
		if e := kernels.RelativeError(y, want); !(e <= 5e-7) {
			t.Errorf("pass %d: relative error %.2g", pass, e)
		}
		if pass == 0 {
			s.Reset()
		} else {
			s.Close()
		}
	}
	y := make([]float32, 128)
	for range 2 {
		if err := s.Process(y, x[:128]); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = s.Process(y, x[:128]) }); n != 0 {
		t.Errorf("%g allocations a call", n)
	}
	if s.Block() != 128 || s.Deadline(32000) != 4*time.Millisecond {
		t.Errorf("blocks of %d samples, deadline %v", s.Block(), s.Deadline(32000))
	}
	if e := s.Explain(128); e.Case != "convolution-stream/taps=300" || e.Size != 128 {
		t.Errorf("judged by %s at %d", e.Case, e.Size)
	}
	for want, p := range map[string]StreamParams{"no taps": {nil, 64}, "blocks of 0 samples: want 1 to": {y, 0}, "blocks of -1 samples": {y, -1},
		"blocks of 1048577 samples": {y, 1<<20 + 1}} {
		if _, err := NewStream(nil, p.Taps, p.Block); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for name, call := range map[string]func(){
		"half a block": func() { _ = s.Process(y[:64], y[:64]) },
		"no samples":   func() { _ = s.Process(nil, nil) },
		"long output":  func() { _ = s.Process(x[:256], y) },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, "convolution-stream: dst has ") {
					t.Errorf("%s: panic %q", name, message)
				}
			}()
			call()
		}()
	}
}

func TestStreamWindow(t *testing.T) {
	for n, want := range map[int]int{1: 2, 256: 512, 441: 882, 293: 588, 451: 960, 4093: 8192, 11: 24, mostBlock: 2 * mostBlock} {
		if got := (StreamParams{Block: n}).window(); got != want {
			t.Errorf("the window of %d is %d, want %d", n, got, want)
		}
	}
	for n := 1; n < 5000; n++ {
		if got := (StreamParams{Block: n}).window(); got < 2*n || got > 3*n && n > 1 {
			t.Errorf("the window of %d is %d", n, got)
		}
	}
}

// TestStreamAnyBlock has blocks whose own transforms would be too inexact: the tolerance holds at all of them.
func TestStreamAnyBlock(t *testing.T) {
	for _, s := range []kernels.Shape{{3950, 11191}, {987, 17765}, {698, 48000}, {229, 12736}, {293, 9000}} {
		try(t, &StreamOp, kerneltest.Backends(t), s, tolerance, func(name string) bool { return !strings.HasPrefix(name, "go") })
	}
}

// TestSpread compares the kernel of this processor with the loop in Go.
func TestSpread(t *testing.T) {
	for _, bins := range []int{8, 16, 136} {
		a := make([]float32, 4*2*bins)
		kernels.Noise(a, uint64(bins))
		all := kernels.Complex(a)
		sum, x, h, want := all[:bins], all[bins:2*bins], all[2*bins:3*bins], make([]complex64, bins)
		got := all[3*bins:]
		spreadGo(want, sum, x, h)
		spread(got, sum, x, h)
		for b := range want {
			if d := got[b] - want[b]; !(math.Hypot(float64(real(d)), float64(imag(d))) <= 1e-6) {
				t.Errorf("%d bins: bin %d is %v, want %v", bins, b, got[b], want[b])
			}
		}
	}
}

func TestStreamProgram(t *testing.T) { kerneltest.Programs(t, &StreamOp, StreamProgram, 300) }

func BenchmarkStream(b *testing.B) {
	kerneltest.Benchmark(b, &StreamOp, StreamOp.Lines[0], 256, 1024, 4096)
}
