package main

import (
	"fmt"
	"math"
	"slices"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/attention"
	"crossover/kernels/softmax"
)

// productsOf returns the vendor's library of a device, with the products that rows are compared with.
func productsOf(d *gpu.Device) (gpu.Products, error) {
	library, ok := d.Driver().(gpu.Products)
	if !ok {
		return nil, fmt.Errorf("the %s driver has no batches of the vendor's products to compare with", d.Facts().API)
	}
	return library, library.GEMMMissing()
}

// attentionProducts compares attention without a mask, c, with its two products by the vendor's library and a copy of the
// scores. The copy reads and writes as much as a softmax at least. With a softmax in its place, the products give the values
// that ours are compared with.
func attentionProducts(c kernels.Case, p attention.Params, steps int) row {
	name := fmt.Sprintf("attention/products,heads=%d,width=%d,steps=%d", p.Heads, p.Width, steps)
	return row{name: name, measure: func(d *gpu.Device, runs int) ([]result, error) {
		library, err := productsOf(d)
		if err != nil {
			return nil, err
		}
		w := arithmetic(4 * float64(p.Heads) * float64(p.Width) * float64(steps) * float64(steps))
		problem := resident(d, c).Problem(steps, kernels.GeneratedInput())
		ours, call, err := bind(problem, ownImplementation(c, d.Facts().API), w)
		if err != nil {
			return nil, err
		}
		plan, _, err := attentionPlan(d, library, p, steps, copyScores)
		if err != nil {
			ours.close()
			return nil, err
		}
		return comparison{
			name: name, bound: "arithmetic", ours: ours, peer: planSide("2 products + copy", w, plan), tolerance: c.Tolerance(steps),
			difference: func() (float64, error) {
				want, err := attentionByProducts(d, library, p, steps)
				if err != nil {
					return 0, err
				}
				return relativeDifference(call.Output(), want), nil
			},
		}.measure(d, runs)
	}}
}

// attentionByProducts returns the attention that the case is measured with, by the vendor's products and our softmax.
func attentionByProducts(d *gpu.Device, library gpu.Products, p attention.Params, steps int) ([]float32, error) {
	plan, y, err := attentionPlan(d, library, p, steps, weighScores)
	if err != nil {
		return nil, err
	}
	defer plan.Close()
	if err := plan.RunResident(); err != nil {
		return nil, err
	}
	if err := plan.Download(); err != nil {
		return nil, err
	}
	return slices.Clone(y.Floats()), nil
}

// weighScores appends the softmax of scores, of rows×columns, and copyScores a copy of them. Both return the result.
func weighScores(b *gpu.Builder, scores *gpu.Buffer, rows, columns int) *gpu.Buffer {
	softmax.Launch(b, scores, scores, rows, columns)
	return scores
}

func copyScores(b *gpu.Builder, scores *gpu.Buffer, rows, columns int) *gpu.Buffer {
	copied := b.Scratch(gpu.Float, rows*columns)
	b.Copy(copied, scores)
	return copied
}

// attentionPlan is a plan of the scores by a product, of what between appends, and of the product of what it returns and the
// values. It has the inputs that the case is measured with.
func attentionPlan(d *gpu.Device, library gpu.Products, p attention.Params, steps int,
	between func(b *gpu.Builder, scores *gpu.Buffer, rows, columns int) *gpu.Buffer) (plan *gpu.Plan, y *gpu.Buffer, err error) {
	n := p.Heads * steps * p.Width
	b := d.NewPlan()
	y = b.Output(gpu.Float, n)
	q, k, v := b.Input(gpu.Float, n), b.Input(gpu.Float, n), b.Input(gpu.Float, n)
	scores := b.Scratch(gpu.Float, p.Heads*steps*steps)
	b.Encode(func() (gpu.External, error) {
		return library.NewProducts(gpu.Product{
			C: scores.Region(), A: q.Region(), B: k.Region(), M: steps, N: steps, K: p.Width, TransposeB: true, Alpha: float32(1 / math.Sqrt(float64(p.Width))),
		}, p.Heads)
	})
	weights := between(b, scores, p.Heads*steps, steps)
	b.Encode(func() (gpu.External, error) {
		return library.NewProducts(gpu.Product{
			C: y.Region(), A: weights.Region(), B: v.Region(), M: steps, N: p.Width, K: steps, Alpha: 1,
		}, p.Heads)
	})
	if plan, err = b.Build(); err != nil {
		return nil, nil, err
	}
	attention.Op.FillInputs(p, kernels.Shape{}, kernels.Input{}, &kernels.Args{nil, q.Floats(), k.Floats(), v.Floats()})
	if err = plan.Upload(); err != nil {
		plan.Close()
		return nil, nil, err
	}
	return plan, y, nil
}

// vectors are the ways in which the vendor's library multiplies the state of a layer, a row, by weights of rows×columns.
var vectors = []struct {
	name string
	by   func(library gpu.Products, y, weights, state gpu.Region, rows, columns int) (gpu.External, error)
}{
	{"products", func(library gpu.Products, y, weights, state gpu.Region, rows, columns int) (gpu.External, error) {
		return library.NewProduct(gpu.Product{C: y, A: state, B: weights, M: 1, N: rows, K: columns, TransposeB: true, Alpha: 1})
	}},
	{"vector-products", gpu.Products.NewVectorProduct},
}

// lstmProducts compares an LSTM of one sequence, c, with as many products of its state and its weights by the vendor's library as
// there are steps, and nothing else. So no layer by such products takes less time. Times are the host's, of a list that was
// recorded before: the device's clock would add to each of a thousand kernels.
func lstmProducts(c kernels.Case, hidden, steps int) []row {
	var all []row
	for _, way := range vectors {
		name := fmt.Sprintf("lstm/%s,hidden=%d,batch=1,steps=%d", way.name, hidden, steps)
		all = append(all, row{name: name, measure: func(d *gpu.Device, runs int) ([]result, error) {
			library, err := productsOf(d)
			if err != nil {
				return nil, err
			}
			problem := resident(d, c).Problem(steps, kernels.GeneratedInput())
			ours, call, err := bind(problem, ownImplementation(c, d.Facts().API), work{})
			if err != nil {
				return nil, err
			}
			ours.run = wall(call.Run)
			const gates = 4
			plan, _, err := vectorPlan(d, gates*hidden, hidden, steps, func(y, weights, state gpu.Region) (gpu.External, error) {
				return way.by(library, y, weights, state, gates*hidden, hidden)
			})
			if err != nil {
				ours.close()
				return nil, err
			}
			peer := &side{
				name: fmt.Sprintf("%d %s", steps, way.name), run: wall(plan.RunResident), call: plan.RunResident, close: plan.Close,
			}
			return comparison{
				name: name, bound: "launch", ours: ours, peer: peer, tolerance: c.Tolerance(steps),
				difference: func() (float64, error) { return call.ErrorAgainst(problem.Reference()), nil },
			}.measure(d, runs)
		}})
	}
	return all
}

// vectorPlan is a plan of as many products as there are steps, all the same one, of weights of rows×columns and a state.
func vectorPlan(d *gpu.Device, rows, columns, steps int, product func(y, weights, state gpu.Region) (gpu.External, error)) (
	plan *gpu.Plan, y *gpu.Buffer, err error) {
	b := d.NewPlan()
	y = b.Output(gpu.Float, rows)
	weights, state := b.Input(gpu.Float, rows*columns), b.Input(gpu.Float, columns)
	b.Encode(func() (gpu.External, error) {
		one, err := product(y.Region(), weights.Region(), state.Region())
		if err != nil {
			return nil, err
		}
		return repeated{one, steps}, nil
	})
	if plan, err = b.Build(); err != nil {
		return nil, nil, err
	}
	copy(weights.Floats(), random(rows*columns))
	copy(state.Floats(), random(columns))
	if err = plan.Upload(); err != nil {
		plan.Close()
		return nil, nil, err
	}
	return plan, y, nil
}

// repeated is work of a vendor's library, again and again. So a thousand products need one handle of the library.
type repeated struct {
	gpu.External
	times int
}

func (r repeated) Encode(target uintptr) error {
	for range r.times {
		if err := r.External.Encode(target); err != nil {
			return err
		}
	}
	return nil
}
