package sweeps

import (
	"errors"
	"time"

	"crossover/kernels"
)

// Mode says whether each call is waited for.
type Mode string

// The modes. In latency mode the caller waits for each call. In throughput mode calls follow each other without a pause, and
// a time is the time of a batch divided by its number of calls. On the processor a call ends before the next one starts, so
// there the two modes differ only in the state of the caches. On a GPU, Options.InFlight calls, each with buffers of its
// own, are under way at a time.
const (
	Latency    Mode = "latency"
	Throughput Mode = "throughput"
)

// State says what happened before a call.
type State string

// The states.
const (
	// Warm is a call after others like it: caches are filled, clocks are up, and everything is planned and compiled. In
	// latency mode, an untimed call comes before each timed batch, to undo the effects of the other implementations of the
	// block.
	Warm State = "warm"
	// Cold is the first call of a process, as far as a running process can repeat it. The implementation is bound and run
	// once, and both together are one time. Before that its last binding is released, Options.Forget drops what libraries
	// and drivers keep, and free memory goes back to the system. Libraries stay loaded, a GPU's context stays open, and the
	// system's file cache stays as it is.
	Cold State = "cold"
	// AfterIdle is one warm call after a pause of IdlePause, in which processors and GPUs sleep and clocks fall.
	AfterIdle State = "after-idle"
)

// IdlePause is the pause before each call of an AfterIdle sweep. It is longer than the time between audio buffers, and long
// enough for a processor's deepest sleep and for the governor that sets its clock.
const IdlePause = 50 * time.Millisecond

// DefaultInFlight is the default number of GPU calls in flight in throughput mode.
const DefaultInFlight = 8

const (
	// backToBack is the least number of calls in a batch of throughput mode.
	backToBack = 8
	// fills is how many times a batch fills the calls in flight. The batch includes filling and draining the pipeline, whose
	// time counts: at most one latency in fills times the number of calls in flight.
	fills = 4
	// inFlightBytes is the greatest number of bytes of one implementation's calls in flight. Two calls as large as that keep
	// a GPU busy.
	inFlightBytes = 1 << 30
)

// check returns an error if the mode and the state of the options exclude each other.
func (o *Options) check() error {
	switch {
	case o.Mode != Latency && o.Mode != Throughput:
		return errors.New(`sweeps: the mode is neither "latency" nor "throughput"`)
	case o.State != Warm && o.State != Cold && o.State != AfterIdle:
		return errors.New(`sweeps: the state is none of "warm", "cold" and "after-idle"`)
	case o.Mode == Throughput && o.State != Warm:
		return errors.New("sweeps: throughput is that of warm calls")
	}
	return nil
}

// flightOf returns the number of calls of an implementation that should be in flight at a size, or 0 if the caller waits for
// each.
func (o *Options) flightOf(c *kernels.Case, p kernels.Processor, size int) int {
	if o.Mode != Throughput || p != kernels.GPU {
		return 0
	}
	if bytes := c.Bytes(size); bytes*float64(o.InFlight) > inFlightBytes {
		return min(o.InFlight, max(1, int(inFlightBytes/bytes)))
	}
	return o.InFlight
}

// leastCalls returns the least number of calls in a batch with flight calls in flight.
func (o *Options) leastCalls(flight int) int {
	if o.Mode != Throughput {
		return 1
	}
	return max(backToBack, fills*flight)
}

// demandOf returns what a block needs of an implementation.
func (o *Options) demandOf(c *kernels.Case, p kernels.Processor) demand {
	beside := 0 // number of calls outside of the batch
	if o.Mode == Latency && o.State == Warm {
		beside++ // the untimed one
	}
	if p == kernels.GPU && o.State != Cold {
		beside++ // the one that the device times; it is warm, and costs little compared with a cold one
	}
	d := demand{alone: 1, calls: func(size int) float64 { return float64(o.leastCalls(o.flightOf(c, p, size)) + beside) }}
	if o.State == Cold {
		d.alone = 0 // most of it is planning and compiling, which does not grow
	}
	if o.State == AfterIdle {
		d.pause = IdlePause.Seconds()
		if p == kernels.GPU {
			d.pause *= 2
		}
	}
	return d
}
