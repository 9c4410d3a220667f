package thresholds

import (
	"math"
	"slices"
)

// committed is the part of a file's case that an audit needs.
type committed struct {
	choice func(size int) string
	band   float64  // tie band as a log-ratio
	unsure [][2]int // ranges of sizes in which the calibration does not know
}

// thresholdReach is the factor around a threshold within which a slow choice alone does not make the threshold wrong. The
// times of two implementations are close there, and their difference changes with the state of the machine from one minute
// to the next. A threshold is wrong if the choice is also slower beyond that reach: see witnesses.
const thresholdReach = 1.5

// nearThreshold reports whether the file has another choice within thresholdReach of a size.
func (c *committed) nearThreshold(size int) bool { return c.differsBelow(size) || c.differsAbove(size) }

// differsBelow reports whether the file has another choice at a size smaller by thresholdReach.
func (c *committed) differsBelow(size int) bool {
	return c.choice(int(math.Ceil(float64(size)/thresholdReach))) != c.choice(size)
}

// differsAbove reports whether the file has another choice at a size greater by thresholdReach.
func (c *committed) differsAbove(size int) bool {
	return c.choice(int(float64(size)*thresholdReach)) != c.choice(size)
}

// unknown reports whether the calibration does not know at a size.
func (c *committed) unknown(size int) bool {
	return slices.ContainsFunc(c.unsure, func(sizes [2]int) bool { return sizes[0] <= size && size <= sizes[1] })
}

// kinship is the greatest ratio of two sizes that may confirm each other.
const kinship = 2

// mostWitnesses is the greatest number of witnesses of a size. One would be too few, because it may be an awkward size.
const mostWitnesses = 2

// witnesses returns audited sizes, the nearest first. One of them must agree before a slow size near a threshold counts as
// drift. A witness has the same choice and is farther from the threshold, beyond thresholdReach of it. There are none if the
// size is not near a threshold, or lies between two.
func (c *committed) witnesses(size int, audited []int) []int {
	below, above := c.differsBelow(size), c.differsAbove(size)
	if below == above {
		return nil
	}
	var found []int
	for _, other := range slices.Sorted(slices.Values(audited)) {
		beyond := below && other > size && float64(other) <= kinship*float64(size) ||
			above && other < size && float64(other)*kinship >= float64(size)
		if beyond && !c.nearThreshold(other) && !c.unknown(other) && c.choice(other) == c.choice(size) {
			found = append(found, other)
		}
	}
	if above {
		slices.Reverse(found)
	}
	return found[:min(len(found), mostWitnesses)]
}
