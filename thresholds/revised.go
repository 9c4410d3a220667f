package thresholds

import (
	"maps"
	"math"
	"slices"

	"crossover/timings"
)

// near is how many times as long as the fastest implementation one may take and be near it.
const near = 10

// Current returns the samples of a case, one set for each run, without those that say nothing of choices now: sizes at which a run
// has no time of an implementation that has changed since, so that its earlier times are gone, if the implementation is near the
// fastest one at the nearest size of other runs. The best of the rest would count as the best of all. At sizes at which a run since
// the change does not divide calls among cores, the time on one core stands for both. A set may have no blocks left.
func Current(sets []*timings.Set) []*timings.Set {
	if len(sets) < 2 {
		return sets
	}
	current := slices.Clone(sets)
	newest := map[string]int{}
	for _, set := range sets {
		for name, revision := range set.Revisions {
			newest[name] = max(newest[name], revision)
		}
	}
	for name, revision := range newest {
		known, without := map[int]float64{}, []int(nil)
		for r, set := range sets {
			of := distances(set, name)
			if revision > 0 && set.Revisions[name] == revision {
				lower(of, undivided(set, name, of))
			}
			if len(of) == 0 {
				without = append(without, r)
			}
			lower(known, of)
		}
		if revision == 0 || len(known) == 0 {
			continue
		}
		for _, r := range without {
			part := *current[r]
			part.Blocks = slices.DeleteFunc(slices.Clone(part.Blocks), func(b timings.Block) bool { return distanceAt(known, b.Size) <= near })
			current[r] = &part
		}
	}
	return current
}

// distances returns the least ratio of an implementation's time to that of the fastest one of its block, by the sizes at which it
// was timed.
func distances(set *timings.Set, name string) map[int]float64 {
	i, least := slices.Index(set.Implementations, name), map[int]float64{}
	for n := range set.Blocks {
		b := &set.Blocks[n]
		if i < 0 || !usable(b, i) || b.Size < 1 {
			continue
		}
		fastest := math.Inf(1)
		for k := range set.Implementations {
			if usable(b, k) {
				fastest = min(fastest, b.Seconds[k])
			}
		}
		if before, found := least[b.Size]; !found || b.Seconds[i]/fastest < before {
			least[b.Size] = b.Seconds[i] / fastest
		}
	}
	return least
}

// undivided returns the distances of an implementation's counterpart on one core at the sizes at which the implementation itself was
// not timed, which are those at which it does not divide calls.
func undivided(set *timings.Set, name string, timed map[int]float64) map[int]float64 {
	one := timings.OnOne(name)
	if one == name || !slices.Contains(set.Implementations, name) {
		return nil
	}
	of := distances(set, one)
	maps.DeleteFunc(of, func(size int, _ float64) bool {
		_, found := timed[size]
		return found
	})
	return of
}

// lower lowers the distances by size to others where these are less, and takes those of sizes that it lacks.
func lower(least, others map[int]float64) {
	for size, d := range others {
		if before, found := least[size]; !found || d < before {
			least[size] = d
		}
	}
}

// distanceAt returns the distance at the known size that is next to a size.
func distanceAt(known map[int]float64, size int) float64 {
	next, of := math.Inf(1), math.Inf(1)
	for at, d := range known {
		if away := math.Abs(math.Log(float64(at) / float64(max(size, 1)))); away < next || away == next && d < of {
			next, of = away, d
		}
	}
	return of
}

// Since returns the samples of a case or of shapes without the times of implementations that have changed since. It also leaves out
// the sizes at which one of these was near the fastest one. The best of the rest would count as the best of all there, and a planner
// would take the sizes for known. Of a change that concerns some of the sizes, all of these are left out, also those at
// which the counterpart was timed in its place: an implementation without a time at one of several sizes is taken for one that does not
// divide calls there.
func Since(set *timings.Set, changes []timings.Change) *timings.Set {
	if len(changes) == 0 {
		return set
	}
	least := map[int]float64{}
	for i := range changes {
		all := distances(set, changes[i].Implementation)
		of := maps.Clone(all)
		maps.DeleteFunc(of, func(size int, _ float64) bool { return !changes[i].Concerns(size) })
		if len(of) < len(all) { // some times hold
			lower(of, undivided(set, changes[i].Implementation, all))
			for size := range of {
				of[size] = 0
			}
			maps.DeleteFunc(of, func(size int, _ float64) bool { return !changes[i].Concerns(size) })
		}
		lower(least, of)
	}
	part := *set
	part.Blocks = slices.DeleteFunc(slices.Clone(set.Blocks), func(b timings.Block) bool {
		d, timed := least[b.Size]
		return timed && d <= near
	})
	out := part.Without(changes)
	for i := range changes {
		if changes[i].ConcernsAny(set) {
			out.SetDivides(changes[i].Implementation, 0)
		}
	}
	return out
}
