//go:build amd64 || arm64

package cuda

import (
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/gpu"
)

// recording is a list of calls into the driver, with their arguments in the form that the driver takes them, on a stream
// of its own.
type recording struct {
	driver *driver
	stream [1]uintptr // the argument of cuStreamSynchronize
	steps  []step

	timed  bool // the submission in flight
	clock  *clock
	start  time.Time
	encode time.Duration
}

// step is one call.
type step struct {
	function  *function
	arguments []uintptr
	external  gpu.External // in place of the call
	kernel    bool         // whether a kernel or a library runs, and not a copy

	parameters []unsafe.Pointer // of a launch: where each of the kernel's arguments lies
	library    *library         // whose code the launch runs
}

// Record readies commands.
func (d *driver) Record(commands []gpu.Command) (gpu.Recording, error) {
	stream, err := d.takeStream()
	if err != nil {
		return nil, err
	}
	r := &recording{driver: d, stream: [1]uintptr{stream}}
	for i := range commands {
		c := &commands[i]
		var s step
		switch c.Kind {
		case gpu.Dispatch:
			s, err = d.launch(c, stream)
		case gpu.Copy:
			s = step{function: &d.memcpyAsync, arguments: []uintptr{place(c.Target), place(c.Source), uintptr(c.Bytes), stream}}
		case gpu.Encode:
			s = step{external: c.External, kernel: true}
		}
		if err != nil {
			r.Close()
			return nil, err
		}
		r.steps = append(r.steps, s)
	}
	return r, nil
}

// place returns the address of a region.
func place(r gpu.Region) uintptr { return r.Memory.(*memory).address + uintptr(r.Offset) }

// launch readies a dispatch.
func (d *driver) launch(c *gpu.Command, stream uintptr) (step, error) {
	p := c.Pipeline.(*pipeline)
	if overlap(p, c.Arguments) {
		var err error
		if p, err = p.overlapping(); err != nil {
			return step{}, err
		}
	}
	s := step{function: &d.launchKernel, kernel: true, library: p.library}
	for _, a := range c.Arguments {
		if a.Memory != nil {
			at := place(a.Region)
			s.parameters = append(s.parameters, unsafe.Pointer(&at))
			continue
		}
		value := make([]uint64, (len(a.Value)+7)/8) // aligned for every type
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&value[0])), len(a.Value)), a.Value)
		s.parameters = append(s.parameters, unsafe.Pointer(&value[0]))
	}
	var parameters uintptr
	if len(s.parameters) > 0 {
		parameters = address(&s.parameters[0])
	}
	s.arguments = []uintptr{
		p.address,
		uintptr(c.Groups.X), uintptr(c.Groups.Y), uintptr(c.Groups.Z),
		uintptr(c.Threads.X), uintptr(c.Threads.Y), uintptr(c.Threads.Z),
		0, stream, parameters, 0,
	}
	return s, nil
}

// overlap reports whether a buffer that the kernel may write is bound to another of its parameters too.
func overlap(p *pipeline, arguments []gpu.Binding) bool {
	declared := p.declared.Arguments()
	for i := range arguments {
		if arguments[i].Memory == nil || declared[i].ReadOnly {
			continue
		}
		for j := range arguments {
			if j != i && arguments[j].Memory == arguments[i].Memory {
				return true
			}
		}
	}
	return false
}

// Submit makes the calls.
func (r *recording) Submit(timed bool) error {
	r.timed = timed
	if timed {
		if r.clock == nil {
			var err error
			if r.clock, err = r.driver.newClock(r); err != nil {
				return err
			}
		}
		r.start = time.Now()
	}
	if err := r.driver.enter(); err != nil {
		return err
	}
	defer r.driver.leave()
	err := r.submit(timed)
	if err != nil {
		// What was launched before must not outlive the memory that it works on.
		purego.SyscallN(r.driver.streamSynchronize.address, r.stream[:]...)
	}
	if timed {
		r.encode = time.Since(r.start)
	}
	return err
}

func (r *recording) submit(timed bool) error {
	if timed {
		if err := r.clock.first.record(r.driver); err != nil {
			return err
		}
	}
	for i := range r.steps {
		s := &r.steps[i]
		if timed && s.kernel {
			if err := r.clock.kernels[i].begin.record(r.driver); err != nil {
				return err
			}
		}
		if s.external != nil {
			if err := s.external.Encode(r.stream[0]); err != nil {
				return err
			}
		} else if status, _, _ := purego.SyscallN(s.function.address, s.arguments...); int32(status) != 0 {
			return r.driver.check(s.function, int32(status))
		}
		if timed && s.kernel {
			if err := r.clock.kernels[i].end.record(r.driver); err != nil {
				return err
			}
		}
	}
	if timed {
		return r.clock.last.record(r.driver)
	}
	return nil
}

// Wait waits for the stream. An error of the device that happened since Submit shows here.
func (r *recording) Wait() (gpu.Times, error) {
	d := r.driver
	if err := d.enter(); err != nil {
		return gpu.Times{}, err
	}
	defer d.leave()
	if status, _, _ := purego.SyscallN(d.streamSynchronize.address, r.stream[:]...); int32(status) != 0 {
		return gpu.Times{}, d.check(&d.streamSynchronize, int32(status))
	}
	if !r.timed {
		return gpu.Times{}, nil
	}
	times := gpu.Times{Encode: r.encode, Wall: time.Since(r.start)}
	return times, r.clock.read(d, &times)
}

// Close gives the stream back.
func (r *recording) Close() {
	if r.clock != nil {
		r.clock.close(r.driver)
		r.clock = nil
	}
	if r.stream[0] != 0 {
		r.driver.giveStream(r.stream[0])
		r.stream[0] = 0
	}
	r.steps = nil
}
