package dispatch

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// shapes chooses at any shape of an operation: by what was measured at the shape because somebody asked for it, or by a
// measured line nearby, or else by the surface. It remembers the choices at recent shapes, so that most calls predict
// nothing.
type shapes struct {
	of     *predicted
	b      builder
	asked  []*measuredShape // one for each of the operation's
	lines  []*measuredLine
	usable [surface.MostImplementations]atomic.Int32 // by implementation of the surface

	// recent are the choices at recent shapes, at most one at each index: the hash of the shape, with the answer in its last
	// bits. Another shape with the same hash gets the same choice. That choice may be slow, but the result of the call is
	// never wrong.
	recent [recentShapes]atomic.Uint64
}

const (
	recentShapes = 1024
	answerBits   = 12
	answerMask   = 1<<answerBits - 1
)

// An answer is the index of an implementation in the surface, or firstAsked plus the index of a shape that was asked for, or
// firstLine plus the index of a line, or nothing.
const (
	firstAsked = surface.MostImplementations
	firstLine  = firstAsked + calibration.MostAsked
	nothing    = answerMask
	mostLines  = nothing - firstLine
)

// The values of usable.
const (
	unasked int32 = iota
	yes
	no
)

// newShapes returns the shapes of an operation in a placement, for the present calibration and policies. The caller holds
// the lock.
func (d *Dispatcher) newShapes(p *predicted, placement string, names []string, lacks obstacle) *shapes {
	s := &shapes{of: p, b: builder{d: d, names: names, lacks: lacks, recorded: p.record(), otherGPU: d.entryFor(p.Name).otherGPU}}
	s.lines = d.measuredLines(p, placement)
	if placement != p.Placement {
		s.lines = append(s.lines, d.measuredLines(p, p.Placement)...)
	}
	s.lines = s.lines[:min(len(s.lines), mostLines)]
	s.asked = make([]*measuredShape, len(p.Asked))
	for k := range p.Asked {
		s.asked[k] = &measuredShape{Asked: &p.Asked[k]}
	}
	return s
}

// choose returns the implementation to use at a shape, CPU if nothing is known.
func (s *shapes) choose(shape []int) string {
	if !s.takes(shape) {
		return CPU
	}
	return s.name(s.answer(shape), shape)
}

// takes reports whether the operation has such a shape.
func (s *shapes) takes(shape []int) bool {
	if len(shape) != len(s.of.Axes) {
		return false
	}
	for _, v := range shape {
		if v < 1 {
			return false
		}
	}
	return true
}

// answer returns the answer at a shape.
func (s *shapes) answer(shape []int) int {
	h := hash(shape)
	place := &s.recent[h%recentShapes]
	if known := place.Load(); known != 0 && (known^h)>>answerBits == 0 {
		return int(known & answerMask)
	}
	answer := s.find(shape)
	place.Store(h&^answerMask | uint64(answer))
	return answer
}

// hash mixes the values of a shape.
func hash(shape []int) uint64 {
	h := uint64(len(shape))
	for _, v := range shape {
		h = (h ^ uint64(v)) * 0x9e3779b97f4a7c15 // an odd factor, so that different values stay different
		h ^= h >> 32
	}
	return h
}

// find finds the answer at a shape.
func (s *shapes) find(shape []int) int {
	if k, found := s.of.FindAsked(shape); found && s.choiceOf(s.asked[k]).implementation != CPU {
		return firstAsked + k
	}
	for k, l := range s.lines {
		if l.passes(shape) && l.speaksFor(l.size(shape)) && s.caseOf(l).Peek(l.size(shape)) != CPU {
			return firstLine + k
		}
	}
	if !s.of.Surface.Fitted() {
		return nothing
	}
	var times logSeconds
	s.of.predict(shape, &times)
	return s.fastest(&times, false)
}

// fastest returns the usable implementation with the least predicted time, of those on the CPU if onCPU, or nothing if there
// is none.
func (s *shapes) fastest(times *logSeconds, onCPU bool) int {
	for {
		best := nothing
		for i := range s.of.Surface.Implementations {
			if s.usable[i].Load() != no && !(onCPU && s.of.onGPU[i]) && (best == nothing || times[i] < times[best]) {
				best = i
			}
		}
		if best == nothing || s.canUse(best) {
			return best
		}
	}
}

// canUse reports whether an implementation can be used. Only the first call asks the program.
func (s *shapes) canUse(i int) bool {
	if known := s.usable[i].Load(); known != unasked {
		return known == yes
	}
	s.b.d.mu.Lock()
	defer s.b.d.mu.Unlock()
	if s.usable[i].Load() == unasked {
		found := yes
		if s.b.obstacle(s.of.Surface.Implementations[i].Name) != "" {
			found = no
		}
		s.usable[i].Store(found)
	}
	return s.usable[i].Load() == yes
}

// name returns the implementation for an answer at a shape. It may depend on how busy the GPU is.
func (s *shapes) name(answer int, shape []int) string {
	switch {
	case answer == nothing:
		return CPU
	case answer >= firstLine:
		l := s.lines[answer-firstLine]
		return l.chooser.Load().Peek(l.size(shape))
	case answer >= firstAsked:
		return s.asked[answer-firstAsked].choice.Load().at(0)
	}
	if wait := time.Duration(s.b.d.gpuWait.Load()); wait > 0 && s.of.onGPU[answer] {
		r := s.relief(answer, shape)
		answer = r.choose(wait)
	}
	return s.of.Surface.Implementations[answer].Name
}

// shapeRelief decides between a busy GPU and the CPU at a shape, by the predicted seconds of a call on each.
type shapeRelief struct {
	gpu, cpu               int // implementations of the surface; cpu is nothing if there is none
	gpuSeconds, cpuSeconds float64
}

// relief returns the best alternative to an implementation on the GPU.
func (s *shapes) relief(gpu int, shape []int) shapeRelief {
	var times logSeconds
	s.of.predict(shape, &times)
	r := shapeRelief{gpu: gpu, cpu: s.fastest(&times, true)}
	if r.cpu != nothing {
		r.gpuSeconds, r.cpuSeconds = math.Exp(times[gpu]), math.Exp(times[r.cpu])
	}
	return r
}

// choose returns the CPU's implementation if the wait and the GPU's time exceed its time.
func (r *shapeRelief) choose(wait time.Duration) int {
	if r.cpu != nothing && wait.Seconds()+r.gpuSeconds > r.cpuSeconds {
		return r.cpu
	}
	return r.gpu
}

// measuredLine is a line through the shapes of an operation whose case was measured, or is forced.
type measuredLine struct {
	*line
	name     string
	recorded *calibration.Case // nil if it was not measured
	forced   bool
	chooser  atomic.Pointer[Case] // nil until a shape lies on the line
}

// measuredLines returns the lines of an operation in a placement that were measured, or that CROSSOVER_FORCE names. The latter
// come first, because they decide also where another line passes.
func (d *Dispatcher) measuredLines(p *predicted, placement string) []*measuredLine {
	var forced, lines []*measuredLine
	hosts := []*calibration.Host{d.entry.host}
	if e := d.entryFor(p.Name); e.host != d.entry.host {
		hosts = append(hosts, e.host)
	}
	var cases []*calibration.Case
	for _, h := range hosts {
		for i := range h.Cases {
			if c := &h.Cases[i]; c.Operation == p.Name && d.find(p.Name, c.Name) == c {
				cases = append(cases, c)
			}
		}
	}
	for _, c := range cases {
		if l := p.lineOf(c); l != nil && placementOf(c) == placement {
			measured := &measuredLine{line: l, name: c.Name, recorded: c}
			if _, measured.forced = d.force[c.Name]; measured.forced {
				forced = append(forced, measured)
			} else {
				lines = append(lines, measured)
			}
		}
	}
	for name := range d.force {
		operation, fixed, in := splitName(name)
		if operation != p.Name || in != placement || len(fixed) == 0 || d.find(operation, name) != nil {
			continue
		}
		if l, err := newLine(p, fixed); err == nil {
			forced = append(forced, &measuredLine{line: l, name: name, forced: true})
		}
	}
	return append(forced, lines...)
}

// lineOf returns the line of a measured case. It returns nil if the case is of another operation or does not decide. Axes
// that the case does not fix vary together, as those of square matrices do.
func (p *predicted) lineOf(c *calibration.Case) *line {
	l := &line{of: p, axis: p.axis(c.Axis.Name)}
	if c.Operation != p.Name || !decided(c) || l.axis < 0 {
		return nil
	}
	for i, a := range p.Axes {
		l.base[i] = c.Parameters[a.Name]
	}
	if l.base[l.axis] != 0 {
		return nil
	}
	return l
}

// passes reports whether a shape lies on the line.
func (l *line) passes(shape []int) bool {
	for i, v := range shape {
		want := l.base[i]
		if want == 0 {
			want = shape[l.axis]
		}
		if v != want {
			return false
		}
	}
	return true
}

// size returns the size of a shape on the line.
func (l *measuredLine) size(shape []int) int { return shape[l.axis] }

// caseOf returns the case of a line. It is made when it is first needed, because making it asks the program which
// implementations it has.
func (s *shapes) caseOf(l *measuredLine) *Case {
	if c := l.chooser.Load(); c != nil {
		return c
	}
	s.b.d.mu.Lock()
	defer s.b.d.mu.Unlock()
	if l.chooser.Load() == nil {
		c := &Case{name: l.name, names: s.b.names, obstacle: s.b.lacks, alone: true}
		c.table.Store(s.b.d.newTable(c))
		l.chooser.Store(c)
	}
	return l.chooser.Load()
}

// speaksFor reports whether the line decides at a size. It does not if no measured size is near, or if the length has prime
// factors that the measured lengths next to it do not have.
func (l *measuredLine) speaksFor(size int) bool {
	if l.forced {
		return true
	}
	sizes := l.recorded.Sizes
	next, exact := slices.BinarySearch(sizes, size)
	if exact {
		return true
	}
	below, above := max(next-1, 0), min(next, len(sizes)-1)
	switch low, high := reaches(l.recorded); {
	case above < 0 || size < low || size > high || sizes[above] > mostGap*sizes[below]:
		return false
	case !l.of.byFactors[l.axis]:
		return true
	}
	// Times jump from one kind of length to another, so both neighbours have to be of the length's kind.
	shape, low, high := l.shape(size), l.shape(sizes[below]), l.shape(sizes[above])
	axes := len(l.of.Axes)
	for i := range l.of.Surface.Features {
		f := &l.of.Surface.Features[i]
		if !f.ByFactors() {
			continue
		}
		v, a, b := f.Of(shape[:axes]), f.Of(low[:axes]), f.Of(high[:axes])
		if v < min(a, b) || v > max(a, b) {
			return false
		}
	}
	return true
}

// along chooses on a line as the operation does at each of its shapes.
type along struct {
	*line
	shapes *shapes
}

func (a *along) choose(size int) string {
	shape := a.shape(size)
	return a.shapes.choose(shape[:len(a.of.Axes)])
}

// measured returns the measured line of a name, or nil.
func (a *along) measured(name string) *measuredLine {
	i := slices.IndexFunc(a.shapes.lines, func(l *measuredLine) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return a.shapes.lines[i]
}
