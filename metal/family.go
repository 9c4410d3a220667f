//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"math"
	"strings"

	"crossover/metal/objc"
)

// families are the members of MTLGPUFamily that exist on a Mac.
//
// Reference: https://developer.apple.com/documentation/metal/mtlgpufamily
var families = []struct {
	name   string
	number int
}{
	{"Apple1", 1001}, {"Apple2", 1002}, {"Apple3", 1003}, {"Apple4", 1004}, {"Apple5", 1005},
	{"Apple6", 1006}, {"Apple7", 1007}, {"Apple8", 1008}, {"Apple9", 1009}, {"Apple10", 1010},
	{"Mac2", 2002},
	{"Common1", 3001}, {"Common2", 3002}, {"Common3", 3003},
	{"Metal3", 5001}, {"Metal4", 5002},
}

// familySet is the families that a device says it belongs to, by name.
type familySet map[string]bool

func familiesOf(device objc.ID) familySet {
	set := familySet{}
	for _, f := range families {
		set[f.name] = supportsFamily.Call(device, f.number)
	}
	return set
}

// String returns the names in the table's order.
func (s familySet) String() string {
	var names []string
	for _, f := range families {
		if s[f.name] {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, " ")
}

// What families have.
//
// Reference: https://developer.apple.com/metal/Metal-Feature-Set-Tables.pdf

// matrices reports whether the device has the matrices of a simdgroup.
func (s familySet) matrices() bool { return s["Apple7"] }

// mostProduct returns the limit of mostProduct of [driver]: M1 and M2 are the families Apple7 and Apple8.
func (s familySet) mostProduct() int {
	if s["Apple7"] && !s["Apple9"] {
		return 1<<31 - 1
	}
	return math.MaxInt
}

// lacks returns what the kernels need and the device does not have: sums and exchanges among the threads of a
// simdgroup. The GPU of a virtual machine on Apple silicon has neither.
func (s familySet) lacks(name string) string {
	if s["Apple7"] || s["Mac2"] {
		return ""
	}
	return fmt.Sprintf("metal: %s has no sums within a simdgroup, which the kernels need (want family Apple7 or Mac2; it has %s)", name, s)
}
