package fft

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/fft/ffttest"
	"crossover/kernels/fft/transform"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// There are few lengths, because FFTW plans for up to half a second for each.
func TestOp(t *testing.T) {
	kerneltest.Run(t, &Op, kerneltest.Options{Sizes: []int{3, 480, 1000}, Most: 16 << 10, Infinite: true})
}

// A thread must not overwrite what others of its threadgroup still have to read, nor read what is not written yet.
func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.EmulatorName, kernels.Shape{256, 1})
}

// TestInfinity checks that no bin is finite if a sample is infinite.
func TestInfinity(t *testing.T) {
	for _, n := range []int{480, 101} {
		for name, plan := range kerneltest.Plans(t, &Op, Params{N: n, Batch: 1}) {
			x, bins := ffttest.Noise(n), make([]complex64, n/2+1)
			x[7] = float32(math.Inf(1))
			if err := plan.Run(kernels.Shape{n, 1}, kernels.Args{kernels.ComplexWords(bins), x}); err != nil {
				t.Fatal(err)
			}
			for k, v := range bins {
				if d := (real(v) - real(v)) + (imag(v) - imag(v)); d == d {
					t.Errorf("%s: bin %d of %d is %v", name, k, n, v)
					break
				}
			}
		}
	}
}

// TestWork compares Work's bytes with the memory that a call reads and writes.
func TestWork(t *testing.T) {
	for _, s := range []kernels.Shape{{64, 1}, {1000, 3}, {45, 2}} {
		bytes := 0
		for _, tensor := range Op.IO(Op.Params(s), s) {
			bytes += 4 * tensor.Len()
		}
		if got := Op.Work(s, "").Bytes; got != float64(bytes) {
			t.Errorf("%v says that it moves %v bytes, want %d", s, got, bytes)
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
	for _, p := range []Params{{N: 0}, {N: -1}, {N: 8, Batch: -1}} {
		if _, err := New(nil, p); err == nil {
			t.Errorf("New of %+v succeeded", p)
		}
	}
	plan, err := New(nil, Params{N: 8})
	if err != nil {
		t.Fatal(err)
	}
	for name, lengths := range map[string][2]int{"no row": {0, 0}, "part of a row": {5, 12}, "short dst": {9, 16}} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
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
		if line, size := judged(Params{N: tc.n}, kernels.Shape{tc.n, tc.rows}); line != tc.line || size != tc.size {
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
	p, shape := Params{N: n, Batch: rows}, kernels.Shape{n, rows}
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
	appendRows(b, Params{}, kernels.Shape{1 << 20, 1 << 20}, make([]*gpu.Buffer, 2))
	if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
		t.Errorf("a mebirow of mebisamples: %v", err)
	}
}

// fakeLibrary notes the arguments of a call and fails.
type fakeLibrary struct {
	gpu.FFT
	n, batch int
	dst, src gpu.Region
}

var errFake = errors.New("no such plan")

func (l *fakeLibrary) NewRealFFT(dst, src gpu.Region, n, batch int) (gpu.External, error) {
	*l = fakeLibrary{n: n, batch: batch, dst: dst, src: src}
	return nil, errFake
}

// TestVendor checks what a vendor's library is asked for. What the library computes is tested on machines that have it.
func TestVendor(t *testing.T) {
	library := &fakeLibrary{}
	appendVendor, err := newVendor(nil, library, Params{})
	if err != nil {
		t.Fatal(err)
	}
	b := emulator.Open(t).NewPlan()
	src, dst := b.Input(gpu.Float, 200), b.Output(gpu.Float2, 2*51)
	appendVendor(b, Params{}, kernels.Shape{100, 2}, []*gpu.Buffer{dst, src})
	if _, err := b.Build(); !errors.Is(err, errFake) {
		t.Errorf("the library's error became %v", err)
	}
	if library.n != 100 || library.batch != 2 || library.src.Bytes != 4*200 || library.dst.Bytes != 8*2*51 {
		t.Errorf("the library was asked for %d rows of %d, %d bytes from %d", library.batch, library.n, library.dst.Bytes, library.src.Bytes)
	}
}

func TestProgram(t *testing.T) { kerneltest.Programs(t, &Op, Program, 480) }
