//go:build amd64 || arm64

package cuda

import (
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/gpu"
)

// recording is a CUDA graph on a stream of its own. Launching a graph costs the host less than launching its kernels:
// on an H200, launch and wait of one kernel take 6.7 µs in place of 9.0, and of 64 kernels in a row 39 µs in place of
// 259. Making the graph costs more than one launch saves. So the first submission makes no graph, and its calls go to
// the stream as they are. The second submission makes the graph and allocates its memory. A recording that is submitted
// only once, as for a length that does not come again, never pays for a graph.
type recording struct {
	driver *driver
	stream uintptr
	steps  []step // to capture again, for a submission that is timed

	again    bool // whether it has been submitted
	plain    graph
	timed    graph
	clock    *clock // of the timed graph
	inFlight struct {
		timed  bool
		start  time.Time
		encode time.Duration
	}
	synchronize [1]uintptr // the arguments of cuStreamSynchronize
}

// graph is the arguments of cuGraphLaunch: the executable graph, or 0, and the stream.
type graph [2]uintptr

// step is one command as a call into the driver or into a vendor's library.
type step struct {
	function  *function
	arguments []uintptr
	external  gpu.External // in place of the call
	kernel    bool         // whether a kernel or a library runs; else a copy

	parameters []unsafe.Pointer // of a launch: where each of the kernel's arguments lies
	library    *library         // whose code the launch runs
}

// Record readies commands.
func (d *driver) Record(commands []gpu.Command) (gpu.Recording, error) {
	stream, err := d.takeStream()
	if err != nil {
		return nil, err
	}
	r := &recording{driver: d, stream: stream, synchronize: [1]uintptr{stream}}
	for i := range commands {
		if err := r.add(&commands[i]); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// mostCopied is the most that one node of a graph copies. On an H200 a node of 256 MiB reads and writes 4150 GB/s, and
// one of 512 MiB only 2700.
const mostCopied = 256 << 20

// add appends the steps of a command.
func (r *recording) add(c *gpu.Command) error {
	switch c.Kind {
	case gpu.Copy:
		for at := 0; at < c.Bytes; at += mostCopied {
			r.steps = append(r.steps, step{
				function: &r.driver.memcpyAsync,
				arguments: []uintptr{
					place(c.Target) + uintptr(at), place(c.Source) + uintptr(at), uintptr(min(c.Bytes-at, mostCopied)), r.stream,
				},
			})
		}
	case gpu.Encode:
		r.steps = append(r.steps, step{external: c.External, kernel: true})
	case gpu.Dispatch:
		s, err := r.driver.launch(c, r.stream)
		if err != nil {
			return err
		}
		r.steps = append(r.steps, s)
	}
	return nil
}

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
	shared := 0
	for _, a := range c.Arguments {
		if a.Threadgroup > 0 {
			shared = a.Threadgroup
			continue
		}
		if a.Memory != nil {
			at := place(a.Region)
			s.parameters = append(s.parameters, unsafe.Pointer(&at))
			continue
		}
		value := make([]uint64, (len(a.Value)+7)/8) // aligned for every type
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&value[0])), len(a.Value)), a.Value)
		s.parameters = append(s.parameters, unsafe.Pointer(&value[0]))
	}
	if err := p.allow(shared); err != nil {
		return step{}, err
	}
	var parameters uintptr
	if len(s.parameters) > 0 {
		parameters = uintptr(unsafe.Pointer(&s.parameters[0]))
	}
	s.arguments = []uintptr{
		p.address,
		uintptr(c.Groups.X), uintptr(c.Groups.Y), uintptr(c.Groups.Z),
		uintptr(c.Threads.X), uintptr(c.Threads.Y), uintptr(c.Threads.Z),
		uintptr(shared), stream, parameters, 0,
	}
	return s, nil
}

// place returns the address of a region.
func place(r gpu.Region) uintptr { return r.Memory.(*memory).address + uintptr(r.Offset) }

// overlap reports whether a buffer that the kernel may write is bound to a second parameter too.
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

// capture makes a graph of what encode does on a stream. The context is current while encode runs.
func (d *driver) capture(stream uintptr, encode func() error) (graph, error) {
	if err := d.enter(); err != nil {
		return graph{}, err
	}
	defer d.leave()
	// Relaxed, because other goroutines allocate memory meanwhile, and vendors' libraries may call anything.
	if err := d.check(&d.streamBeginCapture, d.streamBeginCapture.call(stream, captureRelaxed)); err != nil {
		return graph{}, err
	}
	err := encode()
	captured := new(uintptr)
	ended := d.check(&d.streamEndCapture, d.streamEndCapture.call(stream, uintptr(unsafe.Pointer(captured))))
	if *captured != 0 {
		defer d.graphDestroy.call(*captured)
	}
	if err != nil {
		return graph{}, err
	}
	if ended != nil {
		return graph{}, ended
	}
	executable := new(uintptr)
	if err := d.check(&d.graphInstantiate, d.graphInstantiate.call(uintptr(unsafe.Pointer(executable)), *captured, 0)); err != nil {
		return graph{}, err
	}
	g := graph{*executable, stream}
	if err := d.check(&d.graphUpload, d.graphUpload.call(g[:]...)); err != nil {
		d.graphExecDestroy.call(g[0])
		return graph{}, err
	}
	return g, nil
}

// encode makes the calls of the steps, with the events of a clock between them if there is a clock.
func (r *recording) encode(c *clock) error {
	d := r.driver
	for i := range r.steps {
		if err := c.before(i); err != nil {
			return err
		}
		s := &r.steps[i]
		if s.external != nil {
			if err := s.external.Encode(r.stream); err != nil {
				return err
			}
		} else if err := d.check(s.function, s.function.call(s.arguments...)); err != nil {
			return err
		}
		if err := c.after(i); err != nil {
			return err
		}
	}
	return nil
}

// Submit launches the graph. The first time it makes the calls of the steps instead.
func (r *recording) Submit(timed bool) error {
	launch := &r.plain
	r.inFlight.timed = timed
	switch {
	case !timed && !r.again:
		r.again = true
		return r.submitCalls()
	case !timed:
		if err := r.readyGraph(); err != nil {
			return err
		}
	default:
		if err := r.readyClock(); err != nil {
			return err
		}
		launch = &r.timed
		r.inFlight.start = time.Now()
	}
	d := r.driver
	if err := d.enter(); err != nil {
		return err
	}
	status, _, _ := purego.SyscallN(d.graphLaunch.address, launch[:]...)
	d.leave()
	if timed {
		r.inFlight.encode = time.Since(r.inFlight.start)
	}
	return d.check(&d.graphLaunch, int32(status))
}

// submitCalls makes the calls of the steps on the stream. If one fails, submitCalls waits for those before it.
func (r *recording) submitCalls() error {
	d := r.driver
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	err := r.encode(nil)
	if err != nil {
		if status := d.streamSynchronize.call(r.stream); status != 0 {
			return d.vital(&d.streamSynchronize, status)
		}
	}
	return err
}

// readyGraph makes the graph, if there is none yet.
func (r *recording) readyGraph() (err error) {
	if r.plain[0] == 0 {
		r.plain, err = r.driver.capture(r.stream, func() error { return r.encode(nil) })
	}
	return err
}

// readyClock makes the graph with events in it, if there is none yet.
func (r *recording) readyClock() error {
	if r.clock != nil {
		return nil
	}
	c, err := r.driver.newClock(r.steps, r.stream)
	if err != nil {
		return err
	}
	if r.timed, err = r.driver.capture(r.stream, func() error { return r.encode(c) }); err != nil {
		c.close()
		return err
	}
	r.clock = c
	return nil
}

// Wait waits for the stream. An error of the device that happened since Submit shows here.
func (r *recording) Wait() (gpu.Times, error) {
	d := r.driver
	if err := d.enter(); err != nil {
		return gpu.Times{}, err
	}
	defer d.leave()
	if status, _, _ := purego.SyscallN(d.streamSynchronize.address, r.synchronize[:]...); int32(status) != 0 {
		return gpu.Times{}, d.vital(&d.streamSynchronize, int32(status))
	}
	if !r.inFlight.timed {
		return gpu.Times{}, nil
	}
	times := gpu.Times{Encode: r.inFlight.encode, Wall: time.Since(r.inFlight.start)}
	if err := r.clock.read(&times); err != nil {
		return gpu.Times{}, err
	}
	return times, nil
}

// Close destroys the graphs and gives the stream back.
func (r *recording) Close() {
	d := r.driver
	for _, g := range []*graph{&r.plain, &r.timed} {
		if g[0] != 0 {
			_ = d.do(&d.graphExecDestroy, g[0])
			g[0] = 0
		}
	}
	if r.clock != nil {
		r.clock.close()
		r.clock = nil
	}
	if r.stream != 0 {
		d.giveStream(r.stream)
		r.stream = 0
	}
	r.steps = nil
}
