package gpu

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"crossover/pool"
)

// The data of a call lie in slices of the caller. A slice in shared memory of the device ([Device.Alloc]) is used where it
// is. Other slices are copied through pinned memory of the plan. Large slices are copied in pieces: the workers of the pool
// copy one piece while the device moves the one before it.

// mostHosted is how many inputs and outputs a plan has at most.
const mostHosted = 8

const (
	// Data of more than largeBytes together move in pieces.
	largeBytes = 2 << 20
	// A tensor is cut into mostPieces pieces, unless that makes them shorter than leastPiece or longer than mostPiece.
	mostPieces = 16
	leastPiece = 1 << 20
	mostPiece  = 4 << 20
)

// Call computes a plan on the caller's data. data[i] is the i-th input, output or state, in the order in which the builder
// made them. It may be shorter than its buffer; what the buffer holds behind it is undefined. An output may be the same
// slice as an input. Call returns when the outputs can be read. Call allocates nothing once it has run on the same shared
// memory, of which a plan remembers a few places.
//
// Where Call fails, inputs and states are as they were.
func (p *Plan) Call(data [][]float32) error {
	b, staged, err := p.meet(data)
	if err != nil {
		return err
	}
	if !p.device.facts.Unified && p.staged(data, staged) > largeBytes {
		return p.callInPieces(b, data, staged)
	}
	p.fill(data, staged)
	if err := p.wait(p.submit(b.full, false)); err != nil {
		return err
	}
	p.drain(data, staged)
	return nil
}

// SubmitOn starts a Call and returns. WaitOn waits for it. The data must not be touched in between.
func (p *Plan) SubmitOn(data [][]float32) error {
	b, staged, err := p.meet(data)
	if err != nil {
		return err
	}
	p.fill(data, staged)
	return p.submit(b.full, false)
}

// WaitOn returns when what SubmitOn started is done and the outputs can be read. data are those of SubmitOn.
func (p *Plan) WaitOn(data [][]float32) error {
	if err := p.Wait(); err != nil {
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
	if err := p.fits(data); err != nil {
		return err
	}
	p.fill(data, allStaged)
	return p.Upload()
}

// Store copies the outputs and states from the device to data. It follows RunResident.
func (p *Plan) Store(data [][]float32) error {
	if err := p.fits(data); err != nil {
		return err
	}
	if err := p.Download(); err != nil {
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
	if p.closed {
		return errClosed
	}
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
		// A library may not take memory from the middle of a buffer.
		return &p.own, allStaged, nil
	}
	if len(p.bindings) == mostBindings {
		p.bindings[mostBindings-1].close()
		p.bindings = p.bindings[:mostBindings-1]
	}
	p.bindings = slices.Insert(p.bindings, 0, fresh)
	return &p.bindings[0], staged, nil
}

// mostBindings is how many places of shared memory a plan remembers: programs alternate between a few.
const mostBindings = 4

// usable reports whether the plan may use the i-th data where they are in shared memory. An output that overlaps an input,
// and a state, go through the plan's own memory: a call that fails half-way must leave them as they were, for another
// implementation to begin with. A device with memory of its own copies from and to everything else. Where memory is
// unified the kernels themselves work on the data, and in whole vectors: the data must start at a vector, and nothing else
// may lie in their last one.
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

// callInPieces is Call of large data.
func (p *Plan) callInPieces(b *binding, data [][]float32, staged stagedSet) error {
	if p.inFlight != nil {
		return errInFlight
	}
	if err := p.cut(b, staged); err != nil {
		b.closePieces()
		return err
	}
	if err := p.moveUp(b, data, staged); err != nil {
		return err
	}
	if err := p.wait(p.submit(b.resident, false)); err != nil {
		return err
	}
	return p.moveDown(b, data, staged)
}

// moveUp carries the inputs to the device. It copies one piece while others are on their way.
func (p *Plan) moveUp(b *binding, data [][]float32, staged stagedSet) error {
	m := &p.mover
	m.begin(p, b.up, data, staged)
	for i := range b.up {
		if m.units[i].count == 0 {
			m.submit(i)
		}
	}
	pool.Shared().Run(len(m.of), m.grain(), (*upward)(m))
	for i := range b.up {
		if m.units[i].submitted {
			_, err := b.up[i].Wait()
			m.fail(err)
		}
	}
	return m.end()
}

// moveDown carries the outputs to the host. Where an output overlaps an input, what goes through the plan's memory is copied
// only after everything has arrived, so that the call can be made again elsewhere.
func (p *Plan) moveDown(b *binding, data [][]float32, staged stagedSet) error {
	m := &p.mover
	m.begin(p, b.down, data, staged)
	for i := range b.down {
		m.submit(i)
	}
	if !m.failed() && !p.inPlace(data) {
		pool.Shared().Run(len(m.of), m.grain(), (*downward)(m))
	}
	m.await(len(b.down) - 1)
	err := m.end()
	if err == nil && p.inPlace(data) {
		p.drain(data, staged)
	}
	return err
}

// mover carries pieces in one direction. It is a task of the pool, and the index of the task is a unit of a piece. There is
// one loop over the units of all pieces, which keeps the workers awake from the first to the last.
type mover struct {
	plan   *Plan
	pieces []piece
	data   [][]float32
	staged stagedSet
	units  []progress // by piece
	of     []int32    // by unit, its piece

	arrived atomic.Int32 // pieces, from the first on
	waiting sync.Mutex   // held by the one who waits for the next piece
	problem atomic.Pointer[error]
}

// progress is how far a piece is.
type progress struct {
	first, count int // units
	copied       atomic.Int32
	submitted    bool
}

func (m *mover) begin(p *Plan, pieces []piece, data [][]float32, staged stagedSet) {
	m.plan, m.pieces, m.data, m.staged = p, pieces, data, staged
	if cap(m.units) < len(pieces) {
		m.units = make([]progress, len(pieces))
	}
	m.units, m.of = m.units[:len(pieces)], m.of[:0]
	for i := range pieces {
		u := &m.units[i]
		u.first, u.count, u.submitted = len(m.of), 0, false
		u.copied.Store(0)
		if staged.has(pieces[i].buffer) {
			u.count = (pieces[i].to - pieces[i].from + copyUnit - 1) / copyUnit
		}
		for range u.count {
			m.of = append(m.of, int32(i))
		}
	}
	m.arrived.Store(0)
	m.problem.Store(nil)
}

func (m *mover) grain() int { return max(1, pool.Shared().Grain(len(m.of), 1, 1)) }

// end returns the first error, and lets go of the data.
func (m *mover) end() error {
	m.data, m.pieces = nil, nil
	if err := m.problem.Load(); err != nil {
		return *err
	}
	return nil
}

func (m *mover) fail(err error) {
	if err != nil {
		kept := err // so that a nil one does not escape
		m.problem.CompareAndSwap(nil, &kept)
	}
}

func (m *mover) failed() bool { return m.problem.Load() != nil }

// submit starts the transfer of a piece. One worker does so for each piece.
func (m *mover) submit(i int) {
	if m.failed() {
		return
	}
	err := m.pieces[i].Submit(false)
	m.units[i].submitted = err == nil
	m.fail(err)
}

// await returns when a piece has arrived or its transfer has failed. Pieces arrive in their order.
func (m *mover) await(i int) {
	for int(m.arrived.Load()) <= i {
		if !m.waiting.TryLock() {
			runtime.Gosched() // somebody else waits for the device
			continue
		}
		if next := int(m.arrived.Load()); next <= i {
			if m.units[next].submitted {
				_, err := m.pieces[next].Wait()
				m.fail(err)
			}
			m.arrived.Add(1)
		}
		m.waiting.Unlock()
	}
}

// sides returns a unit twice: in the plan's pinned memory, and in the caller's data, which may end before the unit does.
func (m *mover) sides(unit int) (pinned, data []byte) {
	i := m.of[unit]
	piece := &m.pieces[i]
	from := piece.from + (unit-m.units[i].first)*copyUnit
	to := min(from+copyUnit, piece.to)
	data = tail(m.data[piece.buffer], from)
	return m.plan.hosted[piece.buffer].host.Host()[from:to], data[:min(len(data), to-from)]
}

// upward copies the caller's data to pinned memory. The worker that copies the last unit of a piece submits the piece.
type upward mover

// Do copies the units from lo to hi−1.
func (u *upward) Do(_, lo, hi int) {
	m := (*mover)(u)
	for unit := lo; unit < hi; unit++ {
		pinned, data := m.sides(unit)
		copy(pinned, data)
		i := int(m.of[unit])
		if int(m.units[i].copied.Add(1)) == m.units[i].count {
			m.submit(i)
		}
	}
}

// downward copies pieces that have arrived to the caller's memory.
type downward mover

// Do copies the units from lo to hi−1.
func (d *downward) Do(_, lo, hi int) {
	m := (*mover)(d)
	for unit := lo; unit < hi; unit++ {
		if m.await(int(m.of[unit])); !m.failed() {
			pinned, data := m.sides(unit)
			copy(data, pinned)
		}
	}
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

// tail returns the bytes of d from the given one on, and none where d is shorter.
func tail(d []float32, from int) []byte {
	bytes := words(d)
	return bytes[min(from, len(bytes)):]
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
