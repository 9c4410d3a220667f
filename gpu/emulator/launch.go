//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// The binary interface with runtime.cpp.

type argument struct {
	begin       uintptr
	bytes       uint64
	shadow      uintptr
	writable    uint64
	threadgroup uint64 // 1 of threadgroup memory
}

type fault struct {
	kind, line      uint32
	pc              uintptr
	argument, bytes uint32
	offset          int64
	write           uint32
	thread, other   uint32
	elsewhere       uint32
	otherLine       uint32
	group           [3]uint32
	extent          uint64
}

type launch struct {
	groups, threads [3]uint32
	arguments, seed uint32
	argument        *argument
	stacks          uintptr
	stackBytes      uint64
	threadgroup     uint64 // bytes that a threadgroup has
	clock           uint64 // advances at every threadgroup and barrier, for the shadows of the arguments
	fault           fault

	self     [1]uintptr // argument of the call
	pipeline *pipeline
	list     []argument
	values   [][]uint64
	kept     [][]byte // memory and shadows, kept alive here because list holds only their addresses
}

// newLaunch returns a launch without arguments. C has the address of the launch, so the launch must not be on a
// goroutine's stack. For this reason newLaunch is not inlined.
//
//go:noinline
func newLaunch(p *pipeline, groups, threads gpu.Size) *launch {
	return &launch{
		pipeline:    p,
		threadgroup: uint64(p.threadgroup),
		groups:      [3]uint32{uint32(groups.X), uint32(groups.Y), uint32(groups.Z)},
		threads:     [3]uint32{uint32(threads.X), uint32(threads.Y), uint32(threads.Z)},
	}
}

// addValue adds a copy of a value, at an address that suits every type.
func (l *launch) addValue(value []byte) {
	words := make([]uint64, len(value)/8+3)
	at := int(uintptr(unsafe.Pointer(&words[0])) / 8 % 2)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&words[at])), len(value)), value)
	l.values = append(l.values, words)
	l.list = append(l.list, argument{begin: uintptr(unsafe.Pointer(&words[at])), bytes: uint64(len(value))})
}

// addThreadgroup adds threadgroup memory, which all threadgroups have in turn.
func (l *launch) addThreadgroup(bytes int) {
	memory := make([]uint64, bytes/8+3)
	at := int(uintptr(unsafe.Pointer(&memory[0])) / 8 % 2) // aligned for every type
	l.addMemory(unsafe.Slice((*byte)(unsafe.Pointer(&memory[at])), bytes), make([]byte, (bytes+3)/4*shadowBytes))
	last := &l.list[len(l.list)-1]
	last.writable, last.threadgroup = 1, 1
}

// addMemory adds a buffer with its shadow.
func (l *launch) addMemory(bytes, shadow []byte) {
	a := argument{
		begin:  uintptr(unsafe.Pointer(unsafe.SliceData(bytes))),
		bytes:  uint64(len(bytes)),
		shadow: uintptr(unsafe.Pointer(unsafe.SliceData(shadow))),
	}
	if p := l.pipeline.function.Arguments()[len(l.list)]; p.Kind == msl.Buffer && !p.ReadOnly {
		a.writable = 1
	}
	l.list = append(l.list, a)
	l.kept = append(l.kept, bytes, shadow)
}

// run runs the kernel. It fails with a *Fault.
func (l *launch) run() error {
	s, err := stacks()
	if err != nil {
		return err
	}
	defer freeStacks(s)
	l.arguments, l.argument = uint32(len(l.list)), unsafe.SliceData(l.list)
	l.stacks, l.stackBytes = uintptr(unsafe.Pointer(&s[0])), stackBytes
	l.seed++
	l.fault = fault{}
	l.pipeline.mu.Lock()
	l.self[0] = uintptr(unsafe.Pointer(l))
	purego.SyscallN(l.pipeline.entry, l.self[:]...)
	l.pipeline.mu.Unlock()
	if l.fault.kind != noFault {
		return l.describe()
	}
	return nil
}

// Run runs a kernel of this package's driver on the caller's memory. It is for test doubles of a platform, which have
// memory of their own. Arguments are the kernel's buffers and values, in the order of their indices, and as many bytes as it is to
// have of threadgroup memory. Run fails with a
// *[Fault] if the kernel does wrong.
func Run(p gpu.Pipeline, groups, threads gpu.Size, arguments [][]byte) error {
	k, ok := p.(*pipeline)
	if !ok {
		return fmt.Errorf("emulator: a pipeline of another driver, %T", p)
	}
	parameters := k.function.Arguments()
	if len(arguments) != len(parameters) {
		return fmt.Errorf("emulator: kernel %s: %d arguments; want %d", k.function.Name, len(arguments), len(parameters))
	}
	if threads.Count() < 1 || threads.Count() > k.most || groups.Count() < 1 {
		return fmt.Errorf("emulator: kernel %s: %v threadgroups of %v threads; want at least 1, and at most %d threads",
			k.function.Name, groups, threads, k.most)
	}
	l := newLaunch(k, groups, threads)
	for i, a := range arguments {
		if parameters[i].Kind == msl.Threadgroup {
			if len(a) == 0 {
				return fmt.Errorf("emulator: kernel %s: no length of threadgroup memory %s", k.function.Name, parameters[i].Name)
			}
			l.addThreadgroup(len(a))
			continue
		}
		if len(a) < parameters[i].Bytes {
			return fmt.Errorf("emulator: kernel %s: argument %d (%s) has %d bytes; want at least %d", k.function.Name, i,
				parameters[i].Name, len(a), parameters[i].Bytes)
		}
		if parameters[i].Kind == msl.Value {
			l.addValue(a[:parameters[i].Bytes])
			continue
		}
		l.addMemory(a, make([]byte, (len(a)+3)/4*shadowBytes))
	}
	return l.run()
}
