package host

import (
	"bufio"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// linuxFacts reads the facts of a Linux machine from its root file system.
func linuxFacts(root fs.FS, architecture string, cores int) Facts {
	var f Facts
	if cpuinfo, err := root.Open("proc/cpuinfo"); err == nil {
		f = processorOf(cpuinfo)
		cpuinfo.Close()
	}
	f.Architecture, f.Cores = architecture, cores
	f.readCaches(root)
	if f.Chip == "" {
		f.Chip = cleanChip(readLine(root, "proc/device-tree/model"))
	}
	if meminfo, err := root.Open("proc/meminfo"); err == nil {
		f.MemoryBytes = memoryOf(meminfo)
		meminfo.Close()
	}
	f = f.withKinds(linuxKinds(root))
	if f.GPU = nvidiaGPU(root); f.GPU == "" {
		f.GPU = nvidiaDevice(root)
	}
	return f.complete()
}

// memoryOf returns the total memory in bytes from /proc/meminfo, or 0 if it is not there.
func memoryOf(meminfo io.Reader) int64 {
	lines := bufio.NewScanner(meminfo)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "MemTotal:"); found {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 40)
			if err != nil {
				return 0
			}
			return kibibytes << 10
		}
	}
	return 0
}

// countList returns the number of members of a kernel list such as "0-7,16", or 0 for any other text.
func countList(list string) int {
	count := 0
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(low)
		to := from
		if isRange && err == nil {
			to, err = strconv.Atoi(high)
		}
		if err != nil || from < 0 || to < from || to >= 1<<16 {
			return 0
		}
		count += to - from + 1
	}
	return count
}

// nvidiaGPU returns the model of the first GPU that NVIDIA's kernel driver lists, or "".
func nvidiaGPU(root fs.FS) string {
	files, _ := fs.Glob(root, "proc/driver/nvidia/gpus/*/information")
	for _, file := range files {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if model, found := strings.CutPrefix(line, "Model:"); found && slug(model) != "" {
				return strings.TrimSpace(model)
			}
		}
	}
	return ""
}

// nvidiaDevice returns the model of the first NVIDIA GPU on the PCI bus, or "" if NVIDIA's kernel driver is not loaded. A
// container may see the bus and not the driver's list.
func nvidiaDevice(root fs.FS) string {
	if !nvidiaDriven(root) {
		return ""
	}
	return nvidiaOnBus(root)
}

// undrivenGPU returns the model of the first NVIDIA GPU on the PCI bus, if NVIDIA's kernel driver is not loaded.
func undrivenGPU(root fs.FS) string {
	if nvidiaDriven(root) || nvidiaGPU(root) != "" {
		return ""
	}
	return nvidiaOnBus(root)
}

func nvidiaDriven(root fs.FS) bool { return readLine(root, "sys/module/nvidia/version") != "" }

// nvidiaOnBus returns the model of the first NVIDIA GPU on the PCI bus. An unknown device is named by its number.
// Format: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci
func nvidiaOnBus(root fs.FS) string {
	files, _ := fs.Glob(root, "sys/bus/pci/devices/*/vendor")
	for _, file := range files {
		class := readLine(root, path.Dir(file)+"/class")
		if readLine(root, file) != "0x10de" || !strings.HasPrefix(class, displayController) {
			continue
		}
		number := strings.TrimPrefix(readLine(root, path.Dir(file)+"/device"), "0x")
		if model, known := nvidiaModels[number]; known {
			return model
		}
		if slug(number) != "" {
			return "NVIDIA " + number
		}
	}
	return ""
}

// displayController begins the PCI class of a GPU. Bridges and sound devices of NVIDIA have other classes.
const displayController = "0x03"

// nvidiaModels are models by their PCI device numbers, with the names of NVIDIA's driver.
// Numbers: https://pci-ids.ucw.cz/read/PC/10de
var nvidiaModels = map[string]string{
	"1db1": "Tesla V100-SXM2-16GB", "1db5": "Tesla V100-SXM2-32GB", "1eb8": "Tesla T4",
	"20b0": "NVIDIA A100-SXM4-40GB", "20b2": "NVIDIA A100-SXM4-80GB", "20b5": "NVIDIA A100 80GB PCIe",
	"20f1": "NVIDIA A100-PCIE-40GB", "2204": "NVIDIA GeForce RTX 3090", "2235": "NVIDIA A40", "2236": "NVIDIA A10",
	"2237": "NVIDIA A10G", "2330": "NVIDIA H100 80GB HBM3", "2331": "NVIDIA H100 PCIe", "2335": "NVIDIA H200",
	"2684": "NVIDIA GeForce RTX 4090", "26b9": "NVIDIA L40S", "27b8": "NVIDIA L4",
}

// linuxCondition reads the condition of a Linux machine from its root file system.
func linuxCondition(root fs.FS) Condition {
	c := unobserved()
	c.Power = powerSource(root)
	c.PowerMode = platformMode(root)
	c.Priority = linuxPriority(root)
	c.Thermal = thermalState(root)
	c.Memory = memoryPressure(root)
	first, _, _ := strings.Cut(readLine(root, "proc/loadavg"), " ")
	if load, err := strconv.ParseFloat(first, 64); err == nil && load >= 0 && load < 1e9 {
		c.Load = load
	}
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		if text, err := fs.ReadFile(root, file); err == nil {
			c.OSVersion = prettyName(string(text))
			break
		}
	}
	return c
}

// memoryPressure returns Condition.Memory, by the shares of the last ten seconds in which processes waited for memory.
// Format: https://docs.kernel.org/accounting/psi.html
func memoryPressure(root fs.FS) string {
	const stalled = 10 // percent
	text, err := fs.ReadFile(root, "proc/pressure/memory")
	if err != nil {
		return "unknown"
	}
	pressure := "unknown"
	for line := range strings.Lines(string(text)) {
		kind, rest, _ := strings.Cut(line, " avg10=")
		number, _, _ := strings.Cut(rest, " ")
		percent, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil || !(percent >= 0 && percent <= 100):
		case kind == "full" && percent >= stalled:
			return "critical"
		case kind == "some" && percent >= stalled:
			pressure = "warning"
		case kind == "some":
			pressure = "normal"
		}
	}
	return pressure
}

// prettyName returns PRETTY_NAME of an os-release file.
// Format: https://www.freedesktop.org/software/systemd/man/latest/os-release.html
func prettyName(release string) string {
	for line := range strings.SplitSeq(release, "\n") {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); found {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

// powerSource returns Condition.Power, by the power supplies that the kernel lists. The supply of a device, such as a mouse,
// does not count. A supply that is online means mains, even with a battery.
// Format: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-power
func powerSource(root fs.FS) string {
	files, _ := fs.Glob(root, "sys/class/power_supply/*/type")
	source := "unknown"
	for _, file := range files {
		supply := path.Dir(file)
		if readLine(root, supply+"/scope") == "Device" {
			continue
		}
		switch readLine(root, file) {
		case "Mains", "USB":
			if readLine(root, supply+"/online") == "1" {
				return "mains"
			}
		case "Battery":
			if readLine(root, supply+"/status") == "Discharging" {
				source = "battery"
			}
		}
	}
	return source
}

// platformMode returns Condition.PowerMode. It is low if the firmware slows the machine down to save power or to reduce
// noise.
// Format: https://docs.kernel.org/userspace-api/sysfs-platform_profile.html
func platformMode(root fs.FS) string {
	switch readLine(root, "sys/firmware/acpi/platform_profile") {
	case "low-power", "cool", "quiet":
		return "low"
	case "balanced", "balanced-performance", "performance":
		return "normal"
	}
	return "unknown"
}

// thermalStates are in order of severity.
var thermalStates = []string{"unknown", "nominal", "fair", "serious", "critical"}

// thermalState returns the worst state of all thermal zones, by their trip points, and of all processors, by their cooling
// devices.
// Format: https://docs.kernel.org/driver-api/thermal/sysfs-api.html
func thermalState(root fs.FS) string {
	const margin = 5000 // m°C below a passive trip point from which a zone is fair
	worst := 0
	judge := func(state string) { worst = max(worst, slices.Index(thermalStates, state)) }

	trips, _ := fs.Glob(root, "sys/class/thermal/thermal_zone*/trip_point_*_type")
	for _, file := range trips {
		temperature, ok := readMilli(root, path.Dir(file)+"/temp")
		limit, set := readMilli(root, strings.TrimSuffix(file, "type")+"temp")
		if !ok || !set {
			continue
		}
		switch kind := readLine(root, file); {
		case (kind == "hot" || kind == "critical") && temperature >= limit:
			judge("critical")
		case kind == "passive" && temperature >= limit:
			judge("serious")
		case kind == "passive" && temperature >= limit-margin:
			judge("fair")
		case kind == "passive" || kind == "hot" || kind == "critical":
			judge("nominal")
		}
	}
	devices, _ := fs.Glob(root, "sys/class/thermal/cooling_device*/type")
	for _, file := range devices {
		if readLine(root, file) != "Processor" {
			continue
		}
		if held, err := strconv.Atoi(readLine(root, path.Dir(file)+"/cur_state")); err == nil && held > 0 {
			judge("serious")
		}
	}
	return thermalStates[worst]
}

// readMilli returns the temperature in a file, in m°C. It returns false for 0 or less, which kernels write for a sensor that
// is off and for a trip point that is not set.
func readMilli(root fs.FS, name string) (int, bool) {
	value, err := strconv.Atoi(readLine(root, name))
	return value, err == nil && value > 0
}

// readLine returns the first line of a small file, without its end, or "" if the file cannot be read.
func readLine(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimRight(line, "\x00"))
}

// ticks is the number of units of /proc/stat in a second: USER_HZ, which is 100 on every architecture of Go.
const ticks = 100

// busySeconds returns the seconds of processor time that all programs have taken since the system started. Time that a
// hypervisor took away counts, too. The result is NaN if the system does not say.
func busySeconds(root fs.FS) float64 {
	fields := strings.Fields(readLine(root, "proc/stat"))
	// cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 9 || fields[0] != "cpu" {
		return math.NaN()
	}
	var sum float64
	for k, field := range fields[1:9] {
		value, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return math.NaN()
		}
		if idle := k == 3 || k == 4; !idle {
			sum += float64(value)
		}
	}
	if sum == 0 {
		return math.NaN() // a sandbox that counts nothing
	}
	return sum / ticks
}
