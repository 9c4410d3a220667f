package kernels_test

import (
	"runtime"
	"testing"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/pool"
)

// Plans on different backends share no choice of a dispatcher, even if the backends are at the address of collected ones. Here
// half of the backends have the implementation that the dispatcher wants.
func TestBackendsAreToldApart(t *testing.T) {
	d := dispatch.Always("second")
	op := adding(nil)
	first, second := kernels.Maker[params]{}, kernels.Maker[params]{} // which refer to no backends, so that these are collected
	first.Name, second.Name = "first", "second"
	op.By = []kernels.Makers[params]{func(b *kernels.Backends, _ *kernels.Op[params]) []kernels.Maker[params] {
		if b.Accelerate {
			return []kernels.Maker[params]{first, second}
		}
		return []kernels.Maker[params]{first}
	}}
	for i := range 100 {
		there := i/3%2 == 1 // not every other time, because addresses may alternate as well
		plan := kernels.NewPlanOn(&kernels.Backends{Pool: pool.Shared(), Accelerate: there}, d, op, params{})
		for range 2 {
			if got := plan.Explain(kernels.Shape{10}).Implementation; there != (got == "second") {
				t.Fatalf("backends %d have the second implementation: %v, and %s is chosen", i, there, got)
			}
		}
		plan.Close()
		plan = nil
		runtime.GC()
	}
}
