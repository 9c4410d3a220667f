package recurrence

import (
	_ "embed"
	"fmt"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/pool"
)

// CombParams describes a comb filter. The gains are those of the universal comb: with a Blend of 1 and no Feedback it is a
// feed-forward comb, as in a flanger; with a Blend of 1 and no FeedForward a feedback comb, as in a reverberator; with a
// Blend of −g, a FeedForward of 1 and a Feedback of g an all-pass; with a FeedForward of 1 alone a delay.
type CombParams struct {
	Delay                        int     // samples, 1 to 4 Mi; times the channels of a plan at most 256 Mi
	Blend, FeedForward, Feedback float64 // −100 to 100; Feedback above −1 and below 1
}

// Comb declares the universal comb filter, which has a feed-forward and a feedback path around one delay line w,
//
//	w[n] = x[n] + feedback·w[n−delay]
//	y[n] = blend·w[n] + feedforward·w[n−delay]
//
// It is measured with a delay of 1116 samples, a blend of 1, a feed-forward gain of 0.5 and a feedback gain of 0.7. The delay
// is that of the first comb of the reverberator Freeverb, 25 ms at 44.1 kHz.
//
// Samples that are less than a delay apart do not wait for each other. So several cores divide even one channel, and a GPU
// has a thread for each sample of a delay.
//
// Source: P. Dutilleux, M. Holters, S. Disch, U. Zölzer, Filters and delays, in U. Zölzer (ed.), DAFX: Digital Audio Effects,
// 2nd ed., Wiley 2011, chapter 2, universal comb filter.
var Comb = declare(family[CombParams]{
	name:    "comb",
	formula: "w[n] = x[n] + 0.7·w[n−1116], y[n] = w[n] + 0.5·w[n−1116]",
	source:  "U. Zölzer (ed.), DAFX: Digital Audio Effects, 2nd ed., 2011, chapter 2, universal comb filter",
	params:  CombParams{Delay: 1116, Blend: 1, FeedForward: 0.5, Feedback: 0.7},
	state:   func(p CombParams) (kernels.Element, int) { return kernels.Float32, p.Delay },
	reference: func(p CombParams, state, y []float64, x []float32) {
		w := append(append([]float64(nil), state...), make([]float64, len(x))...)
		for i, v := range x {
			w[p.Delay+i] = float64(v) + p.Feedback*w[i]
			y[i] = p.Blend*w[p.Delay+i] + p.FeedForward*w[i]
		}
		copy(state, w[len(x):])
	},
	flops: 4, threads: 1116,
	by: []kernels.Makers[CombParams]{
		kernels.Revised(2, kernels.OverRows(newCombLoop)), // vector code, and then longer stretches
		kernels.KernelText("", appendComb),
	},
})

// mostDelay is 87 s at 48 kHz. [kernels.NewStatePlan] keeps the delay lines of many channels small enough for memory.
const mostDelay = 4 << 20

// NewComb returns the plan of a comb filter on count channels. The plan chooses by d, which may be nil: see
// [kernels.NewPlan]. NewComb fails if a parameter is out of its range, if count is not 1 to 1 Mi, or if the delay lines of
// all channels have more than 256 Mi samples together.
func NewComb(d *dispatch.Dispatcher, p CombParams, count int) (*Plan[CombParams], error) {
	if p.Delay < 1 || p.Delay > mostDelay {
		return nil, fmt.Errorf("comb: delay of %d samples: want 1 to %d", p.Delay, mostDelay)
	}
	const most = 100
	for _, g := range []float64{p.Blend, p.FeedForward} {
		if !(g >= -most && g <= most) {
			return nil, fmt.Errorf("comb: blend %g and feed-forward %g: want both from -%d to %d", p.Blend, p.FeedForward, most, most)
		}
	}
	if !(p.Feedback > -1 && p.Feedback < 1) {
		return nil, fmt.Errorf("comb: feedback %g: want more than -1 and less than 1", p.Feedback)
	}
	return newPlan(d, &Comb, p, count)
}

// stretch is the number of places of a delay line in a row of the loop, and mostPlaces is the greatest number of them that a worker
// computes at a time, with as many values of the line.
const (
	stretch    = 64
	mostPlaces = 64 * stretch
)

// leastVectors is the number of samples from which on vector code takes less time than Go.
const leastVectors = 16

// comb is a comb on a processor.
type comb struct {
	delay                        int
	blend, feedForward, feedback float32
}

// stretches returns the number of stretches of a delay line.
func (c *comb) stretches() int { return (c.delay-1)/stretch + 1 }

// newCombLoop returns a loop over the stretches of all channels.
func newCombLoop(p CombParams, _ int) (kernels.Loop, error) {
	c := &comb{p.Delay, float32(p.Blend), float32(p.FeedForward), float32(p.Feedback)}
	return kernels.Loop{
		Rows: func(s *kernels.Shape) int { return s[channels] * c.stretches() },
		Grain: func(s *kernels.Shape, rows int, p *pool.Pool) int {
			const aboutAMicrosecond = 4096 // samples, or four times as many values of delay lines, which are copied
			unit := 1
			if workers := p.Workers(); 4*s[channels] >= workers*workers && s[channels] > 1 {
				unit = c.stretches() // two workers in one channel write the same lines of the cache again and again
			}
			return p.Grain(rows, aboutAMicrosecond*float64(c.stretches())/float64(s[samples]+c.delay/4), unit)
		},
		Do: func(_ int, s *kernels.Shape, a *kernels.Args, lo, hi int) {
			n := s[samples]
			for row, begun := lo, false; row < hi; {
				channel, first := row/c.stretches(), row%c.stretches()*stretch
				rows := min(hi-row, c.stretches()-row%c.stretches(), mostPlaces/stretch)
				if !begun && rows < c.stretches() {
					rows = (rows + 1) / 2 // so that two workers are not at their common end at the same time
				}
				begun = true
				row += rows
				w := a[after][channel*c.delay : (channel+1)*c.delay]
				old := a[before][channel*c.delay : (channel+1)*c.delay]
				c.run(w, old, a[out][channel*n:(channel+1)*n], a[in][channel*n:(channel+1)*n], first, min(first+rows*stretch, c.delay))
			}
		},
	}, nil
}

// run computes the samples whose place in the delay line is from lo to hi−1: sample t has the place t mod delay. Place p of
// the line before the call ends up at place p − n mod delay of the line after it. There the values of the line are while the
// call computes.
func (c *comb) run(w, old, dst, src []float32, lo, hi int) {
	n := len(src)
	for lo < hi {
		shift := n % c.delay
		end, to := hi, lo-shift
		if lo < shift {
			end, to = min(hi, shift), lo-shift+c.delay
		}
		line := w[to : to+end-lo]
		copy(line, old[lo:end])
		t := lo
		if len(line) >= leastVectors {
			for ; t < n; t += c.delay {
				count := min(len(line), n-t)
				c.filter(line[:count], dst[t:t+count], src[t:t+count])
			}
		}
		for ; t < n; t += c.delay {
			count := min(len(line), n-t)
			c.filterGo(line[:count], dst[t:t+count], src[t:t+count])
		}
		lo = end
	}
}

// filterGo computes successive samples from the delay line and updates it. Each product is rounded by a conversion, because
// some compilers would fuse it with a sum, which vector code does not.
func (c *comb) filterGo(line, dst, src []float32) {
	blend, feedForward, feedback := c.blend, c.feedForward, c.feedback
	dst, src = dst[:len(line)], src[:len(line)]
	for i, d := range line {
		v := src[i] + float32(feedback*d)
		dst[i] = float32(blend*v) + float32(feedForward*d)
		if v < silence && v > -silence {
			v = 0
		}
		line[i] = v
	}
}

//go:embed comb.metal
var combText string

// mostRows is the greatest number of rows in a grid.
const mostRows = 1<<16 - 1

// appendComb appends a comb with one thread for each place in the delay line of a channel.
func appendComb(b *gpu.Builder, p CombParams, s kernels.Shape, t []*gpu.Buffer) {
	if s[channels] > mostRows {
		b.Refuse(fmt.Errorf("comb: %d channels are too many for one call on a GPU: %w", s[channels], kernels.ErrRefused))
		return
	}
	const threads = 64 // few, so that the delay line of one channel reaches many cores
	source := gpu.Source{Name: "comb.metal", Text: combText}
	b.Dispatch(b.Kernel(source, "comb"), gpu.Size{X: (p.Delay + threads - 1) / threads, Y: s[channels], Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, t[out], t[after], t[in], t[before],
		gpu.Values(float32(p.Blend), float32(p.FeedForward), float32(p.Feedback), p.Delay, s[samples], s[samples]%p.Delay))
}
