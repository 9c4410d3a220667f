package songs

import (
	"time"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/profiles"
)

// Recorder records the spans of calls: see [Pipeline.Record]. One goroutine at a time may use a Recorder. The zero value is ready.
type Recorder struct {
	Marks *Marks // nil for none

	begin time.Time // of the call
	spans []profiles.Span
	times gpu.CallTimes // of the last stage alone; zero unless a GPU computed it
}

// Call runs a call, and returns its spans and how many seconds it took. call may run several pipelines. The spans are valid until
// the next Call. They cover stages, lists of kernels and derived tensors, and what a call does besides lies between them.
func (r *Recorder) Call(call func() error) (spans []profiles.Span, seconds float64, err error) {
	m := interval(r.marks().Calls, r.marks().Text)
	r.spans, r.begin = r.spans[:0], time.Now()
	err = call()
	seconds = time.Since(r.begin).Seconds()
	m.end()
	return r.spans, seconds, err
}

// Marks are told of what is recorded while it happens, so that another program, such as Apple's Instruments, can show it beside what it
// records itself. An interval encloses the span that is recorded, and is not part of it. So what marks cost is time between the stages,
// and part of a call. Fields may be nil.
type Marks struct {
	Text                        string // of every call
	Calls, Stages, Lists, Moves Intervals
}

// Intervals are told of intervals of one kind.
type Intervals interface {
	Begin(text string) (id uint64) // text is the name of the span
	End(id uint64)                 // with what Begin returned
}

// marks returns the marks of a recorder, which may be nil.
func (r *Recorder) marks() *Marks {
	if r == nil || r.Marks == nil {
		return &noMarks
	}
	return r.Marks
}

var noMarks Marks

// mark is an interval that has begun.
type mark struct {
	of Intervals // nil if nobody is told
	id uint64
}

func interval(of Intervals, text string) mark {
	if of == nil {
		return mark{}
	}
	return mark{of, of.Begin(text)}
}

func (m mark) end() {
	if m.of != nil {
		m.of.End(m.id)
	}
}

// Record makes the pipeline record the spans of later calls in r. A nil r ends that. Without a recorder, a call does not look at
// a clock, and allocates nothing for spans. With one, what runs on a GPU is timed by the device, which may cost a little time.
func (p *Pipeline) Record(r *Recorder) {
	p.recorder = r
	if p.parts != nil {
		p.parts.frames.recorder, p.parts.rest.recorder = r, r
	}
}

// now returns the seconds since the call began, and 0 without a recorder.
func (r *Recorder) now() float64 {
	if r == nil {
		return 0
	}
	return time.Since(r.begin).Seconds()
}

// move records a move of data.
func (r *Recorder) move(name string, begin float64, words int) {
	if r == nil {
		return
	}
	r.spans = append(r.spans, profiles.Span{Name: name, Place: profiles.Transfer, Begin: begin, End: r.now(),
		Work: profiles.Work{Bytes: 2 * 4 * float64(words)}})
}

// recorded is what a stage's span says besides its times. It changes with the implementation and the shape alone, and finding it
// out takes as long as a short stage.
type recorded struct {
	shape          kernels.Shape
	implementation string
	place          profiles.Place
	work           profiles.Work
}

// recordStage records the i-th stage, which its plan has computed. If a GPU did, the recorder has the times.
func (p *Pipeline) recordStage(i int, begin float64) {
	r := p.recorder
	end, of := r.now(), &p.recorded[i]
	if name := p.plans[i].Ran(); of.implementation != name || of.shape != p.layout.shapes[i] {
		*of = recorded{p.layout.shapes[i], name, p.placeOf(i, name), work(p.layout.steps[i].Work(p.layout.shapes[i], name))}
	}
	s := profiles.Span{Name: p.names[i], Stages: p.names[i : i+1 : i+1], Place: of.place,
		Implementation: of.implementation, Begin: begin, End: end, Work: of.work}
	if of.place == profiles.GPU {
		s.Device = deviceOf(&r.times)
	}
	r.spans = append(r.spans, s)
}

// deviceOf returns where the time of a call on a GPU went.
func deviceOf(t *gpu.CallTimes) *profiles.Device {
	return &profiles.Device{In: t.In.Seconds(), Launch: t.Encode.Seconds(), Wait: max(0, t.Wall-t.Encode).Seconds(), Out: t.Out.Seconds(),
		Span: t.Span.Seconds(), Busy: t.Busy.Seconds(), Gaps: t.Gaps.Seconds(), Kernels: t.Kernel, Moved: float64(t.Moved)}
}

// placeOf returns where an implementation of a stage runs.
func (p *Pipeline) placeOf(i int, name string) profiles.Place {
	for _, m := range p.layout.steps[i].Implementations(p.backends) {
		if m.Name == name && m.Processor == kernels.GPU {
			return profiles.GPU
		}
	}
	return profiles.Processor
}

// recordList records a list of kernels.
func (p *Pipeline) recordList(l *list, begin float64, t *gpu.CallTimes) {
	r := p.recorder
	s := profiles.Span{Place: profiles.GPU, Begin: begin, End: r.now(), Device: deviceOf(t)}
	for k, i := range l.stages {
		s.Stages = append(s.Stages, p.w.Stages[i].Name)
		of := work(l.steps[k].Work(p.layout.shapes[i], p.route[i]))
		s.Work.Bytes += of.Bytes
		s.Work.Operations += of.Operations
		s.Work.Chain += of.Chain
	}
	s.Name, s.Implementation = l.name(), p.route[l.stages[0]]
	r.spans = append(r.spans, s)
}

func work(w kernels.Work) profiles.Work {
	return profiles.Work{Bytes: w.Bytes, Operations: w.Flops, Pieces: w.Pieces, Chain: w.Chain}
}

// Record makes the analysis record the spans of later calls in r: see [Pipeline.Record].
func (a *Analysis) Record(r *Recorder) { a.pipeline.Record(r) }
