package gpu

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"crossover/pool"
)

// The data of a call lie in slices of the caller. A slice in shared memory of the device ([Device.Alloc]) is used where it
// is. Other slices are copied through pinned memory of the plan. Large slices are copied in pieces: the workers of the pool
// copy one piece while the device moves another one.

// MostHosted is how many inputs, outputs and states a plan has at most.
const MostHosted = 8

const (
	// Data of more than largeBytes together move in pieces.
	largeBytes = 2 << 20
	// A tensor is cut into mostPieces pieces, unless that makes them shorter than leastPiece or longer than mostPiece.
	mostPieces = 16
	leastPiece = 1 << 20
	mostPiece  = 4 << 20
	// downAhead is the number of pieces that are on their way to the host at a time. A device that is asked for all
	// pieces at once carries them side by side, and the first one arrives late: on an H200 64 MiB took 1.3 ms with two
	// and 1.8 ms with sixteen.
	downAhead = 2
)

// Call computes a plan on the caller's data. data[i] is the i-th input, output or state, in the order in which the builder
// made them. It may be shorter than its buffer; what the buffer holds behind it is undefined. An output may be the same
// slice as an input. Call returns when the outputs can be read. Call allocates nothing once it has run on the same shared
// memory, of which a plan remembers a few places.
//
// Where Call fails, inputs and states are as they were.
func (p *Plan) Call(data [][]float32) error { return p.call(data, nil) }

// CallTimes says where the time of a call went, as the host saw it.
type CallTimes struct {
	In, Out time.Duration // copying inputs to where the device or its transfers begin, and outputs from where they end
	Moved   int64         // bytes that the call carries between host and device: see Transfers
	// Times are those of the submission between the two. Transfers are part of its Span, except in a call of large data, whose
	// transfers overlap with copies and count to In and Out.
	Times
}

// CallTimed is Call, and says where the time went. Taking the device's account of the time may itself cost a little time.
func (p *Plan) CallTimed(data [][]float32) (CallTimes, error) {
	t := CallTimes{Moved: p.transfers}
	err := p.call(data, &t)
	return t, err
}

// call is Call. t receives the times, unless it is nil.
func (p *Plan) call(data [][]float32, t *CallTimes) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	b, staged, err := p.meet(data)
	if err != nil {
		return err
	}
	if !p.device.facts.Unified && p.staged(data, staged) > largeBytes {
		return p.callInPieces(b, data, staged, t)
	}
	begin := t.now()
	p.fill(data, staged)
	t.in(begin)
	if err := p.compute(b.full, t); err != nil {
		return err
	}
	begin = t.now()
	p.drain(data, staged)
	t.out(begin)
	return nil
}

// compute runs a recording and waits for it.
func (p *Plan) compute(r Recording, t *CallTimes) (err error) {
	if t == nil {
		return p.wait(p.submit(r, false))
	}
	t.Times, err = p.time(r)
	return err
}

func (t *CallTimes) now() (begin time.Time) {
	if t != nil {
		begin = time.Now()
	}
	return begin
}

func (t *CallTimes) in(begin time.Time) {
	if t != nil {
		t.In = time.Since(begin)
	}
}

func (t *CallTimes) out(begin time.Time) {
	if t != nil {
		t.Out = time.Since(begin)
	}
}

// SubmitOn starts a Call and returns. WaitOn waits for it. The data must not be touched in between.
func (p *Plan) SubmitOn(data [][]float32) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	b, staged, err := p.meet(data)
	if err != nil {
		return err
	}
	p.fill(data, staged)
	return p.submit(b.full, false)
}

// WaitOn returns when what SubmitOn started is done and the outputs can be read. data are those of SubmitOn.
func (p *Plan) WaitOn(data [][]float32) error {
	p.mu.Lock() // not enter: what is in flight ends as if the device had not been closed
	defer p.leave()
	if p.closed {
		return errClosed
	}
	if err := p.wait(nil); err != nil {
		return err
	}
	_, staged, err := p.meet(data)
	if err != nil {
		return err
	}
	p.drain(data, staged)
	return nil
}

// TimeOn is Call and returns the device's own account of the time, transfers included. Taking the account may itself cost a
// little time.
func (p *Plan) TimeOn(data [][]float32) (Times, error) {
	if err := p.enter(); err != nil {
		return Times{}, err
	}
	defer p.leave()
	b, staged, err := p.meet(data)
	if err != nil {
		return Times{}, err
	}
	p.fill(data, staged)
	times, err := p.time(b.full)
	if err == nil {
		p.drain(data, staged)
	}
	return times, err
}

// Load copies the inputs and states of data to the device, where RunResident finds them.
func (p *Plan) Load(data [][]float32) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	if err := p.fits(data); err != nil {
		return err
	}
	p.fill(data, allStaged)
	return p.wait(p.submit(p.upload, false))
}

// Store copies the outputs and states from the device to data. It follows RunResident.
func (p *Plan) Store(data [][]float32) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	if err := p.fits(data); err != nil {
		return err
	}
	if err := p.wait(p.submit(p.download, false)); err != nil {
		return err
	}
	p.drain(data, allStaged)
	return nil
}

// stagedSet has a bit for each hosted buffer of a plan: whether its data are copied through the plan's own memory.
type stagedSet uint

const allStaged = ^stagedSet(0)

func (s stagedSet) has(i int) bool { return s>>i&1 == 1 }

func (p *Plan) fits(data [][]float32) error {
	if len(data) != len(p.hosted) {
		return fmt.Errorf("gpu: %d slices for a plan of %d inputs and outputs", len(data), len(p.hosted))
	}
	for i, d := range data {
		if 4*len(d) > p.hosted[i].bytes {
			return fmt.Errorf("gpu: slice %d holds %d values, and its buffer has room for %d", i, len(d), p.hosted[i].bytes/4)
		}
	}
	return nil
}

// meet returns the recorded commands for the places where data lie, and which of data must be copied through the plan's own
// memory.
func (p *Plan) meet(data [][]float32) (*binding, stagedSet, error) {
	if err := p.fits(data); err != nil {
		return nil, 0, err
	}
	host, staged := p.own.host, allStaged
	for i, d := range data {
		if region, found := p.device.shared.find(d); found && p.usable(i, region, data) {
			host[i] = region
			if !p.device.facts.Unified {
				host[i].Bytes = 4 * len(d)
			}
			staged &^= 1 << i
		}
	}
	if staged == allStaged {
		return &p.own, staged, nil
	}
	for i := range p.bindings {
		if p.bindings[i].host == host {
			hit := p.bindings[i]
			copy(p.bindings[1:i+1], p.bindings[:i])
			p.bindings[0] = hit
			return &p.bindings[0], staged, nil
		}
	}
	fresh, err := p.bindTo(host)
	if err != nil {
		// A library may refuse memory from the middle of a buffer.
		return &p.own, allStaged, nil
	}
	if len(p.bindings) == mostBindings {
		p.bindings[mostBindings-1].close()
		p.bindings = p.bindings[:mostBindings-1]
	}
	p.bindings = slices.Insert(p.bindings, 0, fresh)
	return &p.bindings[0], staged, nil
}

// mostBindings is how many places of shared memory a plan remembers. Programs alternate between a few.
const mostBindings = 4

// usable reports whether the plan may use the i-th data where they are in shared memory. An output that overlaps an
// input, and a state, go through the plan's own memory: a call that fails half-way must leave them as they were, for
// another implementation to begin with. A device with memory of its own may use all other data in place, because it
// copies them. Where memory is unified, the kernels themselves work on the data, in whole vectors. Then the data must
// start at a vector, and nothing else may lie in their last vector.
func (p *Plan) usable(i int, r Region, data [][]float32) bool {
	buffer := p.hosted[i]
	if buffer.role == inputOutput {
		return false
	}
	for k, other := range data {
		if k != i && buffer.role != input && overlap(data[i], other) {
			return false
		}
	}
	const vectorBytes = 16
	return !p.device.facts.Unified || r.Offset%vectorBytes == 0 && r.Bytes >= buffer.bytes &&
		(4*len(data[i]) == buffer.bytes || r.Bytes-4*len(data[i]) < vectorBytes)
}

func overlap(a, b []float32) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	from, to := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return from < to+uintptr(4*len(b)) && to < from+uintptr(4*len(a))
}

// staged returns how many bytes go through the plan's own memory.
func (p *Plan) staged(data [][]float32, staged stagedSet) (bytes int) {
	for i, d := range data {
		if staged.has(i) {
			bytes += 4 * len(d)
		}
	}
	return bytes
}

// fill copies inputs to the plan's own memory, and drain copies outputs from there.
func (p *Plan) fill(data [][]float32, staged stagedSet) {
	for i, d := range data {
		if staged.has(i) && p.hosted[i].role != output {
			p.copier.copy(p.hosted[i].host.Host(), words(d))
		}
	}
}

func (p *Plan) drain(data [][]float32, staged stagedSet) {
	for i, d := range data {
		if staged.has(i) && p.hosted[i].role != input {
			p.copier.copy(words(d), p.hosted[i].host.Host())
		}
	}
}

// words views values as bytes.
func words(d []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(d))), 4*len(d))
}

// piece is the transfer of a part of a hosted buffer.
type piece struct {
	Recording
	buffer   int
	from, to int // in bytes
}

// cut records the pieces of a binding when they are first needed.
func (p *Plan) cut(b *binding, staged stagedSet) error {
	if b.up != nil || b.down != nil {
		return nil
	}
	for i, buffer := range p.hosted {
		host := b.host[i]
		bytes := min(buffer.bytes, host.Bytes)
		step := bytes
		if staged.has(i) {
			step = min(max(bytes/mostPieces, leastPiece), mostPiece)
		}
		for from := 0; from < bytes; from += step {
			to := min(from+step, bytes)
			there := Region{Memory: host.Memory, Offset: host.Offset + from, Bytes: to - from}
			here := Region{Memory: buffer.device, Offset: from, Bytes: to - from}
			if buffer.role != output {
				if err := p.add(&b.up, i, from, to, Command{Kind: Copy, Target: here, Source: there, Bytes: to - from}); err != nil {
					return err
				}
			}
			if buffer.role != input {
				if err := p.add(&b.down, i, from, to, Command{Kind: Copy, Target: there, Source: here, Bytes: to - from}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *Plan) add(pieces *[]piece, buffer, from, to int, c Command) error {
	r, err := p.device.driver.Record([]Command{c})
	if err == nil {
		*pieces = append(*pieces, piece{r, buffer, from, to})
	}
	return err
}

// callInPieces is call of large data.
func (p *Plan) callInPieces(b *binding, data [][]float32, staged stagedSet, t *CallTimes) error {
	if p.inFlight != nil {
		return errInFlight
	}
	if err := p.cut(b, staged); err != nil {
		b.closePieces()
		return err
	}
	begin := t.now()
	if err := p.moveUp(b, data, staged); err != nil {
		return err
	}
	t.in(begin)
	if err := p.compute(b.resident, t); err != nil {
		return err
	}
	begin = t.now()
	err := p.moveDown(b, data, staged)
	t.out(begin)
	return err
}

// moveUp carries the inputs to the device. It copies one piece while those before it are on their way.
func (p *Plan) moveUp(b *binding, data [][]float32, staged stagedSet) error {
	c := convoy{pieces: b.up}
	for i := range b.up {
		if staged.has(b.up[i].buffer) {
			pinned, caller := p.sides(&b.up[i], data)
			p.copier.copy(pinned, caller)
		}
		c.send(i + 1)
	}
	return c.await(len(b.up))
}

// moveDown carries the outputs to the host. It copies one piece while the next one is on its way. If an output overlaps
// an input, data in the plan's memory are copied only after everything has arrived. So the call can be made again
// elsewhere if it fails.
func (p *Plan) moveDown(b *binding, data [][]float32, staged stagedSet) error {
	c := convoy{pieces: b.down}
	late := p.inPlace(data)
	for i := range b.down {
		c.send(i + downAhead)
		if c.await(i+1) != nil {
			break
		}
		if !late && staged.has(b.down[i].buffer) {
			pinned, caller := p.sides(&b.down[i], data)
			p.copier.copy(caller, pinned)
		}
	}
	err := c.await(len(b.down))
	if err == nil && late {
		p.drain(data, staged)
	}
	return err
}

// sides returns a piece twice: in the plan's pinned memory, and in the caller's data, which may end before the piece does.
func (p *Plan) sides(of *piece, data [][]float32) (pinned, caller []byte) {
	caller = words(data[of.buffer])
	caller = caller[min(of.from, len(caller)):min(of.to, len(caller))]
	return p.hosted[of.buffer].host.Host()[of.from:of.to], caller
}

// convoy is the transfer of pieces in one direction, in their order. After the first error it sends nothing.
type convoy struct {
	pieces        []piece
	sent, arrived int
	err           error
}

// send submits pieces until the first upTo are on their way or have arrived.
func (c *convoy) send(upTo int) {
	for c.err == nil && c.sent < min(upTo, len(c.pieces)) {
		if c.err = c.pieces[c.sent].Submit(false); c.err == nil {
			c.sent++
		}
	}
}

// await returns when the first upTo of the pieces that were sent have arrived or failed.
func (c *convoy) await(upTo int) error {
	for c.arrived < min(upTo, c.sent) {
		_, err := c.pieces[c.arrived].Wait()
		c.arrived++
		if c.err == nil {
			c.err = err
		}
	}
	return c.err
}

// inPlace reports whether an output overlaps an input or is a state.
func (p *Plan) inPlace(data [][]float32) bool {
	for i, out := range data {
		if p.hosted[i].role == input {
			continue
		}
		if p.hosted[i].role == inputOutput {
			return true
		}
		for k, in := range data {
			if k != i && p.hosted[k].role != output && overlap(out, in) {
				return true
			}
		}
	}
	return false
}

func (b *binding) closePieces() {
	for _, pieces := range [][]piece{b.up, b.down} {
		for i := range pieces {
			pieces[i].Close()
		}
	}
	b.up, b.down = nil, nil
}

// copier copies memory on the workers of the pool. One core of a server processor copies a tenth of what its memory and its
// bus can carry.
type copier struct{ dst, src []byte }

// copyUnit is how many bytes a worker copies at a time. Up to aloneUpTo bytes the calling goroutine copies alone.
const (
	copyUnit  = 16 << 10
	aloneUpTo = 64 << 10
)

// copy copies as many bytes as the shorter of the two has.
func (c *copier) copy(dst, src []byte) {
	n := min(len(dst), len(src))
	if n <= aloneUpTo {
		copy(dst, src)
		return
	}
	c.dst, c.src = dst[:n], src[:n]
	units := (n + copyUnit - 1) / copyUnit
	pool.Shared().Run(units, pool.Shared().Grain(units, 1, 1), c)
	c.dst, c.src = nil, nil
}

// Do copies the units from lo to hi−1.
func (c *copier) Do(_, lo, hi int) {
	from, to := lo*copyUnit, min(hi*copyUnit, len(c.dst))
	copy(c.dst[from:to], c.src[from:to])
}
