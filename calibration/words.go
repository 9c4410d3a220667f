package calibration

import (
	"fmt"
	"strings"
)

// Kinds returns the kinds of cores of the machine, the fastest first. It returns nil if all cores are alike, or if the kinds
// are not known.
func (f *Facts) Kinds() []CoreKind {
	switch {
	case len(f.CoreKinds) > 0:
		return f.CoreKinds
	case f.PerformanceCores > 0 && f.EfficiencyCores > 0:
		return []CoreKind{{"Performance", f.PerformanceCores}, {"Efficiency", f.EfficiencyCores}}
	}
	return nil
}

// Words describes the machine in several parts: its chip, its cores by kind, its GPU and its memory. It leaves out what is
// not known.
func (f *Facts) Words() []string {
	var parts []string
	if f.Chip != "" {
		parts = append(parts, f.Chip)
	}
	if f.Cores > 0 {
		parts = append(parts, f.coresInWords())
	}
	switch {
	case f.GPU != "" && f.GPUCores > 0:
		parts = append(parts, fmt.Sprintf("GPU %s with %s", f.GPU, plural(f.GPUCores, "core")))
	case f.GPU != "":
		parts = append(parts, "GPU "+f.GPU)
	}
	if f.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GiB", float64(f.MemoryBytes)/(1<<30)))
	}
	return parts
}

// coresInWords describes the cores by kind. If the process may not use all of them, it also says how many the process
// may use.
func (f *Facts) coresInWords() string {
	var kinds []string
	sum := 0
	for _, kind := range f.Kinds() {
		kinds = append(kinds, fmt.Sprintf("%d %s", kind.Count, strings.ToLower(kind.Name)))
		sum += kind.Count
	}
	switch byKind := strings.Join(kinds, " + "); {
	case byKind == "":
		return plural(f.Cores, "core")
	case sum == f.Cores:
		return byKind + " cores"
	default:
		return fmt.Sprintf("%s of %s", plural(f.Cores, "core"), byKind)
	}
}

// Few returns "one size" or "two sizes" if a case was measured at no more, and otherwise "".
func (c *Case) Few() string {
	switch len(c.Sizes) {
	case 1:
		return "one size"
	case 2:
		return "two sizes"
	}
	return ""
}

// UnitOf returns a unit as it stands behind a size: "row" behind 1, and otherwise "rows". Units are English plurals.
func UnitOf(size int, unit string) string {
	if size == 1 {
		return strings.TrimSuffix(unit, "s")
	}
	return unit
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
