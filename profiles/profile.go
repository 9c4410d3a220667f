package profiles

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Profile is what repeated calls of a pipeline took. Lists by call are in the order of the calls.
type Profile struct {
	Schema     string    `json:"schema_version"`
	Created    time.Time `json:"created"`
	Commit     string    `json:"commit,omitempty"` // of the program
	Host       string    `json:"host"`             // the id of the machine
	Pipeline   string    `json:"pipeline"`
	Plan       string    `json:"plan"`             // best, stages, processor or gpu
	Reason     string    `json:"reason,omitempty"` // for the route, if the plan is best: "the least predicted time, 2.1 ms"
	Recording  string    `json:"recording"`        // or what a call computes, if Samples is 0
	Samples    int       `json:"samples"`
	Recorded   int       `json:"recorded_samples,omitempty"` // of the recording if it was repeated to Samples, else 0
	SampleRate float64   `json:"sample_rate_hz"`
	Loading    float64   `json:"loading_seconds,omitempty"` // of the recording, once, before all calls; 0 if it was generated

	Calls       []float64 `json:"call_seconds"`
	Between     []float64 `json:"between_seconds"` // by call: the time outside of all stages
	Stages      []Stage   `json:"stages"`          // in the order in which they first begin
	Allocations float64   `json:"allocations_per_call"`
	Allocated   float64   `json:"allocated_bytes_per_call"`
	Roofs       []Roof    `json:"roofs,omitempty"`

	// Median has the spans of a call whose time is nearest to the median.
	Median []Span `json:"median_call"`
}

// Input says what calls computed on: "song.wav, 10 s at 22050 Hz", or "song.wav, repeated from 0.5 s to 10 s at 22050 Hz".
func (p *Profile) Input() string {
	if p.Samples == 0 || !(p.SampleRate > 0) {
		return p.Recording
	}
	repeated := ""
	if p.Recorded > 0 {
		repeated = fmt.Sprintf("repeated from %.4g s to ", float64(p.Recorded)/p.SampleRate)
	}
	return fmt.Sprintf("%s, %s%.4g s at %.0f Hz", p.Recording, repeated, float64(p.Samples)/p.SampleRate, p.SampleRate)
}

// Stage is what one stage, list of kernels or move of data took. A call of a long recording computes some stages several times,
// and the times of a call are sums of those.
type Stage struct {
	Name           string    `json:"name"`
	Stages         []string  `json:"stages,omitempty"`
	Place          Place     `json:"place"`
	Implementation string    `json:"implementation,omitempty"`
	Times          int       `json:"times"` // a call
	Work           Work      `json:"work"`  // of a call
	Wall           []float64 `json:"wall_seconds"`
	Device         []Device  `json:"device,omitempty"` // by call; empty if a GPU computed none
}

// Builder makes a profile of calls.
type Builder struct {
	p      Profile
	spans  [][]Span
	byName map[string]int
}

// Add adds a call that took so many seconds. It keeps a copy of the spans.
func (b *Builder) Add(spans []Span, seconds float64) {
	if b.byName == nil {
		b.byName = map[string]int{}
	}
	p, call := &b.p, len(b.p.Calls)
	p.Calls = append(p.Calls, seconds)
	within := 0.0
	for i := range spans {
		s := &spans[i]
		within += s.Seconds()
		at, known := b.byName[s.Name]
		if !known {
			at = len(p.Stages)
			b.byName[s.Name] = at
			p.Stages = append(p.Stages, Stage{Name: s.Name, Stages: s.Stages})
		}
		p.Stages[at].add(call, s)
	}
	for i := range p.Stages {
		p.Stages[i].pad(call + 1)
	}
	p.Between = append(p.Between, max(0, seconds-within))
	b.spans = append(b.spans, slices.Clone(spans))
}

// add adds a span of a call.
func (st *Stage) add(call int, s *Span) {
	st.pad(call)
	if len(st.Wall) == call { // the first span in this call
		st.Wall = append(st.Wall, 0)
		st.Times, st.Work = 0, Work{}
	}
	st.Place, st.Implementation = s.Place, s.Implementation // those of the last call
	st.Times++
	st.Wall[call] += s.Seconds()
	st.Work.Bytes += s.Work.Bytes
	st.Work.Operations += s.Work.Operations
	st.Work.Pieces = s.Work.Pieces
	st.Work.Chain += s.Work.Chain
	if s.Device == nil {
		return
	}
	for len(st.Device) <= call {
		st.Device = append(st.Device, Device{})
	}
	d, o := &st.Device[call], s.Device
	d.In, d.Launch, d.Wait, d.Out = d.In+o.In, d.Launch+o.Launch, d.Wait+o.Wait, d.Out+o.Out
	d.Span, d.Busy, d.Gaps = d.Span+o.Span, d.Busy+o.Busy, d.Gaps+o.Gaps
	d.Kernels, d.Moved = d.Kernels+o.Kernels, d.Moved+o.Moved
}

// pad fills calls without a span of the stage.
func (st *Stage) pad(calls int) {
	for len(st.Wall) < calls {
		st.Wall = append(st.Wall, 0)
	}
	for len(st.Device) > 0 && len(st.Device) < calls {
		st.Device = append(st.Device, Device{})
	}
}

// Profile returns the profile of the calls. It panics if there is none.
func (b *Builder) Profile() *Profile {
	p := b.p
	p.Schema = schema
	near, median := 0, Quantile(p.Calls, 0.5)
	for i, seconds := range p.Calls {
		if math.Abs(seconds-median) < math.Abs(p.Calls[near]-median) {
			near = i
		}
	}
	p.Median = b.spans[near]
	return &p
}

// Quantile returns the least value that at least a share of the values do not exceed, from 0 to 1, but the mean of the two in the
// middle for a share of a half. It panics without values.
func Quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if share == 0.5 {
		return (sorted[(n-1)/2] + sorted[n/2]) / 2
	}
	return sorted[min(n-1, max(0, int(math.Ceil(share*float64(n)))-1))]
}

// Tail returns a quantile far out, or false if the calls are too few to say: at least one must lie beyond it.
func Tail(values []float64, share float64) (float64, bool) {
	if float64(len(values))*(1-share) < 1-1e-9 {
		return 0, false
	}
	return Quantile(values, share), true
}

// Overheads says what of a stage's wall time is launch, copies, waiting for something else than kernels, and kernels, in seconds, by
// call that a GPU computed. Where a device does not tell how long kernels took, they are part of the wait.
type Overheads struct{ Launch, Copies, Wait, Kernels []float64 }

// Overheads returns those of a stage. ok is false if no GPU computed it.
func (st *Stage) Overheads() (of Overheads, ok bool) {
	for _, d := range st.Device {
		if d == (Device{}) {
			continue
		}
		kernels, moving := d.kernels(), d.Transfers()
		of.Launch, of.Copies = append(of.Launch, d.Launch), append(of.Copies, d.In+d.Out+moving)
		of.Wait, of.Kernels = append(of.Wait, max(0, d.Wait-kernels-moving)), append(of.Kernels, kernels)
	}
	return of, len(of.Launch) > 0
}

// divided returns how much of a stage's wall time is its own work, and how much a GPU costs besides: launch, copies and waits.
// Both are in seconds, by call. Where no GPU told how long kernels took, all is work.
func (st *Stage) divided() (work, besides []float64) {
	work, besides = slices.Clone(st.Wall), make([]float64, len(st.Wall))
	for i := range st.Device {
		if kernels := st.Device[i].kernels(); kernels > 0 {
			work[i], besides[i] = kernels, max(0, st.Wall[i]-kernels)
		}
	}
	return work, besides
}

// Efficiency returns the share of a stage's wall time in which kernels run, from 0 to 1, and the median pause between its kernels
// in seconds. ok is false if no GPU told.
func (st *Stage) Efficiency() (share, gap float64, ok bool) {
	var shares, gaps []float64
	for i, d := range st.Device {
		if busy := max(d.Busy, 0); busy > 0 && st.Wall[i] > 0 {
			shares = append(shares, min(1, busy/st.Wall[i]))
			gaps = append(gaps, d.Gaps/float64(max(1, d.Kernels-1)))
		}
	}
	if len(shares) == 0 {
		return 0, 0, false
	}
	return Quantile(shares, 0.5), Quantile(gaps, 0.5), true
}

// Spans returns the spans of all calls, in their order. They are the builder's own.
func (b *Builder) Spans() [][]Span { return b.spans }
