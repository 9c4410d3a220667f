package main

import (
	"math"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/attention"
	"crossover/kernels/kerneltest"
	"crossover/kernels/recurrent"
)

// withProducts returns an emulated GPU with a stand-in for the vendor's library, and its backends.
func withProducts(t *testing.T) (*gpu.Device, gpu.Products, *kernels.Backends) {
	t.Helper()
	backends := kerneltest.WithGEMM(t)
	device, err := backends.GPUs[0].OpenFit()
	if err != nil {
		t.Fatal(err)
	}
	library, err := productsOf(device)
	if err != nil {
		t.Fatal(err)
	}
	return device, library, backends
}

// Each row measures both sides, and finds our values right.
func TestProductRows(t *testing.T) {
	device, _, backends := withProducts(t)
	p := attention.Params{Heads: 3, Width: 8}
	all := append(lstmProducts(recurrent.LSTM.CaseOf(backends, kernels.Along(recurrent.LSTM.Axes, "steps",
		kernels.Param{Name: "in", Value: 4}, kernels.Param{Name: "hidden", Value: 8}, kernels.Param{Name: "batch", Value: 1})), 8, 5),
		attentionProducts(attentionCase(backends, p.Heads, p.Width, 20), p, 20))
	for i, want := range []string{
		"lstm/products,hidden=8,batch=1,steps=5", "lstm/vector-products,hidden=8,batch=1,steps=5",
		"attention/products,heads=3,width=8,steps=20",
	} {
		results, err := all[i].measure(device, 10)
		if err != nil || len(results) != 1 || results[0].Name != want || results[0].Peer.By == "" || results[0].Error == 0 {
			t.Errorf("%s: %+v, %v", want, results, err)
		}
	}
	// A row of other keys than the products have is wrong.
	if _, err := attentionProducts(attentionCase(backends, p.Heads, p.Width, 16), p, 20).measure(device, 10); err == nil ||
		!strings.Contains(err.Error(), "wrong values") {
		t.Errorf("%v; want wrong values", err)
	}
}

// The products are those of attention, with a softmax between them or a copy.
func TestAttentionByProducts(t *testing.T) {
	device, library, _ := withProducts(t)
	p, steps := attention.Params{Heads: 3, Width: 8}, 20
	n := p.Heads * steps * p.Width
	a := kernels.Args{nil, make([]float32, n), make([]float32, n), make([]float32, n)}
	attention.Op.FillInputs(p, kernels.Shape{}, kernels.Input{}, &a)
	got, err := attentionByProducts(device, library, p, steps)
	if err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(got, attention.Reference(p, a[1], a[2], a[3], steps, steps)); !(e <= 1e-6) {
		t.Errorf("with a softmax: relative error %.2g", e)
	}
	plan, y, err := attentionPlan(device, library, p, steps, copyScores)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if err := plan.RunResident(); err != nil {
		t.Fatal(err)
	}
	if err := plan.Download(); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, n)
	for row := range p.Heads * steps {
		for j := range steps {
			key, score := row/steps*steps+j, 0.0
			for c := range p.Width {
				score += float64(a[1][row*p.Width+c]) * float64(a[2][key*p.Width+c])
			}
			for c := range p.Width {
				want[row*p.Width+c] += score / math.Sqrt(float64(p.Width)) * float64(a[3][key*p.Width+c])
			}
		}
	}
	if e := kernels.RelativeError(y.Floats(), want); !(e <= 1e-6) {
		t.Errorf("with a copy: relative error %.2g", e)
	}
}

// Both ways multiply the weights and the state, as often as there are steps.
func TestVectorProducts(t *testing.T) {
	device, library, _ := withProducts(t)
	const rows, columns, steps = 12, 3, 5
	for _, way := range vectors {
		calls := 0
		plan, y, err := vectorPlan(device, rows, columns, steps, func(y, weights, state gpu.Region) (gpu.External, error) {
			one, err := way.by(library, y, weights, state, rows, columns)
			return counted{one, &calls}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.RunResident(); err != nil {
			t.Fatal(err)
		}
		if err := plan.Download(); err != nil {
			t.Fatal(err)
		}
		want := make([]float64, rows)
		for i := range want {
			for j, h := range random(columns) {
				want[i] += float64(random(rows * columns)[i*columns+j]) * float64(h)
			}
		}
		if e := kernels.RelativeError(y.Floats(), want); !(e <= 1e-6) || calls != steps {
			t.Errorf("%s: %d calls, relative error %.2g; want %d calls", way.name, calls, e, steps)
		}
		plan.Close()
	}
}

type counted struct {
	gpu.External
	calls *int
}

func (c counted) Encode(target uintptr) error {
	*c.calls++
	return c.External.Encode(target)
}

// Without the library, a row says what is missing.
func TestNoProducts(t *testing.T) {
	device := emulator.Open(t)
	p := attention.Params{Heads: 1, Width: 4}
	for _, r := range append(lstmProducts(kernels.Case{}, 4, 2), attentionProducts(kernels.Case{}, p, 4)) {
		if _, err := r.measure(device, 10); err == nil || !strings.Contains(err.Error(), "no batches of the vendor's products") {
			t.Errorf("%s: %v; want what is missing", r.name, err)
		}
	}
}
