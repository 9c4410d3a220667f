// Package host says which machine this is, as far as times of computations depend on it, and in which condition it is now.
//
// The package reads /proc and /sys on Linux, and asks sysctl and the frameworks of every Mac on macOS. The frameworks are
// loaded at run time. The code that calls them has not run on a Mac yet. The package starts no program, measures nothing and
// opens no GPU. If only a GPU's driver can describe the GPU, the package that drives it does. The usual steps are Identify,
// once; ID, to find an entry in calibration.json; Compare, to compare the machine of an entry with this one; and Observe
// before and after a sweep.
package host

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Facts describe a machine, as far as times depend on it. The fields are those of calibration.Facts, in the same order, so
// that one type converts to the other: calibration.Facts(host.Identify()).
type Facts struct {
	Chip             string // "Apple M3 Max", "AMD EPYC", "ARM Neoverse-N1"; "unknown amd64" if nothing names it
	Family           string // slug shared by the chip's siblings, see Family; "" if unknown
	Architecture     string // GOARCH
	Cores            int    // logical processors that the process may use
	PerformanceCores int    // of the machine; 0 if its cores are all alike or of unknown kinds, or CoreKinds has them
	EfficiencyCores  int    // of the machine; 0 if its cores are all alike or of unknown kinds, or CoreKinds has them

	// CoreKinds are the kinds of cores, the fastest first. It is nil if the kinds are performance and efficiency, or if
	// there is only one.
	CoreKinds []CoreKind

	// Vendor, CPUFamily, CPUModel and Stepping are what the processor says of itself, or "" if unknown. Chips of one name
	// may differ in them: clouds call both a Zen 4 and a Zen 5 "AMD EPYC". On x86 the last three are decimal numbers. On Arm
	// they are the architecture, the part, and a stepping such as "r3p1" for variant 3 and revision 1. A "+" separates the
	// parts and the steppings of several kinds of cores. On an Apple chip they are macOS's cpufamily, its cpusubfamily, and
	// "".
	Vendor    string // "AuthenticAMD", "GenuineIntel", "ARM", "Apple"
	CPUFamily string
	CPUModel  string
	Stepping  string

	// The caches of the first core, or of the fastest kind, in bytes; 0 if unknown. A hypervisor may hide them.
	L1DataBytes int64
	L2Bytes     int64
	L3Bytes     int64

	MemoryBytes    int64  // 0 where unknown
	GPU            string // "NVIDIA H200"; the name of the chip if the GPU is part of it; "" if there is none
	GPUCores       int    // 0 where unknown
	GPUMemoryBytes int64  // 0 if memory is unified or unknown, or if there is no GPU
}

// Identify returns the facts of this machine. It takes well under 5 ms and cannot fail. A fact that the system does not give
// stays zero. A chip without a name is called "unknown" and its architecture, as in "unknown amd64".
//
// On an Apple chip the number of GPU cores is a property of the GPU in IOKit's registry. A virtual machine has no such GPU,
// so the number stays 0. On Linux, Identify finds a GPU if NVIDIA's kernel driver lists it under /proc/driver/nvidia, or if
// that driver is loaded and the device is on the PCI bus. The cores and the memory of that GPU stay 0. The libraries that
// drive the GPU need not be installed, so that a machine has the same ID with and without them.
func Identify() Facts { return identify() }

// ID returns the slug that names the machine in calibration.json:
//
//   - for an Apple chip: the name of the chip, which no two processors share, and the number of GPU cores, or of CPU cores
//     if the former is unknown: apple-m3-max-40;
//   - for any other chip: its name, the family, model and stepping of the processor, and the number of cores:
//     amd-epyc-9r14-f25m17s1-2; for Arm only the stepping, because the names of Arm chips have the part:
//     arm-neoverse-n1-r3p1-4;
//   - the GPU follows, if it is not part of the chip: amd-epyc-9r14-f25m17s1-2-nvidia-h200.
//
// Caches are not in the ID, because a hypervisor may report others after the next start. Compare takes them into account.
func (f Facts) ID() string {
	parts := []string{cmp.Or(slug(f.Chip), "unknown")}
	switch {
	case f.apple():
		return parts[0] + "-" + strconv.Itoa(cmp.Or(f.GPUCores, f.Cores))
	case f.arm():
		parts = append(parts, slug(f.Stepping))
	default:
		parts = append(parts, slug(prefixed("f", f.CPUFamily)+prefixed("m", f.CPUModel)+prefixed("s", f.Stepping)))
	}
	parts = append(parts, strconv.Itoa(f.Cores))
	if f.GPU != f.Chip {
		parts = append(parts, slug(f.GPU))
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "-")
}

// SameGPU reports whether thresholds of f's GPU apply to g. They do if both have the same GPU, or if each GPU is part of its
// chip and the chips are of one family.
func (f Facts) SameGPU(g Facts) bool {
	if f.GPU == "" || g.GPU == "" {
		return false
	}
	builtIn := f.GPU == f.Chip && g.GPU == g.Chip
	return f.GPU == g.GPU || builtIn && f.Family != "" && f.Family == g.Family
}

func (f Facts) apple() bool { return strings.HasPrefix(f.Family, "apple-") }

func (f Facts) arm() bool { return strings.HasPrefix(f.Architecture, "arm") }

// prefixed returns a text with a prefix, or "" for an empty text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// complete fills in the facts that follow from others.
func (f Facts) complete() Facts {
	f.Family = Family(f.Chip)
	if f.Chip == "" {
		f.Chip = "unknown " + f.Architecture
	}
	return f
}

// UndrivenGPU returns the model of a GPU that Crossover could drive and that has no driver loaded on this machine, "" where
// there is none. Identify does not know it: a machine keeps its ID when the driver is installed or removed.
func UndrivenGPU() string { return undriven() }

// Condition is the state of the machine, as far as it may disturb a measurement.
type Condition struct {
	Power     string  // "mains", "battery" or "unknown"
	PowerMode string  // "normal", "low" or "unknown"
	Priority  string  // of this process: "normal", "lowered", "background" or "unknown"
	Thermal   string  // "nominal", "fair", "serious", "critical" or "unknown"
	Memory    string  // how short memory is: "normal", "warning", "critical" or "unknown"
	Load      float64 // runnable processes, mean of the last minute; −1 if unknown
	OSVersion string  // "Debian GNU/Linux 12 (bookworm)", "macOS 15.1"; "" if unknown
}

// Observe returns the condition of the machine now. It cannot fail. What the system does not say is "unknown".
//
// On Linux the thermal state is critical if a zone is at its hot or critical trip point. It is serious if a zone is at a
// passive trip point or a cooling device slows a processor down. It is fair within 5 °C below a passive trip point, and
// nominal otherwise. On macOS the thermal state is NSProcessInfo's, and the power source is IOKit's. An uninterruptible
// power supply counts as a battery.
//
// On Linux memory pressure is critical if, in the last ten seconds, all processes waited for memory in at least a tenth of the
// time. A warning is that some process did. A kernel without pressure stall information says nothing. On macOS the pressure is the
// kernel's own level.
//
// The power mode is low in macOS's low-power mode, also on mains, and under a platform profile of Linux that slows the
// machine down. The priority is lowered for a process with a nice value above 0, under Linux's batch policy, and in QoS
// class utility. It is background under Linux's idle policy, and if macOS keeps the process on the slowest kind of core. A
// sentinel in the process cannot notice a low priority, because the process is slow from start to end.
func Observe() Condition { return observe() }

// unobserved returns the condition of a machine whose system says nothing.
func unobserved() Condition {
	return Condition{Power: "unknown", PowerMode: "unknown", Priority: "unknown", Thermal: "unknown", Memory: "unknown", Load: -1}
}

// OthersSeconds returns the seconds of processor time that all other programs have taken since the system started. The
// difference of two readings is what they took in between. The resolution is a hundredth of a second. Time that a hypervisor
// gave to other guests counts, too. The result is NaN if the system does not say, as on a Mac.
func OthersSeconds() float64 { return others() }
