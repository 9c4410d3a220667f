package host

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestLinuxFacts(t *testing.T) {
	tests := []struct {
		name         string
		architecture string
		cores        int
		files        map[string]string
		want         Facts
		id           string
		undriven     string // a GPU without a driver
	}{
		{
			name: "EPYC virtual machine", architecture: "amd64", cores: 2,
			files: map[string]string{
				"proc/cpuinfo": x86("AuthenticAMD", 25, 17, "AMD EPYC", "1") + x86("AuthenticAMD", 99, 99, "AMD EPYC", "9"),
				"proc/meminfo": "MemTotal:        8138236 kB\nMemFree:         1024 kB\n",
				"sys/devices/system/cpu/cpu0/cache/index0/level": "1\n",
				"sys/devices/system/cpu/cpu0/cache/index0/type":  "Data\n",
				"sys/devices/system/cpu/cpu0/cache/index0/size":  "32K\n",
				"sys/devices/system/cpu/cpu0/cache/index1/level": "1\n",
				"sys/devices/system/cpu/cpu0/cache/index1/type":  "Instruction\n",
				"sys/devices/system/cpu/cpu0/cache/index1/size":  "64K\n",
				"sys/devices/system/cpu/cpu0/cache/index2/level": "2\n",
				"sys/devices/system/cpu/cpu0/cache/index2/type":  "Unified\n",
				"sys/devices/system/cpu/cpu0/cache/index2/size":  "1024K\n",
				"sys/devices/system/cpu/cpu0/cache/index3/level": "3\n",
				"sys/devices/system/cpu/cpu0/cache/index3/type":  "Unified\n",
				"sys/devices/system/cpu/cpu0/cache/index3/size":  "32768K\n",
			},
			want: Facts{Chip: "AMD EPYC", Family: "amd-epyc", Architecture: "amd64", Cores: 2,
				Vendor: "AuthenticAMD", CPUFamily: "25", CPUModel: "17", Stepping: "1",
				L1DataBytes: 32 << 10, L2Bytes: 1 << 20, L3Bytes: 32 << 20, MemoryBytes: 8138236 * 1024},
			id: "amd-epyc-f25m17s1-2",
		},
		{
			name: "the same with a Zen 5 and without caches", architecture: "amd64", cores: 2,
			files: map[string]string{
				"proc/cpuinfo": x86("AuthenticAMD", 26, 2, "AMD EPYC", "1"),
				"sys/devices/system/cpu/cpu0/cache/index0/level": "1\n",
				"sys/devices/system/cpu/cpu0/cache/index0/type":  "Data\n",
				"sys/devices/system/cpu/cpu0/cache/index2/level": "2\n",
				"sys/devices/system/cpu/cpu0/cache/index2/type":  "Unified\n",
				"sys/devices/system/cpu/cpu0/cache/index2/size":  "much\n",
			},
			want: Facts{Chip: "AMD EPYC", Family: "amd-epyc", Architecture: "amd64", Cores: 2,
				Vendor: "AuthenticAMD", CPUFamily: "26", CPUModel: "2", Stepping: "1"},
			id: "amd-epyc-f26m2s1-2",
		},
		{
			name: "a processor that hides its stepping", architecture: "amd64", cores: 2,
			files: map[string]string{"proc/cpuinfo": x86("AuthenticAMD", 25, 17, "AMD EPYC 9R14", "unknown")},
			want: Facts{Chip: "AMD EPYC 9R14", Family: "amd-epyc", Architecture: "amd64", Cores: 2,
				Vendor: "AuthenticAMD", CPUFamily: "25", CPUModel: "17"},
			id: "amd-epyc-9r14-f25m17-2",
		},
		{
			name: "EPYC with a GPU", architecture: "amd64", cores: 64,
			files: map[string]string{
				"proc/cpuinfo": "model name\t: AMD EPYC 7B13 64-Core Processor\n",
				"proc/driver/nvidia/gpus/0000:05/information": "Model: \t\t NVIDIA H200\nIRQ:   \t\t 79\n",
				"proc/driver/nvidia/gpus/0000:06/information": "Model: \t\t NVIDIA T4\n",
			},
			want: Facts{Chip: "AMD EPYC 7B13", Family: "amd-epyc", Architecture: "amd64", Cores: 64, GPU: "NVIDIA H200"},
			id:   "amd-epyc-7b13-64-nvidia-h200",
		},
		{
			name: "a container that sees the bus alone", architecture: "amd64", cores: 16,
			files: map[string]string{
				"proc/cpuinfo":                            "model name\t: Intel(R) Xeon(R) Processor\n",
				"sys/module/nvidia/version":               "580.159.04\n",
				"sys/bus/pci/devices/0000:00:05.0/vendor": "0x10de\n", // a bridge
				"sys/bus/pci/devices/0000:00:05.0/class":  "0x068000\n",
				"sys/bus/pci/devices/0000:00:05.0/device": "0x22a3\n",
				"sys/bus/pci/devices/0000:00:06.0/vendor": "0x10de\n",
				"sys/bus/pci/devices/0000:00:06.0/class":  "0x030200\n",
				"sys/bus/pci/devices/0000:00:06.0/device": "0x2335\n",
				"sys/bus/pci/devices/0000:00:07.0/vendor": "0x10de\n",
				"sys/bus/pci/devices/0000:00:07.0/class":  "0x030200\n",
				"sys/bus/pci/devices/0000:00:07.0/device": "0x1eb8\n",
			},
			want: Facts{Chip: "Intel Xeon", Family: "intel-xeon", Architecture: "amd64", Cores: 16, GPU: "NVIDIA H200"},
			id:   "intel-xeon-16-nvidia-h200",
		},
		{
			name: "a GPU that nobody has heard of", architecture: "amd64", cores: 4,
			files: map[string]string{
				"sys/module/nvidia/version":               "600.1\n",
				"sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
				"sys/bus/pci/devices/0000:01:00.0/class":  "0x030000\n",
				"sys/bus/pci/devices/0000:01:00.0/device": "0xfffe\n",
			},
			want: Facts{Chip: "unknown amd64", Architecture: "amd64", Cores: 4, GPU: "NVIDIA fffe"},
			id:   "unknown-amd64-4-nvidia-fffe",
		},
		{
			name: "a GPU without NVIDIA's driver, and one of another maker", architecture: "amd64", cores: 4,
			files: map[string]string{
				"sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
				"sys/bus/pci/devices/0000:01:00.0/class":  "0x030000\n",
				"sys/bus/pci/devices/0000:01:00.0/device": "0x2684\n",
				"sys/bus/pci/devices/0000:02:00.0/vendor": "0x1002\n",
				"sys/bus/pci/devices/0000:02:00.0/class":  "0x030000\n",
				"sys/bus/pci/devices/0000:02:00.0/device": "0x744c\n",
			},
			want: Facts{Chip: "unknown amd64", Architecture: "amd64", Cores: 4},
			id:   "unknown-amd64-4", undriven: "NVIDIA GeForce RTX 4090",
		},
		{
			name: "Xeon", architecture: "amd64", cores: 16,
			files: map[string]string{
				"proc/cpuinfo": "model name\t: Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz\n",
			},
			want: Facts{Chip: "Intel Xeon Platinum 8259CL", Family: "intel-xeon-platinum", Architecture: "amd64", Cores: 16},
			id:   "intel-xeon-platinum-8259cl-16",
		},
		{
			name: "hybrid Core", architecture: "amd64", cores: 20,
			files: map[string]string{
				"proc/cpuinfo":              "model name\t: 12th Gen Intel(R) Core(TM) i7-12700K\n",
				"sys/devices/cpu_core/cpus": "0-15\n",
				"sys/devices/cpu_atom/cpus": "16-19\n",
			},
			want: Facts{Chip: "Intel Core i7-12700K", Family: "intel-core", Architecture: "amd64", Cores: 20,
				PerformanceCores: 16, EfficiencyCores: 4},
			id: "intel-core-i7-12700k-20",
		},
		{
			name: "Graviton", architecture: "arm64", cores: 4,
			files: map[string]string{
				"proc/cpuinfo": armCores("0x41 0x3 0xd0c 1", "0x41 0x3 0xd0c 1"),
			},
			want: Facts{Chip: "ARM Neoverse-N1", Family: "arm-neoverse-n1", Architecture: "arm64", Cores: 4,
				Vendor: "ARM", CPUFamily: "8", CPUModel: "0xd0c", Stepping: "r3p1"},
			id: "arm-neoverse-n1-r3p1-4",
		},
		{
			name: "Raspberry Pi", architecture: "arm64", cores: 4,
			files: map[string]string{
				"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\n" +
					"Revision\t: c03114\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n",
				"proc/device-tree/model":                   "Raspberry Pi 4 Model B Rev 1.4\x00",
				"sys/devices/system/cpu/cpu0/cpu_capacity": "1024\n",
				"sys/devices/system/cpu/cpu1/cpu_capacity": "1024\n",
			},
			want: Facts{Chip: "ARM Cortex-A72", Family: "arm-cortex-a72", Architecture: "arm64", Cores: 4, Vendor: "ARM",
				CPUModel: "0xd08"},
			id: "arm-cortex-a72-4",
		},
		{
			name: "two kinds of Arm core", architecture: "arm64", cores: 3,
			files: map[string]string{
				"proc/cpuinfo": "model name\t: ARMv8 Processor rev 0 (v8l)\n" +
					armCores("0x41 0x2 0xd05 0", "0x41 0x2 0xd05 0", "0x41 0x4 0xd0b 1"),
				"sys/devices/system/cpu/cpu0/cpu_capacity": "400\n",
				"sys/devices/system/cpu/cpu1/cpu_capacity": "400\n",
				"sys/devices/system/cpu/cpu2/cpu_capacity": "1024\n",
			},
			want: Facts{Chip: "ARM Cortex-A55 + ARM Cortex-A76", Family: "arm-cortex-a55-arm-cortex-a76",
				Architecture: "arm64", Cores: 3, PerformanceCores: 1, EfficiencyCores: 2,
				Vendor: "ARM", CPUFamily: "8", CPUModel: "0xd05+0xd0b", Stepping: "r2p0+r4p1"},
			id: "arm-cortex-a55-arm-cortex-a76-r2p0-r4p1-3",
		},
		{
			name: "three kinds of Arm core", architecture: "arm64", cores: 4,
			files: map[string]string{
				"sys/devices/system/cpu/cpu0/cpu_capacity": "250\n",
				"sys/devices/system/cpu/cpu1/cpu_capacity": "760\n",
				"sys/devices/system/cpu/cpu2/cpu_capacity": "760\n",
				"sys/devices/system/cpu/cpu3/cpu_capacity": "1024\n",
			},
			want: Facts{Chip: "unknown arm64", Architecture: "arm64", Cores: 4,
				CoreKinds: []CoreKind{{"Capacity 1024", 1}, {"Capacity 760", 2}, {"Capacity 250", 1}}},
			id: "unknown-arm64-4",
		},
		{
			name: "three kinds of Intel core", architecture: "amd64", cores: 16,
			files: map[string]string{
				"proc/cpuinfo":                  "model name\t: Intel(R) Core(TM) Ultra 9 285H\n",
				"sys/devices/cpu_core/cpus":     "0-5\n",
				"sys/devices/cpu_atom/cpus":     "6-13\n",
				"sys/devices/cpu_lowpower/cpus": "14-15\n",
			},
			want: Facts{Chip: "Intel Core Ultra 9 285H", Family: "intel-core-ultra", Architecture: "amd64", Cores: 16,
				CoreKinds: []CoreKind{{"Performance", 6}, {"Efficiency", 8}, {"Low-power", 2}}},
			id: "intel-core-ultra-9-285h-16",
		},
		{
			name: "unknown implementer with a device tree", architecture: "arm64", cores: 8,
			files: map[string]string{
				"proc/cpuinfo":           "CPU implementer\t: 0x99\nCPU part\t: 0x001\n",
				"proc/device-tree/model": "Frobnicator Board 2\x00",
			},
			want: Facts{Chip: "Frobnicator Board 2", Family: "frobnicator-board", Architecture: "arm64", Cores: 8,
				Vendor: "0x99", CPUModel: "0x001"},
			id: "frobnicator-board-2-8",
		},
		{
			name: "nothing to read", architecture: "amd64", cores: 1,
			want: Facts{Chip: "unknown amd64", Architecture: "amd64", Cores: 1},
			id:   "unknown-amd64-1",
		},
		{
			name: "nonsense", architecture: "amd64", cores: 1,
			files: map[string]string{
				"proc/cpuinfo":                                "model name\t: \x00\n:::\nCPU part\n",
				"proc/meminfo":                                "MemTotal: 99999999999999999999 kB\n",
				"sys/devices/cpu_core/cpus":                   "7-0",
				"sys/devices/cpu_atom/cpus":                   "0-99999999",
				"proc/driver/nvidia/gpus/0000:05/information": "Model:\n",
			},
			want: Facts{Chip: "unknown amd64", Architecture: "amd64", Cores: 1},
			id:   "unknown-amd64-1",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if idle := undrivenGPU(machine(test.files)); idle != test.undriven {
				t.Errorf("a GPU without a driver is %q, want %q", idle, test.undriven)
			}
			got := linuxFacts(machine(test.files), test.architecture, test.cores)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("facts\n got %+v\nwant %+v", got, test.want)
			}
			if id := got.ID(); id != test.id {
				t.Errorf("id %q, want %q", id, test.id)
			}
		})
	}
}

// x86 is what /proc/cpuinfo says of one processor.
func x86(vendor string, family, model int, name, stepping string) string {
	return fmt.Sprintf("processor\t: 0\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: %s\nstepping\t: %s\n"+
		"microcode\t: 0x1\ncpu MHz\t\t: 2300.000\n\n", vendor, family, model, name, stepping)
}

// armCores is what /proc/cpuinfo says of Arm cores, each with its implementer, variant, part and revision.
func armCores(cores ...string) string {
	text := ""
	for n, core := range cores {
		fields := strings.Fields(core)
		text += fmt.Sprintf("processor\t: %d\nBogoMIPS\t: 243.75\nCPU implementer\t: %s\nCPU architecture: 8\nCPU variant\t: %s\n"+
			"CPU part\t: %s\nCPU revision\t: %s\n\n", n, fields[0], fields[1], fields[2], fields[3])
	}
	return text
}

func TestAppleFacts(t *testing.T) {
	max := keys(map[string]string{
		"machdep.cpu.brand_string":   "Apple M3 Max",
		"hw.nperflevels":             "\x02\x00\x00",
		"hw.perflevel0.name":         "Performance",
		"hw.perflevel1.name":         "Efficiency",
		"hw.perflevel0.physicalcpu":  "\x0c\x00\x00",
		"hw.perflevel1.physicalcpu":  "\x04\x00\x00",
		"hw.memsize":                 "\x00\x00\x00\x00\x10\x00\x00", // 64 GiB, its last zero byte cut off
		"hw.cpufamily":               "\x32\x58\x01\x72",
		"hw.cpusubfamily":            "\x05\x00\x00",
		"hw.l1dcachesize":            "\x00\x00\x01\x00", // of the efficient cores
		"hw.perflevel0.l1dcachesize": "\x00\x00\x02\x00",
		"hw.l2cachesize":             "\x00\x00\x40\x00",
	})
	got := appleFacts(max, func() int { return 40 }, "arm64", 16)
	want := Facts{Chip: "Apple M3 Max", Family: "apple-m3", Architecture: "arm64", Cores: 16, PerformanceCores: 12,
		EfficiencyCores: 4, Vendor: "Apple", CPUFamily: "0x72015832", CPUModel: "0x5", L1DataBytes: 128 << 10, L2Bytes: 4 << 20,
		MemoryBytes: 64 << 30, GPU: "Apple M3 Max", GPUCores: 40}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("facts\n got %+v\nwant %+v", got, want)
	}
	if id := got.ID(); id != "apple-m3-max-40" {
		t.Errorf("id with GPU cores %q", id)
	}
	untold := func() int { return 0 }
	if id := appleFacts(max, untold, "arm64", 16).ID(); id != "apple-m3-max-16" {
		t.Errorf("id without GPU cores %q", id)
	}

	intel := keys(map[string]string{
		"machdep.cpu.brand_string": "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", "machdep.cpu.vendor": "GenuineIntel",
		"machdep.cpu.family": "\x06", "machdep.cpu.model": "\x9e", "machdep.cpu.stepping": "",
	})
	mac := appleFacts(intel, nil, "amd64", 12)
	if id := mac.ID(); id != "intel-core-i7-9750h-f6m158s0-12" {
		t.Errorf("id of an Intel Mac %q", id)
	}
	if got := mac.Processor(); got != "GenuineIntel family 6 model 158 stepping 0" {
		t.Errorf("an Intel Mac's processor is called %q", got)
	}
	if id := appleFacts(keys(nil), nil, "arm64", 8).ID(); id != "unknown-arm64-8" {
		t.Errorf("id of a Mac that tells nothing %q", id)
	}
}

// macOS says how many kinds of cores there are, and their names.
func TestAppleCoreKinds(t *testing.T) {
	type level struct {
		name  string
		count int
	}
	for name, c := range map[string]struct {
		number int // −1 if macOS does not say
		levels []level
		want   Facts
	}{
		"an M3 Max":                  {2, []level{{"Performance", 12}, {"Efficiency", 4}}, Facts{PerformanceCores: 12, EfficiencyCores: 4}},
		"an M5":                      {2, []level{{"Super", 4}, {"Efficiency", 6}}, Facts{CoreKinds: []CoreKind{{"Super", 4}, {"Efficiency", 6}}}},
		"an M5 Pro":                  {2, []level{{"Super", 6}, {"Performance", 12}}, Facts{CoreKinds: []CoreKind{{"Super", 6}, {"Performance", 12}}}},
		"three kinds":                {3, []level{{"A", 2}, {"B", 4}, {"C", 8}}, Facts{CoreKinds: []CoreKind{{"A", 2}, {"B", 4}, {"C", 8}}}},
		"three without names":        {3, []level{{"", 2}, {"", 4}, {"", 8}}, Facts{CoreKinds: []CoreKind{{"Level 0", 2}, {"Level 1", 4}, {"Level 2", 8}}}},
		"a system that names none":   {2, []level{{"", 4}, {"", 4}}, Facts{PerformanceCores: 4, EfficiencyCores: 4}},
		"a virtual machine":          {1, []level{{"Standard", 6}}, Facts{}},
		"a kind without cores":       {2, []level{{"Performance", 8}, {"Efficiency", 0}}, Facts{}},
		"an absurd number of cores":  {2, []level{{"Performance", 8}, {"Efficiency", 1 << 20}}, Facts{}},
		"an absurd number of levels": {1 << 30, []level{{"Performance", 8}, {"Efficiency", 4}}, Facts{}},
		"an Intel Mac":               {-1, nil, Facts{}},
	} {
		values := map[string]string{}
		if c.number >= 0 {
			values["hw.nperflevels"] = string(binary.LittleEndian.AppendUint32(nil, uint32(c.number)))
		}
		for n, l := range c.levels {
			if l.name != "" {
				values[fmt.Sprintf("hw.perflevel%d.name", n)] = l.name
			}
			values[fmt.Sprintf("hw.perflevel%d.physicalcpu", n)] = string(binary.LittleEndian.AppendUint32(nil, uint32(l.count)))
		}
		if got := (Facts{}).withKinds(appleKinds(keys(values))); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

func TestFamily(t *testing.T) {
	tests := map[string]string{
		"Apple M3":                               "apple-m3",
		"Apple M3 Pro":                           "apple-m3",
		"Apple M3 Max":                           "apple-m3",
		"Apple M3 Ultra":                         "apple-m3",
		"Apple M10":                              "apple-m10",
		"Apple M1 (Virtual)":                     "apple-m1",
		"Apple":                                  "apple",
		"AMD EPYC":                               "amd-epyc",
		"AMD EPYC 9654 96-Core Processor":        "amd-epyc",
		"AMD EPYC-Milan Processor":               "amd-epyc-milan",
		"AMD Ryzen 9 5950X 16-Core Processor":    "amd-ryzen",
		"AMD Ryzen 7 5800H with Radeon Graphics": "amd-ryzen",
		"AMD FX(tm)-8350 Eight-Core Processor":   "amd-fx",
		"Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz":  "intel-xeon-platinum",
		"Intel(R) Xeon(R) Processor @ 2.20GHz":           "intel-xeon",
		"Intel Xeon Processor (Skylake, IBRS)":           "intel-xeon-skylake-ibrs",
		"11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz": "intel-core",
		"Intel(R) Core(TM) Ultra 7 155H":                 "intel-core-ultra",
		"ARM Cortex-A72":                                 "arm-cortex-a72",
		"Ampere Ampere-1a":                               "ampere",
		"486":                                            "486",
		"":                                               "",
		"unknown arm64":                                  "",
		"(R) CPU @ 3GHz":                                 "",
	}
	for chip, want := range tests {
		if got := Family(chip); got != want {
			t.Errorf("Family(%q) = %q, want %q", chip, got, want)
		}
	}
}

func TestSameGPU(t *testing.T) {
	m3 := Facts{Chip: "Apple M3", Family: "apple-m3", GPU: "Apple M3"}
	m3Max := Facts{Chip: "Apple M3 Max", Family: "apple-m3", GPU: "Apple M3 Max"}
	m1 := Facts{Chip: "Apple M1", Family: "apple-m1", GPU: "Apple M1"}
	h200 := Facts{Chip: "AMD EPYC", Family: "amd-epyc", GPU: "NVIDIA H200"}
	h100 := Facts{Chip: "AMD EPYC", Family: "amd-epyc", GPU: "NVIDIA H100"}
	other := Facts{Chip: "Intel Xeon", Family: "intel-xeon", GPU: "NVIDIA H200"}
	none := Facts{Chip: "AMD EPYC", Family: "amd-epyc"}
	tests := []struct {
		name string
		a, b Facts
		want bool
	}{
		{"siblings with built-in GPUs", m3, m3Max, true},
		{"another generation", m3, m1, false},
		{"another card beside the same chip", h200, h100, false},
		{"the same card beside another chip", h200, other, true},
		{"no GPU on one side", h200, none, false},
		{"no GPU on both sides", none, none, false},
	}
	for _, test := range tests {
		if test.a.SameGPU(test.b) != test.want || test.b.SameGPU(test.a) != test.want {
			t.Errorf("%s: want %v", test.name, test.want)
		}
	}
}

func TestLinuxCondition(t *testing.T) {
	zone := func(temperature string) map[string]string {
		const z = "sys/class/thermal/thermal_zone0/"
		return map[string]string{
			z + "temp":              temperature + "\n",
			z + "trip_point_0_type": "passive\n", z + "trip_point_0_temp": "90000\n",
			z + "trip_point_1_type": "critical\n", z + "trip_point_1_temp": "105000\n",
			z + "trip_point_2_type": "passive\n", z + "trip_point_2_temp": "0\n",
		}
	}
	laptop := func(acOnline, batteryStatus string) map[string]string {
		return map[string]string{
			"sys/class/power_supply/AC/type":        "Mains\n",
			"sys/class/power_supply/AC/online":      acOnline + "\n",
			"sys/class/power_supply/BAT0/type":      "Battery\n",
			"sys/class/power_supply/BAT0/status":    batteryStatus + "\n",
			"sys/class/power_supply/mouse_0/type":   "Battery\n",
			"sys/class/power_supply/mouse_0/scope":  "Device\n",
			"sys/class/power_supply/mouse_0/status": "Discharging\n",
		}
	}
	process := func(name, nice, policy string) map[string]string {
		return map[string]string{"proc/self/stat": "4711 (" + name + ") R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 " + nice +
			" 1 0 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 17 3 0 " + policy + " 0 0 0\n"}
	}
	profile := func(name string) map[string]string {
		return map[string]string{"sys/firmware/acpi/platform_profile": name + "\n"}
	}
	pressure := func(some, full string) map[string]string {
		return map[string]string{"proc/pressure/memory": "some avg10=" + some + " avg60=99.00 avg300=99.00 total=1\n" +
			"full avg10=" + full + " avg60=99.00 avg300=99.00 total=1\n"}
	}
	tests := []struct {
		name  string
		files map[string]string
		want  Condition // a missing word stands for "unknown"
	}{
		{"nothing to read", nil, Condition{Load: -1}},
		{"server", map[string]string{
			"proc/loadavg":   "0.52 0.58 0.59 1/389 12345\n",
			"etc/os-release": "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
		}, Condition{Load: 0.52, OSVersion: "Debian GNU/Linux 12 (bookworm)"}},
		{"os-release elsewhere, load unreadable", map[string]string{
			"proc/loadavg":       "NaN\n",
			"usr/lib/os-release": "PRETTY_NAME='Some Linux'\n",
		}, Condition{Load: -1, OSVersion: "Some Linux"}},
		{"laptop on battery", laptop("0", "Discharging"), Condition{Power: "battery", Load: -1}},
		{"laptop on its charger", laptop("1", "Discharging"), Condition{Power: "mains", Load: -1}},
		{"desktop with a mouse", map[string]string{
			"sys/class/power_supply/mouse_0/type":   "Battery\n",
			"sys/class/power_supply/mouse_0/scope":  "Device\n",
			"sys/class/power_supply/mouse_0/status": "Discharging\n",
		}, Condition{Load: -1}},
		{"cool", zone("45000"), Condition{Thermal: "nominal", Load: -1}},
		{"warm", zone("86000"), Condition{Thermal: "fair", Load: -1}},
		{"hot", zone("90000"), Condition{Thermal: "serious", Load: -1}},
		{"on fire", zone("105000"), Condition{Thermal: "critical", Load: -1}},
		{"enough memory", pressure("9.99", "0.00"), Condition{Memory: "normal", Load: -1}},
		{"little memory", pressure("10.00", "9.99"), Condition{Memory: "warning", Load: -1}},
		{"no memory", pressure("40.00", "12.50"), Condition{Memory: "critical", Load: -1}},
		{"pressure that is nonsense", pressure("x", "101"), Condition{Load: -1}},
		{"sensor off", zone("-273000"), Condition{Load: -1}},
		{"usual process", process("calibrate", "0", "0"), Condition{Priority: "normal", Load: -1}},
		{"process with an odd name", process("a) b (5", "0", "0"), Condition{Priority: "normal", Load: -1}},
		{"real-time process", process("calibrate", "-20", "1"), Condition{Priority: "normal", Load: -1}},
		{"nice process", process("calibrate", "10", "0"), Condition{Priority: "lowered", Load: -1}},
		{"batch process", process("calibrate", "0", "3"), Condition{Priority: "lowered", Load: -1}},
		{"idle process", process("calibrate", "0", "5"), Condition{Priority: "background", Load: -1}},
		{"process without a policy", map[string]string{"proc/self/stat": "1 (a) R 1 2 3\n"}, Condition{Load: -1}},
		{"process that is nonsense", process("calibrate", "x", "0"), Condition{Load: -1}},
		{"power saver", profile("low-power"), Condition{PowerMode: "low", Load: -1}},
		{"quiet", profile("quiet"), Condition{PowerMode: "low", Load: -1}},
		{"balanced", profile("balanced"), Condition{PowerMode: "normal", Load: -1}},
		{"profile of the maker's own", profile("custom"), Condition{Load: -1}},
		{"processor held back", map[string]string{
			"sys/class/thermal/cooling_device0/type":      "Fan\n",
			"sys/class/thermal/cooling_device0/cur_state": "3\n",
			"sys/class/thermal/cooling_device1/type":      "Processor\n",
			"sys/class/thermal/cooling_device1/cur_state": "1\n",
		}, Condition{Thermal: "serious", Load: -1}},
		{"fan only", map[string]string{
			"sys/class/thermal/cooling_device0/type":      "Fan\n",
			"sys/class/thermal/cooling_device0/cur_state": "3\n",
		}, Condition{Load: -1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			for _, word := range []*string{&want.Power, &want.PowerMode, &want.Priority, &want.Thermal, &want.Memory} {
				*word = cmp.Or(*word, "unknown")
			}
			if got := linuxCondition(machine(test.files)); got != want {
				t.Errorf("condition\n got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestAppleCondition(t *testing.T) {
	loadavg := make([]byte, 24)
	binary.LittleEndian.PutUint32(loadavg, 3*2048+512)
	binary.LittleEndian.PutUint64(loadavg[16:], 2048)
	m := newFakeMac(t)
	m.powered, m.state, m.lowPower = "Battery Power", 1, true
	got := appleCondition(keys(map[string]string{
		"kern.osproductversion": "15.1",
		"vm.loadavg":            string(loadavg[:23]), // its last zero byte cut off

		"kern.memorystatus_vm_pressure_level": "\x02\x00\x00",
	}), m.ioKit(), m.objectiveC(), scheduled(t, 0, 0, 10, 0))
	want := Condition{Power: "battery", PowerMode: "low", Priority: "lowered", Thermal: "fair", Memory: "warning", Load: 3.25, OSVersion: "macOS 15.1"}
	if got != want {
		t.Errorf("condition\n got %+v\nwant %+v", got, want)
	}
	if got, want := appleCondition(keys(nil), nil, nil, nil), unobserved(); got != want {
		t.Errorf("condition of a Mac that tells nothing\n got %+v\nwant %+v", got, want)
	}
	for _, bytes := range []string{"", "short", strings.Repeat("\x00", 24), strings.Repeat("\xff", 24)} {
		if load := loadAverage(bytes); load != -1 {
			t.Errorf("load average of %q = %v, want -1", bytes, load)
		}
	}
}

func TestThisMachine(t *testing.T) {
	f := Identify()
	if f.Chip == "" || f.Architecture != runtime.GOARCH || f.Cores != runtime.NumCPU() {
		t.Errorf("facts %+v", f)
	}
	if id := f.ID(); id != slug(id) {
		t.Errorf("id %q is not a slug", id)
	}
	c := Observe()
	if c.Power == "" || c.PowerMode == "" || c.Priority == "" || c.Thermal == "" || c.Memory == "" {
		t.Errorf("condition %+v", c)
	}
}

func BenchmarkIdentify(b *testing.B) {
	for b.Loop() {
		Identify()
	}
}

// machine is the root file system of a made-up machine.
func machine(files map[string]string) fs.FS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// keys is a made-up management information base.
func keys(values map[string]string) sysctl {
	return func(name string) (string, error) {
		if value, known := values[name]; known {
			return value, nil
		}
		return "", errors.New("no such name")
	}
}

func TestBusySeconds(t *testing.T) {
	for name, c := range map[string]struct {
		stat string
		want float64 // NaN if the system does not say
	}{
		"a machine":       {"cpu  100 20 30 4000 5 6 7 8 0 0\ncpu0 1 2 3\n", 1.71}, // all but idle and iowait
		"a sandbox":       {"cpu  0 0 0 0 0 0 0 0 0 0\n", math.NaN()},
		"no steal column": {"cpu  100 20 30 4000 5 6 7\n", math.NaN()},
		"no file":         {"", math.NaN()},
		"words":           {"cpu  a b c d e f g h\n", math.NaN()},
		"something else":  {"intr 100 20 30 4000 5 6 7 8\n", math.NaN()},
	} {
		root := fstest.MapFS{}
		if c.stat != "" {
			root["proc/stat"] = &fstest.MapFile{Data: []byte(c.stat)}
		}
		if got := busySeconds(root); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What another program computes counts, but for the hundredths that the system counts in.
func TestOthersSecondsCountAnotherProgram(t *testing.T) {
	before := OthersSeconds()
	if math.IsNaN(before) {
		t.Skip("the system does not tell who computes")
	}
	spinner := exec.Command("sh", "-c", "while :; do :; done")
	if err := spinner.Start(); err != nil {
		t.Skip(err)
	}
	const enough = 0.3 // seconds of its processor time, which may come late on a busy machine
	for start := time.Now(); OthersSeconds() < before+enough && time.Since(start) < 10*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	if err := spinner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	spinner.Wait() // its error is that it was killed
	computed := (spinner.ProcessState.UserTime() + spinner.ProcessState.SystemTime()).Seconds()
	if taken := OthersSeconds() - before; taken < computed-0.1 {
		t.Errorf("other programs took %v s, one of them %v s", taken, computed)
	}
}

func TestOthersSecondsLeavesOutOwnWork(t *testing.T) {
	before := OthersSeconds()
	if math.IsNaN(before) {
		t.Skip("the system does not tell who computes")
	}
	if after := OthersSeconds(); after < before-0.1 {
		t.Errorf("other programs took %v s less than a moment before", before-after)
	}
}
