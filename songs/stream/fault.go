package stream

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Fault is a cause that somebody makes during a run, to see what streams do about it.
type Fault struct {
	Cause Cause   // one
	At    float64 // seconds after the stream began
	Lasts float64 // seconds; 0 means until the end of the run
	// Begin makes it, and returns when it is there. end ends it, and returns when it is over. Neither is called by the audio
	// goroutine. ctx is done when the run ends. Nil means that the guard is told, which heat and memory pressure need.
	Begin func(ctx context.Context) (end func() error, err error)
}

// FaultReport says what streams did about a fault. Seconds count from the begin of the stream. Blocks are late if they are done
// after their deadline or not computed. They are counted until the next fault begins.
type FaultReport struct {
	Cause        string   `json:"cause"`
	BeganSeconds float64  `json:"began_seconds"`         // when Begin was called
	MadeSeconds  float64  `json:"made_seconds"`          // when it returned
	OverSeconds  *float64 `json:"over_seconds"`          // nil if it lasted until the end
	LeftSeconds  *float64 `json:"left_seconds"`          // the begin of the first block that stayed off the GPU; nil if none did
	BackSeconds  *float64 `json:"back_seconds"`          // the begin of the first block on the GPU after that; nil if there was none
	LateLeaving  int      `json:"late_leaving"`          // from its begin until streams had left
	WorstLeaving float64  `json:"worst_leaving_seconds"` // from a block's time to its end, until streams had left
	LateAway     int      `json:"late_away"`             // while they were away
	LateBack     int      `json:"late_back"`             // after they had come back
	Changes      int      `json:"changes"`               // how often streams left the GPU or went back
	Failure      string   `json:"failure,omitempty"`
}

// MostFaultSeconds is the greatest number of seconds of a run with faults, whose output is kept to be compared.
const MostFaultSeconds = 3600

// checkFaults fails if a fault is out of its range.
func (o *Options) checkFaults() error {
	if len(o.Faults) == 0 {
		return nil
	}
	switch {
	case o.Fast:
		return fmt.Errorf("stream: faults in a run that waits for no block's time (want one of the two)")
	case o.Seconds > MostFaultSeconds:
		return fmt.Errorf("stream: %g seconds with faults (want at most %d)", o.Seconds, MostFaultSeconds)
	case o.Guard == nil:
		return fmt.Errorf("stream: faults without a guard (want one)")
	case !o.onGPU():
		return fmt.Errorf("stream: faults without a route on a GPU, which streams could leave (want one)")
	}
	for _, f := range o.Faults {
		told := f.Cause == Heat || f.Cause == Memory
		switch {
		case !told && f.Cause != Busy && f.Cause != Lost:
			return fmt.Errorf("stream: a fault that is %q (want one cause)", f.Cause)
		case f.Begin == nil && !told:
			return fmt.Errorf("stream: a %s that nobody makes (want Begin)", f.Cause)
		case !(f.At >= 0 && f.At < o.Seconds) || !(f.Lasts >= 0 && f.At+f.Lasts <= o.Seconds):
			return fmt.Errorf("stream: a fault from %g s for %g s (want one within the %g s of the run)", f.At, f.Lasts, o.Seconds)
		}
	}
	return nil
}

// injector makes faults. It belongs to one goroutine, which is not the audio goroutine.
type injector struct {
	guard   *Guard
	now     func() time.Duration // since the stream began
	pending []*injected          // in the order of their begins
	begun   []*injected
}

// injected is a fault and what became of it.
type injected struct {
	Fault
	report FaultReport
	end    func() error // nil before it begins and after it ended
}

func newInjector(o *Options, now func() time.Duration) *injector {
	in := &injector{guard: o.Guard, now: now}
	for _, f := range o.Faults {
		in.pending = append(in.pending, &injected{Fault: f, report: FaultReport{Cause: f.Cause.String()}})
	}
	slices.SortStableFunc(in.pending, func(a, b *injected) int { return cmp.Compare(a.At, b.At) })
	return in
}

// step begins and ends the faults whose time has come, and returns how long nothing else comes.
func (in *injector) step(ctx context.Context) (wait time.Duration) {
	wait = time.Hour
	for _, f := range in.begun {
		if f.end == nil || f.Lasts == 0 {
			continue
		}
		if left := seconds(f.report.MadeSeconds+f.Lasts) - in.now(); left > 0 {
			wait = min(wait, left)
			continue
		}
		f.finish()
		over := in.now().Seconds()
		f.report.OverSeconds = &over
	}
	for len(in.pending) > 0 && ctx.Err() == nil {
		f := in.pending[0]
		if left := seconds(f.At) - in.now(); left > 0 {
			return min(wait, left)
		}
		in.pending, in.begun = in.pending[1:], append(in.begun, f)
		f.report.BeganSeconds = in.now().Seconds()
		begin := f.Begin
		if begin == nil {
			begin = in.guard.tellOf(f.Cause)
		}
		end, err := begin(ctx)
		f.report.MadeSeconds = in.now().Seconds()
		switch {
		case err != nil && ctx.Err() == nil:
			f.report.Failure = err.Error()
		case err == nil && end == nil:
			f.end = func() error { return nil }
		default:
			f.end = end
		}
		if f.Lasts > 0 {
			wait = min(wait, seconds(f.Lasts))
		}
	}
	return wait
}

// finish ends a fault.
func (f *injected) finish() {
	if f.end == nil {
		return
	}
	if err := f.end(); err != nil && f.report.Failure == "" {
		f.report.Failure = err.Error()
	}
	f.end = nil
}

// run makes faults until the run is over.
func (in *injector) run(over <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	defer func() { <-done }()
	go func() { // a fault that is being made when the run ends is given up
		defer close(done)
		<-over
		cancel()
	}()
	for {
		due := time.NewTimer(in.step(ctx))
		select {
		case <-over:
			due.Stop()
			return
		case <-due.C:
		}
	}
}

// finish ends the faults that last.
func (in *injector) finish() {
	for _, f := range in.begun {
		f.finish()
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// journal is what the audio goroutine writes down for the reports on faults. It has the room of a whole run.
type journal struct {
	output  []float32 // of all blocks
	blocks  []noted
	changes []time.Duration // first streams leave, then they come back, and so on
	away    bool
}

// noted is a block that is over.
type noted struct {
	at, latency time.Duration // when it was over, and how long after its time that was
	late        bool
	skipped     bool // it was not computed
}

func newJournal(o *Options) *journal {
	blocks := o.blocks()
	return &journal{output: make([]float32, blocks*uint64(o.Source.Block)), blocks: make([]noted, 0, blocks),
		changes: make([]time.Duration, 0, blocks)}
}

// begins notes that a block whose route is on the GPU begins, and whether it stays off the GPU.
func (j *journal) begins(at time.Duration, away bool) {
	if away != j.away {
		j.away = away
		j.changes = append(j.changes, at)
	}
}

// skips notes a block that is not computed.
func (j *journal) skips(at time.Duration) {
	j.blocks = append(j.blocks, noted{at: at, late: true, skipped: true})
}

// ends notes a block that was computed.
func (j *journal) ends(at, latency time.Duration, late bool, output []float32) {
	copy(j.output[len(j.blocks)*len(output):], output)
	j.blocks = append(j.blocks, noted{at: at, latency: latency, late: late})
}

// report completes the reports on faults.
func (j *journal) report(begun []*injected) (all []FaultReport) {
	for i, f := range begun {
		r := f.report
		from, to := seconds(r.BeganSeconds), time.Duration(math.MaxInt64)
		if i+1 < len(begun) {
			to = seconds(begun[i+1].report.BeganSeconds)
		}
		left, back := to, to
		for k, at := range j.changes {
			if at < from || at >= to {
				continue
			}
			r.Changes++
			seconds := at.Seconds()
			switch {
			case k%2 == 0 && r.LeftSeconds == nil:
				left, r.LeftSeconds = at, &seconds
			case k%2 == 1 && r.LeftSeconds != nil && r.BackSeconds == nil:
				back, r.BackSeconds = at, &seconds
			}
		}
		for _, b := range j.blocks {
			if b.at < from || b.at >= to {
				continue
			}
			if b.at <= left {
				r.WorstLeaving = max(r.WorstLeaving, b.latency.Seconds())
			}
			switch {
			case !b.late:
			case b.at <= left:
				r.LateLeaving++
			case b.at <= back:
				r.LateAway++
			default:
				r.LateBack++
			}
		}
		all = append(all, r)
	}
	return all
}

// deviation returns by how much what was played differs from the same blocks by the spare route alone, as relative L2 error. The
// spare route loses the same blocks, because the state of a filter does not go on in a block that is not computed.
func (j *journal) deviation(m *machine, o *Options) (*float64, error) {
	p, err := m.player(o.Spare, 1)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.reset()
	var e, n float64
	for k, b := range j.blocks {
		if b.skipped {
			continue
		}
		m.source.Fill(p.inputs, uint64(k))
		if err := p.pipelines[0].Run(p.inputs...); err != nil {
			return nil, err
		}
		for i, v := range p.pipelines[0].Floats(m.source.Output) {
			want := float64(v) * float64(o.Streams)
			e += math.Pow(float64(j.output[k*o.Source.Block+i])-want, 2)
			n += want * want
		}
	}
	d := 0.0
	if e != 0 {
		d = math.Sqrt(e / n)
	}
	if !(d <= math.MaxFloat64) {
		d = math.MaxFloat64 // a report has finite numbers
	}
	return &d, nil
}
