//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// recording implements gpu.Recording. Its commands run when they are waited for, so that a host that reads too early,
// or writes too late, gets what it deserves.
type recording struct {
	driver   *driver
	commands []gpu.Command
	launches []*launch // by command, nil where it is no dispatch

	inFlight  bool
	timed     bool
	submitted time.Time
	encode    time.Duration
	closed    bool
}

var errFreed = errors.New("emulator: memory that has been freed is used")

// The binary interface with runtime.cpp.

type argument struct {
	begin    uintptr
	bytes    uint64
	shadow   uintptr
	writable uint64
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
	clock           uint64
	fault           fault

	pipeline *pipeline
	list     []argument
	values   [][]byte
}

func (d *driver) Record(commands []gpu.Command) (gpu.Recording, error) {
	r := &recording{driver: d, commands: commands, launches: make([]*launch, len(commands))}
	for i := range commands {
		c := &commands[i]
		switch c.Kind {
		case gpu.Dispatch:
			r.launches[i] = newLaunch(c, uint32(i))
		case gpu.Encode:
			return nil, errors.New("emulator: there are no vendor's libraries here")
		}
	}
	return r, nil
}

func newLaunch(c *gpu.Command, seed uint32) *launch {
	p := c.Pipeline.(*pipeline)
	l := &launch{pipeline: p, seed: seed, groups: size(c.Groups), threads: size(c.Threads), list: make([]argument, len(c.Arguments))}
	parameters := p.function.Arguments()
	for i, a := range c.Arguments {
		if a.Memory == nil {
			// Values are copied behind the alignment that the largest of them needs.
			value := make([]uint64, (len(a.Value)+15)/8)
			raw := unsafe.Slice((*byte)(unsafe.Pointer(&value[0])), len(value)*8)
			copy(raw, a.Value)
			l.values = append(l.values, raw)
			l.list[i] = argument{begin: uintptr(unsafe.Pointer(&value[0])), bytes: uint64(len(a.Value))}
			continue
		}
		m := a.Memory.(*memory)
		l.list[i] = argument{
			begin:  uintptr(unsafe.Pointer(&m.all[a.Offset])),
			bytes:  uint64(a.Bytes),
			shadow: uintptr(unsafe.Pointer(&m.shadow[a.Offset/4*shadowBytes])),
		}
		if parameters[i].Kind == msl.Buffer && !parameters[i].ReadOnly {
			l.list[i].writable = 1
		}
	}
	l.arguments = uint32(len(l.list))
	l.argument = unsafe.SliceData(l.list)
	return l
}

func size(s gpu.Size) [3]uint32 { return [3]uint32{uint32(s.X), uint32(s.Y), uint32(s.Z)} }

func (r *recording) Submit(timed bool) error {
	begin := time.Now()
	d := r.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case r.closed:
		return errors.New("emulator: a closed recording is submitted")
	case r.inFlight:
		return errors.New("emulator: a recording is submitted again before it was waited for")
	case d.lost:
		return fmt.Errorf("emulator: %w", gpu.ErrLost)
	}
	if d.loseAfter >= 0 && d.submitted == d.loseAfter {
		d.lost = true
	}
	d.submitted++
	r.inFlight, r.timed, r.submitted = true, timed, begin
	r.encode = time.Since(begin) + 1
	return nil
}

func (r *recording) Wait() (gpu.Times, error) {
	d := r.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if !r.inFlight {
		return gpu.Times{}, errors.New("emulator: a wait without a submission")
	}
	r.inFlight = false
	if d.lost {
		return gpu.Times{}, fmt.Errorf("emulator: %w", gpu.ErrLost)
	}
	var t gpu.Times
	begin := time.Now()
	for i := range r.commands {
		c := &r.commands[i]
		if c.Kind == gpu.Copy {
			if err := runCopy(c); err != nil {
				return gpu.Times{}, err
			}
			continue
		}
		start := time.Now()
		if err := r.launches[i].dispatch(d, c); err != nil {
			return gpu.Times{}, err
		}
		t.Busy += time.Since(start) + 1
		t.Kernel++
	}
	if !r.timed {
		return gpu.Times{}, nil
	}
	t.Encode = r.encode
	t.Span = time.Since(begin) + t.Busy/1000 + 1
	t.Gaps = max(t.Span-t.Busy, 0)
	t.Wall = t.Encode + max(time.Since(r.submitted), t.Span)
	return t, nil
}

func (r *recording) Close() {
	r.driver.mu.Lock()
	defer r.driver.mu.Unlock()
	switch {
	case r.inFlight:
		panic("emulator: a recording is closed in flight")
	case r.closed:
		panic("emulator: a recording is closed twice")
	}
	r.closed = true
}

func runCopy(c *gpu.Command) error {
	target, source := c.Target.Memory.(*memory), c.Source.Memory.(*memory)
	if target.freed || source.freed {
		return errFreed
	}
	copy(target.all[c.Target.Offset:c.Target.Offset+c.Bytes], source.all[c.Source.Offset:c.Source.Offset+c.Bytes])
	return nil
}

// dispatch runs the kernel. The driver is locked.
func (l *launch) dispatch(d *driver, c *gpu.Command) error {
	for i := range c.Arguments {
		if m, ok := c.Arguments[i].Memory.(*memory); ok && m.freed {
			return errFreed
		}
	}
	s, err := stacks()
	if err != nil {
		return err
	}
	l.stacks, l.stackBytes = uintptr(unsafe.Pointer(&s[0])), stackBytes
	l.clock = uint64(d.clock)
	l.seed++
	l.fault = fault{}
	l.pipeline.mu.Lock()
	purego.SyscallN(l.pipeline.run, uintptr(unsafe.Pointer(l)))
	l.pipeline.mu.Unlock()
	freeStacks(s)
	d.clock = uint32(l.clock)
	if l.fault.kind != 0 {
		return l.describe()
	}
	if d.nan {
		for i := range c.Arguments {
			if l.list[i].writable != 0 {
				a := &c.Arguments[i]
				last := a.Memory.(*memory).all[a.Offset+a.Bytes-4 : a.Offset+a.Bytes]
				copy(last, "\xff\xff\xff\xff")
			}
		}
	}
	return nil
}
