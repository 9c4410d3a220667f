package dispatch

import (
	"fmt"
	"strings"
	"time"

	"crossover/calibration"
)

// Explanation gives the reason for an answer of Choose or ChooseShape.
type Explanation struct {
	Case           string // the case, or the operation if ChooseShape was asked and no measurement of a case decides
	Size           int
	Unit           string // of Size: "samples"; "" if the case is not known
	Shape          string // "n=480 batch=64" if Case is an operation, which has no Size
	Implementation string // the answer of Choose
	Reason         string // the deciding rule, in one clause
	Answer         Answer // on what the choice is based

	// From and To are the first and the last size of the segment that Size falls into, both 0 if there is none.
	From, To int
	// Interval is the 95 % confidence interval of From, nil if From is not a threshold that was measured.
	Interval *calibration.Interval
	// MeasuredFrom and MeasuredTo bound the measured sizes, both 0 if none was measured.
	MeasuredFrom, MeasuredTo int
	// BeyondRange says that Size, or the shape, is outside of what was measured, so that the nearest measurement decides.
	BeyondRange bool
	// Prediction says how good predictions are, nil if the choice was not predicted.
	Prediction *Prediction

	Host      string        // the host whose calibration decides; "" without one
	Simulated bool          // computed from a model, not measured
	Age       time.Duration // of the newest run that measured what decides
	Degraded  bool          // the machine was not quiet while the case or the shapes were measured that decide
	Fallback  string        // why Host is not this host; "" if it is
}

// Explain says why Choose now answers as it does at a size. It allocates.
func (c *Case) Explain(size int) Explanation {
	t := c.table.Load()
	if t == nil {
		t = cpuTable(c.name, entry{fallback: noCalibration}, noCalibration, time.Now)
	}
	return t.explain(size)
}

func (t *table) explain(size int) Explanation {
	e := t.explainChoice(t.at(size), size)
	if size < 1 {
		e.Answer, e.Reason, e.Prediction = Unknown, noSize, nil
	}
	return e
}

// noSize is the reason of an answer for a size below 1.
const noSize = "no call has such a size (want at least 1)"

func (t *table) explainChoice(chosen *choice, size int) Explanation {
	if s, swapped := chosen.depends.(*swapping); swapped {
		e := t.explainChoice(s.inner, size)
		s.explain(&e, t.now)
		return e
	}
	if k, ok := chosen.depends.(*ofKind); ok {
		if k.decides(size) {
			return t.explainChoice(&k.segment, size)
		}
		return t.explainChoice(&choice{depends: k.far, reason: k.note}, size)
	}
	e := Explanation{Implementation: chosen.implementation, Reason: chosen.reason, Answer: Unknown}
	by, jumps := chosen.depends.(*along)
	if jumps {
		e = by.explain(size)
		e.Reason += chosen.reason
	}
	e.Case, e.Size, e.Shape = t.name, size, ""
	if s := chosen.segment; s != nil {
		e.From, e.To = s.From, s.To
		if s.Interval != nil {
			interval := *s.Interval
			e.Interval = &interval
		}
	}
	if r := t.recorded; r != nil {
		e.Unit = r.Axis.Unit
		if !jumps { // else another line or a shape decides, of which this range says nothing
			e.MeasuredFrom, e.MeasuredTo = r.Axis.From, r.Axis.To
			e.BeyondRange = size < r.Axis.From || size > r.Axis.To
		}
	}
	asked := t.askedAt(size)
	switch {
	case asked != nil && !jumps:
		e.isAsked(asked, chosen.implementation)
	case jumps || chosen.segment == nil || chosen.implementation == CPU:
	case t.line != nil:
		e.isPredicted(t.line.of, t.line.beyond(), t.line.passed(size, chosen.implementation, t.obstacles))
	case e.BeyondRange:
		e.Answer = Beyond
	default:
		e.Answer = Measured
	}
	e.Degraded = e.Degraded || asked == nil && !jumps && t.line == nil && e.Answer != Unknown && t.recorded != nil && t.recorded.Degraded
	if chosen.gpu {
		r, _ := chosen.depends.(*relief)
		e.considerWait(r, chosen.implementation, time.Duration(t.gpuWait.Load()))
	}
	if e.Host == "" { // otherwise another line or a shape decides, and has said so
		by := t.entry
		if asked != nil {
			by = asked.by.entry
		}
		e.describe(by, t.created(asked), t.now)
	}
	return e
}

// created returns when the newest run began that measured what decides. asked is a size that somebody asked for, or nil.
func (t *table) created(asked *askedSize) time.Time {
	switch h := t.entry.host; {
	case asked != nil:
		return asked.by.created()
	case h == nil:
		return time.Time{}
	case t.line != nil:
		return h.NewestRun(t.line.of.Operation)
	case t.recorded != nil:
		return h.RunOf(t.recorded).Created
	default:
		return h.Created
	}
}

// isPredicted adds that an implementation was chosen by a surface. beyond says which values are outside of what was
// measured. passed lists the implementations that are predicted to be faster and cannot be used.
func (e *Explanation) isPredicted(p *predicted, beyond, passed string) {
	reason := "predicted to be the fastest"
	if passed != "" {
		reason = "predicted to be the fastest of the others (" + passed + "),"
	}
	e.Prediction, e.Degraded = p.prediction(), p.Degraded
	e.Answer = Predicted
	if beyond != "" {
		e.BeyondRange = true
		beyond = "; " + beyond
	}
	if e.BeyondRange {
		e.Answer = Beyond
	}
	e.Reason = reason + p.basis() + beyond + e.Reason
}

// describe adds whose calibration decides, and how old it is.
func (e *Explanation) describe(by entry, created time.Time, now func() time.Time) {
	e.Fallback = by.fallback
	if h := by.host; h != nil {
		e.Host, e.Simulated, e.Age = h.ID, h.Simulated, max(0, now().Sub(created))
	}
}

// explain says why an implementation is chosen at a shape. Explanation.Case stays empty if the surface decides.
func (s *shapes) explain(shape []int) Explanation {
	if wrong := s.wrong(shape); wrong != "" {
		return Explanation{Implementation: CPU, Reason: wrong, Answer: Unknown}
	}
	answer := s.answer(shape)
	switch {
	case answer == nothing && !s.of.Surface.Fitted():
		return Explanation{Implementation: CPU, Reason: s.of.asked.entry.nothingOf(s.of.Name), Answer: Unknown}
	case answer == nothing:
		return Explanation{Implementation: CPU, Reason: "nothing on record can be used: " + s.passed(-1, shape), Answer: Unknown}
	case answer >= firstLine:
		l := s.lines[answer-firstLine]
		e := l.chooser.Load().Explain(l.size(shape))
		if l.forced && e.Answer == Unknown {
			return Explanation{Implementation: e.Implementation, Reason: e.Reason + " on the line " + l.name, Answer: Unknown}
		}
		return e
	case answer >= firstAsked:
		return s.explainAsked(s.asked[answer-firstAsked])
	}
	e := Explanation{Implementation: s.of.Surface.Implementations[answer].Name}
	e.isPredicted(s.of, s.of.beyond(shape), s.passed(answer, shape))
	if s.of.onGPU[answer] {
		e.considerWaitAt(s, s.relief(answer, shape))
	}
	return e
}

// nothingOf is the reason for a shape of an operation of which nothing is known.
func (e entry) nothingOf(operation string) string {
	return fmt.Sprintf("the calibration of %s measured nothing that decides at this shape, and predicts nothing for %s%s", e.host.ID, operation, meantOperation(operation))
}

// explainAsked says why an implementation is chosen at a shape that was measured because somebody asked for it.
func (s *shapes) explainAsked(m *measuredShape) Explanation {
	c := m.choice.Load()
	e := Explanation{Implementation: c.implementation, Reason: c.reason, Answer: Measured, Degraded: s.of.asked.of.Degraded}
	e.describe(s.of.asked.entry, s.of.asked.created(), s.b.d.now)
	if r, ok := c.depends.(*relief); ok {
		e.considerWait(r, c.implementation, time.Duration(s.b.d.gpuWait.Load()))
	}
	return e
}

// passed lists the implementations that are predicted to be faster at a shape and cannot be used.
func (s *shapes) passed(chosen int, shape []int) string {
	obstacles := map[string]string{}
	s.b.d.mu.Lock()
	defer s.b.d.mu.Unlock()
	for _, name := range s.of.faster(chosen, shape) {
		if obstacle := s.b.obstacle(name); obstacle != "" {
			obstacles[name] = obstacle
		}
	}
	return listed(obstacles)
}

// passed lists the implementations that are predicted to be faster at a size and have one of the obstacles.
func (l *line) passed(size int, chosen string, obstacles map[string]string) string {
	passed := map[string]string{}
	shape := l.shape(size)
	for _, name := range l.of.faster(l.of.index(chosen), shape[:len(l.of.Axes)]) {
		if obstacle := obstacles[name]; obstacle != "" {
			passed[name] = obstacle
		}
	}
	return listed(passed)
}

// wrong says in one clause why the operation has no such shape, "" if it has.
func (s *shapes) wrong(shape []int) string {
	if len(shape) != len(s.of.Axes) {
		return fmt.Sprintf("a shape of %s has %d values: %s", s.of.Name, len(s.of.Axes), s.of.axisNames())
	}
	for i, v := range shape {
		if v < 1 {
			return fmt.Sprintf("%s is %d (want at least 1)", s.of.Axes[i].Name, v)
		}
	}
	return ""
}

// explain says why an implementation is chosen at a size.
func (a *along) explain(size int) Explanation {
	shape := a.shape(size)
	e := a.shapes.explain(shape[:len(a.of.Axes)])
	if l := a.measured(e.Case); l != nil && (l.axis != a.axis || l.base != a.base) {
		e.Reason += " on the line " + e.Case
		e.From, e.To, e.Interval, e.MeasuredFrom, e.MeasuredTo = 0, 0, nil, 0, 0 // of another axis
	}
	return e
}

// considerWait explains how a wait for the GPU changes the choice of an implementation on it. r is nil if nothing is known
// of the times.
func (e *Explanation) considerWait(r *relief, onGPU string, wait time.Duration) {
	if wait <= 0 {
		return
	}
	if r == nil {
		e.Reason += fmt.Sprintf("; the GPU is busy for %v, but the calibration has no cost to predict by", wait)
		return
	}
	e.weigh(wait, r.gpu(e.Size), r.cpu(e.Size), onGPU, r.implementation)
}

// considerWaitAt is considerWait for a shape.
func (e *Explanation) considerWaitAt(s *shapes, r shapeRelief) {
	if wait := time.Duration(s.b.d.gpuWait.Load()); wait > 0 && r.cpu != nothing {
		e.weigh(wait, r.gpuSeconds, r.cpuSeconds, e.Implementation, s.of.Surface.Implementations[r.cpu].Name)
	}
}

// weigh explains how a wait for the GPU changes the choice, by the predicted seconds there and on the CPU.
func (e *Explanation) weigh(wait time.Duration, there, here float64, onGPU, onCPU string) {
	if wait.Seconds()+there > here {
		e.Implementation = onCPU
		e.Reason = fmt.Sprintf("the GPU is busy for %v, and with %v there for %s that exceeds %v here",
			wait, seconds(there), onGPU, seconds(here))
		return
	}
	e.Reason += fmt.Sprintf("; the GPU is busy for %v, but with %v there that is within %v for %s",
		wait, seconds(there), seconds(here), onCPU)
}

// seconds turns a prediction into a duration with about three digits.
func seconds(s float64) time.Duration {
	d := time.Duration(min(s, 1e9) * 1e9)
	unit := time.Duration(1)
	for unit*1000 <= d {
		unit *= 10
	}
	return d.Round(unit)
}

// String writes the explanation as one sentence.
func (e Explanation) String() string {
	var b strings.Builder
	switch {
	case e.Shape != "":
		fmt.Fprintf(&b, "%s at %s", e.Case, e.Shape)
	default:
		fmt.Fprintf(&b, "%s at %d", e.Case, e.Size)
	}
	if e.Unit != "" {
		b.WriteString(" " + calibration.UnitOf(e.Size, e.Unit))
	}
	fmt.Fprintf(&b, ": %s, %s", e.Implementation, e.Reason)
	if e.To > 0 {
		fmt.Fprintf(&b, "; segment %d to %d", e.From, e.To)
	}
	if e.Interval != nil {
		fmt.Fprintf(&b, ", its threshold within %d to %d at 95 %%", e.Interval.Low, e.Interval.High)
	}
	if e.BeyondRange && e.MeasuredTo > 0 && (e.Size < e.MeasuredFrom || e.Size > e.MeasuredTo) {
		fmt.Fprintf(&b, "; beyond the measured range, %d to %d", e.MeasuredFrom, e.MeasuredTo)
	}
	if e.To > 0 || e.Answer != Unknown {
		how := "measured on"
		if e.Simulated {
			how = "simulated for"
		}
		fmt.Fprintf(&b, "; %s %s %s", how, e.Host, ago(e.Age))
		if e.Degraded {
			b.WriteString(", while the machine was not quiet")
		}
	}
	if e.Fallback != "" && !strings.Contains(e.Reason, e.Fallback) {
		b.WriteString("; " + e.Fallback)
	}
	return b.String()
}

// ago writes an age in the largest unit of which it has at least two.
func ago(age time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case age < 2*time.Minute:
		return "just now"
	case age < 2*time.Hour:
		return fmt.Sprintf("%d minutes ago", age/time.Minute)
	case age < 2*day:
		return fmt.Sprintf("%d hours ago", age/time.Hour)
	}
	return fmt.Sprintf("%d days ago", age/day)
}
