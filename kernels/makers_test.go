package kernels

import (
	"testing"

	"crossover/pool"
)

// A loop that does not say how many rows take a microsecond is divided as if one did.
func TestLoopWithoutPerMicrosecond(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	l := Loop{}
	for rows, want := range map[int]int{3: 3, 4: 1} {
		if got := l.grain(&Shape{}, rows, p); got != want {
			t.Errorf("%d rows: grain %d, want %d", rows, got, want)
		}
	}
}
