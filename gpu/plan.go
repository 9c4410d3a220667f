package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Plan is a list of kernels bound to their memory, recorded once and run as often as wanted. It is for one goroutine at
// a time.
type Plan struct {
	device    *Device
	buffers   []*Buffer
	hosted    []*Buffer // of buffers, those with a host's side: inputs, outputs and states, in their order
	commands  []command
	transfers int64 // bytes

	own      binding   // to the plan's own memory on the host's side
	bindings []binding // to shared memory of the caller's, most recent first
	upload   Recording // inputs to the device; nil where memory is unified
	download Recording // outputs to the host; nil where memory is unified

	mu       sync.Mutex // held within a method: see enter
	inFlight Recording
	watched  watched // of inFlight
	kernels  string  // their names; empty until somebody watches
	closed   bool
	copier   copier
}

// binding is a plan's commands, recorded for one place of the host's data.
type binding struct {
	host      [MostHosted]Region // by hosted buffer
	full      Recording          // inputs to the device, kernels, outputs to the host
	resident  Recording          // kernels alone; full itself where memory is unified
	externals []External
	up, down  []piece // of large data; made when first needed
}

// Build compiles, allocates and records. It fills outputs and scratch memory with NaNs, so that a kernel cannot seem
// right because of what an earlier plan left in a buffer. It fails with the builder's first mistake, with a
// *[CompileError], or with the system's error. Then it holds nothing.
func (b *Builder) Build() (*Plan, error) { return b.BuildOver(nil) }

// BuildOver is Build in the memory of another plan of the device. It closes spent, even if it fails; spent may be nil.
// A buffer takes over a spent buffer of the same role that is large enough and not much too large. It then holds what
// the last call left there. A constant takes over a constant of the same values, and is not written again. So a plan
// for another length costs no allocation and no transfer as long as the length fits. The rest of spent goes back to the
// pool.
func (b *Builder) BuildOver(spent *Plan) (*Plan, error) {
	if spent != nil {
		defer spent.Close()
	}
	if b.err != nil {
		return nil, b.err
	}
	if len(b.commands) == 0 {
		return nil, errors.New("gpu: a plan without kernels")
	}
	if b.built {
		return nil, errors.New("gpu: a plan is built twice; its buffers have their memory already")
	}
	b.built = true
	p := &Plan{device: b.device, buffers: b.buffers, commands: b.commands}
	for _, buffer := range p.buffers {
		if buffer.isHosted() {
			p.hosted = append(p.hosted, buffer)
		}
	}
	if len(p.hosted) > MostHosted {
		return nil, fmt.Errorf("gpu: a plan with %d inputs and outputs; want at most %d", len(p.hosted), MostHosted)
	}
	if err := p.device.admit(p); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.leave()
	if spent != nil {
		p.inherit(spent)
	}
	if err := p.build(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// inherit gives the plan's buffers the memory of a spent plan's buffers. Then it closes the spent plan, so that the
// pool can give the rest to the buffers that still have none.
func (p *Plan) inherit(spent *Plan) {
	if spent.device != p.device {
		panic("gpu: a plan is built over one of another device")
	}
	spent.mu.Lock()
	defer spent.leave()
	_ = spent.wait(nil)
	spent.unrecord()
	for _, b := range p.buffers {
		i := slices.IndexFunc(spent.buffers, b.canTake)
		if i < 0 {
			continue
		}
		from := spent.buffers[i]
		b.device, b.host, b.storage, b.capacity = from.device, from.host, from.storage, from.capacity
		from.device, from.host = nil, nil
	}
	spent.close()
}

// A buffer may have littleBytes of memory, however few it needs. More than littleBytes may be at most mostWaste times
// what it needs. So the memory of a long call is not held through many short ones.
const (
	littleBytes = 1 << 20
	mostWaste   = 4
)

// canTake reports whether a buffer can take over another one's memory.
func (b *Buffer) canTake(from *Buffer) bool {
	switch {
	case from.device == nil || from.role != b.role:
		return false
	case b.role == constant:
		return bytes.Equal(from.initial, b.initial)
	}
	return b.bytes <= from.capacity && from.capacity <= max(littleBytes, mostWaste*b.bytes)
}

func (p *Plan) build() error {
	for _, buffer := range p.buffers {
		if buffer.device != nil {
			continue
		}
		if err := p.place(buffer); err != nil {
			return err
		}
	}
	var host [MostHosted]Region
	for i, buffer := range p.hosted {
		host[i] = Region{Memory: buffer.host, Bytes: buffer.bytes}
		if buffer.host == buffer.device {
			continue
		}
		if buffer.role != output {
			p.transfers += int64(buffer.bytes)
		}
		if buffer.role != input {
			p.transfers += int64(buffer.bytes)
		}
	}
	var err error
	if p.own, err = p.bindTo(host); err != nil {
		return err
	}
	in, out := p.copies(&host)
	for _, r := range []struct {
		to       *Recording
		commands []Command
	}{{&p.upload, in}, {&p.download, out}} {
		if len(r.commands) == 0 {
			continue
		}
		if *r.to, err = p.device.driver.Record(r.commands); err != nil {
			return err
		}
	}
	return nil
}

// bindTo records the plan's commands for data that lie at host. Where memory is unified kernels compute right there.
func (p *Plan) bindTo(host [MostHosted]Region) (b binding, err error) {
	b.host = host
	defer func() {
		if err != nil {
			b.close()
			b = binding{}
		}
	}()
	if p.device.facts.Unified {
		for i, buffer := range p.hosted {
			own := *buffer
			buffer.device, buffer.offset = host[i].Memory, host[i].Offset
			defer func() { buffer.device, buffer.offset = own.device, own.offset }()
		}
	}
	var kernels []Command
	for i := range p.commands {
		c := &p.commands[i]
		switch {
		case c.target != nil:
			kernels = append(kernels, Command{Kind: Copy, Target: c.target.Region(), Source: c.source.Region(), Bytes: c.source.bytes})
		case c.encode != nil:
			external, err := c.encode()
			if err == nil && external == nil {
				err = errors.New("gpu: a vendor's library was asked for work and gave none")
			}
			if err != nil {
				return b, err
			}
			b.externals = append(b.externals, external)
			kernels = append(kernels, Command{Kind: Encode, External: external})
		default:
			kernels = append(kernels, c.bind())
		}
	}
	in, out := p.copies(&host)
	all := append(append(append([]Command(nil), in...), kernels...), out...)
	if b.full, err = p.device.driver.Record(all); err != nil {
		return b, err
	}
	if len(in)+len(out) == 0 {
		b.resident = b.full
		return b, nil
	}
	b.resident, err = p.device.driver.Record(kernels)
	return b, err
}

// copies returns the transfers between the device and data that lie at host; none where memory is unified.
func (p *Plan) copies(host *[MostHosted]Region) (in, out []Command) {
	if p.device.facts.Unified {
		return nil, nil
	}
	for i, buffer := range p.hosted {
		there := host[i]
		bytes := min(buffer.bytes, there.Bytes)
		if buffer.role != output {
			in = append(in, Command{Kind: Copy, Target: buffer.Region(), Source: there, Bytes: bytes})
		}
		if buffer.role != input {
			out = append(out, Command{Kind: Copy, Target: there, Source: buffer.Region(), Bytes: bytes})
		}
	}
	return in, out
}

func (b *binding) close() {
	b.closePieces()
	if b.resident == b.full {
		b.resident = nil
	}
	for _, r := range []Recording{b.full, b.resident} {
		if r != nil {
			r.Close()
		}
	}
	for _, e := range b.externals {
		e.Close()
	}
	*b = binding{}
}

// bind gives a dispatch its memory.
func (c *command) bind() Command {
	bound := Command{Kind: Dispatch, Pipeline: c.kernel.pipeline, Groups: c.groups, Threads: c.threads}
	for _, a := range c.arguments {
		binding := Binding{Value: a.value, Threadgroup: a.threadgroup}
		if a.buffer != nil {
			binding.Region = Region{Memory: a.buffer.device, Offset: a.buffer.offset + a.offset, Bytes: a.buffer.bytes - a.offset}
		}
		bound.Arguments = append(bound.Arguments, binding)
	}
	return bound
}

// place gives a buffer its memory.
func (p *Plan) place(b *Buffer) (err error) {
	pool := &p.device.pool
	hosted := b.isHosted()
	if p.device.facts.Unified && (hosted || b.role == constant) {
		b.storage = Shared
	}
	b.capacity = pool.class(b.bytes)
	if b.device, err = pool.take(b.capacity, b.storage); err != nil {
		return err
	}
	switch {
	case hosted && b.storage == Shared:
		b.host = b.device
	case hosted:
		if b.host, err = pool.take(b.capacity, Shared); err != nil {
			return err
		}
	}
	if b.role == constant {
		return p.write(b, b.initial)
	}
	if b.host != nil && b.host != b.device {
		if err := b.host.Fill(0xff); err != nil {
			return err
		}
	}
	return b.device.Fill(0xff)
}

// Write copies words to the beginning of a kept buffer of the plan, and returns when they are there. No call may be in flight. Write
// fails if the buffer is another one, or shorter.
func (p *Plan) Write(b *Buffer, values []float32) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	switch {
	case p.inFlight != nil:
		return errInFlight
	case !slices.Contains(p.buffers, b) || b.role != kept:
		return errors.New("gpu: a write to a buffer that the plan does not keep for the host")
	case 4*len(values) > b.bytes:
		return fmt.Errorf("gpu: a write of %d bytes to a buffer of %d", 4*len(values), b.bytes)
	case len(values) == 0:
		return nil
	}
	return p.write(b, words(values))
}

// write copies bytes to the beginning of a buffer, through memory that the host sees.
func (p *Plan) write(b *Buffer, data []byte) error {
	if host := b.device.Host(); host != nil {
		copy(host, data)
		return nil
	}
	staging, err := p.device.pool.take(len(data), Shared)
	if err != nil {
		return err
	}
	defer p.device.pool.give(staging, len(data), Shared)
	copy(staging.Host(), data)
	return p.once([]Command{{Kind: Copy, Target: b.Region(), Source: Region{Memory: staging, Bytes: len(data)}, Bytes: len(data)}})
}

// once runs commands and forgets them.
func (p *Plan) once(commands []Command) error {
	r, err := p.device.driver.Record(commands)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Submit(false); err != nil {
		return err
	}
	_, err = r.Wait()
	return err
}

// Transfers returns how many bytes Run carries between host and device, both ways together; 0 where memory is unified.
func (p *Plan) Transfers() int64 { return p.transfers }

// Run computes the outputs from the inputs and returns when the host can read them.
func (p *Plan) Run() error { return p.run(&p.own.full) }

// Submit starts what Run does and returns; Wait waits for it. Several plans may be in flight, each once.
func (p *Plan) Submit() error { return p.start(&p.own.full) }

// RunResident computes on what is on the device already, and leaves the results there: Run without the transfers.
func (p *Plan) RunResident() error { return p.run(&p.own.resident) }

// SubmitResident starts what RunResident does and returns; Wait waits for it.
func (p *Plan) SubmitResident() error { return p.start(&p.own.resident) }

// Wait returns when what was submitted is done.
func (p *Plan) Wait() error {
	p.mu.Lock()
	defer p.leave()
	return p.wait(nil)
}

// Upload copies the inputs to the device, for RunResident. Where memory is unified there is nothing to do.
func (p *Plan) Upload() error { return p.run(&p.upload) }

// Download copies the outputs to the host, after RunResident. Where memory is unified there is nothing to do.
func (p *Plan) Download() error { return p.run(&p.download) }

// Time is Run, or RunResident, with the device's own account of the time. Taking the account may itself cost a little
// time.
func (p *Plan) Time(resident bool) (Times, error) {
	if err := p.enter(); err != nil {
		return Times{}, err
	}
	defer p.leave()
	if resident {
		return p.time(p.own.resident)
	}
	return p.time(p.own.full)
}

func (p *Plan) time(r Recording) (Times, error) {
	if err := p.submit(r, true); err != nil {
		return Times{}, err
	}
	p.inFlight = nil
	times, err := r.Wait()
	p.watched.end()
	return times, err
}

var (
	errInFlight = errors.New("gpu: the plan is in flight; Wait comes first")
	errClosed   = errors.New("gpu: the plan is closed")
)

// start submits one of the plan's recordings, and run also waits for it. A closed device takes the recordings away, so they are
// read only after enter.
func (p *Plan) start(r *Recording) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	return p.submit(*r, false)
}

func (p *Plan) run(r *Recording) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	return p.wait(p.submit(*r, false))
}

func (p *Plan) submit(r Recording, timed bool) error {
	if p.inFlight != nil {
		return errInFlight
	}
	if r == nil {
		return nil
	}
	p.watched = p.watch(r)
	if err := r.Submit(timed); err != nil {
		p.watched.end()
		return err
	}
	p.inFlight = r
	return nil
}

func (p *Plan) wait(err error) error {
	if err != nil || p.inFlight == nil {
		return err
	}
	r := p.inFlight
	p.inFlight = nil
	_, err = r.Wait()
	p.watched.end()
	return err
}

// Close waits for what is in flight and gives the plan's memory back to the pool. Closing twice is harmless.
func (p *Plan) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close()
}

func (p *Plan) close() {
	open := !p.closed
	_ = p.wait(nil)
	p.unrecord()
	p.closed = true
	for _, b := range p.buffers {
		p.release(b)
	}
	p.buffers, p.hosted, p.commands = nil, nil, nil
	if open {
		p.device.dismiss(p)
	}
}

// unrecord closes what was recorded, of which nothing is in flight. The buffers still have their memory.
func (p *Plan) unrecord() {
	p.own.close()
	for i := range p.bindings {
		p.bindings[i].close()
	}
	p.bindings = nil
	for _, r := range []Recording{p.upload, p.download} {
		if r != nil {
			r.Close()
		}
	}
	p.upload, p.download = nil, nil
}

func (p *Plan) release(b *Buffer) {
	pool := &p.device.pool
	if b.host != nil && b.host != b.device {
		pool.give(b.host, b.capacity, Shared)
	}
	if b.device != nil {
		pool.give(b.device, b.capacity, b.storage)
	}
	b.host, b.device = nil, nil
}
