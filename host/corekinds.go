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

// The two kinds that most chips have. Facts counts them in fields of their own.
const performance, efficiency = "Performance", "Efficiency"

// withKinds puts the kinds of cores into the facts, the fastest first. Kinds without a core do not count. If only one
// kind is left, the cores are all alike, and the facts name no kind.
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

// mostLevels is more kinds than any chip has. A greater number is nonsense.
const mostLevels = 64

// appleKinds reads the kinds of cores of a Mac, which macOS calls performance levels. Level 0 is the fastest. The second
// level of a chip with two need not be Efficiency: macOS calls those of an M5 Pro Super and Performance.
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

// unnamed names a level that the system does not name. The chips of the first systems that counted levels had two:
// performance and efficiency.
func unnamed(level, levels int64) string {
	if levels == 2 {
		return []string{performance, efficiency}[level]
	}
	return fmt.Sprintf("Level %d", level)
}

// linuxKinds counts the kinds of cores of a hybrid chip. For Intel's chips Linux lists the kinds. For Arm's, each core
// has a capacity, which names its kind if there are more than two.
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
