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
		p    Params
		room int
	}{{Params{Heads: 3, Width: 12}, 70}, {Params{Heads: 2, Width: 7, Causal: true}, 5}} {
		p, b := test.p, device.NewPlan()
		s := kernels.Shape{heads: p.Heads, width: p.Width, steps: 1, keys: test.room}
		var all [4]*gpu.Buffer
		var rows [4]*gpu.Buffer
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
			var k, v [][]float32 // by step
			for step := range test.room {
				for i, x := range []*gpu.Buffer{all[1], rows[2], rows[3]} {
					kernels.Noise(x.Floats()[:each], uint64(1000*sequence+3*step+i))
				}
				k, v = append(k, append([]float32(nil), rows[2].Floats()[:each]...)), append(v, append([]float32(nil), rows[3].Floats()[:each]...))
				length.Uints()[0] = uint32(step + 1)
				if err := plan.Run(); err != nil {
					t.Fatal(err)
				}
				if step > 3 && step%13 != 0 && step < test.room-7 {
					continue // the reference takes long
				}
				want := Reference(p, all[1].Floats()[:each], byHeads(p, k), byHeads(p, v), 1, step+1)
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
