// Package host says which machine this is, as far as the times of a computation depend on it, and in which condition
// it is now.
//
// It starts no program. Linux is asked through /proc and /sys, macOS through sysctl and the frameworks that every Mac has,
// which are loaded at run time; what is asked of the frameworks has not run on a Mac yet. It does not measure anything,
// and it does not drive a GPU; a GPU that needs its driver to describe itself is described by the package that drives it.
// The usual steps are Identify once, its ID to find an entry in calibration.json, Compare to hold the machine of an entry
// against this one, and Observe before and after a sweep.
package host

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Facts is the machine as far as its times depend on it. Its fields are those of calibration.Facts, in the same order,
// so that one converts to the other: calibration.Facts(host.Identify()).
type Facts struct {
	Chip             string // "Apple M3 Max", "AMD EPYC", "ARM Neoverse-N1"; "unknown amd64" where nothing names it
	Family           string // slug shared by the chip's siblings, see Family; "" where the chip is not known
	Architecture     string // GOARCH
	Cores            int    // logical processors that the process may use
	PerformanceCores int    // of the machine; 0 where its cores are all alike or not told apart, or CoreKinds says it
	EfficiencyCores  int    // of the machine; 0 where its cores are all alike or not told apart, or CoreKinds says it

	// CoreKinds is the kinds of cores, the fastest first, where they are other ones than performance and efficiency.
	CoreKinds []CoreKind

	// Vendor, CPUFamily, CPUModel and Stepping are what the processor tells of itself, "" where it is not told. Chips of one
	// name may differ in them: clouds call a Zen 4 and a Zen 5 "AMD EPYC". On x86 the last three are decimal numbers. On Arm
	// they are the architecture, the part and "r3p1" for variant 3 and revision 1, with "+" between the kinds of cores. On an
	// Apple chip they are macOS's cpufamily, its cpusubfamily and nothing.
	Vendor    string // "AuthenticAMD", "GenuineIntel", "ARM", "Apple"
	CPUFamily string
	CPUModel  string
	Stepping  string

	// The caches of the first core, or of the fastest kind; 0 where unknown. A hypervisor may hide them.
	L1DataBytes int64
	L2Bytes     int64
	L3Bytes     int64

	MemoryBytes    int64  // 0 where unknown
	GPU            string // "NVIDIA H200"; the chip's own name where the GPU is part of it; "" where there is none
	GPUCores       int    // 0 where unknown
	GPUMemoryBytes int64  // 0 where memory is unified, unknown, or there is no GPU
}

// Identify returns the facts of this machine. It takes well under 5 ms and cannot fail: a fact that the system does
// not tell stays zero, and a chip that nothing names is called "unknown" and its architecture.
//
// On an Apple chip the number of GPU cores is a property of the GPU in IOKit's registry. A virtual machine has no such
// GPU, and the number stays 0. On Linux a GPU is found if NVIDIA's kernel driver lists it under /proc/driver/nvidia, or
// if that driver is loaded and the device is on the PCI bus. Its cores and its memory stay 0. It does not matter
// whether the libraries are installed that drive the GPU, so that a machine keeps its ID.
func Identify() Facts { return identify() }

// ID returns the slug by which calibration.json knows the machine:
//
//   - an Apple chip is its name, which no two processors share, and the number of its GPU cores, or of its CPU cores while
//     that is not known: apple-m3-max-40;
//   - any other machine is its chip, its processor's family, model and stepping, and the number of cores:
//     amd-epyc-9r14-f25m17s1-2; Arm's parts are in the chip's name already: arm-neoverse-n1-r3p1-4;
//   - with a GPU of its own behind that: amd-epyc-9r14-f25m17s1-2-nvidia-h200.
//
// Caches are not in the ID, because a hypervisor may show others after the next start. Compare looks at them.
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

// SameGPU reports whether a threshold measured against the GPU of f means something on g: both have the same GPU, or
// each has the one that is built into its chip and the chips are of one family.
func (f Facts) SameGPU(g Facts) bool {
	if f.GPU == "" || g.GPU == "" {
		return false
	}
	builtIn := f.GPU == f.Chip && g.GPU == g.Chip
	return f.GPU == g.GPU || builtIn && f.Family != "" && f.Family == g.Family
}

func (f Facts) apple() bool { return strings.HasPrefix(f.Family, "apple-") }

func (f Facts) arm() bool { return strings.HasPrefix(f.Architecture, "arm") }

// prefixed puts a prefix before a text, and nothing before none.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// complete fills in what follows from the rest.
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
	Load      float64 // runnable processes, mean of the last minute; −1 where unknown
	OSVersion string  // "Debian GNU/Linux 12 (bookworm)", "macOS 15.1"; "" where unknown
}

// Observe returns the condition of the machine now. It cannot fail: what the system does not tell is "unknown".
//
// On Linux the thermal state is critical when a zone is at its hot or critical trip point, serious when one is at a
// passive trip point or a processor is held back by its cooling device, fair within 5 °C of a passive trip point, and
// nominal otherwise. On macOS the thermal state is NSProcessInfo's and the power source is IOKit's; an uninterruptible
// power supply counts as a battery.
//
// The power mode is low in macOS's low-power mode, which a user can have on mains too, and under a platform profile of
// Linux that slows the machine down. The priority is lowered for a process with a nice value above 0, with one of
// Linux's batch policies, or of QoS class utility. It is background under Linux's idle policy, and where macOS keeps
// the process on the slowest kind of core. A sentinel cannot see that, because such a process is slow from start to
// end.
func Observe() Condition { return observe() }

// unobserved is the condition of a machine whose system tells nothing.
func unobserved() Condition {
	return Condition{Power: "unknown", PowerMode: "unknown", Priority: "unknown", Thermal: "unknown", Load: -1}
}

// OthersSeconds returns how many seconds of processor time other programs than this one have taken since the system
// started: the difference of two readings is what other programs computed between them. Its resolution is a hundredth
// of a second, and time that a hypervisor gave to other guests counts too. It is NaN where the system does not tell, as
// on a Mac.
func OthersSeconds() float64 { return others() }
