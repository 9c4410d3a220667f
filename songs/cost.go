package songs

import (
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
)

// costs are what a pipeline's stages and moves are expected to take at one set of lengths.
type costs struct {
	w       *wiring
	words   []int    // by tensor
	onCPU   [][]cost // by stage, the least first; empty where nothing is known
	onGPU   [][]cost // by stage, the time of the kernels alone
	launch  float64  // seconds, of a list
	perByte float64  // seconds, from the processor to a GPU or back
}

// cost is one way to compute a stage.
type cost struct {
	implementation string
	seconds        float64
}

// newCosts predicts a graph's costs by the calibration of d. Stages of which the calibration knows nothing have no costs. The
// layout must be arranged.
//
// A call with its data in shared memory takes a launch, the moves of its tensors, and its kernels. A call with resident data
// takes no moves. So the difference of the two, over the bytes of the tensors, is what a byte takes. Its median over the stages
// counts. Where no resident calls were measured, as with unified memory, moving costs nothing.
func newCosts(b *kernels.Backends, d *dispatch.Dispatcher, l *layout) *costs {
	c := &costs{w: l.wiring, words: slices.Clone(l.words), launch: d.LaunchSeconds(),
		onCPU: make([][]cost, len(l.Stages)), onGPU: make([][]cost, len(l.Stages))}
	shared := make([][]dispatch.Time, len(l.Stages))
	var moves []float64
	for i, step := range l.steps {
		has := step.Implementations(b)
		times := func(p kernels.Placement) []dispatch.Time {
			name, size := step.Case(l.shapes[i], p)
			operation := step.Operation()
			if p != kernels.Caller {
				operation += "/" + string(p)
			}
			return slices.DeleteFunc(d.Times(operation, l.shapes[i][:len(step.Axes())], name, size), func(t dispatch.Time) bool {
				return !slices.ContainsFunc(has, func(m kernels.Implementation) bool { return m.Name == t.Implementation && m.Missing() == nil })
			})
		}
		for _, t := range times(kernels.Caller) {
			if !t.OnGPU {
				c.onCPU[i] = append(c.onCPU[i], cost{t.Implementation, t.Seconds})
			}
		}
		if shared[i] = times(kernels.Shared); len(shared[i]) > 0 {
			for _, t := range times(kernels.Resident) {
				if s := slices.IndexFunc(shared[i], func(s dispatch.Time) bool { return s.Implementation == t.Implementation }); t.OnGPU && s >= 0 {
					moves = append(moves, max(0, shared[i][s].Seconds-t.Seconds)/float64(c.bytes(i)))
				}
			}
		}
	}
	if len(moves) > 0 {
		slices.Sort(moves)
		c.perByte = moves[len(moves)/2]
	}
	for i := range shared {
		for _, t := range shared[i] {
			if t.OnGPU {
				const least = 0.05 // of the call is kernels, however the other parts were measured
				kernels := t.Seconds - c.launch - c.perByte*float64(c.bytes(i))
				c.onGPU[i] = append(c.onGPU[i], cost{t.Implementation, max(kernels, least*t.Seconds)})
			}
		}
		for _, all := range [][]cost{c.onCPU[i], c.onGPU[i]} {
			slices.SortStableFunc(all, func(a, b cost) int { return compare(a.seconds, b.seconds) })
		}
	}
	return c
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// bytes returns the bytes of a stage's tensors.
func (c *costs) bytes(i int) (n int) {
	for _, t := range c.w.writes[i] {
		n += 4 * c.words[t]
	}
	for k := range c.w.Stages[i].Reads {
		n += 4 * c.words[c.w.reads[i][k]]
	}
	return n
}

// seconds returns the predicted time of a route. A stage whose implementation has no cost counts 0, on every route.
func (c *costs) seconds(r Route) (sum float64) {
	onGPU := make([]bool, len(r))
	for i, name := range r {
		for k, all := range [][]cost{c.onCPU[i], c.onGPU[i]} {
			if at := slices.IndexFunc(all, func(m cost) bool { return m.implementation == name }); at >= 0 {
				sum += all[at].seconds
				onGPU[i] = k == 1
			}
		}
	}
	for _, g := range c.w.group(onGPU) {
		if g.list != nil {
			sum += c.launch
			for _, t := range g.list.hosted() {
				sum += c.perByte * 4 * float64(c.words[t])
			}
		}
	}
	return sum
}
