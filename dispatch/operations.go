package dispatch

import (
	"fmt"
	"slices"
	"strings"
)

// operations are those that Crossover computes itself, sorted. A program without a calibration has no other list to hold
// a name against, and this package cannot ask those that compute. A test of the catalogue holds it.
var operations = []string{
	"biquad", "conv1d", "fft", "linear", "log", "matmul", "mel", "oscillator-bank", "scale", "softmax", "stage-graph",
	"stft", "sum",
}

// Operations returns the names of the operations that Crossover computes itself, sorted.
func Operations() []string { return slices.Clone(operations) }

// stranger says why a name is no operation and no case that anybody knows, "" for one that is. Which cases an operation
// has is known from a calibration alone.
func (e entry) stranger(name string) string {
	names := e.names()
	operation, _, _ := strings.Cut(name, "/")
	switch {
	case slices.Contains(names, name):
		return ""
	case slices.Contains(names, operation):
		return fmt.Sprintf("the calibration of %s has no case %q%s", e.host.ID, name,
			didYouMean(nearestNames(name, e.host.Cases)))
	case slices.Contains(operations, operation):
		return ""
	}
	return fmt.Sprintf("there is no operation %q%s", operation, didYouMean(nearestOperations(operation, names)))
}

// nearestOperations returns the operations of Crossover and of a calibration that are at most two letters away, sorted.
func nearestOperations(operation string, names []string) []string {
	var nearest []string
	for _, name := range slices.Concat(operations, names) {
		if !strings.Contains(name, "/") && editDistance(operation, name) <= 2 {
			nearest = append(nearest, name)
		}
	}
	slices.Sort(nearest)
	return slices.Compact(nearest)
}

// didYouMean asks about names, "" for none.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(names, ", ") + "?)"
}
