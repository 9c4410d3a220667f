package oscillator

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"crossover/gpu/emulator"
	"crossover/pool"
)

// wraps are voices whose sawtooth comes to a phase of exactly ½, where it is −1.
var wraps = []struct{ frequency, detune, sampleRate int }{
	{1000, 0, 48000}, {1000, 0, 44100}, {441, 0, 44100}, {1, 0, 48000}, {6000, 0, 48000}, {11025, 0, 44100},
	{500, 1200, 48000}, {150, 2400, 8000}, {23999, 0, 48000}, {7, 0, 96000}, {3, 0, 10},
}

// sawAt returns the sawtooth at sample n from whole numbers, which nothing rounds.
func sawAt(frequency, sampleRate, n int64) float64 {
	cycle := n % sampleRate * frequency % sampleRate // of sampleRate in a cycle
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
	device := emulator.Open(t)
	for _, w := range wraps {
		p := wrapBank(w.frequency, w.detune, w.sampleRate)
		gpu, err := newLaunch(device, p)
		if err != nil {
			t.Fatal(err)
		}
		many := largeBlocks{&launch{voices: newVoices(p), device: device}}
		hertz := int64(w.frequency) << (w.detune / 1200)
		for name, e := range map[string]engine{"go": serial(newVoices(p)), "go-parallel": newParallel(p), "gpu": gpu,
			"gpu, several samples a thread": many} {
			for _, position := range []int64{0, 24, 1e6, 86400 * int64(w.sampleRate)} {
				got := make([]float32, 1100)
				if err := e.render(got, position); err != nil {
					t.Fatal(err)
				}
				for i, y := range got {
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

// largeBlocks renders by the strategy for long blocks.
type largeBlocks struct{ *launch }

func (e largeBlocks) render(dst []float32, position int64) error {
	p, err := e.planBy(strategy{64, 16, 16, 1}, len(dst))
	if err != nil {
		return err
	}
	defer p.Close()
	p.start(position)
	err = p.Run()
	copy(dst, p.y.Floats())
	return err
}

// However many workers there are and whichever comes first, a block has the bits that one worker gives it.
func TestParallelIsSerial(t *testing.T) {
	p := testBank(37)
	for _, workers := range []int{1, 2, 3, 8} {
		e := &parallel{pool: pool.New(workers), voices: newVoices(p)}
		for _, n := range []int{1, 31, 500, 2048} {
			t.Run(fmt.Sprintf("workers=%d,n=%d", workers, n), func(t *testing.T) {
				for _, position := range []int64{0, 1, 100, 333} {
					want, got := make([]float32, n), make([]float32, n)
					if err := serial(e.voices).render(want, position); err != nil {
						t.Fatal(err)
					}
					for range 10 {
						if err := e.render(got, position); err != nil {
							t.Fatal(err)
						}
						if !slices.Equal(got, want) {
							t.Fatalf("from %d on the samples are others than those of one worker", position)
						}
					}
				}
			})
		}
		e.pool.Close()
	}
}
