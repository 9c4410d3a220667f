//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"errors"
	"fmt"
	"time"

	"crossover/gpu"
)

// recording implements gpu.Recording. Its commands run when they are waited for. So a host that reads before Wait reads
// old values, and a host that writes before Wait changes the inputs.
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

func (d *driver) Record(commands []gpu.Command) (gpu.Recording, error) {
	r := &recording{driver: d, commands: commands, launches: make([]*launch, len(commands))}
	for i := range commands {
		c := &commands[i]
		switch c.Kind {
		case gpu.Dispatch:
			r.launches[i] = launchOf(c)
		case gpu.Encode:
			return nil, errors.New("emulator: there are no vendor's libraries here")
		}
	}
	return r, nil
}

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
	var begin, kernelEnd time.Time // of the first command, and of the last kernel
	for i := range r.commands {
		c, start := &r.commands[i], time.Now()
		if i == 0 {
			begin = start
		}
		if c.Kind == gpu.Copy {
			if err := runCopy(c); err != nil {
				return gpu.Times{}, err
			}
			continue
		}
		if t.Kernel > 0 {
			t.Gaps += start.Sub(kernelEnd)
		}
		if err := d.dispatch(r.launches[i], c); err != nil {
			if d.sticky {
				d.lost = true
				err = fmt.Errorf("%w: %w", err, gpu.ErrLost)
			}
			return gpu.Times{}, err
		}
		kernelEnd = time.Now()
		t.Busy += kernelEnd.Sub(start)
		t.Kernel++
	}
	if !r.timed {
		return gpu.Times{}, nil
	}
	end := kernelEnd
	if n := len(r.commands); n > 0 && r.commands[n-1].Kind == gpu.Copy {
		end = time.Now()
	}
	t.Busy += time.Duration(t.Kernel) // a kernel takes some time, however coarse the clock is
	t.Span = max(end.Sub(begin), t.Busy+t.Gaps)
	t.Encode = r.encode
	t.Wall = max(time.Since(r.submitted), t.Encode+t.Span)
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

// dispatch runs a kernel. The driver is locked.
func (d *driver) dispatch(l *launch, c *gpu.Command) error {
	for i := range c.Arguments {
		if m, ok := c.Arguments[i].Memory.(*memory); ok && m.freed {
			return errFreed
		}
	}
	l.clock = d.clock
	err := l.run()
	d.clock = l.clock
	if err != nil || !d.nan {
		return err
	}
	for i := range c.Arguments {
		if l.list[i].writable != 0 && l.list[i].threadgroup == 0 {
			a := &c.Arguments[i]
			copy(a.Memory.(*memory).all[a.Offset+a.Bytes-4:a.Offset+a.Bytes], "\xff\xff\xff\xff")
		}
	}
	return nil
}

func launchOf(c *gpu.Command) *launch {
	l := newLaunch(c.Pipeline.(*pipeline), c.Groups, c.Threads)
	for _, a := range c.Arguments {
		if a.Threadgroup > 0 {
			l.addThreadgroup(a.Threadgroup)
			continue
		}
		if a.Memory == nil {
			l.addValue(a.Value)
			continue
		}
		m := a.Memory.(*memory)
		l.addMemory(m.all[a.Offset:a.Offset+a.Bytes], m.shadow[a.Offset/4*shadowBytes:])
	}
	return l
}
