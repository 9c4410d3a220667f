package fft

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/fft/ffttest"
	"crossover/kernels/fft/transform"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// options have few lengths, because FFTW plans for up to half a second for each.
var options = kerneltest.Options{Sizes: []int{3, 480, 1000}, Most: 16 << 10, Infinite: true}

func TestOp(t *testing.T) { kerneltest.Run(t, &Op, options) }

func TestInverseOp(t *testing.T) { kerneltest.Run(t, &InverseOp, options) }

func TestComplexOp(t *testing.T) { kerneltest.Run(t, &ComplexOp, options) }

// Workers share few long rows, and each transforms some of many.
func TestFewLongRows(t *testing.T) {
	b := &kernels.Backends{Pool: pool.New(4)}
	defer b.Pool.Close()
	for _, s := range []kernels.Shape{{1 << 15, 1}, {1 << 15, 2}, {1 << 16, 3}, {100_000, 3}, {100_000, 4}} {
		kerneltest.Shapes(t, &Op, b, "go-parallel", s)
		kerneltest.Shapes(t, &ComplexOp, b, "go-parallel", kernels.Shape{s[length] / 2, s[batch]})
		p := newParallel(of(s[length], s[batch]), b.Pool).(*parallel)
		if want := map[kernels.Shape]bool{{1 << 15, 1}: true, {100_000, 3}: true}[s] && transform.Splits(); (s[batch] <= p.most) != want {
			t.Errorf("%d rows of %d samples are shared: %v, want %v", s[batch], s[length], !want, want)
		}
	}
}

// The inverse is not measured, so that no line of the operation has it.
func TestComplexInverse(t *testing.T) {
	op := backward()
	kerneltest.Run(t, &op, options)
}

// backward returns ComplexOp with the inverse in its lines.
func backward() kernels.Op[ComplexParams] {
	op := ComplexOp
	op.Params = func(s kernels.Shape) ComplexParams {
		return ComplexParams{N: s[length], Batch: s[batch], Inverse: true}
	}
	return op
}

// A thread must not overwrite what others of its threadgroup still have to read, nor read what is not written yet.
func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, kernels.Shape{256, 1})
	kerneltest.Barriers(t, &InverseOp, kerneltest.GPUName, kernels.Shape{256, 1})
	kerneltest.Barriers(t, &ComplexOp, kerneltest.GPUName, kernels.Shape{256, 1})
}

// TestInfinity checks that no result is finite if a value is infinite.
func TestInfinity(t *testing.T) {
	noNumbers(t, &Op, 7)
	noNumbers(t, &InverseOp, 0) // which all samples have in them
	noNumbers(t, &ComplexOp, 7)
	op := backward()
	noNumbers(t, &op, 7)
}

// noNumbers calls an operation with an infinity in the word at an index.
func noNumbers[P any](t *testing.T, op *kernels.Op[P], at int) {
	t.Helper()
	for _, n := range []int{480, 101, 15} {
		s := kernels.Shape{n, 1}
		tensors := op.IO(op.Params(s), s)
		for name, plan := range kerneltest.Plans(t, op, op.Params(s)) {
			x, y := ffttest.Noise(tensors[1].Len()), make([]float32, tensors[0].Len())
			x[at] = float32(math.Inf(1))
			if err := plan.Run(s, kernels.Args{y, x}); err != nil {
				t.Fatal(err)
			}
			step := 1
			if tensors[0].Type == kernels.Complex64 {
				step = 2 // it suffices that one part is not finite
			}
			for k := range slices.Chunk(y, step) {
				if d := (k[0] - k[0]) + (k[len(k)-1] - k[len(k)-1]); d == d {
					t.Errorf("%s, %s: a value of %d is %v", op.Name, name, n, k)
					break
				}
			}
		}
	}
}

// The imaginary parts of bins 0 and n/2 do not count, whatever they are.
func TestInverseIgnoresImaginaryEnds(t *testing.T) {
	for _, n := range []int{1, 2, 8, 15, 64, 101, 480, 1024} {
		bins := make([]complex64, n/2+1)
		fillBins(n, kernels.GeneratedInput(), kernels.ComplexWords(bins))
		want := InverseOp.Reference(Params{N: n, Batch: 1}, kernels.Shape{n, 1}, &kernels.Args{1: kernels.ComplexWords(bins)})
		bins[0] = complex(real(bins[0]), float32(math.NaN()))
		if n%2 == 0 {
			bins[n/2] = complex(real(bins[n/2]), float32(math.Inf(1)))
		}
		for name, plan := range kerneltest.Plans(t, &InverseOp, Params{N: n, Batch: 1}) {
			x := make([]float32, n)
			if err := plan.Run(kernels.Shape{n, 1}, kernels.Args{x, kernels.ComplexWords(bins)}); err != nil {
				t.Fatal(err)
			}
			ffttest.Expect(t, fmt.Sprintf("%s, n=%d", name, n), x, want, 1e-6)
		}
	}
}

// TestWork compares Work's bytes with the memory that a call reads and writes.
func TestWork(t *testing.T) {
	bytesOf(t, &Op)
	bytesOf(t, &InverseOp)
	bytesOf(t, &ComplexOp)
}

func bytesOf[P any](t *testing.T, op *kernels.Op[P]) {
	t.Helper()
	for _, s := range []kernels.Shape{{64, 1}, {1000, 3}, {45, 2}, {1 << 16, 1}} {
		bytes := 0
		for _, tensor := range op.IO(op.Params(s), s) {
			bytes += 4 * tensor.Len()
		}
		if got := op.Work(s, "").Bytes; got != float64(bytes) {
			t.Errorf("%s: %v says that it moves %v bytes, want %d", op.Name, s, got, bytes)
		}
	}
}

func TestRoundLength(t *testing.T) {
	for n, want := range map[int]int{
		-5: 2, 1: 2, 3: 4, 7: 8, 11: 12, 64: 64, 65: 64, 67: 64, 70: 72, 1000: 1000, 1009: 1000, 1013: 1024, 1021: 1024, 44100: 43740,
		1 << 20: 1 << 20, 1<<20 - 1: 1 << 20, 1 << 30: 2 << 20,
	} {
		if got := roundLength(n); got != want {
			t.Errorf("roundLength(%d) = %d, want %d", n, got, want)
		}
	}
	for n := 64; n <= maxLength; n *= 2 {
		if got := roundLength(n); got != n {
			t.Errorf("roundLength(%d) = %d: a power of two has moved", n, got)
		}
	}
}

func TestPlan(t *testing.T) {
	for _, p := range []Params{{N: 1024}, {N: 480, Batch: 4}, {N: 101, Batch: 2}, {N: 1 << 16}} {
		t.Run(fmt.Sprintf("n=%d,batch=%d", p.N, p.Batch), func(t *testing.T) {
			plan, err := New(nil, p)
			if err != nil {
				t.Fatal(err)
			}
			defer plan.Close()
			for _, rows := range []int{1, 3, 4} {
				x := ffttest.Noise(rows * p.N)
				bins := make([]complex64, rows*(p.N/2+1))
				if err := plan.Transform(bins, x); err != nil {
					t.Fatal(err)
				}
				ffttest.Expect(t, fmt.Sprintf("%d rows", rows), kernels.ComplexWords(bins), ffttest.Real(x, p.N), 4e-7)
				if got := testing.AllocsPerRun(3, func() { _ = plan.Transform(bins, x) }); got != 0 {
					t.Errorf("%d rows: %v allocations a call, want 0", rows, got)
				}
			}
		})
	}
	for _, p := range []Params{{N: 0}, {N: -1}, {N: 8, Batch: -1}, {N: 1<<30 + 1}, {N: 1 << 62}, {N: 1 << 30, Batch: 5}, {N: 1, Batch: 1 << 62}} {
		if _, err := New(nil, p); err == nil {
			t.Errorf("New of %+v succeeded", p)
		}
		if _, err := NewInverse(nil, p); err == nil {
			t.Errorf("NewInverse of %+v succeeded", p)
		}
		if _, err := NewComplexPlan(nil, ComplexParams{N: p.N, Batch: p.Batch}); err == nil {
			t.Errorf("NewComplexPlan of %+v succeeded", p)
		}
	}
	plan, err := New(nil, Params{N: 8})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Transform(nil, nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
	for name, lengths := range map[string][2]int{"bins of no row": {5, 0}, "part of a row": {5, 12}, "short dst": {9, 16}} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasSuffix(got, ": want 8 and 5 for each row") {
					t.Errorf("panic(%s)", got)
				}
			}()
			_ = plan.Transform(make([]complex64, lengths[0]), make([]float32, lengths[1]))
		})
	}
}

// TestJudged checks which line decides a call.
func TestJudged(t *testing.T) {
	for _, tc := range []struct {
		n, rows, line, size int
	}{
		{480, 1, 0, 480}, {1024, 1, 0, 1024}, {1024, 8, 1, 8}, {2000, 8, 1, 16}, {4096, 3, 2, 3}, {8192, 3, 2, 6}, {64, 2, 1, 1},
	} {
		if line, size := Op.Judged(Params{N: tc.n}, kernels.Shape{tc.n, tc.rows}); line != tc.line || size != tc.size {
			t.Errorf("%d rows of %d go by line %d at %d, want line %d at %d", tc.rows, tc.n, line, size, tc.line, tc.size)
		}
		plan, err := New(nil, Params{N: tc.n})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"fft/batch=1", "fft/n=1024", "fft/n=4096"}[tc.line]
		if e := plan.Explain(tc.rows); e.Case != want || e.Size != tc.size {
			t.Errorf("%d rows of %d are explained by %s at %d, want %s at %d", tc.rows, tc.n, e.Case, e.Size, want, tc.size)
		}
	}
}

// TestWithoutSplit checks that go-parallel takes part in the line of one row only if it divides a row.
func TestWithoutSplit(t *testing.T) {
	for i, c := range Op.Cases(kerneltest.Backends(t)) {
		for _, implementation := range c.Implementations {
			if implementation.Name == "go-parallel" && (implementation.Missing() == nil) != (transform.Splits() || i > 0) {
				t.Errorf("%s: go-parallel is missing for %v", c.Name, implementation.Missing())
			}
		}
	}
	for _, splits := range []bool{false, true} {
		for _, name := range []string{"go", "go-parallel"} {
			if err := withoutSplit(splits)(name); (err == nil) != (splits || name == "go") {
				t.Errorf("%s is missing for %v, where a transform is split: %v", name, err, splits)
			}
		}
	}
}

// TestParallelRows transforms rows on several workers for so long that they run at the same time.
func TestParallelRows(t *testing.T) {
	const n, rows = 1000, 64
	workers := pool.New(4)
	defer workers.Close()
	x, want := ffttest.Noise(n*rows), make([]complex64, rows*(n/2+1))
	p, shape := of(n, rows), kernels.Shape{n, rows}
	if err := newSerial(p).Run(shape, &kernels.Args{kernels.ComplexWords(want), x}); err != nil {
		t.Fatal(err)
	}
	shared := newParallel(p, workers)
	got := make([]complex64, len(want))
	for range 50 {
		clear(got)
		if err := shared.Run(shape, &kernels.Args{kernels.ComplexWords(got), x}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatal("rows of several workers differ from those of one")
		}
	}
}

// TestOtherRows checks that a plan takes any number of rows, and odd lengths.
func TestOtherRows(t *testing.T) {
	for _, n := range []int{64, 63} {
		for name, plan := range kerneltest.Plans(t, &Op, Params{N: n, Batch: 4}) {
			for _, rows := range []int{4, 1, 7} {
				x, bins := ffttest.Noise(rows*n), make([]complex64, rows*(n/2+1))
				if err := plan.Run(kernels.Shape{n, rows}, kernels.Args{kernels.ComplexWords(bins), x}); err != nil {
					t.Fatal(err)
				}
				ffttest.Expect(t, fmt.Sprintf("%s, %d rows of %d", name, rows, n), kernels.ComplexWords(bins), ffttest.Real(x, n), 1e-6)
			}
		}
	}
}

func TestTooManyRows(t *testing.T) {
	b := emulator.Open(t).NewPlan()
	appendRows(b, of(1<<20, 1), kernels.Shape{1 << 20, 1 << 20}, make([]*gpu.Buffer, 2))
	if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
		t.Errorf("a mebirow of mebisamples: %v", err)
	}
	b = emulator.Open(t).NewPlan()
	appendVendor(b, nil, of(1<<20, 1), kernels.Shape{1 << 20, 1 << 20}, make([]*gpu.Buffer, 2))
	if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
		t.Errorf("a mebirow of mebisamples by a vendor's library: %v", err)
	}
}

// fakeLibrary notes the arguments of a call and fails.
type fakeLibrary struct {
	gpu.FFT
	asked    gpu.Transform
	dst, src gpu.Region
	given    bool // it got the input itself
	input    *gpu.Buffer
}

var errFake = errors.New("no such plan")

func (l *fakeLibrary) NewFFT(dst, src gpu.Region, t gpu.Transform) (gpu.External, error) {
	l.asked, l.dst, l.src, l.given = t, dst, src, src == l.input.Region()
	return nil, errFake
}

// TestVendor checks what a vendor's library is asked for. What the library computes is tested on machines that have it. The
// library may overwrite the bins that it transforms to real values, so that it must get a copy.
func TestVendor(t *testing.T) {
	for _, tc := range []struct {
		r       rows
		asked   gpu.Transform
		out, in int // words of a row
		given   bool
	}{
		{rows{n: 100}, gpu.Transform{N: 100, Batch: 2}, 2 * 51, 100, true},
		{rows{n: 100, inverse: true}, gpu.Transform{N: 100, Batch: 2, Inverse: true}, 100, 2 * 51, false},
		{rows{n: 100, complex: true}, gpu.Transform{N: 100, Batch: 2, Complex: true}, 200, 200, true},
		{rows{n: 100, complex: true, inverse: true}, gpu.Transform{N: 100, Batch: 2, Complex: true, Inverse: true}, 200, 200, true},
	} {
		b := emulator.Open(t).NewPlan()
		src, dst := b.Input(gpu.Float, 2*tc.in), b.Output(gpu.Float, 2*tc.out)
		if tc.in != 100 {
			src = b.Input(gpu.Float2, tc.in)
		}
		if tc.out != 100 {
			dst = b.Output(gpu.Float2, tc.out)
		}
		library := &fakeLibrary{input: src}
		appendVendor(b, library, tc.r, kernels.Shape{100, 2}, []*gpu.Buffer{dst, src})
		if _, err := b.Build(); !errors.Is(err, errFake) {
			t.Errorf("the library's error became %v", err)
		}
		if library.asked != tc.asked || library.src.Bytes != 4*2*tc.in || library.dst.Bytes != 4*2*tc.out {
			t.Errorf("%+v: the library was asked for %+v, %d bytes from %d", tc.r, library.asked,
				library.dst.Bytes, library.src.Bytes)
		}
		if library.given != tc.given {
			t.Errorf("%+v: the library got the input itself: %v", tc.r, library.given)
		}
	}
}

// of returns real rows.
func of(n, batch int) rows { return rows{n: n, batch: batch} }

func TestProgram(t *testing.T) {
	kerneltest.Programs(t, &Op, Program, 480)
	kerneltest.Programs(t, &InverseOp, InverseProgram, 480)
	kerneltest.Programs(t, &ComplexOp, ComplexProgram, 480)
}

// TestOtherPlans checks the plans of the inverse and of complex rows.
func TestOtherPlans(t *testing.T) {
	const n = 480
	forward, err := NewComplexPlan(nil, ComplexParams{N: n, Batch: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer forward.Close()
	back, err := NewComplexPlan(nil, ComplexParams{N: n, Inverse: true})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	inverse, err := NewInverse(nil, Params{N: n, Batch: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer inverse.Close()
	real, err := New(nil, Params{N: n})
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	for _, rows := range []int{1, 3, 4} {
		x, y, z := ffttest.ComplexNoise(rows*n), make([]complex64, rows*n), make([]complex64, rows*n)
		samples, bins, again := ffttest.Noise(rows*n), make([]complex64, rows*(n/2+1)), make([]float32, rows*n)
		call := func() {
			for _, err := range []error{forward.Transform(y, x), back.Transform(z, y), real.Transform(bins, samples), inverse.Transform(again, bins)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		call()
		ffttest.Expect(t, "forward", kernels.ComplexWords(y), ffttest.Complex(x, n, false), 4e-7)
		ffttest.Expect(t, "and back", kernels.ComplexWords(z), ffttest.Widen(kernels.ComplexWords(x)), 6e-7)
		ffttest.Expect(t, "real and back", again, ffttest.Widen(samples), 6e-7)
		if got := testing.AllocsPerRun(3, call); got != 0 {
			t.Errorf("%d rows: %v allocations a call, want 0", rows, got)
		}
	}
	if e := inverse.Explain(2); e.Case != "ifft/n=1024" || e.Size != 1 {
		t.Errorf("chosen by %s at %d", e.Case, e.Size)
	}
	if e := back.Explain(1); e.Case != "fft-complex/batch=1" || e.Size != n {
		t.Errorf("chosen by %s at %d", e.Case, e.Size)
	}
	for name, err := range map[string]error{"inverse": inverse.Transform(nil, nil), "complex": forward.Transform(nil, nil)} {
		if err != nil {
			t.Errorf("%s of no rows: %v", name, err)
		}
	}
	for name, call := range map[string]func(){
		"no bins":          func() { _ = inverse.Transform(make([]float32, n), nil) },
		"a part of bins":   func() { _ = inverse.Transform(make([]float32, n), make([]complex64, n/2)) },
		"few samples":      func() { _ = inverse.Transform(make([]float32, n-1), make([]complex64, n/2+1)) },
		"no values":        func() { _ = forward.Transform(make([]complex64, n), nil) },
		"other lengths":    func() { _ = forward.Transform(make([]complex64, n), make([]complex64, 2*n)) },
		"a part of values": func() { _ = forward.Transform(make([]complex64, 5), make([]complex64, 5)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
	if _, err := NewInverse(nil, Params{}); err == nil {
		t.Error("an inverse of nothing")
	}
	if _, err := NewComplexPlan(nil, ComplexParams{N: 8, Batch: -1}); err == nil {
		t.Error("less than no rows")
	}
}
