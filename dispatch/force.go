package dispatch

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"crossover/host"
)

// ForceVariable is the environment variable that overrides choices.
const ForceVariable = "CROSSOVER_FORCE"

// everything is the key of an implementation that is forced on every case.
const everything = "*"

// Always returns a dispatcher that chooses one implementation wherever a program has it. Measurements and tests use it.
// It has no calibration and ignores CROSSOVER_FORCE.
func Always(implementation string) *Dispatcher {
	d := newDispatcher([]Option{WithHost(host.Facts{Chip: "any"})})
	d.entry = entry{fallback: noCalibration}
	d.force = map[string]string{everything: implementation}
	return d
}

// forcedBy says what forces the choices.
func (d *Dispatcher) forcedBy() string {
	if _, always := d.force[everything]; always {
		return "the program always asks for it"
	}
	return ForceVariable + " asks for it"
}

func forceFromEnvironment(known []string) (map[string]string, error) {
	force, err := parseForce(os.Getenv(ForceVariable), known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ForceVariable, err)
	}
	return force, nil
}

// forcedAlone returns a dispatcher that knows CROSSOVER_FORCE and nothing else. A nil dispatcher uses it. A variable that
// cannot be parsed forces nothing, because a nil dispatcher cannot return an error.
func forcedAlone() *Dispatcher {
	d := &Dispatcher{now: time.Now, entry: entry{fallback: noCalibration}}
	force, err := forceFromEnvironment(nil)
	if err != nil {
		warn("%v", err)
		return d
	}
	d.force = force
	d.checkForce()
	return d
}

// checkForce warns of every override that names something unknown. The override still holds for a case of that name: a
// program may have operations of its own, which no calibration holds yet.
func (d *Dispatcher) checkForce() {
	for _, name := range slices.Sorted(maps.Keys(d.force)) {
		if strange := d.entry.stranger(name); strange != "" {
			warn("%s: %s=%s: %s", ForceVariable, name, d.force[name], strange)
		}
	}
}

// parseForce reads "name=implementation,name=implementation", where a name is a case or an operation. Names of cases
// hold commas and equals signs themselves, so a name is the longest known one that fits. An unknown name must look like
// a name: an operation, or an operation, a slash, and parameters as in taps=512,block=256.
func parseForce(text string, known []string) (map[string]string, error) {
	force := map[string]string{}
	rest := strings.TrimSpace(text)
	for more := rest != ""; more; {
		rest = strings.TrimSpace(rest)
		name := longestKnown(rest, known)
		if name == "" {
			name = caseName(rest)
		}
		if name == "" {
			return nil, fmt.Errorf("%q does not begin with operation= or operation/parameter=value= "+
				"(want fft=go,conv1d/taps=512=go/fft)", rest)
		}
		var implementation string
		implementation, rest, more = strings.Cut(rest[len(name)+1:], ",")
		implementation = strings.TrimSpace(implementation)
		if implementation == "" || strings.Contains(implementation, "=") {
			return nil, fmt.Errorf("%q is no implementation for %q (want fft=go,conv1d/taps=512=go/fft)", implementation, name)
		}
		if name == everything {
			return nil, fmt.Errorf("%q is no operation (want fft=go,conv1d/taps=512=go/fft)", name)
		}
		if _, twice := force[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		force[name] = implementation
	}
	return force, nil
}

// longestKnown returns the longest known name that stands before an equals sign at the beginning of the text.
func longestKnown(text string, known []string) string {
	longest := ""
	for _, name := range known {
		if len(name) > len(longest) && strings.HasPrefix(text, name) && strings.HasPrefix(text[len(name):], "=") {
			longest = name
		}
	}
	return longest
}

// caseName returns the operation, or the operation and its parameters, that stands before an equals sign at the
// beginning of the text; "" if none does.
func caseName(text string) string {
	end := strings.IndexAny(text, "/=,")
	if end <= 0 || text[end] == ',' {
		return ""
	}
	for text[end] != '=' {
		key := strings.IndexAny(text[end+1:], "=,")
		if key <= 0 || text[end+1+key] != '=' {
			return ""
		}
		value := end + 1 + key + 1
		length := strings.IndexAny(text[value:], "=,")
		if length <= 0 {
			return ""
		}
		end = value + length
	}
	return text[:end]
}
