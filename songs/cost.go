package songs

import (
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/elementwise"
)

// costs are what a pipeline's stages and moves are expected to take at one set of lengths.
type costs struct {
	w       *wiring
	words   []int     // by tensor
	onCPU   [][]cost  // by stage, the least first; empty where nothing is known
	onGPU   [][]cost  // by stage, the time of the kernels alone
	launch  float64   // seconds, of a list
	moves   moves     // from the processor to a GPU or back
	derived []float64 // seconds, by tensor, where the processor derives it
	besides float64   // seconds, of what lies between the stages
	parts   *parts    // nil for a pipeline without them
	calls   []int     // by stage, of the kernels on the GPU in a call of the whole
}

// cost is one way to compute a stage.
type cost struct {
	implementation string
	alone          float64 // predicted for calls of the stage alone
	seconds        float64 // in the pipeline
	long           float64 // on the processor: alone, in parts that are as long as on a GPU
}

// newCosts predicts a graph's costs by the calibration of d, and by what was measured of the whole graph. Stages of which the
// calibration knows nothing have no costs. The layout must be arranged.
//
// A call with its data in shared memory takes a launch, the moves of its tensors, and its kernels. A call with resident data
// takes no moves. So the difference of the two is what the moves take. Few stages were measured in both placements, and so the
// functions of single values count beside them. Where no resident calls were measured, as with unified memory, moving costs nothing.
//
// A stage that is computed in parts takes as many calls as there are parts. They are longer on a GPU, and where a stage beside it is
// there. parts is nil for a pipeline without them.
func newCosts(b *kernels.Backends, d *dispatch.Dispatcher, l *layout, parts *parts, m *measured) *costs {
	c := &costs{w: l.wiring, words: slices.Clone(l.words), launch: d.LaunchSeconds(), parts: parts, calls: slices.Repeat([]int{1}, len(l.Stages)),
		onCPU: make([][]cost, len(l.Stages)), onGPU: make([][]cost, len(l.Stages))}
	shared, resident := make([][]dispatch.Time, len(l.Stages)), make([][]dispatch.Time, len(l.Stages))
	var moved []move
	for i, step := range l.steps {
		has := step.Implementations(b)
		times := func(p kernels.Placement, shape kernels.Shape) []dispatch.Time { // of one call
			operation := step.Operation()
			if p != kernels.Caller {
				operation += "/" + string(p)
			}
			name, size := step.Case(shape, p)
			return slices.DeleteFunc(d.Times(operation, shape[:len(step.Axes())], name, size), func(t dispatch.Time) bool {
				return !slices.ContainsFunc(has, func(m kernels.Implementation) bool { return m.Name == t.Implementation && m.Missing() == nil })
			})
		}
		short, calls := parts.calls(l, i, false)
		var long kernels.Shape
		long, c.calls[i] = parts.calls(l, i, true)
		inShort := times(kernels.Caller, short)
		inLong := inShort
		if long != short {
			inLong = times(kernels.Caller, long)
		}
		for _, t := range inShort {
			if at := named(inLong, t.Implementation); !t.OnGPU && at >= 0 {
				seconds := float64(calls) * t.Seconds
				c.onCPU[i] = append(c.onCPU[i], cost{t.Implementation, seconds, seconds, float64(c.calls[i]) * inLong[at].Seconds})
			}
		}
		shared[i], resident[i] = onGPU(times(kernels.Shared, long)), onGPU(times(kernels.Resident, long))
		for _, t := range shared[i] {
			if at := named(resident[i], t.Implementation); at >= 0 {
				tensors, bytes := c.tensors(i)
				bytes /= c.calls[i]
				moved = append(moved, move{tensors, bytes, t.Seconds - resident[i][at].Seconds})
			}
		}
	}
	c.moves = newMoves(append(moved, movesOfCalls(d)...))
	for i := range shared {
		for _, t := range shared[i] {
			tensors, bytes := c.tensors(i)
			unmoved := t.Seconds - c.moves.seconds(tensors, bytes/c.calls[i])
			if at := named(resident[i], t.Implementation); at >= 0 {
				unmoved = resident[i][at].Seconds
			}
			kernels := float64(c.calls[i]) * c.kernels(t.Seconds, unmoved)
			c.onGPU[i] = append(c.onGPU[i], cost{t.Implementation, kernels, kernels, kernels})
		}
		for _, all := range [][]cost{c.onCPU[i], c.onGPU[i]} {
			for k := range all {
				all[k].seconds = m.stage(c.w.Stages[i].Name, all, k)
			}
			slices.SortStableFunc(all, func(a, b cost) int { return compare(a.seconds, b.seconds) })
		}
	}
	c.besides, c.derived = m.besides(), make([]float64, len(c.w.tensors))
	for t := range c.w.tensors {
		if d := c.w.tensors[t].derived; d >= 0 && c.w.Derived[d].How != Last {
			c.derived[t] = m.derived(c.w.tensors[t].name, 4*c.words[t])
		}
	}
	return c
}

// movesOfCalls returns what moves take in calls of functions of single values, which have one input and one output of as many
// values, at numbers of them that are far apart.
func movesOfCalls(d *dispatch.Dispatcher) (all []move) {
	for _, of := range []string{
		elementwise.Scale.Name, elementwise.Gain.Name, elementwise.Abs.Name, elementwise.SoftClip.Name, elementwise.Exp.Name, elementwise.Log.Name,
		elementwise.Log1p.Name, elementwise.Pow.Name, elementwise.GELU.Name, elementwise.GELUTanh.Name,
	} {
		times := func(p kernels.Placement, n int) []dispatch.Time {
			name := of + "/" + string(p)
			return onGPU(d.Times(name, nil, name, n))
		}
		for _, n := range []int{1 << 10, 1 << 16, 1 << 22} {
			resident := times(kernels.Resident, n)
			for _, t := range times(kernels.Shared, n) {
				if at := named(resident, t.Implementation); at >= 0 {
					all = append(all, move{2, 2 * 4 * n, t.Seconds - resident[at].Seconds})
				}
			}
		}
	}
	return all
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

// kernels returns what the kernels take of a call that takes so long in shared memory, and so long without moves.
func (c *costs) kernels(shared, unmoved float64) float64 {
	const least = 0.05 // of the call is kernels, however the other parts were measured
	return max(unmoved-c.launch, least*shared)
}

// onGPU returns the times of implementations on a GPU.
func onGPU(all []dispatch.Time) []dispatch.Time {
	return slices.DeleteFunc(all, func(t dispatch.Time) bool { return !t.OnGPU })
}

// named returns the index of an implementation, or −1.
func named(all []dispatch.Time, implementation string) int {
	return slices.IndexFunc(all, func(t dispatch.Time) bool { return t.Implementation == implementation })
}

// tensors returns the number of a stage's tensors and their bytes.
func (c *costs) tensors(i int) (n, bytes int) {
	for _, t := range slices.Concat(c.w.writes[i], c.w.reads[i][:len(c.w.Stages[i].Reads)]) {
		n, bytes = n+1, bytes+4*c.words[t]
	}
	return n, bytes
}

// taken is what the stages of a route are expected to take, by stage. A stage whose implementation has no cost takes 0, on every
// route.
type taken struct {
	onGPU          []bool
	alone, seconds []float64
}

func (c *costs) take(r Route) taken {
	t := taken{make([]bool, len(r)), make([]float64, len(r)), make([]float64, len(r))}
	for i, name := range r {
		for k, all := range [][]cost{c.onCPU[i], c.onGPU[i]} {
			if at := slices.IndexFunc(all, func(m cost) bool { return m.implementation == name }); at >= 0 {
				t.onGPU[i], t.alone[i], t.seconds[i] = k == 1, all[at].alone, all[at].seconds
			}
		}
	}
	if c.parts == nil || !c.parts.anyOnGPU(t.onGPU) {
		return t
	}
	for i, name := range r {
		if at := slices.IndexFunc(c.onCPU[i], func(m cost) bool { return m.implementation == name }); at >= 0 && t.alone[i] > 0 {
			long := c.onCPU[i][at].long
			t.alone[i], t.seconds[i] = long, t.seconds[i]*long/t.alone[i]
		}
	}
	return t
}

// groups returns the groups of a route.
func (c *costs) groups(onGPU []bool) []group {
	all := c.w.group(onGPU)
	if c.parts != nil {
		all = c.parts.apart(all, onGPU, c.words[0])
	}
	return all
}

// group returns what a group takes if its stages take what they take alone.
func (c *costs) group(g *group, t taken) (sum float64) {
	for _, i := range c.w.order[g.first:g.end] {
		sum += t.alone[i]
	}
	if g.list != nil {
		hosted, bytes := g.list.hosted(), 0
		for _, t := range hosted {
			bytes += 4 * c.words[t]
		}
		calls := c.calls[c.w.order[g.first]] // each part is launched, and its tensors are moved
		sum += float64(calls) * (c.launch + c.moves.seconds(g.list.transfers(), bytes/calls))
	}
	return sum
}

// seconds returns the predicted time of a route. The launch of a list and its moves are multiplied by the mean factor of its
// stages, because a list was measured as a whole.
func (c *costs) seconds(r Route) float64 {
	t := c.take(r)
	groups := c.groups(t.onGPU)
	sum := c.besides + c.deriving(groups)
	for _, g := range groups {
		alone, seconds := 0.0, 0.0
		for _, i := range c.w.order[g.first:g.end] {
			alone, seconds = alone+t.alone[i], seconds+t.seconds[i]
		}
		if predicted := c.group(&g, t); alone > 0 {
			sum += predicted * seconds / alone
		} else {
			sum += predicted
		}
	}
	return sum
}

// deriving returns what the processor takes for the derived tensors that groups read. It derives none that grows on the GPU.
func (c *costs) deriving(groups []group) (sum float64) {
	derived := make([]bool, len(c.w.tensors))
	for _, g := range groups {
		for _, i := range c.w.order[g.first:g.end] {
			for _, t := range c.w.reads[i] {
				derived[t] = derived[t] || g.list == nil || !c.w.growsIn(i, t)
			}
		}
	}
	for t, seconds := range c.derived {
		if derived[t] {
			sum += seconds
		}
	}
	return sum
}
