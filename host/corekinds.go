package host

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// CoreKind is one kind of core of a chip that has several.
type CoreKind = struct {
	Name  string // as the system names it: "Super", "Performance"
	Count int    // of the machine
}

// The two kinds of most chips with several. Facts has fields for them.
const performance, efficiency = "Performance", "Efficiency"

// withKinds returns the facts with the given kinds of cores, the fastest first. Kinds without a core do not count. If only
// one kind is left, the facts have no kinds, because the cores are all alike.
func (f Facts) withKinds(kinds []CoreKind) Facts {
	kinds = slices.DeleteFunc(kinds, func(k CoreKind) bool { return k.Count < 1 })
	switch {
	case len(kinds) < 2:
	case len(kinds) == 2 && kinds[0].Name == performance && kinds[1].Name == efficiency:
		f.PerformanceCores, f.EfficiencyCores = kinds[0].Count, kinds[1].Count
	default:
		f.CoreKinds = kinds
	}
	return f
}

// mostLevels is more kinds than any chip has. A greater number is an error.
const mostLevels = 64

// appleKinds reads the kinds of cores of a Mac. macOS calls them performance levels, and level 0 is the fastest. Two levels
// need not be Performance and Efficiency: those of an M5 Pro are Super and Performance.
// Reference: https://developer.apple.com/documentation/kernel/1387446-sysctlbyname/determining_system_capabilities
func appleKinds(s sysctl) []CoreKind {
	levels := s.number("hw.nperflevels")
	if levels > mostLevels {
		return nil
	}
	var kinds []CoreKind
	for n := range levels {
		level := fmt.Sprintf("hw.perflevel%d.", n)
		name := strings.TrimSpace(s.text(level + "name"))
		if name == "" {
			name = unnamed(n, levels)
		}
		kinds = append(kinds, CoreKind{Name: name, Count: s.count(level + "physicalcpu")})
	}
	return kinds
}

// unnamed returns the name of a level that the system does not name. Early systems with levels gave no names. Their chips
// had two kinds, performance and efficiency.
func unnamed(level, levels int64) string {
	if levels == 2 {
		return []string{performance, efficiency}[level]
	}
	return fmt.Sprintf("Level %d", level)
}

// linuxKinds counts the kinds of cores of a hybrid chip. For Intel's chips Linux lists the kinds. For Arm's chips Linux
// gives each core a capacity. If there are more than two capacities, they name the kinds.
func linuxKinds(root fs.FS) []CoreKind {
	listed := []CoreKind{
		{performance, countList(readLine(root, "sys/devices/cpu_core/cpus"))},
		{efficiency, countList(readLine(root, "sys/devices/cpu_atom/cpus"))},
		{"Low-power", countList(readLine(root, "sys/devices/cpu_lowpower/cpus"))},
	}
	if listed[0].Count > 0 && listed[1].Count > 0 {
		return listed
	}
	cores := map[int]int{} // by capacity
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpu_capacity")
	for _, file := range files {
		if capacity, err := strconv.Atoi(readLine(root, file)); err == nil {
			cores[capacity]++
		}
	}
	var kinds []CoreKind
	for _, capacity := range slices.Backward(slices.Sorted(maps.Keys(cores))) {
		kinds = append(kinds, CoreKind{fmt.Sprintf("Capacity %d", capacity), cores[capacity]})
	}
	if len(kinds) == 2 {
		kinds[0].Name, kinds[1].Name = performance, efficiency
	}
	return kinds
}
