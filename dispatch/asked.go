package dispatch

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"crossover/calibration"
)

// measuredShape is a shape that was measured because somebody asked for it, and its choice.
type measuredShape struct {
	*calibration.Asked
	choice atomic.Pointer[choice] // nil until it is needed: making it asks the program what it has
}

// choiceOf returns the choice at a shape that was measured.
func (s *shapes) choiceOf(m *measuredShape) *choice {
	if c := m.choice.Load(); c != nil {
		return c
	}
	s.b.d.mu.Lock()
	defer s.b.d.mu.Unlock()
	if m.choice.Load() == nil {
		b := s.b
		b.otherGPU = s.of.asked.entry.otherGPU
		c := b.chooseAsked(m.Asked)
		m.choice.Store(&c)
	}
	return m.choice.Load()
}

// chooseAsked returns the fastest implementation at a shape that was measured, of those that can be used.
func (b *builder) chooseAsked(a *calibration.Asked) choice {
	ranking := b.ranked(a)
	if len(ranking) == 0 {
		return choice{implementation: CPU}
	}
	segment := &calibration.Segment{Implementation: ranking[0]}
	for _, name := range ranking[1:] {
		segment.Next = append(segment.Next, calibration.Alternative{Implementation: name})
	}
	c := b.choose(segment)
	if c.implementation == CPU {
		return c
	}
	if c.implementation == ranking[0] && a.Regret != nil && *a.Regret > unsure {
		c.reason = undecided
	}
	if c.depends = nil; c.gpu {
		if name := b.firstOnCPU(ranking); name != "" {
			c.depends = &relief{busy: c.implementation, implementation: name,
				gpu: always(b.secondsAt(a, c.implementation)), cpu: always(b.secondsAt(a, name)), wait: &b.d.gpuWait}
		}
	}
	return c
}

// ranked returns the implementations that were timed at a shape, the fastest first.
func (b *builder) ranked(a *calibration.Asked) []string {
	var names []string
	for i := range a.MedianSeconds {
		if a.MedianSeconds[i] > 0 {
			names = append(names, b.recorded.Implementations[i].Name)
		}
	}
	slices.SortStableFunc(names, func(m, n string) int { return cmp.Compare(b.secondsAt(a, m), b.secondsAt(a, n)) })
	return names
}

// secondsAt returns the measured seconds of a call at a shape, infinite if the implementation was not timed.
func (b *builder) secondsAt(a *calibration.Asked, name string) float64 {
	for i := range a.MedianSeconds {
		if b.recorded.Implementations[i].Name == name && a.MedianSeconds[i] > 0 {
			return a.MedianSeconds[i]
		}
	}
	return math.Inf(1)
}

// always is the same time at each size.
func always(seconds float64) func(int) float64 { return func(int) float64 { return seconds } }

// unsure is the regret at a shape above which its measurement does not decide: one half of the samples then chose what was slower by
// so much in the other half.
const unsure = 0.05

// tied is how many times as long a call may take as by the fastest implementation that was measured at its shape, and count
// as fast.
const tied = 1.03

// askedSize is a size of a case that was measured because somebody asked for its shape.
type askedSize struct {
	size int
	choice
	tied  []string // as fast as the choice
	by    askedBy
	quiet bool // whether the machine was quiet in any of the runs
}

// askedSizes returns the sizes of a case that somebody asked for.
func (d *Dispatcher) askedSizes(c *Case, from source) []askedSize {
	operation, fixed, placement := splitName(c.name)
	p := d.knownFor(operation, placement)
	if p == nil || len(p.Asked) == 0 {
		return nil
	}
	l := from.line
	if l == nil && from.recorded != nil {
		l = p.lineOf(from.recorded)
	}
	if l == nil {
		var err error
		if l, err = newLine(p, fixed); err != nil {
			return nil
		}
	}
	b := builder{d: d, names: c.names, lacks: c.obstacle, recorded: p.record(), otherGPU: p.asked.entry.otherGPU}
	var sizes []askedSize
	for k := range p.Asked {
		a := &p.Asked[k]
		if !l.passes(a.Shape) {
			continue
		}
		s := askedSize{size: a.Shape[l.axis], choice: b.chooseAsked(a), by: p.asked, quiet: !p.asked.of.Degraded}
		if s.implementation == CPU {
			continue
		}
		s.segment = &calibration.Segment{From: s.size, To: s.size}
		for _, name := range b.ranked(a) {
			if b.secondsAt(a, name) <= tied*b.secondsAt(a, s.implementation) {
				s.tied = append(s.tied, name)
			}
		}
		sizes = append(sizes, s)
	}
	return sizes
}

// takeAsked makes the table choose at some sizes what was measured there, unless what it chooses is as fast.
func (t *table) takeAsked(sizes []askedSize) {
	t.asked = sizes
	for k := range sizes {
		s := &sizes[k]
		i := t.behind(s.size)
		if slices.Contains(s.tied, t.choices[i].implementation) {
			continue
		}
		t.choices = slices.Insert(t.choices, i+1, s.choice, t.choices[i])
		t.thresholds = slices.Insert(t.thresholds, i, s.size, s.size+1)
	}
}

// isAsked notes that the size was measured because somebody asked for it.
func (e *Explanation) isAsked(s *askedSize, chosen string) {
	e.Answer, e.Reason, e.BeyondRange, e.From, e.To, e.Interval = Measured, s.reason, false, s.size, s.size, nil
	if chosen != s.implementation {
		e.Reason = "as fast as " + s.implementation + ", the fastest measured"
	}
	e.Degraded = !s.quiet
}

// askedAt returns what was measured at a size because somebody asked for it, nil if nobody did.
func (t *table) askedAt(size int) *askedSize {
	k := slices.IndexFunc(t.asked, func(s askedSize) bool { return s.size == size })
	if k < 0 {
		return nil
	}
	return &t.asked[k]
}
