package attention

import (
	"math"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

// One launch plan computes the attention to keys that grow by a row in each call, also where the room is used up, and again from
// the first call on. What lies behind the keys reaches no result: it is NaN, or what an earlier sequence left.
func TestGrowing(t *testing.T) {
	device := emulator.Open(t)
	for _, test := range []struct {
		p           Params
		room, begun int // rows, and how many of them the host writes before the first call
	}{{Params{Heads: 3, Width: 12}, 67, 61}, {Params{Heads: 2, Width: 7, Causal: true}, 5, 0}} {
		p, b := test.p, device.NewPlan()
		s := kernels.Shape{heads: p.Heads, width: p.Width, steps: 1, keys: test.room}
		var all, rows [4]*gpu.Buffer
		io := Op.IO(p, s)
		all[0], all[1] = kernels.BufferOf(io[0], b.Output), kernels.BufferOf(io[1], b.Input)
		for _, i := range []int{2, 3} {
			all[i], rows[i] = kernels.BufferOf(io[i], b.Kept), kernels.BufferOf(io[1], b.Input)
		}
		length := b.Input(gpu.Uint, 4)
		appendGrowing(b, p, s, all[:], rows[:], length)
		plan, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		each := p.Heads * p.Width
		for sequence := range 2 {
			var kv [2][][]float32 // by step
			for i := range kv {
				for step := range test.room {
					row := make([]float32, each)
					kernels.Noise(row, uint64(1000*sequence+2*step+i))
					kv[i] = append(kv[i], row)
				}
				written := make([]float32, each*test.room)
				for at, x := range byHeads(p, kv[i][:test.begun]) {
					written[at/(test.begun*p.Width)*test.room*p.Width+at%(test.begun*p.Width)] = x
				}
				if sequence == 0 {
					for at := range written {
						if at/p.Width%test.room >= test.begun {
							written[at] = float32(math.NaN())
						}
					}
				}
				if test.begun > 0 {
					if err := plan.Write(all[2+i], written); err != nil {
						t.Fatal(err)
					}
				}
			}
			q := all[1].Floats()[:each]
			for step := test.begun; step < test.room; step++ {
				kernels.Noise(q, uint64(step))
				copy(rows[2].Floats(), kv[0][step])
				copy(rows[3].Floats(), kv[1][step])
				length.Uints()[0] = uint32(step + 1)
				if err := plan.Run(); err != nil {
					t.Fatal(err)
				}
				want := Reference(p, q, byHeads(p, kv[0][:step+1]), byHeads(p, kv[1][:step+1]), 1, step+1)
				for i, w := range want {
					if got := float64(all[0].Floats()[i]); !(math.Abs(got-w) <= 1e-5) {
						t.Fatalf("%+v, sequence %d, step %d: value %d is %v, want %v", p, sequence, step, i, got, w)
					}
				}
			}
		}
	}
}

// byHeads returns the rows of all steps, head by head.
func byHeads(p Params, rows [][]float32) (all []float32) {
	for h := range p.Heads {
		for _, row := range rows {
			all = append(all, row[h*p.Width:(h+1)*p.Width]...)
		}
	}
	return all
}
