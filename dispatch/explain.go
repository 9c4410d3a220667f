package dispatch

import (
	"fmt"
	"strings"
	"time"

	"crossover/calibration"
)

// Explanation gives the reason for an answer of Choose.
type Explanation struct {
	Case           string
	Size           int
	Unit           string // of Size: "samples"; "" where the case is not known
	Implementation string // what Choose answers
	Reason         string // the rule that decided, in one clause

	// From and To are the first and the last size of the segment that Size falls into, both 0 where none was measured.
	From, To int
	// Interval is the 95 % confidence interval of From, nil where From is not a threshold.
	Interval *calibration.Interval
	// MeasuredFrom and MeasuredTo bound the measured sizes, both 0 where none was measured.
	MeasuredFrom, MeasuredTo int
	// BeyondRange is set where Size lies outside the measured sizes, so that the nearest segment was taken.
	BeyondRange bool

	Host      string        // the host whose calibration decides; "" without one
	Simulated bool          // computed from a model, not measured
	Age       time.Duration // of the calibration
	Fallback  string        // why Host is not this host, "" if it is
}

// Explain says why Choose answers as it does at a size now. It allocates.
func (c *Case) Explain(size int) Explanation {
	t := c.table.Load()
	if t == nil {
		t = cpuTable(c.name, entry{fallback: noCalibration}, noCalibration, time.Now)
	}
	chosen := t.at(size)
	e := Explanation{
		Case:           t.name,
		Size:           size,
		Implementation: chosen.implementation,
		Reason:         chosen.reason,
		Fallback:       t.entry.fallback,
	}
	if chosen.gpu {
		e.considerWait(chosen, time.Duration(t.gpuWait.Load()))
	}
	if s := chosen.segment; s != nil {
		e.From, e.To = s.From, s.To
		if s.Interval != nil {
			interval := *s.Interval
			e.Interval = &interval
		}
	}
	if r := t.recorded; r != nil {
		e.Unit = r.Axis.Unit
		e.MeasuredFrom, e.MeasuredTo = r.Axis.From, r.Axis.To
		e.BeyondRange = size < r.Axis.From || size > r.Axis.To
	}
	if h := t.entry.host; h != nil {
		e.Host, e.Simulated = h.ID, h.Simulated
		created := h.Created
		if t.recorded != nil {
			created = h.RunOf(t.recorded).Created
		}
		e.Age = max(0, t.now().Sub(created))
	}
	return e
}

// considerWait explains how a wait for the GPU changes the choice.
func (e *Explanation) considerWait(chosen *choice, wait time.Duration) {
	if wait <= 0 {
		return
	}
	if chosen.relief == nil {
		e.Reason += fmt.Sprintf("; the GPU is busy for %v, but the calibration has no cost to predict by", wait)
		return
	}
	gpu := seconds(predict(&chosen.relief.gpu, e.Size))
	cpu := seconds(predict(&chosen.relief.cpu, e.Size))
	if chosen.relief.cheaper(e.Size, wait) {
		e.Implementation = chosen.relief.implementation
		e.Reason = fmt.Sprintf("the GPU is busy for %v, and with %v there for %s that exceeds %v here",
			wait, gpu, chosen.implementation, cpu)
		return
	}
	e.Reason += fmt.Sprintf("; the GPU is busy for %v, but with %v there that is within %v for %s",
		wait, gpu, cpu, chosen.relief.implementation)
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

// String puts the explanation into one sentence.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %d", e.Case, e.Size)
	if e.Unit != "" {
		b.WriteString(" " + e.Unit)
	}
	fmt.Fprintf(&b, ": %s, %s", e.Implementation, e.Reason)
	if e.To > 0 {
		fmt.Fprintf(&b, "; segment %d to %d", e.From, e.To)
	}
	if e.Interval != nil {
		fmt.Fprintf(&b, ", its threshold within %d to %d at 95 %%", e.Interval.Low, e.Interval.High)
	}
	if e.BeyondRange {
		fmt.Fprintf(&b, "; beyond the measured range, %d to %d", e.MeasuredFrom, e.MeasuredTo)
	}
	if e.To > 0 {
		how := "measured on"
		if e.Simulated {
			how = "simulated for"
		}
		fmt.Fprintf(&b, "; %s %s %s", how, e.Host, ago(e.Age))
	}
	if e.Fallback != "" && !strings.Contains(e.Reason, e.Fallback) {
		b.WriteString("; " + e.Fallback)
	}
	return b.String()
}

// ago writes an age in the largest unit of which the age has at least two.
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
