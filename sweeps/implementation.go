package sweeps

import (
	"math"
	"strings"

	"crossover/kernels"
)

// implementation is one that can run here, and how it fares in a case.
type implementation struct {
	kernels.Implementation
	status      *Status
	index       int  // in Samples.Implementations
	limit       int  // greatest size at which it is still timed
	lost        bool // with its GPU
	boundBefore bool // at least once in this case
	shallowFrom int  // least size at which fewer calls were in flight than asked for; 0 for none
}

// unlimited is the limit of an implementation that has not failed.
const unlimited = math.MaxInt

// live reports whether it is still timed at a size.
func (i *implementation) live(size int) bool { return !i.status.Wrong && !i.lost && size <= i.limit }

// spreads reports whether calls may want other processors than the one that makes them. The others are left asleep
// otherwise, as a program leaves them that calls nothing parallel.
func (i *implementation) spreads() bool {
	const decidesItself = "accelerate"
	return i.Processor == kernels.CPU && (kernels.Parallel(i.Name) || strings.HasPrefix(i.Name, decidesItself))
}

// wakes reports whether calls may wake other goroutines: those that spread do, and copies to a GPU and back are made by
// several processors.
func (i *implementation) wakes() bool { return i.spreads() || i.Processor == kernels.GPU }
