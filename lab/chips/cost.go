package chips

import (
	"math"
	"time"

	"crossover/gpu"
	"crossover/kernels"
)

// work is the work of one call.
type work struct {
	bytes    float64 // read and written
	flops    float64
	pieces   float64 // independent parts, which cores can share; at least 1
	chain    float64 // steps of a recurrence in each piece, or 0; always 0 for a GPU, which scans
	threads  float64 // that a GPU can run at once
	launches float64 // kernels of a GPU, at least 1
	kind     kernels.WorkKind
}

// Latency is the band of a command buffer's round trip, in seconds: its least and its greatest value.
type Latency struct{ Least, Most float64 }

// Middle is the geometric mean of the ends.
func (l Latency) Middle() float64 { return math.Sqrt(l.Least * l.Most) }

// Latency returns the band of a chip.
func (c Chip) Latency() Latency {
	if c.Name == figures.Saxpy.Chip {
		return Latency{m1Least * 1e-6, m1Most * 1e-6}
	}
	return Latency{laterLeast * 1e-6, laterMost * 1e-6}
}

// shares are the parts of bandwidth and peak that a kernel reaches on a full GPU.
type shares struct{ bandwidth, peak float64 }

// risen returns how long a kernel takes if the GPU was idle before. seconds is its time at the full clock. The clock
// starts at idleClock, and the kernel loses at most rise until the clock is up.
func risen(seconds, rise float64) float64 {
	return seconds + min(rise, seconds*(1/idleClock-1))
}

// onGPU returns the seconds that the GPU computes. While its clock rises it loses at most rise.
func (c Chip) onGPU(w work, s shares, rise float64) float64 {
	occupied := min(1, w.threads/(float64(c.GPUCores)*threadsPerCore))
	return risen(max(w.bytes/(c.bandwidth()*s.bandwidth*occupied), w.flops/(c.peak()*s.peak*occupied)), rise)
}

// callGPU returns the seconds of a call that a GPU computes.
func (c Chip) callGPU(w work, s shares, roundTrip, rise float64) float64 {
	return roundTrip + pauses(w) + c.onGPU(w, s, rise)
}

// pauses returns the seconds between the kernels of a call.
func pauses(w work) float64 { return (w.launches - 1) * dispatch * 1e-6 }

// account returns the GPU's own times of such a call.
func (c Chip) account(w work, s shares, rise float64) gpu.Times {
	duration := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	busy := c.onGPU(w, s, rise)
	return gpu.Times{Busy: duration(busy), Span: duration(busy + pauses(w)), Gaps: duration(pauses(w)), Kernel: int(w.launches)}
}

// callCPU returns the seconds of a call on at most the given number of cores. perCore is the number of operations per second
// of each core.
func (c Chip) callCPU(w work, perCore, cores float64) float64 {
	cores = min(cores, w.pieces)
	fixed := callCPU * 1e-6
	if cores > 1 {
		fixed += wake * 1e-6
	}
	return fixed + max(w.bytes/c.tier(w.bytes, cores), w.flops/(perCore*cores), w.chain*math.Ceil(w.pieces/cores)*chainCycles/(clock*1e9))
}

// tier returns the bandwidth of the given number of cores, in bytes a second, for a working set in bytes.
func (c Chip) tier(workingSet, cores float64) float64 {
	if workingSet <= cacheCore*float64(c.PerformanceCores)*(1<<20) {
		return cacheSpeed * 1e9 * cores
	}
	most := oneCore
	if cores > 1 {
		most = max(most, eachCore*cores)
	}
	return min(Fitted().CPUShare*c.bandwidth(), most*1e9)
}

// vector returns the number of operations per second of one core with vectors.
func vector() float64 { return clock * 1e9 * perCycle * vectorShare }
