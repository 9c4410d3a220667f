package dispatch

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"crossover/calibration"
)

// table is all that Choose and Explain need for a case. A table never changes. A change of the calibration or of a policy
// makes a new one.
type table struct {
	thresholds []int    // the first size of each choice except the first, ascending
	choices    []choice // one more than thresholds
	octaves    [65]octave
	counter    *counter // of calls; nil where nothing is recorded

	name     string
	entry    entry
	recorded *calibration.Case // nil if the entry has no such case
	line     *line             // the predicted line; nil for a measured case

	// obstacles say why faster implementations cannot be used, by name.
	obstacles map[string]string
	gpuWait   *atomic.Int64
	now       func() time.Time

	asked []askedSize // that were measured because somebody asked for them
}

// at returns the choice for a size. Sizes beyond the measured range get the first or the last choice.
func (t *table) at(size int) *choice {
	return &t.choices[t.place(size)]
}

// octave is the sizes with the same number of binary digits. It says between which places their choices are.
type octave struct{ first, last int32 }

// fewThresholds are searched without the octaves: a processor predicts a few comparisons, and waits for an octave. A case that
// is cut from a surface, or has asked sizes, may have many thresholds; an octave has few of them.
const fewThresholds = 4

// place returns the place of the choice for a size.
func (t *table) place(size int) int {
	first, last := 0, len(t.thresholds)
	if last > fewThresholds {
		o := &t.octaves[bits.Len64(uint64(size))]
		first, last = int(o.first), int(o.last)
	}
	for first < last {
		if middle := int(uint(first+last) / 2); size >= t.thresholds[middle] {
			first = middle + 1
		} else {
			last = middle
		}
	}
	return first
}

// index fills in the octaves. The last one stays empty: it has the negative sizes, which get the first choice.
func (t *table) index() {
	from, to := 0, 0
	for digits := range 64 {
		t.octaves[digits] = octave{int32(t.behind(from)), int32(t.behind(to))}
		from, to = to+1, 2*to+1
	}
}

// behind returns the number of thresholds that are at most a size.
func (t *table) behind(size int) int {
	return sort.Search(len(t.thresholds), func(i int) bool { return t.thresholds[i] > size })
}

// choice is the answer in one interval of sizes.
type choice struct {
	implementation string
	gpu            bool
	depends        decider              // decides at each call; may be nil
	segment        *calibration.Segment // nil if no segment was measured
	reason         string               // one clause
}

// at returns the implementation for a size.
func (c *choice) at(size int) string {
	if c.depends != nil {
		return c.depends.choose(size)
	}
	return c.implementation
}

// decider decides between implementations by the size, anew at every call. It allocates nothing.
type decider interface{ choose(size int) string }

// relief is a CPU implementation that may be faster than waiting for a busy GPU.
type relief struct {
	busy           string // the implementation on the GPU
	implementation string
	gpu, cpu       func(size int) float64 // predicted seconds of a call
	wait           *atomic.Int64          // nanoseconds
}

func (r *relief) choose(size int) string {
	if wait := time.Duration(r.wait.Load()); wait > 0 && r.cheaper(size, wait) {
		return r.implementation
	}
	return r.busy
}

// cheaper reports whether the wait and the GPU's predicted time exceed the CPU's predicted time.
func (r *relief) cheaper(size int, wait time.Duration) bool {
	return wait.Seconds()+r.gpu(size) > r.cpu(size)
}

// modelled returns a function that predicts the seconds of a call by the cost model of a measured case.
func modelled(c *calibration.Cost) func(size int) float64 {
	return func(size int) float64 {
		return c.FixedSeconds + c.SizeSeconds*math.Pow(float64(max(size, 0)), c.Exponent)
	}
}

// cpuTable returns the table of an unknown case.
func cpuTable(name string, e entry, reason string, now func() time.Time) *table {
	return &table{choices: []choice{{implementation: CPU, reason: reason}}, name: name, entry: e, now: now}
}

// newTable builds the table of a case for the present calibration and policies. The caller holds the lock.
func (d *Dispatcher) newTable(c *Case) *table {
	name := c.name
	operation, _, placement := splitName(name)
	from, by := d.sourceOf(c), d.entryFor(operation)
	if from.recorded != nil && from.line == nil {
		by = d.entryOf(from.recorded)
	}
	among := from.among(c.names)
	t := &table{name: name, entry: by, recorded: from.recorded, line: from.line, gpuWait: &d.gpuWait, now: d.now}
	b := builder{d: d, names: c.names, lacks: c.obstacle, recorded: from.recorded, otherGPU: t.entry.otherGPU}
	if p := d.knownFor(operation, placement); b.recorded == nil && p != nil {
		b.recorded = p.record()
	}

	if c.in != (routed{}) {
		t.choices = []choice{{implementation: c.in.implementation, reason: c.in.reason()}}
		t.takeSwaps(b.swapped(name, false, c.in.stageOf))
		t.index()
		return t
	}
	var far *along
	forced, refused := b.forced(name)
	switch {
	case strings.ContainsFunc(name, unicode.IsControl):
		t.choices = []choice{{implementation: CPU, reason: fmt.Sprintf("%q is no name of a case: it has a control character", name)}}
	case forced != "":
		t.choices = []choice{{implementation: forced, reason: b.d.forcedBy()}}
	case from.wrong != nil:
		t.choices = []choice{{implementation: CPU, reason: from.wrong.Error()}}
	case from.recorded == nil:
		t.choices = []choice{{implementation: CPU, reason: t.entry.unknown(name)}}
	case from.line != nil && from.line.jumps():
		t.choices = []choice{{depends: &along{from.line, d.newShapes(from.line.of, placement, c.names, c.obstacle)}}}
	case from.line != nil:
		t.choices, t.obstacles = b.predict(from.line)
	case len(from.recorded.Segments) == 0:
		t.choices = []choice{{implementation: CPU, reason: withReason("the measurements do not decide", from.recorded.Reason)}}
	default:
		for i := range from.recorded.Segments {
			t.choices = append(t.choices, b.choose(&from.recorded.Segments[i]))
		}
		far = d.far(c, from.recorded)
	}
	for i := range t.choices[1:] {
		t.thresholds = append(t.thresholds, t.choices[1+i].segment.From)
	}
	if far != nil {
		t.takeFar(far, from.recorded)
	}
	if jumps := from.line != nil && from.line.jumps(); forced == "" && from.wrong == nil && !jumps {
		t.takeAsked(d.askedSizes(c, from))
	}
	t.index()
	note := ""
	if refused != "" {
		note = "; " + refused
	}
	switch {
	case from.line != nil:
		note += noteOf(from.line.of.Placement, placement)
	case decided(from.recorded):
		note += noteOf(placementOf(from.recorded), placement)
	}
	for i := range t.choices {
		if t.choices[i].segment != nil {
			t.choices[i].reason += among
		}
		t.choices[i].reason += note
	}
	if far != nil && far.jumps() {
		t.takeKinds(far, note)
	}
	if forced == "" && len(d.swaps) > 0 {
		t.takeSwaps(b.swapped(name, false, stageOf{}))
		t.index()
	}
	t.counter = d.counterOf(name, from.recorded)
	return t
}

// reach is how far the choices of a measured case reach beyond its sizes, as a factor. Further away the operation's surface
// decides, if there is one: see docs/method.md. A case that was measured at one size reaches nowhere, because a size says
// nothing about thresholds.
const reach = 8

// mostGap is the greatest ratio of neighbouring measured sizes between which a case decides, if the operation has a surface.
// Cases are measured at ratios of at most 4, unless the budget ends before.
const mostGap = 5

// reaches returns the least and the greatest size at which the segments of a measured case decide.
func reaches(c *calibration.Case) (low, high int) {
	low, high = c.Axis.From, c.Axis.To
	if single(c) {
		return low, high
	}
	if high > maxSize/reach {
		return low / reach, maxSize
	}
	return low / reach, high * reach
}

// single reports whether a case was measured at one size.
func single(c *calibration.Case) bool { return c.Axis.From == c.Axis.To }

// far returns what decides at sizes of which a measured case says nothing, or nil if the operation has no surface in the case's
// placement.
func (d *Dispatcher) far(c *Case, recorded *calibration.Case) *along {
	operation, _, placement := splitName(c.name)
	p := d.predictedFor(operation, placement)
	if p == nil || p.Placement != placementOf(recorded) || c.alone {
		return nil
	}
	l := p.lineOf(recorded)
	if l == nil {
		return nil
	}
	return &along{l, d.newShapes(p, placement, c.names, c.obstacle)}
}

// takeFar lets far decide at sizes that a measured case does not reach, and in wide gaps between its sizes.
func (t *table) takeFar(far *along, recorded *calibration.Case) {
	low, high := reaches(recorded)
	if high < maxSize {
		t.replace(high+1, maxSize, far)
	}
	t.replace(1, low-1, far)
	for k := 1; k < len(recorded.Sizes); k++ {
		if below, above := recorded.Sizes[k-1], recorded.Sizes[k]; above > mostGap*below {
			t.replace(below+1, above-1, far)
		}
	}
}

// replace lets another choice decide at the sizes of a range, if there are any.
func (t *table) replace(from, to int, by decider) {
	if from > to {
		return
	}
	i := t.split(from)
	behind := len(t.choices)
	if to < maxSize {
		behind = t.split(to + 1)
	}
	t.choices = slices.Replace(t.choices, i, behind, choice{depends: by})
	t.thresholds = slices.Delete(t.thresholds, i, behind-1)
}

// ofKind decides in a measured case along a length whose prime factors matter, at sizes between measured ones. Its segment
// decides at powers of two that are near measured lengths of that kind. Programs call these most, and far would take longer to
// say the same. At other lengths far decides, which knows of which kinds of length the segments say something.
type ofKind struct {
	segment choice
	far     *along
	note    string // added to the reason of far; may be ""
	powers  uint64 // a bit for each power of two at which the segment decides
}

func (k *ofKind) choose(size int) string {
	if k.decides(size) {
		return k.segment.at(size)
	}
	return k.far.choose(size)
}

// decides reports whether the segment decides at a size.
func (k *ofKind) decides(size int) bool {
	return size > 0 && size&(size-1) == 0 && k.powers>>bits.TrailingZeros64(uint64(size))&1 == 1
}

// takeKinds lets far decide at lengths of other kinds than the measured ones. note is added to its reasons.
func (t *table) takeKinds(far *along, note string) {
	own := far.measured(t.recorded.Name)
	if own == nil {
		return
	}
	powers := uint64(0)
	for e := range bits.UintSize - 1 {
		if own.speaksFor(1 << e) {
			powers |= 1 << e
		}
	}
	for i, c := range t.choices {
		first := 1
		if i > 0 {
			first = t.thresholds[i-1]
		}
		if _, predicts := c.depends.(*along); !predicts && t.askedAt(first) == nil {
			t.choices[i].depends = &ofKind{c, far, note, powers}
		}
	}
}

// source is what decides in a case: a measurement of its line, or a prediction.
type source struct {
	recorded *calibration.Case // nil if nothing is known; for a predicted line, a description of it
	line     *line             // nil if it is not predicted
	wrong    error             // why the name is wrong, if nothing is known for that reason
}

// sourceOf returns what decides in a case. Measurements come before predictions, and data in the placement of the case
// before data in caller memory. But the sizes of a case in caller memory come before a single size.
func (d *Dispatcher) sourceOf(c *Case) source {
	operation, fixed, placement := splitName(c.name)
	recorded := d.find(operation, c.name)
	if decided(recorded) && single(recorded) && d.predictedFor(operation, placement) == nil {
		if instead := d.find(operation, c.instead); decided(instead) && !single(instead) {
			recorded = instead
		}
	}
	if decided(recorded) {
		return source{recorded: recorded}
	}
	predicted := d.predictedSource(operation, placement, fixed)
	if predicted.recorded != nil {
		return predicted
	}
	if c.instead != "" {
		if instead := d.find(operation, c.instead); recorded == nil || decided(instead) {
			recorded = instead
		}
	}
	if placement == shared && !decided(recorded) {
		inCaller := d.predictedSource(operation, caller, fixed)
		if inCaller.recorded != nil || predicted.wrong == nil {
			predicted = inCaller
		}
	}
	if recorded != nil && (predicted.recorded == nil || decided(recorded)) {
		return source{recorded: recorded}
	}
	return predicted
}

// among replaces a measured case by the same among accurate implementations, if a program names no others. It returns a
// clause that says so, and which implementations are left out, or "".
func (s *source) among(names []string) string {
	whole := s.recorded
	if whole == nil || s.line != nil {
		return ""
	}
	part, within := whole.Among(names)
	if within == nil {
		return ""
	}
	s.recorded = part
	var leftOut []string
	for i := range whole.Implementations {
		if m := &whole.Implementations[i]; m.Excluded == "" && m.ErrorBound > within.MaxError {
			leftOut = append(leftOut, fmt.Sprintf("%s (%g)", m.Name, m.ErrorBound))
		}
	}
	return fmt.Sprintf("; among those that err by at most %g, without %s", within.MaxError, strings.Join(leftOut, ", "))
}

// decided reports whether a case says what to choose.
func decided(c *calibration.Case) bool { return c != nil && len(c.Segments) > 0 }

// predictedSource returns the prediction of a line by the operation's surface in a placement. If the line was measured under
// another name, for example with the axes in another order, it returns that measurement.
func (d *Dispatcher) predictedSource(operation, placement string, fixed []string) source {
	p := d.predictedFor(operation, placement)
	if p == nil {
		return source{}
	}
	l, err := newLine(p, fixed)
	if err != nil {
		return source{wrong: err}
	}
	if measured := d.entry.measured(l); measured != nil && d.find(operation, measured.Name) == measured {
		return source{recorded: measured}
	}
	if measured := d.entryFor(operation).measured(l); measured != nil {
		return source{recorded: measured}
	}
	return source{recorded: l.described(), line: l}
}

// unknown says why the calibration has no case of a name.
func (e entry) unknown(name string) string {
	if e.host == nil {
		return e.fallback
	}
	return fmt.Sprintf("the calibration of %s has no case %q%s", e.host.ID, name, e.meant(name))
}

// undecided is the reason for the choice of what was fastest in measurements that contradict each other.
const undecided = "likely the fastest, but the measurements do not decide"

// builder turns a case on record into choices that the program can use.
type builder struct {
	d        *Dispatcher
	names    []string // that the program knows, for messages
	lacks    obstacle // of the program
	recorded *calibration.Case
	otherGPU bool // it was measured with another GPU than that of this host
}

// forced returns the implementation of CROSSOVER_FORCE, or the reason why the program cannot use it.
func (b *builder) forced(name string) (implementation, refused string) {
	by := name // the key in the variable
	wanted, asked := b.d.force[by]
	if !asked {
		by, _, _ = strings.Cut(name, "/")
		if b.recorded != nil {
			by = b.recorded.Operation
		}
		wanted, asked = b.d.force[by]
	}
	if !asked {
		wanted, asked = b.d.force[everything]
	}
	if !asked {
		return "", ""
	}
	recorded := b.recorded != nil && b.implementation(wanted) != nil
	why := NotThere
	if b.lacks != nil {
		why = b.lacks(wanted)
	} else if recorded {
		why = ""
	}
	if wanted == CPU || why == "" {
		return wanted, ""
	}
	if _, always := b.d.force[everything]; always {
		return "", "the program asks for " + wanted + ", which " + why
	}
	refused = fmt.Sprintf("%s asks for %s, which %s", ForceVariable, wanted, why)
	warnOf(by+"="+wanted, "%s: %s (want %s)", name, refused, strings.Join(b.available(wanted), ", "))
	return "", refused
}

// available returns the names that CROSSOVER_FORCE may have in place of a refused one: those that the program knows, or otherwise
// those on record, and CPU.
func (b *builder) available(refused string) []string {
	names := slices.Clone(b.names)
	if len(names) == 0 && b.recorded != nil {
		for i := range b.recorded.Implementations {
			names = append(names, b.recorded.Implementations[i].Name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == refused })
	return append(names, CPU)
}

// choose resolves one segment: its implementation, or the first of its alternatives that can be used.
func (b *builder) choose(s *calibration.Segment) choice {
	c := choice{implementation: CPU, segment: s}
	var passed []string
	names := []string{s.Implementation}
	for _, next := range s.Next {
		names = append(names, next.Implementation)
	}
	for i, name := range names {
		if obstacle := b.obstacle(name); obstacle != "" {
			passed = append(passed, name+" "+obstacle)
			continue
		}
		c.implementation = name
		if b.onGPU(name) {
			c.gpu = true
			c.depends = b.reliefFor(name, names[i+1:])
		}
		break
	}
	switch {
	case len(passed) == 0:
		c.reason = withReason("fastest measured", b.recorded.Reason)
		switch b.recorded.Verdict {
		case calibration.Tie:
			c.reason = withReason("as fast as any", b.recorded.Reason)
		case calibration.Unresolved:
			c.reason = withReason(undecided, b.recorded.Reason)
		case calibration.Always:
			c.reason = withReason("fastest at every measured size", b.recorded.Reason)
		}
	case len(passed) == len(names):
		c.reason = "nothing on record can be used: " + strings.Join(passed, ", ")
	default:
		c.reason = "next best, as " + strings.Join(passed, ", ")
	}
	return c
}

// obstacle says why an implementation cannot be used. It returns "" if it can.
func (b *builder) obstacle(name string) string {
	if b.lacks != nil {
		if why := b.lacks(name); why != "" {
			return why
		}
	}
	switch {
	case b.onGPU(name) && b.otherGPU:
		return "was measured on another GPU"
	case b.onGPU(name) && tooHot(b.d.thermal):
		return "runs on the GPU and the thermal state is " + b.d.thermal
	}
	return ""
}

// reliefFor returns the first CPU implementation among the next ones. It returns nil if there is none or if the record
// lacks the costs.
func (b *builder) reliefFor(gpu string, next []string) decider {
	name := b.firstOnCPU(next)
	if name == "" {
		return nil
	}
	onGPU, onCPU := b.implementation(gpu), b.implementation(name)
	if onGPU.Cost == nil || onCPU.Cost == nil {
		return nil
	}
	return &relief{busy: gpu, implementation: name, gpu: modelled(onGPU.Cost), cpu: modelled(onCPU.Cost), wait: &b.d.gpuWait}
}

// firstOnCPU returns the first of some implementations that runs on the CPU and can be used, "" if there is none.
func (b *builder) firstOnCPU(names []string) string {
	for _, name := range names {
		if !b.onGPU(name) && b.obstacle(name) == "" {
			return name
		}
	}
	return ""
}

func (b *builder) onGPU(name string) bool {
	i := b.implementation(name)
	return i != nil && i.Processor == "gpu"
}

// implementation returns the record of an implementation, or nil.
func (b *builder) implementation(name string) *calibration.Implementation {
	for i := range b.recorded.Implementations {
		if b.recorded.Implementations[i].Name == name {
			return &b.recorded.Implementations[i]
		}
	}
	return nil
}

// withReason adds the reason on record, if there is one.
func withReason(clause, reason string) string {
	if reason == "" {
		return clause
	}
	return clause + " (" + reason + ")"
}
