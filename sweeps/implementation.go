package sweeps

import (
	"math"

	"crossover/kernels"
)

// implementation is an implementation that can run here, with its state in a case.
type implementation struct {
	kernels.Implementation
	status      *Status
	index       int  // index in Samples.Implementations
	limit       int  // greatest size at which it is still timed
	lost        bool // whether its GPU was lost
	boundBefore bool // bound at least once in this case
	shallowFrom int  // least size with fewer calls in flight than asked for; 0 if there is none
	division    division
}

// unlimited is the limit of an implementation that has not failed.
const unlimited = math.MaxInt

// live reports whether the implementation is still timed at a size.
func (i *implementation) live(size int) bool { return !i.status.Wrong && !i.lost && size <= i.limit }

// spreads reports whether calls may use other processors than that of the caller. Otherwise the other processors stay
// asleep, as in a program without parallel calls.
func (i *implementation) spreads() bool {
	return i.Processor == kernels.CPU && i.Cores != kernels.OneCore
}
