package main

import (
	"time"

	"crossover/gpu"
)

const (
	riseName = "rise"
	// risePause lets the clock of a GPU fall that has nothing to do.
	risePause = time.Second
	// riseOperations is the work of a call, some 1 GFLOP: enough to fill a GPU, and done in less than a millisecond.
	riseOperations = 16 * roofOperations
)

// riseCalls are the calls after the pause whose times are told.
var riseCalls = []int{1, 10, 100, 1000}

// rise is how long the device took for some of the calls in a row that come after a pause.
type rise struct {
	PauseSeconds float64     `json:"pause_seconds"`
	Calls        []riseTimes `json:"calls"`
}

// riseTimes are those of one call. A device that does not tell its times has a span of 0.
type riseTimes struct {
	Call int     `json:"call"`
	Span float64 `json:"span_seconds"`
	Wall float64 `json:"wall_seconds"` // from the first call's beginning to this one's end
}

// measureRise times calls of fixed work after a pause, by the device's own account.
func measureRise(d *gpu.Device) (*rise, error) {
	s, err := multiplyAddSide(d, riseOperations)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return riseOf(s, time.Sleep)
}

// riseOf times calls of a side after a pause. One call comes before it, so that nothing is made in the first one.
func riseOf(s *side, pause func(time.Duration)) (*rise, error) {
	if _, err := s.run(); err != nil {
		return nil, err
	}
	pause(risePause)
	r := &rise{PauseSeconds: risePause.Seconds()}
	begin := time.Now()
	for call := 1; len(r.Calls) < len(riseCalls); call++ {
		span, err := s.run()
		if err != nil {
			return nil, err
		}
		if call == riseCalls[len(r.Calls)] {
			r.Calls = append(r.Calls, riseTimes{Call: call, Span: span.Seconds(), Wall: time.Since(begin).Seconds()})
		}
	}
	return r, nil
}
