package stream

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/songs"
)

// player plays all streams by one route.
type player struct {
	pipelines []*songs.Pipeline // by stream
	inputs    [][]float32       // of the block that is computed
	took      []time.Duration   // by stream
	errors    []error           // by stream

	helper *helper // nil if the audio goroutine computes
}

// helper is a goroutine that computes the blocks of a player on a GPU. The audio goroutine waits for it, but not for ever: a call
// to a GPU that is lost, or that another program begins to use, may return only after many blocks. On an H200, a call that was under
// way when the context was lost took 140 to 150 ms, and one while another program started took 39 ms.
type helper struct {
	blocks  chan uint64 // to compute
	over    chan uint64 // that were computed; it has room for one that nobody waits for any more
	running atomic.Bool // between the two
	ended   chan struct{}
}

// help starts the helper of a player. failed is called if an implementation fails.
func (p *player) help(clock clock, failed func()) {
	h := &helper{blocks: make(chan uint64, 1), over: make(chan uint64, 2), ended: make(chan struct{})}
	p.helper = h
	go func() {
		defer close(h.ended)
		for k := range h.blocks {
			if p.compute(clock); p.failed() {
				failed()
			}
			h.running.Store(false)
			h.over <- k
		}
	}()
}

// free reports whether no helper computes a block that the audio goroutine has given up.
func (p *player) free() bool { return p.helper == nil || !p.helper.running.Load() }

// within computes a block, and reports whether it was over at a time of the clock. Otherwise the player may not be used until it is
// free.
func (p *player) within(clock clock, k uint64, until time.Duration) bool {
	if p.helper == nil {
		p.compute(clock)
		return true
	}
	for len(p.helper.over) > 0 { // so that the helper never waits for somebody to take what nobody waits for
		<-p.helper.over
	}
	p.helper.running.Store(true)
	p.helper.blocks <- k
	return clock.await(p.helper.over, k, until)
}

// compute computes a block of all streams.
func (p *player) compute(clock clock) {
	before := clock.now()
	for i, one := range p.pipelines {
		p.errors[i] = one.Run(p.inputs...)
		now := clock.now()
		p.took[i], before = now-before, now
	}
}

// warmUp is the number of calls after which a pipeline allocates nothing.
const warmUp = 3

// machine is what players compute with.
type machine struct {
	backends   *kernels.Backends
	dispatcher *dispatch.Dispatcher
	source     *Source
	ended      func() error // says why no more may be prepared, or nil
}

// errEnded is wrapped where nothing is prepared any more, because the run has ended.
var errEnded = errors.New("stream: the run has ended")

// player prepares a route for so many streams, and warms it up. It fails if the run has ended.
func (m *machine) player(r songs.Entrant, streams int) (*player, error) {
	p := &player{inputs: m.source.inputs(), took: make([]time.Duration, streams), errors: make([]error, streams)}
	for range streams {
		if err := m.ended(); err != nil {
			p.close()
			return nil, fmt.Errorf("%w while routes were prepared: %w", errEnded, err)
		}
		one, err := songs.NewOn(m.backends, m.dispatcher, m.source.Graph)
		if err != nil {
			p.close()
			return nil, err
		}
		p.pipelines = append(p.pipelines, one)
		if err := m.warm(one, r); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// warm makes a pipeline follow a route, and computes a few blocks.
func (m *machine) warm(p *songs.Pipeline, r songs.Entrant) error {
	if err := p.Follow(r.Route); err != nil {
		return err
	}
	inputs := m.source.inputs()
	for k := range uint64(warmUp) {
		m.source.Fill(inputs, k)
		if err := p.Run(inputs...); err != nil {
			return err
		}
	}
	if p.Failed() {
		return fmt.Errorf("stream: route %s: an implementation fails", r.Name)
	}
	return nil
}

// reset begins all streams again.
func (p *player) reset() {
	for _, one := range p.pipelines {
		one.Reset()
	}
}

// goOn makes all streams continue where another player is.
func (p *player) goOn(from *player) error {
	for i, one := range p.pipelines {
		if err := one.GoOn(from.pipelines[i]); err != nil {
			return err
		}
	}
	return nil
}

// failed reports whether an implementation has failed in a stream.
func (p *player) failed() bool {
	for _, one := range p.pipelines {
		if one.Failed() {
			return true
		}
	}
	return false
}

// close waits for the helper.
func (p *player) close() {
	if p.helper != nil {
		close(p.helper.blocks)
		<-p.helper.ended
		p.helper = nil
	}
	p.closePipelines()
}

// closeWithin closes the player, but leaves it as it is if the call of its helper does not return in time: a GPU that is lost may keep
// it for ever.
func (p *player) closeWithin(limit time.Duration) {
	if p.helper != nil {
		close(p.helper.blocks)
		select {
		case <-p.helper.ended:
			p.helper = nil
		case <-time.After(limit):
			return
		}
	}
	p.closePipelines()
}

func (p *player) closePipelines() {
	for _, one := range p.pipelines {
		one.Close()
	}
}

// clock tells the time since a stream began, and waits.
type clock interface {
	now() time.Duration
	until(t time.Duration)
	// await reports whether a block was over until a time. Blocks before it do not count.
	await(over <-chan uint64, block uint64, until time.Duration) bool
}

type systemClock struct {
	start time.Time
	timer *time.Timer
}

func newSystemClock() systemClock {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return systemClock{time.Now(), timer}
}

func (c systemClock) now() time.Duration { return time.Since(c.start) }

func (c systemClock) await(over <-chan uint64, block uint64, until time.Duration) bool {
	c.timer.Reset(until - c.now())
	defer c.timer.Stop()
	for {
		select {
		case k := <-over:
			if k == block {
				return true
			}
		case <-c.timer.C:
			for len(over) > 0 { // both may be ready, if this goroutine was not woken for a while
				if <-over == block {
					return true
				}
			}
			return false
		}
	}
}
