package fft

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/pool"
)

func TestCases(t *testing.T) {
	sizes := map[string][]int{
		"fft/batch=1": {64, 480, 1000, 1 << 15},
		"fft/n=1024":  {1, 3, 32},
		"fft/n=4096":  {1, 2},
	}
	in := kernels.GeneratedInput()
	for _, c := range Cases() {
		if sizes[c.Name] == nil {
			t.Errorf("no sizes for %s", c.Name)
		}
		if !slices.Contains(calibration.Units, c.Axis.Unit) {
			t.Errorf("%s: unit %q is not one of %q", c.Name, c.Axis.Unit, calibration.Units)
		}
		for _, size := range sizes[c.Name] {
			p := c.Problem(size, in)
			want := p.Reference()
			for _, implementation := range c.Implementations {
				t.Run(fmt.Sprintf("%s/%d/%s", c.Name, size, implementation.Name), func(t *testing.T) {
					if err := implementation.Missing(); err != nil {
						t.Skip(err)
					}
					if implementation.Version != nil && size != sizes[c.Name][1] {
						t.Skip("planning takes the library half a second: one size will do")
					}
					call, err := p.Bind(implementation.Name)
					if err != nil {
						t.Fatal(err)
					}
					defer call.Release()
					run := func() {
						if err := call.Run(); err != nil {
							t.Fatal(err)
						}
					}
					run()
					expect(t, "output", call.Output(), want, c.Tolerance(size))
					// A collection empties the pool that calls into C take their frames from: an allocation counts if it
					// comes again.
					got := 1.0
					for try := 0; got != 0 && try < 3; try++ {
						got = testing.AllocsPerRun(3, run)
					}
					if got != 0 {
						t.Errorf("%v allocations a call, want 0", got)
					}
					if bytes := float64(4*len(p.(*problem).x) + 4*len(want)); c.Bytes(size) != bytes {
						t.Errorf("says it moves %v bytes, want %v", c.Bytes(size), bytes)
					}
				})
			}
		}
		if _, err := c.Problem(c.Axis.Min, in).Bind("abacus"); !errors.Is(err, kernels.ErrUnknownImplementation) {
			t.Errorf("%s: binding an unknown implementation: %v", c.Name, err)
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
			for _, rows := range []int{1, 3, 4} {
				x := noise(rows * p.N)
				bins := make([]complex64, rows*(p.N/2+1))
				if err := plan.Transform(bins, x); err != nil {
					t.Fatal(err)
				}
				var want []float64
				for row := range slices.Chunk(x, p.N) {
					want = append(want, parts64(Reference(row))...)
				}
				expect(t, fmt.Sprintf("%d rows", rows), floats(bins), want, 4e-7)
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

// TestChoice checks which measurement decides: that of one row by its length, else that of rows at the nearer length.
func TestChoice(t *testing.T) {
	for _, tc := range []struct {
		n, rows, size int
		single        bool
	}{
		{480, 1, 480, true}, {1024, 1, 1024, true}, {1024, 8, 8, false}, {2000, 8, 16, false}, {4096, 3, 3, false},
		{8192, 3, 6, false}, {64, 2, 1, false},
	} {
		plan, err := New(nil, Params{N: tc.n, Batch: tc.rows})
		if err != nil {
			t.Fatal(err)
		}
		engines, size := plan.choice(tc.rows)
		if (engines == plan.single) != tc.single || size != tc.size {
			t.Errorf("%d rows of %d: single is %v and the size %d, want %v and %d", tc.rows, tc.n, engines == plan.single,
				size, tc.single, tc.size)
		}
		if plan.Explain(tc.rows) != engines.Explain(size) {
			t.Errorf("%d rows of %d: the explanation is another one's", tc.rows, tc.n)
		}
	}
}

// TestParallelRows gives several workers rows for long enough that they meet.
func TestParallelRows(t *testing.T) {
	const n, rows = 1000, 64
	workers := pool.New(4)
	defer workers.Close()
	x, want := noise(n*rows), make([]complex64, rows*(n/2+1))
	if err := (&serial{n: n, row: NewReal(n)}).transform(want, x); err != nil {
		t.Fatal(err)
	}
	shared := newParallel(n, workers)
	got := make([]complex64, len(want))
	for range 50 {
		clear(got)
		if err := shared.transform(got, x); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatal("rows of several workers differ from those of one")
		}
	}
}

// TestLibraryRows checks that an engine of FFTW takes other numbers of rows than it was made for.
func TestLibraryRows(t *testing.T) {
	for _, c := range fftwContenders {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Missing(); err != nil {
				t.Skip(err)
			}
			e, err := c.New(Params{N: 64, Batch: 4})
			if err != nil {
				t.Fatal(err)
			}
			defer e.close()
			for _, rows := range []int{4, 1, 7} {
				x, bins := noise(rows*64), make([]complex64, rows*33)
				if err := e.transform(bins, x); err != nil {
					t.Fatal(err)
				}
				for row := range rows {
					expect(t, fmt.Sprintf("row %d of %d", row, rows), floats(bins[33*row:][:33]), parts64(Reference(x[64*row:][:64])), 4e-7)
				}
			}
		})
	}
}
