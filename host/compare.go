package host

import (
	"cmp"
	"fmt"
)

// Likeness says how near the machine of a calibration is to another one. A greater value is nearer. Between Other and Same
// are near matches, whose calibrations may stand in for a missing one. Untold is the nearest match.
type Likeness int

// The kinds of likeness. If machines differ in several ways, the first in this order counts.
const (
	Other Likeness = iota // a chip of another family
	otherArchitecture
	otherGPU
	otherChip
	otherProcessor
	untoldByOne
	otherCores
	otherCaches
	otherID
	Untold // nothing differs, but the processors are unknown
	Same
)

// Compare says how near the machine that a calibration describes is to the machine of f. The string says in one clause what
// differs. It is "" if the machines are the same or have nothing in common. Processors that differ in family, model or
// stepping are never the same machine, nor are processors for which these are unknown. sameID says that the calibration has
// the id of the machine.
//
// Caches count if both sides know them. Under the same id, a GPU that only the calibration knows is no difference, because
// its driver described it to the calibration. Memory and clock rates do not count, because they change with the settings of
// a virtual machine.
func (f Facts) Compare(calibrated Facts, sameID bool) (Likeness, string) {
	likeness, reason := f.difference(calibrated, sameID)
	if related := sameID || f.Family != "" && f.Family == calibrated.Family; !related {
		return Other, ""
	}
	return likeness, reason
}

func (f Facts) difference(g Facts, sameID bool) (Likeness, string) {
	const which = "which family, model and stepping its processor has"
	mine, its := f.told(), g.told()
	switch {
	case f.Architecture != g.Architecture:
		return otherArchitecture, fmt.Sprintf("it was measured as %s and this program is %s", g.Architecture, f.Architecture)
	case f.GPU != g.GPU && !f.SameGPU(g) && !(sameID && f.GPU == ""):
		return otherGPU, fmt.Sprintf("its GPU is %s and this host's is %s", cmp.Or(g.GPU, "none"), cmp.Or(f.GPU, "none"))
	case f.Chip != g.Chip:
		return otherChip, fmt.Sprintf("its chip is %s and this host's is %s", g.Chip, f.Chip)
	case mine && its && f.Processor() != g.Processor():
		return otherProcessor, fmt.Sprintf("its processor is %s and this host's is %s", g.Processor(), f.Processor())
	case mine && !its:
		return untoldByOne, "the file does not say " + which
	case its && !mine:
		return untoldByOne, "this system does not say " + which
	case f.Cores != g.Cores:
		return otherCores, fmt.Sprintf("it has %d cores and this host has %d", g.Cores, f.Cores)
	case f.otherCaches(g):
		return otherCaches, fmt.Sprintf("its caches are %s and this host's are %s", g.Caches(), f.Caches())
	case !sameID:
		return otherID, "its id is another one"
	case !mine:
		return Untold, "neither the file nor this system says " + which
	}
	return Same, ""
}

// told reports whether the processor is known.
func (f Facts) told() bool { return f.CPUFamily != "" }

// otherCaches reports whether a cache differs that both sides know.
func (f Facts) otherCaches(g Facts) bool {
	its := g.caches()
	for level, size := range f.caches() {
		if size > 0 && its[level] > 0 && size != its[level] {
			return true
		}
	}
	return false
}
