package sweeps

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"crossover/kernels"
	"crossover/timings"
)

// entry is a case in a sweep.
type entry struct {
	c         *kernels.Case
	result    *Result
	planner   Planner
	selective Selective // the planner, or nil if it leaves no implementation out
	rng       *rand.Rand
	costs     costs
	checked   map[int]bool         // sizes at which outputs were compared with the reference
	undivided map[int]map[int]bool // by size: implementations that are not timed there, by index: see visit.undivided
	compiled  map[int]bool         // sizes with which Ahead was called
	high      int                  // greatest size that the planner may propose
	floor     int                  // sizes up to floor are no longer visited, because a GPU that was timed there was lost
	skipped   int                  // number of proposals that were not visited
	visits    int                  // number of visits that took blocks
	left      time.Duration        // when the last visit ended
	done      bool                 // whether no more visits follow
	dirty     bool                 // whether the result has changed since it was saved

	drowsy bool   // whether a GPU's clock was down in a block of the last visit
	moved  string // what disturbed the machine when disturbed blocks were last kept

	implementations []*implementation // that can run, in the order of result.Samples.Implementations

	probed       *probed // costs of a small problem; nil if the case was not probed
	tooLong      tooLong // the least size whose visit would have taken too long
	unaffordable string  // why a size that would take too much time or memory was not visited; "" if there was none

	beside []beside // processor time of other programs during the visits
}

// tooLong is a size that was not visited, and the seconds that a visit would have taken. The size is 0 if there was none.
type tooLong struct {
	size    int
	seconds float64
}

func newEntry(c *kernels.Case, o *Options) *entry {
	name := fnv.New64a()
	name.Write([]byte(c.Name))
	e := &entry{
		c:       c,
		result:  &Result{Case: c, Samples: timings.Set{Case: c.Name}},
		planner: o.Planner(c),
		rng:     rand.New(rand.NewPCG(o.Seed, name.Sum64())),
		checked: map[int]bool{}, compiled: map[int]bool{}, undivided: map[int]map[int]bool{},
		high: math.MaxInt,
	}
	e.selective, _ = e.planner.(Selective)
	e.costs.hopelessBlocks = hopelessBlocks
	if c.Shape != nil {
		e.costs.hopelessBlocks, e.costs.ofSpace = hopelessBlocksOfSpace, true
	}
	e.result.Implementations = make([]Status, 0, len(c.Implementations))
	for _, declared := range c.Implementations {
		if o.Include != nil && !o.Include(declared.Name) {
			continue
		}
		e.result.Implementations = append(e.result.Implementations, Status{
			Name: declared.Name, Processor: declared.Processor, Revision: declared.Revision, ErrorBound: declared.ErrorBound,
		})
		status := &e.result.Implementations[len(e.result.Implementations)-1]
		if err := declared.Missing(); err != nil {
			status.Excluded = err.Error()
			continue
		}
		status.Version = declared.LibraryVersion()
		e.implementations = append(e.implementations, &implementation{
			Implementation: declared, status: status, index: len(e.implementations), limit: unlimited,
		})
		e.costs.demands = append(e.costs.demands, o.demandOf(c, declared.Processor))
		e.result.Samples.Implementations = append(e.result.Samples.Implementations, declared.Name)
		e.result.Samples.SetRevision(declared.Name, declared.Revision)
	}
	for i, one := range timings.Counterparts(e.result.Samples.Implementations) {
		if one >= 0 {
			e.costs.demands[i].onOne = &one
		}
	}
	e.done = len(e.implementations) == 0
	return e
}

// restFor is how long a case should rest between two visits. The state of a machine changes over seconds, and visits right
// after each other all meet the same state.
const restFor = 3 * time.Second

// unvisited multiplies the worth of a first visit. So no case of a turn stays empty if the budget is too short for all visits.
const unvisited = 1000

// rested returns the part of a visit's worth that the visit has now. It is 1 once the case has rested.
func (e *entry) rested(now time.Duration) float64 {
	return min(1, 0.25+0.75*float64(now-e.left)/float64(restFor))
}

// stopAt limits the case to sizes up to high.
func (e *entry) stopAt(high int) {
	e.high = high
	e.planner.Limit(high)
}

// alive returns the indexes of the implementations that are timed at a size.
func (e *entry) alive(size int) []int {
	var alive []int
	for i, impl := range e.implementations {
		if e.times(impl, size) {
			alive = append(alive, i)
		}
	}
	return alive
}

// times reports whether an implementation is timed at a size.
func (e *entry) times(impl *implementation, size int) bool {
	return impl.live(size) && !e.undivided[size][impl.index] && !(e.selective != nil && e.selective.Skips(size, impl.Name))
}

// timesOnOne reports whether the counterpart on one core of an implementation on several is timed at a size.
func (e *entry) timesOnOne(impl *implementation, size int) bool {
	name := timings.OnOne(impl.Name)
	return name != impl.Name && slices.ContainsFunc(e.implementations, func(other *implementation) bool {
		return other.Name == name && e.times(other, size)
	})
}

// noteUndivided says that an implementation is not timed at a size: see visit.undivided.
func (e *entry) noteUndivided(impl *implementation, size int) {
	if e.undivided[size] == nil {
		e.undivided[size] = map[int]bool{}
	}
	e.undivided[size][impl.index] = true
}

// blame warns of a size that would have taken too much time or memory. It degrades the case if the machine was disturbed, if
// somebody else used the core of another processor in most of the blocks, or if other programs or virtual machines took too much of
// this machine.
func (e *entry) blame() {
	if e.tooLong.size > 0 {
		e.warn("stopped at %s: a visit to %s would take about %.2g s (a larger --budget goes further)",
			e.c.At(e.costs.greatest()), e.c.At(e.tooLong.size), e.tooLong.seconds)
		e.dirty = true
	}
	if e.unaffordable != "" {
		e.warn("%s", e.unaffordable)
		e.dirty = true
	}
	if e.disturbed() {
		why := "the machine did not come to rest"
		if e.moved != "" {
			why += ": " + e.moved
		}
		e.degrade(why)
		e.dirty = true
	}
	crowded := 0
	for _, b := range e.result.Samples.Blocks {
		if b.Crowded {
			crowded++
		}
	}
	if 2*crowded > len(e.result.Samples.Blocks) {
		e.degrade(fmt.Sprintf("somebody else used the core of another processor in %d of %d blocks", crowded, len(e.result.Samples.Blocks)))
		e.dirty = true
	}
	if share := e.othersShare(); share > othersAllowed() {
		e.degrade(fmt.Sprintf("other programs or virtual machines took %.0f %% of a processor meanwhile", 100*share))
		e.dirty = true
	}
}

// degrade marks the case as measured on a disturbed machine. Only the first reason is kept.
func (e *entry) degrade(why string) {
	if !e.result.Degraded {
		e.result.Degraded = true
		e.warn("degraded: %s", why)
	}
}

func (e *entry) warn(format string, args ...any) {
	e.result.Warnings = append(e.result.Warnings, fmt.Sprintf(format, args...))
}

// skip passes over a size that is no longer visited, so that the planner proposes another one. After too many such
// proposals, skip ends the case and returns false.
func (e *entry) skip(size int) bool {
	const most = 100
	if e.skipped++; e.skipped > most {
		e.done = true
		return false
	}
	e.planner.Visited(size)
	return true
}

// neighbour is the reason of blocks with a batch that was not alone on its core.
const neighbour = "somebody else used the core of a batch"

// why says what disturbed blocks of a visit although the sentinel found the machine quiet.
func (e *entry) why() string {
	if e.drowsy {
		return fmt.Sprintf("the GPU's clock was down, and raising it had taken the %.0f %% of the budget that it may take", 100*wakeShare)
	}
	return neighbour
}

// leastQuiet is the number of quiet blocks with which a size can do without its crowded blocks. In crowded blocks, parallel
// implementations are slower. But a single quiet block has no spread.
const leastQuiet = 3

// keep adds blocks of one size to the samples. Disturbed blocks stay until the size has undisturbed ones, and crowded blocks
// stay until the size has leastQuiet quiet ones.
func (e *entry) keep(blocks []timings.Block, size int) {
	known := &e.result.Samples.Blocks
	*known = append(*known, blocks...)
	if slices.ContainsFunc(blocks, func(b timings.Block) bool { return !b.Disturbed }) {
		*known = discard(*known, &e.result.Discarded.Replaced, func(b *timings.Block) bool { return b.Size == size && b.Disturbed })
	}
	quiet := 0
	for k := range *known {
		if b := &(*known)[k]; b.Size == size && !b.Disturbed && !b.Crowded {
			quiet++
		}
	}
	if quiet >= leastQuiet {
		*known = discard(*known, &e.result.Discarded.Neighbours, func(b *timings.Block) bool { return b.Size == size && b.Crowded })
	}
	e.dirty = e.dirty || len(blocks) > 0
}

// discard returns the blocks without those that are thrown away, and adds the number of these to count.
func discard(blocks []timings.Block, count *int, thrown func(*timings.Block) bool) []timings.Block {
	kept := 0
	for k := range blocks {
		if thrown(&blocks[k]) {
			continue
		}
		if kept < k { // a block is large, and mostly none is thrown away
			blocks[kept] = blocks[k]
		}
		kept++
	}
	clear(blocks[kept:])
	*count += len(blocks) - kept
	return blocks[:kept]
}

// quietAt reports whether a size has undisturbed blocks.
func (e *entry) quietAt(size int) bool {
	return slices.ContainsFunc(e.result.Samples.Blocks, func(b timings.Block) bool { return b.Size == size && !b.Disturbed })
}

// disturb marks blocks that are kept although the machine was not quiet. moved says what disturbed it.
func (e *entry) disturb(blocks []timings.Block, moved string) {
	if len(blocks) > 0 {
		e.moved = moved
	}
	for k := range blocks {
		blocks[k].Disturbed = true
	}
}

// A case may have a share of disturbedMost disturbed blocks, because a size at which the machine was never quiet does not
// make the times of other sizes wrong. The number of blocks that were thrown away may be a share of restlessMost of those
// that were kept. If more were thrown away, a quiet machine was luck.
const (
	disturbedMost = 0.1
	restlessMost  = 0.5
)

// disturbed reports whether the case was measured on a disturbed machine.
func (e *entry) disturbed() bool {
	disturbed, all := 0, len(e.result.Samples.Blocks)
	for _, b := range e.result.Samples.Blocks {
		if b.Disturbed {
			disturbed++
		}
	}
	return float64(disturbed) > disturbedMost*float64(all) || float64(e.result.Discarded.Disturbed) > restlessMost*float64(all)
}
