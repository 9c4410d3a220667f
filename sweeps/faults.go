package sweeps

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/timings"
)

// The greatest bandwidths of memory, in bytes a second. A faster call did not do its work.
const (
	// peakProcessor, for a logical processor, is more than any first-level cache delivers: two 64-byte loads a cycle at 6
	// GHz.
	peakProcessor = 768e9
	// peakGPU is more than any GPU's second-level cache delivers: twice the 64 bytes a cycle of each of an H200's 132
	// multiprocessors at 2 GHz.
	peakGPU = 40e12
	// peakBus is more than any link between host and GPU carries both ways together: NVLink-C2C 900 GB/s, PCI Express
	// 6.0 with 16 lanes 256 GB/s.
	peakBus = 1e12
)

// least returns the least seconds of a call at a size, because its data must move.
func least(c *kernels.Case, size int, call kernels.Call) float64 {
	if call.GPU == nil {
		return c.Bytes(size) / (peakProcessor * float64(runtime.GOMAXPROCS(0)))
	}
	return max(c.Bytes(size)/peakGPU, call.GPU.BusBytes/peakBus)
}

// tooFast is the error of a call that took less time than moving its data takes.
type tooFast struct{ seconds, least float64 }

func (e tooFast) Error() string {
	return fmt.Sprintf("a call took %.2g s, moving its data takes %.2g s at least", e.seconds, e.least)
}

func isOutOfMemory(err error) bool { return errors.Is(err, gpu.ErrOutOfMemory) }

// safely runs f and turns a panic into an error, so that a kernel that panics does not lose the measurements of the others.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// fail handles the failure of an implementation at a size. After the loss of a GPU no implementation on it is timed any
// more. A call that is faster than memory costs its implementation all of its times. After any other failure the
// implementation is timed only at sizes below.
func (s *sweep) fail(e *entry, impl *implementation, size int, err error) {
	var fast tooFast
	switch {
	case errors.Is(err, gpu.ErrLost):
		s.lose(err)
	case errors.As(err, &fast):
		e.expel(impl, fmt.Sprintf("implausible at %s: %v", e.c.At(size), fast))
	default:
		e.retire(impl, size, err)
	}
}

// retire stops timing an implementation from a size on, because it failed there, and drops its times from there on. Its
// times below still count.
func (e *entry) retire(impl *implementation, size int, err error) {
	impl.limit = size - 1
	e.erase(impl, size)
	below := e.costs.below(size)
	if below == 0 {
		impl.status.Excluded = fmt.Sprintf("failed at %s: %v", e.c.At(size), err)
		return
	}
	e.warn("%s was timed up to %s only; at %s it failed: %v", impl.Name, e.c.At(below), e.c.At(size), err)
}

// expel removes an implementation with all of its times, because times of wrong values do not count.
func (e *entry) expel(impl *implementation, why string) {
	impl.status.Excluded, impl.status.Wrong = why, true
	e.erase(impl, 0)
}

// lose stops timing every implementation on a GPU, in every case that is not finished. Earlier times are kept.
func (s *sweep) lose(err error) {
	for _, e := range s.entries {
		if !e.done {
			e.lose(err)
		}
	}
}

// lose stops timing the case's implementations on GPUs. Sizes up to the greatest one at which one of them was timed are not
// visited any more, because blocks without them there would say that another implementation is fastest.
func (e *entry) lose(err error) {
	stopped := false
	for _, impl := range e.implementations {
		if impl.Processor != kernels.GPU || impl.lost {
			continue
		}
		impl.lost = true
		if impl.status.Excluded != "" {
			continue
		}
		stopped = true
		greatest := 0
		for i := range e.result.Samples.Blocks {
			if b := &e.result.Samples.Blocks[i]; b.Timed(impl.index) {
				greatest = max(greatest, b.Size)
			}
		}
		if greatest == 0 {
			impl.status.Excluded = fmt.Sprintf("stopped competing before it was timed: %v", err)
		}
		e.floor = max(e.floor, greatest)
	}
	if stopped {
		e.result.Lost = err.Error()
		e.warn("the GPU's implementations stopped competing during the sweep: %v", err)
		e.dirty = e.dirty || len(e.result.Samples.Blocks) > 0
	}
}

// erase removes the times of an implementation at a size and above.
func (e *entry) erase(impl *implementation, from int) {
	blocks := e.result.Samples.Blocks
	e.dirty = e.dirty || slices.ContainsFunc(blocks, func(b timings.Block) bool {
		return b.Size >= from && b.Timed(impl.index)
	})
	e.result.Samples.Blocks = erase(blocks, impl.index, from)
}

// erase removes the times of an implementation from the blocks of a size and above, and removes blocks without any time.
func erase(blocks []timings.Block, index, from int) []timings.Block {
	left := blocks[:0]
	for _, b := range blocks {
		if b.Size >= from {
			b.Erase(index)
		}
		if slices.Max(b.Iterations) > 0 {
			left = append(left, b)
		}
	}
	return left
}
