package thresholds

import (
	"math"
	"slices"
)

// committed is what a file says of a case, as far as an audit needs it.
type committed struct {
	choice func(size int) string
	band   float64  // tie band as a log-ratio
	unsure [][2]int // sizes, from and to, where the calibration itself does not know
}

// thresholdReach is the factor around a threshold within which a slow choice alone does not make it wrong. What two
// implementations take is close there, and how close changes with the state of the machine from one minute to the next. A
// threshold is wrong where the choice is still not the best one beyond that reach: see witnesses.
const thresholdReach = 1.5

// nearThreshold reports whether the file chooses something else within thresholdReach of a size.
func (c *committed) nearThreshold(size int) bool { return c.differsBelow(size) || c.differsAbove(size) }

// differsBelow reports whether the file chooses something else at thresholdReach below a size.
func (c *committed) differsBelow(size int) bool {
	return c.choice(int(math.Ceil(float64(size)/thresholdReach))) != c.choice(size)
}

// differsAbove reports whether the file chooses something else at thresholdReach above a size.
func (c *committed) differsAbove(size int) bool {
	return c.choice(int(float64(size)*thresholdReach)) != c.choice(size)
}

// unknown reports whether a size lies where the calibration does not know.
func (c *committed) unknown(size int) bool {
	return slices.ContainsFunc(c.unsure, func(sizes [2]int) bool { return sizes[0] <= size && size <= sizes[1] })
}

// kinship is the factor within which two sizes may speak for each other.
const kinship = 2

// mostWitnesses is how many witnesses a size has at most. One is too few, because it may be an awkward size.
const mostWitnesses = 2

// witnesses returns those of the audited sizes, nearest first, of which one must agree before a slow size near a threshold
// counts as drift. A witness has the same choice and lies further from the threshold, beyond thresholdReach of it. There is
// none if the size is not near a threshold, or lies between two.
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
