package host

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Processor returns the processor in the words of its vendor: "AuthenticAMD family 25 model 17 stepping 1". It returns "" if
// the processor is unknown.
func (f Facts) Processor() string {
	return strings.TrimSpace(f.Vendor + prefixed(" family ", f.CPUFamily) + prefixed(" model ", f.CPUModel) + prefixed(" stepping ", f.Stepping))
}

// Caches returns the sizes of the caches: "L1 32 KiB, L2 1 MiB, L3 32 MiB". It returns "" if they are unknown.
func (f Facts) Caches() string {
	var known []string
	for i, size := range f.caches() {
		switch {
		case size >= 1<<20:
			known = append(known, fmt.Sprintf("L%d %.4g MiB", i+1, float64(size)/(1<<20)))
		case size > 0:
			known = append(known, fmt.Sprintf("L%d %.4g KiB", i+1, float64(size)/(1<<10)))
		}
	}
	return strings.Join(known, ", ")
}

func (f Facts) caches() [3]int64 { return [3]int64{f.L1DataBytes, f.L2Bytes, f.L3Bytes} }

// processorOf returns the facts that /proc/cpuinfo has of the chip and its processor. The designs of Arm cores name a chip,
// and otherwise the model name does. If there is a model name and no Arm core, processorOf stops reading after the first
// core, because the kernel takes milliseconds to write the rest for hundreds of cores.
func processorOf(cpuinfo io.Reader) Facts {
	var f Facts
	var kinds armKinds
	var core armCore
	lines := bufio.NewScanner(cpuinfo)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch key {
		case "":
			kinds.add(core)
			core = armCore{}
			if f.Chip != "" && len(kinds) == 0 {
				return f
			}
		case "model name":
			f.Chip = cleanChip(value)
		case "vendor_id":
			f.Vendor = value
		case "cpu family":
			f.CPUFamily = decimal(value)
		case "model":
			f.CPUModel = decimal(value)
		case "stepping":
			f.Stepping = decimal(value)
		case "CPU implementer":
			core.implementer = value
		case "CPU architecture":
			core.architecture = value
		case "CPU variant":
			core.variant = value
		case "CPU part":
			core.part = value
		case "CPU revision":
			core.revision = value
		}
	}
	kinds.add(core)
	return kinds.describe(f)
}

// decimal returns value if it is a decimal number, and otherwise "". Linux writes "unknown" if it does not know the
// stepping.
func decimal(value string) string {
	if _, err := strconv.ParseUint(value, 10, 16); err != nil {
		return ""
	}
	return value
}

// readCaches reads the caches of the first core.
// Format: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-devices-system-cpu
func (f *Facts) readCaches(root fs.FS) {
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu0/cache/index*/level")
	for _, file := range files {
		folder := path.Dir(file)
		if kind := readLine(root, folder+"/type"); kind != "Data" && kind != "Unified" {
			continue
		}
		kibibytes, err := strconv.ParseUint(strings.TrimSuffix(readLine(root, folder+"/size"), "K"), 10, 40)
		if err != nil {
			continue
		}
		size := int64(kibibytes) << 10
		switch readLine(root, file) {
		case "1":
			f.L1DataBytes = size
		case "2":
			f.L2Bytes = size
		case "3":
			f.L3Bytes = size
		}
	}
}

// appleProcessor reads the processor of a Mac, and the caches of its fastest kind of core.
// Reference: https://developer.apple.com/documentation/kernel/1387446-sysctlbyname/determining_system_capabilities
func (f *Facts) appleProcessor(s sysctl) {
	if f.apple() {
		f.Vendor = "Apple"
		f.CPUFamily, f.CPUModel = s.identifier("hw.cpufamily", "%#x"), s.identifier("hw.cpusubfamily", "%#x")
	} else {
		f.Vendor = strings.TrimRight(s.text("machdep.cpu.vendor"), "\x00")
		f.CPUFamily, f.CPUModel = s.identifier("machdep.cpu.family", "%d"), s.identifier("machdep.cpu.model", "%d")
		f.Stepping = s.identifier("machdep.cpu.stepping", "%d")
	}
	f.L1DataBytes = cmp.Or(s.number("hw.perflevel0.l1dcachesize"), s.number("hw.l1dcachesize"))
	f.L2Bytes = cmp.Or(s.number("hw.perflevel0.l2cachesize"), s.number("hw.l2cachesize"))
	f.L3Bytes = cmp.Or(s.number("hw.perflevel0.l3cachesize"), s.number("hw.l3cachesize"))
}

// armCore is what /proc/cpuinfo says of an Arm core, as written there.
type armCore struct{ implementer, architecture, variant, part, revision string }

// stepping returns the revision of the core as Arm writes it: "r3p1".
func (c armCore) stepping() string {
	variant, err := strconv.ParseUint(c.variant, 0, 8)
	if err != nil || decimal(c.revision) == "" {
		return ""
	}
	return fmt.Sprintf("r%dp%s", variant, c.revision)
}

// armKinds are the different cores of a chip, in the order of /proc/cpuinfo.
type armKinds []armCore

func (k *armKinds) add(c armCore) {
	if c.part != "" && !slices.Contains(*k, c) {
		*k = append(*k, c)
	}
}

// describe adds the chip and its processor to the facts if there are Arm cores.
func (k armKinds) describe(f Facts) Facts {
	if len(k) == 0 {
		return f
	}
	var designs, parts, steppings []string
	for _, c := range k {
		if design := coreDesign(c.implementer, c.part); design != "" && !slices.Contains(designs, design) {
			designs = append(designs, design)
		}
		parts, steppings = append(parts, c.part), append(steppings, c.stepping())
	}
	f.Chip = cmp.Or(strings.Join(designs, " + "), f.Chip)
	f.Vendor = cmp.Or(implementers[k[0].implementer], k[0].implementer)
	f.CPUFamily, f.CPUModel = k[0].architecture, strings.Join(parts, "+")
	if f.Stepping = ""; !slices.Contains(steppings, "") {
		f.Stepping = strings.Join(steppings, "+")
	}
	return f
}

// coreDesign returns the name of an Arm core by the implementer and part numbers of its MIDR_EL1 register, or "" if the
// implementer is unknown.
// Numbers: https://github.com/torvalds/linux/blob/master/arch/arm64/include/asm/cputype.h
func coreDesign(implementer, part string) string {
	maker, known := implementers[implementer]
	if !known {
		return ""
	}
	if design, known := parts[implementer+" "+part]; known {
		return maker + " " + design
	}
	return maker + " " + part
}

var implementers = map[string]string{
	"0x41": "ARM", "0x42": "Broadcom", "0x43": "Cavium", "0x46": "Fujitsu", "0x48": "HiSilicon", "0x4e": "NVIDIA",
	"0x50": "APM", "0x51": "Qualcomm", "0x53": "Samsung", "0x61": "Apple", "0x6d": "Microsoft", "0xc0": "Ampere",
}

var parts = map[string]string{
	"0x41 0xd03": "Cortex-A53", "0x41 0xd04": "Cortex-A35", "0x41 0xd05": "Cortex-A55", "0x41 0xd07": "Cortex-A57",
	"0x41 0xd08": "Cortex-A72", "0x41 0xd09": "Cortex-A73", "0x41 0xd0a": "Cortex-A75", "0x41 0xd0b": "Cortex-A76",
	"0x41 0xd0c": "Neoverse-N1", "0x41 0xd0d": "Cortex-A77", "0x41 0xd40": "Neoverse-V1", "0x41 0xd41": "Cortex-A78",
	"0x41 0xd44": "Cortex-X1", "0x41 0xd46": "Cortex-A510", "0x41 0xd47": "Cortex-A710", "0x41 0xd48": "Cortex-X2",
	"0x41 0xd49": "Neoverse-N2", "0x41 0xd4d": "Cortex-A715", "0x41 0xd4e": "Cortex-X3", "0x41 0xd4f": "Neoverse-V2",
	"0x41 0xd80": "Cortex-A520", "0x41 0xd81": "Cortex-A720", "0x41 0xd82": "Cortex-X4", "0x41 0xd84": "Neoverse-V3",
	"0x4e 0x004": "Carmel",
	"0x61 0x022": "M1", "0x61 0x023": "M1", "0x61 0x024": "M1 Pro", "0x61 0x025": "M1 Pro",
	"0x61 0x028": "M1 Max", "0x61 0x029": "M1 Max", "0x61 0x032": "M2", "0x61 0x033": "M2",
	"0x61 0x034": "M2 Pro", "0x61 0x035": "M2 Pro", "0x61 0x038": "M2 Max", "0x61 0x039": "M2 Max",
	"0xc0 0xac3": "Ampere-1", "0xc0 0xac4": "Ampere-1a",
}
