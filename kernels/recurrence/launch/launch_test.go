package launch

import (
	_ "embed"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

func TestGroups(t *testing.T) {
	for _, test := range []struct{ channels, width, cores, want int }{
		{1, 16, 132, 2}, {1, 8, 132, 4}, {256, 16, 40, 4}, {256, 16, 8, 32}, {255, 16, 8, 16}, {1 << 16, 16, 132, 32}, {1, 16, 0, 32},
	} {
		if got := (Extent{Channels: test.channels}).groupOf(test.width, test.cores); got != test.want {
			t.Errorf("%d channels on %d cores, %d vectors a row: %d in a threadgroup, want %d", test.channels, test.cores, test.width, got, test.want)
		}
	}
}

//go:embed leak.metal
var leakText string

// TestChannels runs the least filter, which adds up, in threadgroups of every size, with rows around vectors and tiles.
func TestChannels(t *testing.T) {
	device := emulator.Open(t)
	for _, by := range []struct{ width, group int }{{8, 4}, {8, 8}, {8, 32}, {16, 2}, {16, 16}, {16, 32}} {
		for _, x := range []Extent{{33, 1}, {1, 130}, {32, 64}, {32, 7}, {5, 65}, {40, 33}} {
			b := device.NewPlan()
			words := (x.Channels*x.N + 3) / 4 * 4
			y, after := b.Output(gpu.Float, words), b.Output(gpu.Uint, 2*x.Channels)
			src, before := b.Input(gpu.Float, words), b.Input(gpu.Uint, 2*x.Channels)
			appendBy(b, by.group, gpu.Source{Name: "leak.metal", Text: leakText}, by.width, gpu.Values(float32(1)), x, y, after, src, before)
			plan, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			var sums []float32
			states := make([]float64, x.Channels)
			for c := range states {
				states[c] = float64(c)
				copy(before.Floats(), kernels.Float64Words(states))
				for i := range x.N {
					v := c%3 + i%5
					src.Floats()[c*x.N+i] = float32(v)
					if i == 0 {
						v += c
					} else {
						v += int(sums[len(sums)-1])
					}
					sums = append(sums, float32(v))
				}
			}
			if err := plan.Run(); err != nil {
				t.Fatal(err)
			}
			if got := y.Floats()[:len(sums)]; !slices.Equal(got, sums) {
				t.Errorf("%+v, %+v: wrong sums", by, x)
			}
			for c, v := range kernels.Float64s(after.Floats()) {
				if v != float64(sums[(c+1)*x.N-1]) {
					t.Errorf("%+v, %+v: channel %d ends in %g", by, x, c, v)
					break
				}
			}
			plan.Close()
		}
	}
}
