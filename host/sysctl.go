package host

import (
	"encoding/binary"
	"fmt"
	"math"
)

// sysctl returns the bytes of a value in macOS's management information base. A trailing zero byte may be cut off, as in
// syscall.Sysctl.
type sysctl func(name string) (string, error)

// number decodes a little-endian integer of up to eight bytes. It returns 0 if the name does not exist or the integer is
// negative.
func (s sysctl) number(name string) int64 {
	value, err := s(name)
	if err != nil || len(value) > 8 {
		return 0
	}
	var bytes [8]byte
	copy(bytes[:], value)
	return max(0, int64(binary.LittleEndian.Uint64(bytes[:])))
}

// count returns a number of parts of a chip. It returns 0 if the name does not exist or the number is absurd.
func (s sysctl) count(name string) int {
	n := s.number(name)
	if n > mostOfAKind {
		return 0
	}
	return int(n)
}

// identifier formats a 32-bit number that identifies something; even 0 may. It returns "" if the name does not exist.
func (s sysctl) identifier(name, format string) string {
	if _, err := s(name); err != nil {
		return ""
	}
	return fmt.Sprintf(format, uint32(s.number(name)))
}

// text returns a value as a string, or "" if the name does not exist.
func (s sysctl) text(name string) string {
	value, err := s(name)
	if err != nil {
		return ""
	}
	return value
}

// appleFacts reads the facts of a Mac. It calls gpuCores only for an Apple chip. gpuCores returns the number of cores of the
// chip's GPU, or 0 if the system does not say.
// Reference: https://developer.apple.com/documentation/kernel/1387446-sysctlbyname/determining_system_capabilities
func appleFacts(s sysctl, gpuCores func() int, architecture string, cores int) Facts {
	f := Facts{
		Chip:         cleanChip(s.text("machdep.cpu.brand_string")),
		Architecture: architecture,
		Cores:        cores,
		MemoryBytes:  s.number("hw.memsize"),
	}.withKinds(appleKinds(s)).complete()
	f.appleProcessor(s)
	if f.apple() {
		f.GPU = f.Chip // every Apple chip has a GPU, which macOS names after the chip
		f.GPUCores = gpuCores()
	}
	return f
}

// appleCondition reads the condition of a Mac. For a nil argument, the words of the condition are "unknown".
func appleCondition(s sysctl, k *ioKit, o *objectiveC, p *scheduling) Condition {
	c := unobserved()
	c.Power, c.PowerMode, c.Priority, c.Thermal = k.powerSource(), o.powerMode(), p.priority(), o.thermalState()
	if version := s.text("kern.osproductversion"); version != "" {
		c.OSVersion = "macOS " + version
	}
	// Level: osfmk/kern/memorystatus.h of XNU, kVMPressureNormal, kVMPressureWarning, kVMPressureCritical.
	switch s.number("kern.memorystatus_vm_pressure_level") {
	case 1:
		c.Memory = "normal"
	case 2:
		c.Memory = "warning"
	case 4:
		c.Memory = "critical"
	}
	c.Load = loadAverage(s.text("vm.loadavg"))
	return c
}

// loadAverage decodes struct loadavg of sys/resource.h: three 32-bit fixed-point numbers for 1, 5 and 15 minutes, four
// bytes of padding, and the 64-bit scale that 1.0 stands for. It returns the first number, or −1 if the bytes are not
// such a struct.
func loadAverage(value string) float64 {
	if len(value) < 17 || len(value) > 24 {
		return -1
	}
	var bytes [24]byte
	copy(bytes[:], value)
	scale := binary.LittleEndian.Uint64(bytes[16:])
	if scale == 0 || scale > math.MaxUint32 {
		return -1
	}
	return float64(binary.LittleEndian.Uint32(bytes[:])) / float64(scale)
}
