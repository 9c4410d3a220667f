package gpu

import (
	"fmt"
	"sync"
	"sync/atomic"
	"weak"
)

// errDeviceClosed is what everything of a closed device fails with.
var errDeviceClosed = fmt.Errorf("gpu: the device was closed: %w", ErrLost)

// lifetime says what of a device is still held, and so when the driver of a closed device can be closed.
type lifetime struct {
	closed atomic.Bool

	mu    sync.Mutex
	holds int                             // plans, shared memories and compilations
	plans map[weak.Pointer[Plan]]struct{} // weak, so that the device keeps nobody from being collected
}

// hold keeps the driver open until letGo. It fails if the device was closed.
func (d *Device) hold() error {
	l := &d.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return errDeviceClosed
	}
	l.holds++
	return nil
}

// letGo ends a hold. The last one closes the driver of a closed device.
func (d *Device) letGo() {
	l := &d.life
	l.mu.Lock()
	l.holds--
	last := l.holds == 0 && l.closed.Load()
	l.mu.Unlock()
	if last {
		d.driver.Close()
	}
}

// admit is hold for a plan, which Close asks to give back what it has.
func (d *Device) admit(p *Plan) error {
	if err := d.hold(); err != nil {
		return err
	}
	l := &d.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plans == nil {
		l.plans = map[weak.Pointer[Plan]]struct{}{}
	}
	l.plans[weak.Make(p)] = struct{}{}
	return nil
}

// dismiss is letGo for a plan.
func (d *Device) dismiss(p *Plan) {
	l := &d.life
	l.mu.Lock()
	delete(l.plans, weak.Make(p))
	l.mu.Unlock()
	d.letGo()
}

// Close gives back what the device holds, without waiting for anybody. From then on its plans fail, and nothing else is made of it,
// with an error that wraps [ErrLost]. A plan gives its recordings and its device memory back: at once, or after the call that is
// under way. Memory that the host sees stays until its plan is closed or it is freed, because somebody may hold a slice of it. After
// the last of it the driver is closed. Closing twice is harmless.
func (d *Device) Close() {
	l := &d.life
	l.mu.Lock()
	if l.closed.Load() {
		l.mu.Unlock()
		return
	}
	l.closed.Store(true)
	l.holds++ // so that the driver is open until the end of Close
	var plans []*Plan
	for w := range l.plans {
		if p := w.Value(); p != nil {
			plans = append(plans, p)
		}
	}
	l.mu.Unlock()
	for _, p := range plans {
		p.yield()
	}
	d.pool.close()
	d.mu.Lock()
	d.programs = map[sourceKey]*program{}
	d.mu.Unlock()
	d.letGo()
}

// enter begins a method of the plan, and leave ends it. enter fails if the plan or its device was closed; then there is nothing to
// leave. A plan is for one goroutine at a time, so they only keep a device that is closed from taking what a call uses.
func (p *Plan) enter() error {
	p.mu.Lock()
	switch {
	case p.closed:
		p.mu.Unlock()
		return errClosed
	case p.device.life.closed.Load():
		p.leave()
		return errDeviceClosed
	}
	return nil
}

// leave looks at the device only after the plan is unlocked. So either it or Close, which marks the device before it tries the lock,
// finds that the plan has to yield.
func (p *Plan) leave() {
	p.mu.Unlock()
	if p.device.life.closed.Load() {
		p.yield()
	}
}

// yield gives back what the plan has of a closed device, except memory that the host sees. If a call is under way or in flight,
// nothing happens: its end yields.
func (p *Plan) yield() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.closed || p.inFlight != nil {
		return
	}
	p.unrecord()
	for _, b := range p.buffers {
		if b.device != nil && b.device != b.host {
			p.device.pool.give(b.device, b.capacity, b.storage)
			b.device = nil
		}
	}
}
