package host

import (
	"io/fs"
	"strconv"
	"strings"
)

// scheduling holds the functions of macOS's C library that say how this process is scheduled. Tests set functions of
// their own.
//
// Reference: sys/qos.h and sys/resource.h
type scheduling struct {
	qosOfThread func() uint32                               // qos_class_self
	qosOfMain   func() uint32                               // qos_class_main
	getPriority func(which int32, who uint32) (value int32) // getpriority
}

const (
	qosUnspecified = 0x00
	qosBackground  = 0x09
	qosUtility     = 0x11

	ofProcess       = 0 // PRIO_PROCESS: the nice value
	ofDarwinProcess = 4 // PRIO_DARWIN_PROCESS: not 0 for a background process
	myself          = 0
	failed          = -1
)

// priority says how macOS schedules this process. It returns "unknown" for a nil s.
//
// getpriority reveals "taskpolicy -b". The QoS class with which the main thread began reveals a launchd job of type
// Background, and "taskpolicy -c". Threads that Go started do not have that class. A thread of a program that calls Go may
// have a class, too. None of these reveals "taskpolicy -b -p", which changes a process from outside.
func (s *scheduling) priority() string {
	if s == nil {
		return "unknown"
	}
	qos := lowerQoS(s.qosOfThread(), s.qosOfMain())
	darwin := s.getPriority(ofDarwinProcess, myself)
	switch {
	case darwin != 0 && darwin != failed, qos != qosUnspecified && qos <= qosBackground:
		return "background"
	case s.getPriority(ofProcess, myself) > 0, qos != qosUnspecified && qos <= qosUtility:
		return "lowered"
	}
	return "normal"
}

// lowerQoS returns the lower of two classes. If one is unspecified, it returns the other.
func lowerQoS(a, b uint32) uint32 {
	if a == qosUnspecified || b == qosUnspecified {
		return max(a, b)
	}
	return min(a, b)
}

// linuxPriority says how Linux schedules this process. It depends on the nice value and the policy of the first thread.
// Format: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func linuxPriority(root fs.FS) string {
	const (
		nice, policy = 19 - 3, 41 - 3 // in the part after the name, which begins with the third field
		batch, idle  = "3", "5"       // SCHED_BATCH, SCHED_IDLE
	)
	stat := readLine(root, "proc/self/stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // a name may hold spaces and brackets
	if len(fields) <= policy {
		return "unknown"
	}
	niceness, err := strconv.Atoi(fields[nice])
	switch {
	case err != nil:
		return "unknown"
	case fields[policy] == idle:
		return "background"
	case fields[policy] == batch, niceness > 0:
		return "lowered"
	}
	return "normal"
}
