package stream

import (
	"fmt"
	"time"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/songs"
)

// player plays all streams by one route.
type player struct {
	pipelines []*songs.Pipeline // by stream
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

// player prepares a route for so many streams, and warms it up. It fails if the run has ended.
func (m *machine) player(r songs.Entrant, streams int) (*player, error) {
	p := &player{}
	for range streams {
		if err := m.ended(); err != nil {
			p.close()
			return nil, fmt.Errorf("stream: %w while routes were prepared", err)
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

func (p *player) close() {
	for _, one := range p.pipelines {
		one.Close()
	}
}

// clock tells the time since a stream began, and waits.
type clock interface {
	now() time.Duration
	until(t time.Duration)
}

type systemClock time.Time

func (c systemClock) now() time.Duration { return time.Since(time.Time(c)) }
