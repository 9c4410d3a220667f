package main

import (
	"time"

	"crossover/gpu"
)

// side is one of the two things that a row compares.
type side struct {
	name  string                        // "cuda", "cufft", "copy"
	work  work                          // of one run
	run   func() (time.Duration, error) // does the work once and returns how long it took
	call  func() error                  // does the work once, as a program would
	close func()
}

// work is the amount of work of a run, in bytes or floating-point operations. It is zero if only the time counts.
type work struct {
	amount float64
	scale  float64 // of the unit
	unit   string
}

func traffic(n float64) work    { return work{n, 1e9, "GB/s"} }
func arithmetic(n float64) work { return work{n, 1e12, "TFLOPS"} }

// figures are the times of one side in seconds, and the rate at the median.
type figures struct {
	By     string  `json:"by"`
	Low    float64 `json:"p10_seconds"`
	Median float64 `json:"median_seconds"`
	High   float64 `json:"p90_seconds"`
	Rate   float64 `json:"rate,omitempty"`
	Unit   string  `json:"unit,omitempty"` // of the rate
}

func (s *side) figures(times spread) figures {
	f := figures{By: s.name, Low: times.Low.Seconds(), Median: times.Median.Seconds(), High: times.High.Seconds()}
	if s.work.amount > 0 && f.Median > 0 {
		f.Rate, f.Unit = s.work.amount/f.Median/s.work.scale, s.work.unit
	}
	return f
}

// planSide is a plan without its transfers, in the device's time. The side closes the plan.
func planSide(name string, w work, p *gpu.Plan) *side {
	timed := func() (time.Duration, error) { return span(p.Time(true)) }
	return &side{name: name, work: w, run: timed, call: p.RunResident, close: p.Close}
}

// span returns the device's time of a run, from its first kernel to its last one.
func span(t gpu.Times, err error) (time.Duration, error) { return t.Span, err }
