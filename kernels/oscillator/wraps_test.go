package oscillator

import (
	"math"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// wraps are voices whose sawtooth reaches a phase of exactly ½, where it is −1.
var wraps = []struct{ frequency, detune, sampleRate int }{
	{1000, 0, 48000}, {1000, 0, 44100}, {441, 0, 44100}, {1, 0, 48000}, {6000, 0, 48000}, {11025, 0, 44100},
	{500, 1200, 48000}, {150, 2400, 8000}, {23999, 0, 48000}, {7, 0, 96000}, {3, 0, 10},
}

// sawAt returns the sawtooth at sample n, computed in whole numbers without rounding.
func sawAt(frequency, sampleRate, n int64) float64 {
	cycle := n % sampleRate * frequency % sampleRate // phase, in units of 1/sampleRate of a cycle
	if 2*cycle >= sampleRate {
		cycle -= sampleRate
	}
	return 2 * float64(cycle) / float64(sampleRate)
}

func wrapBank(frequency, detune, sampleRate int) Params {
	return Params{SampleRate: float64(sampleRate), Voices: []Voice{
		{Frequency: float64(frequency), Detune: float64(detune), Sustain: 1, Gate: 5e5}}}
}

func TestExactWraps(t *testing.T) {
	op := Op
	op.By = append(slices.Clone(Op.By), forced("several samples a thread", strategy{64, 16, 16, 1}))
	for _, w := range wraps {
		p := wrapBank(w.frequency, w.detune, w.sampleRate)
		hertz := int64(w.frequency) << (w.detune / 1200)
		for name, plan := range kerneltest.Plans(t, &op, p) {
			for _, position := range []int64{0, 24, 1e6, 86400 * int64(w.sampleRate)} {
				for i, y := range render(t, plan, 1, 1100, position) {
					n := position + int64(i)
					sine := math.Sin(2 * math.Pi * float64(n%int64(w.sampleRate)*int64(w.frequency)%int64(w.sampleRate)) / float64(w.sampleRate))
					if want := (sine + sawAt(hertz, int64(w.sampleRate), n)) / 2; !(math.Abs(float64(y)-want) <= 1e-6) {
						t.Errorf("%s, %v: sample %d is %g, want %g", name, w, n, y, want)
						break
					}
				}
			}
		}
		for n, y := range Reference(p, 1100) {
			sine := math.Sin(2 * math.Pi * float64(n*w.frequency%w.sampleRate) / float64(w.sampleRate))
			if want := (sine + sawAt(hertz, int64(w.sampleRate), int64(n))) / 2; !(math.Abs(y-want) <= 1e-11) {
				t.Errorf("reference, %v: sample %d is %g, want %g", w, n, y, want)
				break
			}
		}
	}
}

// A block has the same bits with any number of workers.
func TestParallelIsSerial(t *testing.T) {
	const count = 37
	bank := usualBank(kernels.Shape{voices: count})
	for _, workers := range []int{1, 2, 3, 8} {
		b := &kernels.Backends{Pool: pool.New(workers)}
		var both [2]*kernels.Plan[Params]
		for i, name := range []string{"go", "go-parallel"} {
			var err error
			if both[i], err = kernels.NewPlanOf(b, &Op, bank, name); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range []int{1, 31, 500, 2048} {
			for _, position := range []int64{0, 1, 100, 333} {
				want := render(t, both[0], count, n, position)
				for range 10 {
					if got := render(t, both[1], count, n, position); !slices.Equal(got, want) {
						t.Fatalf("%d workers: from %d on the %d samples are others than those of one worker", workers, position, n)
					}
				}
			}
		}
		b.Pool.Close()
	}
}
