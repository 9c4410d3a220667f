package main

import (
	"time"

	"crossover/cmd/internal/roof"
	"crossover/gpu"
)

const (
	riseName = "rise"
	// risePause is long enough for the clock of an idle GPU to fall.
	risePause = time.Second
	// riseOperations is the work of a call, about 1 GFLOP. It fills a GPU and takes less than a millisecond.
	riseOperations = 16 * roof.RoundOperations
)

// riseCalls are the numbers of the calls after the pause whose times are printed.
var riseCalls = []int{1, 10, 100, 1000}

// rise says how long the device took for some calls after a pause.
type rise struct {
	PauseSeconds float64     `json:"pause_seconds"`
	Calls        []riseTimes `json:"calls"`
}

// riseTimes are the times of one call. Span is 0 if the device does not measure it.
type riseTimes struct {
	Call int     `json:"call"`
	Span float64 `json:"span_seconds"`
	Wall float64 `json:"wall_seconds"` // from the start of the first call to the end of this one
}

// measureRise times calls of fixed work after a pause, by the device's own clock.
func measureRise(d *gpu.Device) (*rise, error) {
	s, err := multiplyAddSide(d, riseOperations)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return riseOf(s, time.Sleep)
}

// riseOf times calls of a side after a pause. One call comes before the pause, so that the first call after it compiles and
// allocates nothing.
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
