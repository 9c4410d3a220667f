package host

import (
	"strings"
	"testing"
)

// alike returns a machine, with a change if there is one.
func alike(change func(f *Facts)) Facts {
	f := linuxFacts(machine(map[string]string{
		"proc/cpuinfo": x86("AuthenticAMD", 25, 17, "AMD EPYC", "1"),
		"proc/meminfo": "MemTotal:        8138236 kB\n",
		"sys/devices/system/cpu/cpu0/cache/index3/level": "3\n",
		"sys/devices/system/cpu/cpu0/cache/index3/type":  "Unified\n",
		"sys/devices/system/cpu/cpu0/cache/index3/size":  "32768K\n",
	}), "amd64", 2)
	if change != nil {
		change(&f)
	}
	return f
}

func TestCompare(t *testing.T) {
	here := alike(nil)
	untold := func(f *Facts) { f.Vendor, f.CPUFamily, f.CPUModel, f.Stepping, f.L3Bytes = "", "", "", "", 0 }
	m2 := func(chip, subfamily string) Facts {
		return appleFacts(keys(map[string]string{
			"machdep.cpu.brand_string": chip, "hw.cpufamily": "\x3d\xd8\x33\xda", "hw.cpusubfamily": subfamily,
		}), func() int { return 10 }, "arm64", 8)
	}
	for name, c := range map[string]struct {
		here, calibrated Facts
		likeness         Likeness
		reason           string
	}{
		"itself":                     {here, here, Same, ""},
		"other memory":               {here, alike(func(f *Facts) { f.MemoryBytes++ }), Same, ""},
		"caches that are hidden":     {here, alike(func(f *Facts) { f.L3Bytes = 0 }), Same, ""},
		"caches that were hidden":    {alike(func(f *Facts) { f.L3Bytes = 0 }), here, Same, ""},
		"a GPU that its driver told": {here, alike(func(f *Facts) { f.GPU, f.GPUCores = "NVIDIA H200", 132 }), otherGPU, "its GPU is NVIDIA H200 and this host's is none"},
		"a Zen 5": {here, alike(func(f *Facts) { f.CPUFamily, f.CPUModel = "26", "2" }), otherProcessor,
			"its processor is AuthenticAMD family 26 model 2 stepping 1 and this host's is AuthenticAMD family 25 model 17 stepping 1"},
		"another stepping": {here, alike(func(f *Facts) { f.Stepping = "2" }), otherProcessor,
			"its processor is AuthenticAMD family 25 model 17 stepping 2 and this host's is AuthenticAMD family 25 model 17 stepping 1"},
		"another maker": {here, alike(func(f *Facts) { f.Vendor = "HygonGenuine" }), otherProcessor,
			"its processor is HygonGenuine family 25 model 17 stepping 1 and this host's is AuthenticAMD family 25 model 17 stepping 1"},
		"a file that does not say":         {here, alike(untold), untoldByOne, "the file does not say which family, model and stepping its processor has"},
		"a system that does not say":       {alike(untold), here, untoldByOne, "this system does not say which family, model and stepping its processor has"},
		"nobody says":                      {alike(untold), alike(untold), Untold, "neither the file nor this system says which family, model and stepping its processor has"},
		"more cores":                       {here, alike(func(f *Facts) { f.Cores = 4 }), otherCores, "it has 4 cores and this host has 2"},
		"other caches":                     {here, alike(func(f *Facts) { f.L3Bytes = 16 << 20 }), otherCaches, "its caches are L3 16 MiB and this host's are L3 32 MiB"},
		"another chip":                     {here, alike(func(f *Facts) { f.Chip = "AMD EPYC 9R14" }), otherChip, "its chip is AMD EPYC 9R14 and this host's is AMD EPYC"},
		"another architecture":             {here, alike(func(f *Facts) { f.Architecture = "arm64" }), otherArchitecture, "it was measured as arm64 and this program is amd64"},
		"another family":                   {here, alike(func(f *Facts) { f.Chip, f.Family = "Intel Xeon", "intel-xeon" }), Other, ""},
		"a family that is not known":       {alike(func(f *Facts) { f.Family = "" }), alike(func(f *Facts) { f.Family = ""; f.Cores++ }), Other, ""},
		"an M2 Pro for an M2":              {m2("Apple M2", "\x02"), m2("Apple M2 Pro", "\x04"), otherChip, "its chip is Apple M2 Pro and this host's is Apple M2"},
		"an M2 with the name of an M2 Pro": {m2("Apple M2 Pro", "\x04"), m2("Apple M2 Pro", "\x02"), otherProcessor, "its processor is Apple family 0xda33d83d model 0x2 and this host's is Apple family 0xda33d83d model 0x4"},
	} {
		sameID := c.here.ID() == c.calibrated.ID()
		if likeness, reason := c.here.Compare(c.calibrated, sameID); likeness != c.likeness || reason != c.reason {
			t.Errorf("%s: %d, %q\nwant %d, %q", name, likeness, reason, c.likeness, c.reason)
		}
	}
	// The id rests on what the system says, not on what the driver adds.
	driven := alike(func(f *Facts) { f.GPU = "NVIDIA H200" })
	if likeness, reason := here.Compare(driven, true); likeness != Same {
		t.Errorf("a GPU that its driver told, under the same id: %d, %q", likeness, reason)
	}
	if likeness, _ := here.Compare(here, false); likeness != otherID {
		t.Errorf("the same under another id: %d", likeness)
	}
}

// An entry of a file is the same machine only under an id that no other processor has.
func TestIDsTellProcessorsApart(t *testing.T) {
	ids := map[string]bool{}
	for _, f := range []Facts{
		alike(nil),
		alike(func(f *Facts) { f.CPUFamily, f.CPUModel = "26", "2" }),
		alike(func(f *Facts) { f.CPUModel = "18" }),
		alike(func(f *Facts) { f.Stepping = "2" }),
		alike(func(f *Facts) { f.Cores = 4 }),
	} {
		if id := f.ID(); ids[id] || !strings.HasPrefix(id, "amd-epyc-f2") {
			t.Errorf("the id %s is another machine's, or no readable one", id)
		} else {
			ids[id] = true
		}
	}
	before, after := alike(nil), alike(func(f *Facts) { f.L3Bytes, f.MemoryBytes = 0, 1 })
	if before.ID() != after.ID() {
		t.Errorf("the id changes from %s to %s where a hypervisor hides a cache", before.ID(), after.ID())
	}
}

func TestCaches(t *testing.T) {
	for want, f := range map[string]Facts{
		"L1 48 KiB, L2 1.25 MiB, L3 260 MiB": {L1DataBytes: 48 << 10, L2Bytes: 1280 << 10, L3Bytes: 260 << 20},
		"L2 1.5 MiB":                         {L2Bytes: 1536 << 10},
		"":                                   {},
	} {
		if got := f.Caches(); got != want {
			t.Errorf("caches %q, want %q", got, want)
		}
	}
}
