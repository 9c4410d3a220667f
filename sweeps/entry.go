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

// entry is one case under way.
type entry struct {
	c         *kernels.Case
	result    *Result
	planner   Planner
	selective Selective // the planner; nil where it leaves nothing out
	rng       *rand.Rand
	costs     costs
	checked   map[int]bool  // sizes at which outputs were held against the reference
	high      int           // greatest size that the planner may propose
	floor     int           // greatest size that is not visited any more, because a GPU that was timed there was lost
	skipped   int           // proposals that were not visited
	visits    int           // so far
	left      time.Duration // when the last one ended
	done      bool
	dirty     bool

	drowsy bool   // a GPU's clock was down in a block of the last visit
	moved  string // what was off the sentinel's baseline when blocks were kept all the same

	implementations []*implementation // that can run, in the order of result.Samples.Implementations

	probed       *probed // before the first visit to a size that may be dear; nil where there was none
	unaffordable string  // why a size was not visited that was foreseen to be too dear; "" where none was

	beside []beside // what other programs took during its visits
}

func newEntry(c *kernels.Case, o *Options) *entry {
	name := fnv.New64a()
	name.Write([]byte(c.Name))
	e := &entry{
		c:       c,
		result:  &Result{Case: c, Samples: timings.Set{Case: c.Name}},
		planner: o.Planner(c),
		rng:     rand.New(rand.NewPCG(o.Seed, name.Sum64())),
		checked: map[int]bool{},
		high:    math.MaxInt,
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
			Name: declared.Name, Processor: declared.Processor,
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
	}
	e.done = len(e.implementations) == 0
	return e
}

// restFor is how long a case rests between two visits, other cases permitting: the state of a machine changes over
// seconds, and visits that follow each other at once all see the same one.
const restFor = 3 * time.Second

// unvisited multiplies the worth of a case that has no block yet: a budget that is too short for everything still leaves
// no case empty.
const unvisited = 1000

// rested is what a visit is worth now, of what it will be worth once the case has rested.
func (e *entry) rested(now time.Duration) float64 {
	return min(1, 0.25+0.75*float64(now-e.left)/float64(restFor))
}

// stopAt keeps the case to sizes up to high.
func (e *entry) stopAt(high int) {
	e.high = high
	e.planner.Limit(high)
}

// alive lists the indexes of the implementations that are timed at a size.
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
	return impl.live(size) && !(e.selective != nil && e.selective.Skips(size, impl.Name))
}

// blame says which sizes were too dear, and degrades a case that the machine was disturbed for, or beside which others computed: on another processor's core
// in most of its blocks, or on this machine.
func (e *entry) blame() {
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
		e.degrade(fmt.Sprintf("other programs took %.0f %% of a processor meanwhile", 100*share))
		e.dirty = true
	}
}

// degrade marks the case as measured on a disturbed machine. The first reason is kept.
func (e *entry) degrade(why string) {
	if !e.result.Degraded {
		e.result.Degraded = true
		e.warn("degraded: %s", why)
	}
}

func (e *entry) warn(format string, args ...any) {
	e.result.Warnings = append(e.result.Warnings, fmt.Sprintf(format, args...))
}

// skip tells the planner to look elsewhere as long as it proposes sizes that are not visited any more. It reports
// false, and ends the case, where the planner does not give way.
func (e *entry) skip(size int) bool {
	const most = 100
	if e.skipped++; e.skipped > most {
		e.done = true
		return false
	}
	e.planner.Visited(size)
	return true
}

// neighbour is what is said of blocks in which some batch was timed on a core that was shared.
const neighbour = "somebody else used the core that it ran on"

// why says what disturbed the blocks of a visit that the sentinel found quiet.
func (e *entry) why() string {
	if e.drowsy {
		return fmt.Sprintf("the GPU's clock was down, and raising it had taken the %.0f %% of the budget that it may take", 100*wakeShare)
	}
	return neighbour
}

// leastQuiet is how many blocks of a size there must be before those beside a neighbour of another processor are not
// missed: parallel implementations are slower beside him, and one block alone has no spread.
const leastQuiet = 3

// keep adds blocks of one size to the samples. Those of a disturbed machine count until there are others, and crowded ones
// until there are enough others.
func (e *entry) keep(blocks []timings.Block, size int) {
	known := &e.result.Samples.Blocks
	*known = append(*known, blocks...)
	if slices.ContainsFunc(blocks, func(b timings.Block) bool { return !b.Disturbed }) {
		*known = discard(*known, &e.result.Discarded.Replaced, func(b timings.Block) bool { return b.Size == size && b.Disturbed })
	}
	quiet := 0
	for _, b := range *known {
		if b.Size == size && !b.Disturbed && !b.Crowded {
			quiet++
		}
	}
	if quiet >= leastQuiet {
		*known = discard(*known, &e.result.Discarded.Neighbours, func(b timings.Block) bool { return b.Size == size && b.Crowded })
	}
	e.dirty = e.dirty || len(blocks) > 0
}

// discard returns the blocks without those that it throws away, and counts these.
func discard(blocks []timings.Block, count *int, thrown func(timings.Block) bool) []timings.Block {
	kept := slices.DeleteFunc(blocks, thrown)
	*count += len(blocks) - len(kept)
	return kept
}

// quietAt reports whether a size has blocks of a quiet machine.
func (e *entry) quietAt(size int) bool {
	return slices.ContainsFunc(e.result.Samples.Blocks, func(b timings.Block) bool { return b.Size == size && !b.Disturbed })
}

// disturb marks blocks that are kept although the machine was not quiet.
func (e *entry) disturb(blocks []timings.Block, moved string) {
	if len(blocks) > 0 {
		e.moved = moved
	}
	for k := range blocks {
		blocks[k].Disturbed = true
	}
}

// The machine was disturbed where disturbedMost of the blocks are of a machine that was not quiet: a size among many at
// which it never was does not make the others' times wrong. It was restless where as many blocks were thrown away as
// restlessMost of those that were kept: then the readings of a quiet machine were luck.
const (
	disturbedMost = 0.1
	restlessMost  = 0.5
)

// disturbed reports whether the case is short of blocks of a quiet machine.
func (e *entry) disturbed() bool {
	disturbed, all := 0, len(e.result.Samples.Blocks)
	for _, b := range e.result.Samples.Blocks {
		if b.Disturbed {
			disturbed++
		}
	}
	return float64(disturbed) > disturbedMost*float64(all) || float64(e.result.Discarded.Disturbed) > restlessMost*float64(all)
}
