package sweeps_test

import (
	"testing"
	"time"

	"crossover/kernels"
	"crossover/lab/model"
)

// Cores that are all busy may clock lower than one alone, by some six percent (reported of Apple's), and stay so for some
// milliseconds. That is no disturbance, and costs no block.
func TestParallelCallsDoNotDisturb(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	for _, keeps := range []time.Duration{time.Millisecond, 4 * time.Millisecond, 8 * time.Millisecond} {
		s := &model.Scenario{
			Name: "op/x=1", Low: 64, High: 1 << 20,
			Noise: model.Noise{Jitter: 0.005, AllCore: 0.064, AllCoreFor: keeps},
			Implementations: []model.Implementation{
				{Name: "go", Processor: kernels.CPU, Cost: func(n float64) float64 { return 1e-6 + 4e-9*n }},
				{Name: "go-parallel", Processor: kernels.CPU, Cores: kernels.AllCores, Cost: func(n float64) float64 { return 8e-6 + 1.5e-9*n }},
			},
		}
		for seed := range uint64(5) {
			r := calibrated(t, s, seed, nil)
			if r.Discarded.Total() > 0 || r.Degraded || len(r.Samples.Blocks) < 100 {
				t.Errorf("clocks back after %v, seed %d: %d blocks were discarded and %d kept, %q",
					keeps, seed, r.Discarded.Total(), len(r.Samples.Blocks), r.Warnings)
			}
		}
	}
}
