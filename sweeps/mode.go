package sweeps

import (
	"errors"
	"time"

	"crossover/kernels"
)

// Mode says whether calls are waited for one by one.
type Mode string

// The modes. In latency mode the caller waits for each call. In throughput mode calls follow each other without a
// pause, and a time is the time of a batch divided by its calls: on the processor a call ends before the next one
// starts, so there the two modes differ only in how caches are left behind; on a GPU Options.InFlight calls, each with
// buffers of its own, are under way at a time.
const (
	Latency    Mode = "latency"
	Throughput Mode = "throughput"
)

// State says what has gone before a call.
type State string

// The states.
const (
	// Warm is a call after others like it: caches filled, clocks up, everything planned and compiled. In latency mode
	// one untimed call precedes each timed batch, so that the others of its block leave no trace.
	Warm State = "warm"
	// Cold is the first call of a process as far as a running one can repeat it: the implementation is bound and run
	// once, and that is one time. What it was bound to before is released, Options.Forget drops what libraries and
	// drivers keep, and the memory that is free goes back to the system. Libraries stay loaded, a GPU's context stays
	// open, and the system's file cache stays as it is.
	Cold State = "cold"
	// AfterIdle is one warm call after a pause of IdlePause, in which processors and GPUs fall asleep and clocks drop.
	AfterIdle State = "after-idle"
)

// IdlePause is the pause before each call of an AfterIdle sweep: longer than audio buffers are apart, and long enough
// for a processor's deepest sleep and for the governor that sets its clock.
const IdlePause = 50 * time.Millisecond

// DefaultInFlight is the default number of GPU calls in flight in throughput mode.
const DefaultInFlight = 8

const (
	// backToBack is the least number of calls in a batch of throughput mode.
	backToBack = 8
	// fills is how many times over a batch fills the calls in flight. The pipeline is filled and drained inside the
	// batch, and what that takes is part of the time: at most one latency in fills times as many calls as are in
	// flight.
	fills = 4
	// inFlightBytes bounds the data of one implementation's calls in flight, in bytes. Calls as large as that keep a
	// GPU busy by twos.
	inFlightBytes = 1 << 30
)

// check returns an error where the modes and states that were asked for do not go together.
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

// flightOf returns how many calls of an implementation are to be in flight at a size; 0 where the caller waits for each.
func (o *Options) flightOf(c *kernels.Case, p kernels.Processor, size int) int {
	if o.Mode != Throughput || p != kernels.GPU {
		return 0
	}
	if bytes := c.Bytes(size); bytes*float64(o.InFlight) > inFlightBytes {
		return min(o.InFlight, max(1, int(inFlightBytes/bytes)))
	}
	return o.InFlight
}

// leastCalls is the least number of calls in a batch with so many in flight.
func (o *Options) leastCalls(flight int) int {
	if o.Mode != Throughput {
		return 1
	}
	return max(backToBack, fills*flight)
}

// demandOf returns what a block asks of an implementation.
func (o *Options) demandOf(c *kernels.Case, p kernels.Processor) demand {
	beside := 0 // calls outside of the batch
	if o.Mode == Latency && o.State == Warm {
		beside++ // the untimed one
	}
	if p == kernels.GPU && o.State != Cold {
		beside++ // the one that the device times; it is warm, and beside a cold one nothing
	}
	d := demand{alone: 1, calls: func(size int) float64 { return float64(o.leastCalls(o.flightOf(c, p, size)) + beside) }}
	if o.State == Cold {
		d.alone = 0 // most of it is planning and compiling
	}
	if o.State == AfterIdle {
		d.pause = IdlePause.Seconds()
		if p == kernels.GPU {
			d.pause *= 2
		}
	}
	return d
}
