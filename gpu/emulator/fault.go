//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import "fmt"

// The kinds of faults, as in runtime.cpp.
const (
	noFault = iota
	outOfBounds
	readOnly
	stray
	race
	divergentBarrier
	divergentSIMD
	partialSIMD
	threadgroupSize
	arrayBounds
	shift
	division
	misaligned
	conversion
	unknownFlags
)

// several stands for more than one thread.
const several = 0x4000

func (l *launch) describe() error {
	f := &l.fault
	line := int(f.line)
	if line == 0 {
		line = l.pipeline.lines.at(uint64(f.pc))
	}
	verb := "reads"
	if f.write != 0 {
		verb = "writes"
	}
	who := fmt.Sprintf("(thread %d of threadgroup %d,%d,%d)", f.thread, f.group[0], f.group[1], f.group[2])
	var message string
	switch f.kind {
	case outOfBounds:
		message = fmt.Sprintf("%s %d bytes at byte %d of %s, which has %d %s", verb, f.bytes, f.offset, l.rangeName(f.argument), f.extent, who)
	case readOnly:
		message = fmt.Sprintf("writes to %s, which is not for writing %s", l.rangeName(f.argument), who)
	case stray:
		message = fmt.Sprintf("%s memory that is none of its own %s", verb, who)
	case race:
		with := fmt.Sprintf("thread %d", f.other)
		switch {
		case f.elsewhere != 0:
			with = "another threadgroup"
		case f.other >= several:
			with = "other threads"
		}
		message = fmt.Sprintf("has a data race: it %s byte %d of %s, which %s uses too, with no barrier for that memory between %s",
			verb, f.offset, l.rangeName(f.argument), with, who)
	case divergentBarrier:
		message = fmt.Sprintf("has a barrier in divergent control flow: thread %d waits here, thread %d %s", f.thread, f.other, elsewhere(f.otherLine))
	case divergentSIMD:
		message = fmt.Sprintf("has a simd function in divergent control flow: thread %d is here, thread %d %s", f.thread, f.other, elsewhere(f.otherLine))
	case partialSIMD:
		message = fmt.Sprintf("has a simd function in a simdgroup of %d threads; want 32 %s", f.extent, who)
	case threadgroupSize:
		message = fmt.Sprintf("takes %d bytes of threadgroup memory; want at most %d", f.extent, f.offset)
	case arrayBounds:
		message = "indexes an array out of its bounds " + who
	case shift:
		message = "shifts by a negative number or by the width of the type or more " + who
	case division:
		message = "divides an integer by zero " + who
	case misaligned:
		message = "uses a vector at an address that is not a multiple of its size " + who
	case conversion:
		message = "converts a float to an integer that does not hold it " + who
	case unknownFlags:
		message = "has a barrier for other memory than mem_device and mem_threadgroup " + who
	default:
		message = "has undefined behaviour " + who
	}
	return &Fault{Source: l.pipeline.source, Line: line, Kernel: l.pipeline.function.Name, Message: message}
}

func elsewhere(line uint32) string {
	if line == 0 {
		return "has returned or waits for other threads"
	}
	return fmt.Sprintf("waits in line %d", line)
}

func (l *launch) rangeName(i uint32) string {
	if int(i) < len(l.list) {
		return l.pipeline.function.Arguments()[i].Name
	}
	return "threadgroup memory"
}
