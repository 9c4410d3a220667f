package calibration

import (
	"strings"
	"testing"
)

// A single size has a unit in the singular.
func TestUnitOf(t *testing.T) {
	for size, want := range map[int]string{1: "row", 2: "rows", 1024: "rows"} {
		if got := UnitOf(size, "rows"); got != want {
			t.Errorf("%d %s, want %s", size, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for want, facts := range map[string]Facts{
		"Apple M3 Max, 12 performance + 4 efficiency cores, GPU Apple M3 Max with 40 cores, 64 GiB": {
			Chip: "Apple M3 Max", Cores: 16, PerformanceCores: 12, EfficiencyCores: 4, GPU: "Apple M3 Max", GPUCores: 40, MemoryBytes: 64 << 30},
		"Apple M5 Pro, 6 super + 12 performance cores, GPU Apple M5 Pro with 20 cores, 48 GiB": {
			Chip: "Apple M5 Pro", Cores: 18, CoreKinds: []CoreKind{{"Super", 6}, {"Performance", 12}}, GPU: "Apple M5 Pro", GPUCores: 20,
			MemoryBytes: 48 << 30},
		"Intel Core i7-12700K, 4 cores of 16 performance + 4 efficiency": {
			Chip: "Intel Core i7-12700K", Cores: 4, PerformanceCores: 16, EfficiencyCores: 4},
		"AMD EPYC, 1 core, GPU NVIDIA H200, 8 GiB": {Chip: "AMD EPYC", Cores: 1, GPU: "NVIDIA H200", MemoryBytes: 8138236 << 10},
		"Apple M1 (Virtual), 3 cores":              {Chip: "Apple M1 (Virtual)", Cores: 3, PerformanceCores: 3},
		"":                                         {},
	} {
		if got := strings.Join(facts.Words(), ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
