package command

import (
	"reflect"
	"testing"

	"crossover/calibration"
	"crossover/gpu"
)

// Without the size of the memory, a sweep would accept any size that a file has.
func TestThisMachineKnowsItsMemory(t *testing.T) {
	if m := ThisMachine(); m.Memory < 1<<20 {
		t.Errorf("it has %d bytes", m.Memory)
	}
}

// DescribeGPU adds what the driver reports. The id depends only on what the system reports.
func TestDescribeGPU(t *testing.T) {
	h200 := gpu.Facts{Name: "NVIDIA H200", Driver: "CUDA 13.0, driver 580.159.04", Cores: 132, MemoryBytes: 140 << 30}
	m3 := gpu.Facts{Name: "Apple M3 Max GPU", Driver: "Metal 4", Cores: 40, MemoryBytes: 48 << 30, Unified: true}
	for name, c := range map[string]struct {
		gpus []gpu.Facts
		host calibration.Facts
		want calibration.Facts
	}{
		"none":        {nil, calibration.Facts{Chip: "AMD EPYC"}, calibration.Facts{Chip: "AMD EPYC"}},
		"a container": {[]gpu.Facts{h200, m3}, calibration.Facts{}, calibration.Facts{GPU: "NVIDIA H200", GPUCores: 132, GPUMemoryBytes: 140 << 30}},
		"a host that names it": {[]gpu.Facts{h200}, calibration.Facts{GPU: "NVIDIA H200 NVL"},
			calibration.Facts{GPU: "NVIDIA H200 NVL", GPUCores: 132, GPUMemoryBytes: 140 << 30}},
		"unified memory": {[]gpu.Facts{m3}, calibration.Facts{GPU: "Apple M3 Max"}, calibration.Facts{GPU: "Apple M3 Max", GPUCores: 40}},
	} {
		facts, environment := c.host, calibration.Environment{}
		Machine{GPUs: func() []gpu.Facts { return c.gpus }}.DescribeGPU(&facts, &environment)
		if !reflect.DeepEqual(facts, c.want) {
			t.Errorf("%s: facts are %+v, want %+v", name, facts, c.want)
		}
		if len(c.gpus) > 0 && environment.Driver != c.gpus[0].Driver {
			t.Errorf("%s: driver %q", name, environment.Driver)
		}
	}
	var facts calibration.Facts
	Machine{}.DescribeGPU(&facts, &calibration.Environment{})
	if !reflect.DeepEqual(facts, calibration.Facts{}) {
		t.Errorf("a script without a GPU has %+v", facts)
	}
}
