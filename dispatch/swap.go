package dispatch

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// Swapped means that a [Watch] found another implementation to be faster in a duel, and swapped the choice.
const Swapped Answer = "swapped"

// swap is a choice that a watch swapped: wherever the calibration chooses one implementation at a site, another one is chosen.
// A swap never changes.
type swap struct {
	name     string // of the case or operation
	over     bool   // it is of an operation
	in       stageOf
	octaves  [surface.MostAxes]uint8
	from, to string
	reason   string
	made     time.Time

	site site  // with the Case or Operation whose calls were timed
	last timed // the call at which it was tested
}

// takeSwap replaces or removes a swap, and gives every case and operation new choices.
func (d *Dispatcher) takeSwap(old, replacement *swap) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var swaps []*swap
	for _, s := range d.swaps {
		if s != old {
			swaps = append(swaps, s)
		}
	}
	if replacement != nil {
		swaps = append(swaps, replacement)
	}
	d.swaps = swaps
	d.rebuild()
}

// swapped returns what swaps the choices of a case or an operation, of all calls or those in a stage, by octaves. It leaves out implementations that the program
// cannot use. The caller holds the lock.
func (b *builder) swapped(name string, over bool, in stageOf) []*swapping {
	if b.recorded == nil {
		return nil
	}
	var all []*swapping
	for _, s := range b.d.swaps {
		if s.name != name || s.over != over || s.in != in || b.obstacle(s.to) != "" {
			continue
		}
		i := slices.IndexFunc(all, func(o *swapping) bool { return o.octaves == s.octaves })
		if i < 0 {
			i = len(all)
			all = append(all, &swapping{octaves: s.octaves, wait: &b.d.gpuWait})
		}
		all[i].by = append(all[i].by, oneSwap{s, b.onGPU(s.to)})
	}
	return all
}

// noRecord stands for what the calibration knows of a list of kernels: nothing.
var noRecord = &calibration.Case{}

// swapping decides by the swaps at the same sizes. Each is from another implementation.
type swapping struct {
	octaves [surface.MostAxes]uint8
	by      []oneSwap
	inner   *choice // without the swaps; nil for an operation
	wait    *atomic.Int64
}

type oneSwap struct {
	*swap
	gpu bool // to an implementation on the GPU
}

// of returns the swap from an implementation, nil if there is none. While the GPU is busy, nothing is swapped to it.
func (s *swapping) of(implementation string) *swap {
	for i := range s.by {
		if one := &s.by[i]; one.from == implementation && !(one.gpu && s.wait.Load() > 0) {
			return one.swap
		}
	}
	return nil
}

// instead returns the implementation to use in place of one.
func (s *swapping) instead(of string) string {
	if one := s.of(of); one != nil {
		return one.to
	}
	return of
}

func (s *swapping) choose(size int) string { return s.instead(s.inner.at(size)) }

// takeSwaps makes a table follow the swaps of its case.
func (t *table) takeSwaps(swaps []*swapping) {
	for _, s := range swaps {
		at := site{octaves: s.octaves}
		from, to := at.sizes()
		first, behind := t.split(from), len(t.choices)
		if to < maxSize {
			behind = t.split(to + 1)
		}
		for i := first; i < behind; i++ {
			c := t.choices[i]
			one := *s
			one.inner = &c
			t.choices[i] = choice{implementation: c.implementation, depends: &one, segment: c.segment, reason: c.reason}
		}
	}
}

const maxSize = int(^uint(0) >> 1)

// split makes a choice begin at a size, and returns its place.
func (t *table) split(size int) int {
	i := t.behind(size)
	if i > 0 && t.thresholds[i-1] == size || size <= 1 {
		return i
	}
	t.thresholds = append(t.thresholds[:i:i], append([]int{size}, t.thresholds[i:]...)...)
	t.choices = append(t.choices[:i+1:i+1], append([]choice{t.choices[i]}, t.choices[i+1:]...)...)
	return i + 1
}

// explain says that a choice was swapped, if it was.
func (s *swapping) explain(e *Explanation, now func() time.Time) {
	if one := s.of(e.Implementation); one != nil {
		e.Reason = fmt.Sprintf("swapped by the watch %s, because %s; the calibration has %s, %s",
			ago(max(0, now().Sub(one.made))), one.reason, one.from, e.Reason)
		e.Implementation, e.Answer, e.Interval = one.to, Swapped, nil
	}
}

// overSwap returns what swaps the choice of an operation at a shape, nil if nothing does.
func overSwap(swaps []*swapping, shape []int) *swapping {
	at := timed{values: len(shape)}
	if len(swaps) == 0 || copy(at.shape[:], shape) < len(shape) {
		return nil
	}
	octaves := at.site().octaves
	for _, s := range swaps {
		if s.octaves == octaves {
			return s
		}
	}
	return nil
}
