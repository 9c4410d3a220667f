package kernels

import (
	"runtime"
	"testing"

	"crossover/pool"
)

// Backends get identities of their own, even at the address of collected ones.
func TestBackendsAreToldApart(t *testing.T) {
	seen := map[uint64]bool{}
	for range 100 {
		b := &Backends{Pool: pool.Shared()}
		id := b.identity()
		if seen[id] || id == 0 || b.identity() != id {
			t.Fatalf("identity %d, then %d; seen before: %v", id, b.identity(), seen[id])
		}
		seen[id] = true
		runtime.GC()
	}
}
