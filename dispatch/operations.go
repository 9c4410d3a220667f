package dispatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// declared holds the operations that this program can compute, with the names of their axes. The packages that declare
// operations add them.
var declared = struct {
	sync.Mutex
	axes map[string][]string
}{axes: map[string][]string{}}

// Declare registers the name of an operation that this program can compute, and the names of its axes in the order of a
// shape's values. Package kernels registers the operations that it declares. A program with operations of its own registers
// them before it makes a dispatcher. CROSSOVER_FORCE may name an operation that is not registered; a warning says so. The
// axes of an operation that no calibration knows are needed to record its shapes: see [Dispatcher.Record].
func Declare(operation string, axes ...string) {
	declared.Lock()
	defer declared.Unlock()
	declared.axes[operation] = slices.Clone(axes)
}

// axesDeclared returns the names of the axes of an operation, nil where they are not known.
func axesDeclared(operation string) []string {
	declared.Lock()
	defer declared.Unlock()
	return declared.axes[operation]
}

// Operations returns the names of the operations that were declared, sorted.
func Operations() []string {
	declared.Lock()
	defer declared.Unlock()
	return slices.Sorted(maps.Keys(declared.axes))
}

// meant asks which case, or else which operation, was meant by a name. It returns "" if none is near.
func (e entry) meant(name string) string {
	if near := nearestNames(name, e.host.Cases); len(near) > 0 {
		return didYouMean(near)
	}
	operation, _, _ := strings.Cut(name, "/")
	return meantOperation(operation)
}

// meantOperation asks which operation was meant by the name of none. It returns "" for the name of one.
func meantOperation(name string) string {
	if slices.Contains(Operations(), name) {
		return ""
	}
	return DidYouMean(name)
}

// stranger says why a name is not a known operation or case. It returns "" for a known one. Only a calibration says which
// cases an operation has.
func (e entry) stranger(name string) string {
	names := e.names()
	operation, _, _ := strings.Cut(name, "/")
	switch {
	case slices.Contains(names, name):
		return ""
	case slices.Contains(names, operation):
		return fmt.Sprintf("the calibration of %s has no case %q%s", e.host.ID, name, e.meant(name))
	case slices.Contains(Operations(), operation):
		return ""
	}
	return fmt.Sprintf("this program has no operation %q%s", operation, didYouMean(nearestOperations(operation, names)))
}

// nearestOperations returns the operations of the program and of a calibration that are at most two letters away, sorted.
func nearestOperations(operation string, names []string) []string {
	var nearest []string
	for _, name := range slices.Concat(Operations(), names) {
		if !strings.Contains(name, "/") && editDistance(operation, name) <= 2 {
			nearest = append(nearest, name)
		}
	}
	slices.Sort(nearest)
	return slices.Compact(nearest)
}

// DidYouMean asks whether an operation of this program was meant by a name: " (did you mean fft?)". It returns "" if none is
// at most two letters away.
func DidYouMean(operation string) string { return didYouMean(nearestOperations(operation, nil)) }

// didYouMean asks whether one of the names was meant. It returns "" for no names.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(names, ", ") + "?)"
}
