package stream

import (
	"fmt"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/kerneltest"
	"crossover/kernels/recurrence"
	"crossover/pool"
	"crossover/songs"
)

// virtual is a clock that moves when somebody waits or computes.
type virtual struct{ at time.Duration }

func (v *virtual) now() time.Duration    { return v.at }
func (v *virtual) until(t time.Duration) { v.at = max(v.at, t) }

// await waits for a block, and goes back to the time at which nobody would have waited any longer.
func (v *virtual) await(over <-chan uint64, block uint64, until time.Duration) bool {
	for <-over != block {
	}
	if v.at > until {
		v.at = until
		return false
	}
	return true
}

// faults is what an emulated GPU does wrong. Each submission takes as long as it says.
type faults struct {
	*virtual
	takes time.Duration
	lost  bool
	calls int

	opened, dead int // devices, and those of them that are lost for good
	closed       int
	refuses      bool

	stuck chan struct{} // calls return when it is closed; nil stands for a GPU that is not stuck
}

// faulty is the emulated GPU with faults.
type faulty struct {
	gpu.Driver
	*faults
	number int // of the devices that were opened
}

type faultyRecording struct {
	gpu.Recording
	*faults
	number int
}

func (f faulty) Record(commands []gpu.Command) (gpu.Recording, error) {
	if f.lost || f.number <= f.dead {
		return nil, errLost
	}
	r, err := f.Driver.Record(commands)
	return faultyRecording{r, f.faults, f.number}, err
}

func (f faulty) Close() {
	f.Driver.Close()
	f.closed++
}

var errLost = fmt.Errorf("a test: %w", gpu.ErrLost)

func (r faultyRecording) Wait() (gpu.Times, error) {
	times, err := r.Recording.Wait()
	if r.stuck != nil {
		<-r.stuck
	}
	r.at += r.takes
	r.calls++
	if r.lost || r.number <= r.dead {
		err = errLost
	}
	return times, err
}

// emulated returns backends with an emulated GPU that has faults. It skips the test where there is no emulator.
func emulated(t *testing.T) (*kernels.Backends, *faults) {
	t.Helper()
	f := &faults{virtual: &virtual{}, takes: time.Millisecond}
	b := &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend(kerneltest.GPUName, func() (gpu.Driver, error) {
		if f.refuses {
			return nil, errLost
		}
		d, err := emulator.New(emulator.Unified(true))
		f.opened++
		return faulty{d, f, f.opened}, err
	})}}
	if err := b.GPUs[0].Probe(); err != nil {
		t.Skip(err)
	}
	return b, f
}

// testSource is a short chain of effects in blocks of 100 ms.
func testSource(t *testing.T) *Source {
	t.Helper()
	const block, rate = 400, 4000
	filter, err := biquad.LowpassCascade(1000, rate, 2)
	if err != nil {
		t.Fatal(err)
	}
	g, err := songs.EffectsGraph(songs.EffectsParams{Filter: filter, Block: block, Response: noise(3, 700),
		Compressor: recurrence.CompressorParams{Threshold: -20, Ratio: 4, Attack: 0.005, Release: 0.1, SampleRate: rate}})
	if err != nil {
		t.Fatal(err)
	}
	return &Source{g, block, rate, "reverb", func(inputs [][]float32, k uint64) {
		kernels.Noise(inputs[0], k)
	}}
}

func noise(seed uint64, n int) []float32 {
	x := make([]float32, n)
	kernels.Noise(x, seed)
	return x
}

func onGo(name string) songs.Entrant {
	return songs.Entrant{Name: name, Route: songs.Route{"go", "go", "go"}}
}

var onEmulator = songs.Entrant{Name: GPU, OnGPU: true,
	Route: songs.Route{kerneltest.GPUName, kerneltest.GPUName, kerneltest.GPUName}}
