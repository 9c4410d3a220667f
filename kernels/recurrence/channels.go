package recurrence

import (
	"crossover/kernels"
	"crossover/pool"
)

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg recurrence
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

const (
	// lanes is the number of channels in a vector.
	lanes = 4

	// widest is the number of channels that vector code computes side by side.
	widest = 6 * lanes

	// pair is the number of channels that Go computes side by side.
	pair = 2
)

// kernel filters at most settleEvery samples on a processor, of one channel and of two channels. dst may be src.
type kernel interface {
	one(state []float64, dst, src []float32)
	two(state []float64, dst0, dst1, src0, src1 []float32) // the states of both channels, one after the other
}

// wide is a kernel that also filters more channels, with the same bits. The channels of a sample are successive in x, and width
// values apart from those of the next sample. So are the channels of a value of the states. Behind the states there is memory
// for as many values again. width is a multiple of lanes and at most widest.
type wide interface {
	kernel
	many(states []float64, x []float32, width int)
}

// pace says how fast a core filters channels.
type pace struct {
	together       int // channels that hardly take longer than one, if there are so many
	perMicrosecond int // samples of these that take about a microsecond
	least          int // channels from which on vector code takes less time than Go, if the kernel has it
	rest           int // channels beside whole vectors up to which one and two take less time than another vector
}

// overChannels returns a loop over channels whose states are float64. build makes the kernel of a worker.
func overChannels[P any](values int, speed pace, build func(p P) kernel) kernels.Makers[P] {
	return kernels.OverRows(func(p P, workers int) (kernels.Loop, error) {
		each := make([]*filter, workers)
		most := pair
		for i := range each {
			each[i] = newFilter(values, speed, build(p))
			most = each[i].most
		}
		return kernels.Loop{
			Rows: func(s *kernels.Shape) int { return s[channels] },
			Grain: func(s *kernels.Shape, rows int, p *pool.Pool) int {
				return p.Grain(rows, float64(speed.perMicrosecond)/float64(s[samples]), speed.unit(rows, p.Workers(), most))
			},
			Do: func(worker int, s *kernels.Shape, a *kernels.Args, lo, hi int) {
				copy(a[after][2*values*lo:2*values*hi], a[before][2*values*lo:2*values*hi])
				states := kernels.Float64s(a[after])
				for lo < hi {
					end := lo + each[worker].next(hi-lo)
					each[worker].run(states[lo*values:end*values], a[out], a[in], lo, end, s[samples])
					lo = end
				}
			},
		}, nil
	})
}

// unit returns the least number of channels, of rows, that are worth a worker, at most `most`.
func (p *pace) unit(rows, workers, most int) int {
	unit := min(most, max(p.together, (rows-1)/workers+1))
	if rows < p.least {
		unit = min(unit, pair) // no vector code
	}
	if unit > pair {
		unit = (unit-1)/lanes*lanes + lanes
	}
	return unit
}

// filter filters channels on one core.
type filter struct {
	kernel
	values int // of a state
	wide   wide
	speed  pace
	most   int // channels at a time

	states []float64 // as wide has them
	x      []float32
}

func newFilter(values int, speed pace, k kernel) *filter {
	f := &filter{kernel: k, values: values, speed: speed, most: pair}
	if w, ok := k.(wide); ok && haveSIMD {
		f.wide, f.most = w, widest
		f.states = make([]float64, 2*values*widest)
		f.x = make([]float32, settleEvery*widest)
	}
	return f
}

// next returns how many of some channels are filtered next. Vectors are divided evenly, because a few take almost as long as
// many.
func (f *filter) next(left int) int {
	if f.wide == nil || left < f.speed.least {
		return min(left, pair)
	}
	if rest := left % lanes; rest <= f.speed.rest && rest < left {
		left -= rest
	}
	vectors := (left-1)/lanes + 1
	turns := (vectors-1)/(widest/lanes) + 1
	return min(left, ((vectors-1)/turns+1)*lanes)
}

// run filters the channels from c to end−1, which are as many as next says, of n samples each.
func (f *filter) run(state []float64, dst, src []float32, c, end, n int) {
	if f.wide != nil && end-c >= f.speed.least {
		f.many(state, dst[c*n:end*n], src[c*n:end*n], n)
		return
	}
	for lo := 0; lo < n; lo += settleEvery {
		i, j := c*n+lo, c*n+min(lo+settleEvery, n)
		if end-c == 1 {
			f.one(state, dst[i:j], src[i:j])
		} else {
			f.two(state, dst[i:j], dst[i+n:j+n], src[i:j], src[i+n:j+n])
		}
		settle(state)
	}
}

// many filters channels of n samples in vectors. Lanes without a channel begin with zeros, and
// keep them. The states are written once, because they
// may share a cache line with those of another core's channels.
func (f *filter) many(state []float64, dst, src []float32, n int) {
	count := len(state) / f.values
	width := (count-1)/lanes*lanes + lanes
	states := f.states[:2*f.values*width]
	now := states[:f.values*width]
	if count < width {
		clear(now)
		clear(f.x[:min(n, settleEvery)*width])
	}
	for c := range count {
		for k, v := range state[c*f.values : (c+1)*f.values] {
			now[k*width+c] = v
		}
	}
	for lo := 0; lo < n; lo += settleEvery {
		length := min(settleEvery, n-lo)
		x := f.x[:length*width]
		spread(x, width, src[lo:], n, count, length)
		f.wide.many(states, x, width)
		settle(now)
		gather(dst[lo:], n, x, width, count, length)
	}
	for c := range count {
		for k := range f.values {
			state[c*f.values+k] = now[k*width+c]
		}
	}
}

// spreadGo copies length samples of count channels, which are stride values apart in src, to dst, where samples are width
// values apart.
func spreadGo(dst []float32, width int, src []float32, stride, count, length int) {
	for c := range count {
		for i, v := range src[c*stride : c*stride+length] {
			dst[i*width+c] = v
		}
	}
}

// gatherGo is the reverse of spreadGo.
func gatherGo(dst []float32, stride int, src []float32, width, count, length int) {
	for c := range count {
		to := dst[c*stride : c*stride+length]
		for i := range to {
			to[i] = src[i*width+c]
		}
	}
}
