package calibration

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate checks everything in the file on which a reader may rely. Its error is one line that names the first wrong place,
// what is there, and what is accepted.
func (f *File) Validate() error {
	if err := f.check(); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	return nil
}

// Validate checks one host, as File.Validate does.
func (h *Host) Validate() error {
	if err := h.check(); err != nil {
		return fmt.Errorf("calibration: %s: %w", quoted(h.ID), err)
	}
	return nil
}

func (f *File) check() error {
	if err := checkVersion(f.SchemaVersion); err != nil {
		return err
	}
	for i := range f.Hosts {
		if err := f.Hosts[i].check(); err != nil {
			return fmt.Errorf("%s: %w", hostPlace(i, f.Hosts[i].ID), err)
		}
	}
	return checkUnique(len(f.Hosts), func(i int) string { return f.Hosts[i].ID })
}

var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// checkID checks the id of a host, which is also the name of folders.
func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("id is missing")
	case !slug.MatchString(id):
		return errors.New("id is not a slug (want lower-case letters and digits, with hyphens between)")
	case len(id) > MostName:
		return fmt.Errorf("id has %d bytes (want at most %d)", len(id), MostName)
	}
	return nil
}

func (h *Host) check() error {
	if err := checkID(h.ID); err != nil {
		return err
	}
	if strings.HasPrefix(h.ID, SimulatedPrefix) && !h.Simulated {
		return fmt.Errorf("simulated is false (want true: an id that begins with %s is never that of a measured host)", SimulatedPrefix)
	}
	if err := h.Facts.check(); err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	if err := h.Environment.check(); err != nil {
		return fmt.Errorf("environment: %w", err)
	}
	if err := checkCreated(h.Created); err != nil {
		return err
	}
	if err := h.Method.check(); err != nil {
		return fmt.Errorf("method: %w", err)
	}
	first := make(map[string]int, len(h.Cases))
	for i := range h.Cases {
		c := &h.Cases[i]
		if err := checkName(c.Name); err != nil {
			return fmt.Errorf("cases[%d]: name %w", i, err)
		}
		if earlier, twice := first[c.Name]; twice {
			return fmt.Errorf("case %s: is cases[%d] and cases[%d]", quoted(c.Name), earlier, i)
		}
		first[c.Name] = i
		if err := c.check(); err != nil {
			return fmt.Errorf("case %s: %w", quoted(c.Name), err)
		}
	}
	if err := h.checkOperations(); err != nil {
		return err
	}
	if err := h.checkPipelines(); err != nil {
		return err
	}
	return h.checkRuns()
}

func (f *Facts) check() error {
	if f.Chip == "" {
		return errors.New("chip is missing")
	}
	if f.Family != "" && !slug.MatchString(f.Family) {
		return fmt.Errorf("family %s is not a slug", quoted(f.Family))
	}
	if f.Architecture == "" {
		return errors.New("architecture is missing")
	}
	if f.Cores < 1 {
		return fmt.Errorf("cores is %d (want at least 1)", f.Cores)
	}
	if err := f.checkKinds(); err != nil {
		return err
	}
	return notNegative(
		quantity{"performance_cores", float64(f.PerformanceCores)},
		quantity{"efficiency_cores", float64(f.EfficiencyCores)},
		quantity{"l1_data_bytes", float64(f.L1DataBytes)},
		quantity{"l2_bytes", float64(f.L2Bytes)},
		quantity{"l3_bytes", float64(f.L3Bytes)},
		quantity{"memory_bytes", float64(f.MemoryBytes)},
		quantity{"gpu_cores", float64(f.GPUCores)},
		quantity{"gpu_memory_bytes", float64(f.GPUMemoryBytes)},
	)
}

// checkKinds checks that kinds of cores are in only one of the two places.
func (f *Facts) checkKinds() error {
	for i, kind := range f.CoreKinds {
		switch {
		case kind.Name == "":
			return fmt.Errorf("core_kinds[%d]: name is missing", i)
		case kind.Count < 1:
			return fmt.Errorf("core_kinds[%d]: count is %d (want at least 1)", i, kind.Count)
		}
	}
	if len(f.CoreKinds) > 0 && (f.PerformanceCores != 0 || f.EfficiencyCores != 0) {
		return errors.New("core_kinds is there, and performance_cores and efficiency_cores are not both 0 (want one or the other)")
	}
	return nil
}

func (e *Environment) check() error {
	if err := oneOf("power", e.Power, "mains", "battery", "unknown"); err != nil {
		return err
	}
	if e.PowerMode != "" {
		if err := oneOf("power_mode", e.PowerMode, "normal", "low", "unknown"); err != nil {
			return err
		}
	}
	if e.Priority != "" {
		if err := oneOf("priority", e.Priority, "normal", "lowered", "background", "unknown"); err != nil {
			return err
		}
	}
	if err := oneOf("thermal", e.Thermal, "nominal", "fair", "serious", "critical", "unknown"); err != nil {
		return err
	}
	if e.Load != -1 {
		if err := notNegative(quantity{"load", e.Load}); err != nil {
			return err
		}
	}
	if e.Sentinel != nil {
		if err := e.Sentinel.check(); err != nil {
			return fmt.Errorf("sentinel: %w", err)
		}
	}
	return nil
}

func (s *Sentinel) check() error {
	if s.Processors < 1 {
		return fmt.Errorf("processors is %d (want at least 1)", s.Processors)
	}
	if err := s.Baseline.check(); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	if s.Kept != nil {
		if err := s.Kept.check(); err != nil {
			return fmt.Errorf("kept: %w", err)
		}
	}
	if c := s.Crowded; c != nil {
		if !(c.Share >= 0 && c.Share <= 1) {
			return fmt.Errorf("crowded: share is %v (want 0 to 1)", c.Share)
		}
		if err := notNegative(quantity{"all_processors_ratio", c.AllProcessorsRatio}); err != nil {
			return fmt.Errorf("crowded: %w", err)
		}
	}
	if c := s.Company; c != nil && !(*c >= 0 && *c <= 1) {
		return fmt.Errorf("company is %v (want 0 to 1)", *c)
	}
	if d := s.Discarded; d != nil {
		if err := notNegative(
			quantity{"disturbed", float64(d.Disturbed)}, quantity{"neighbours", float64(d.Neighbours)},
			quantity{"replaced", float64(d.Replaced)}, quantity{"collections", float64(d.Collections)},
			quantity{"restarts", float64(d.Restarts)},
		); err != nil {
			return fmt.Errorf("discarded_blocks: %w", err)
		}
	}
	return notNegative(quantity{"readings", float64(s.Readings)}, quantity{"epochs", float64(s.Epochs)})
}

func (t *SentinelTimes) check() error {
	return notNegative(
		quantity{"one_processor_seconds", t.OneProcessorSeconds},
		quantity{"all_processors_ratio", t.AllProcessorsRatio},
		quantity{"handover_seconds", t.HandoverSeconds},
	)
}

func (m *Method) check() error {
	if err := oneOf("mode", m.Mode, "latency", "throughput"); err != nil {
		return err
	}
	if err := oneOf("state", m.State, "warm", "cold", "after-idle"); err != nil {
		return err
	}
	if m.InFlight < 0 || m.InFlight > MaxInFlight {
		return fmt.Errorf("in_flight is %d (want 0 to %d)", m.InFlight, MaxInFlight)
	}
	return notNegative(
		quantity{"budget_seconds", m.BudgetSeconds},
		quantity{"spent_seconds", m.SpentSeconds},
		quantity{"precision", m.Precision},
		quantity{"tie_band", m.TieBand},
	)
}

func (c *Case) check() error {
	if c.Operation == "" {
		return errors.New("operation is missing")
	}
	if rest, found := strings.CutPrefix(c.Name, c.Operation); !found || rest != "" && rest[0] != '/' {
		return fmt.Errorf("operation is %s (want what the name begins with)", quoted(c.Operation))
	}
	for name := range c.Parameters {
		if err := checkName(name); err != nil {
			return fmt.Errorf("parameters: name %w", err)
		}
	}
	if err := c.Axis.check(); err != nil {
		return fmt.Errorf("axis: %w", err)
	}
	competes, err := checkImplementations(c.Implementations)
	if err != nil {
		return err
	}
	if err := c.checkSamples(); err != nil {
		return err
	}
	if err := c.checkSegments(competes); err != nil {
		return err
	}
	if err := c.checkVerdict(); err != nil {
		return err
	}
	if err := c.checkWithin(competes); err != nil {
		return err
	}
	for i, size := range c.Sizes {
		switch {
		case size < c.Axis.From || size > c.Axis.To:
			return fmt.Errorf("sizes[%d] is %d (want one from %d to %d, the axis)", i, size, c.Axis.From, c.Axis.To)
		case i > 0 && size <= c.Sizes[i-1]:
			return fmt.Errorf("sizes[%d] is %d after %d (want ascending sizes)", i, size, c.Sizes[i-1])
		}
	}
	if err := c.Regret.check(); err != nil {
		return fmt.Errorf("regret: %w", err)
	}
	return notNegative(
		quantity{"tie_band", c.TieBand},
		quantity{"blocks", float64(c.Blocks)},
		quantity{"expected_regret", c.ExpectedRegret},
	)
}

func (a *Axis) check() error {
	if err := checkName(a.Name); err != nil {
		return fmt.Errorf("name %w", err)
	}
	switch {
	case a.From < 1:
		return fmt.Errorf("from is %d (want at least 1)", a.From)
	case a.To < a.From:
		return fmt.Errorf("to is %d, below from, %d", a.To, a.From)
	}
	return checkUnit(a.Unit)
}

// checkUnit returns what is wrong with a unit, or nil. Tables and charts print units unchanged.
func checkUnit(unit string) error {
	switch {
	case unit == "":
		return errors.New("unit is missing")
	case !utf8.ValidString(unit) || strings.ContainsFunc(unit, unicode.IsControl):
		return fmt.Errorf("unit %s has a control character or is not UTF-8", quoted(unit))
	case utf8.RuneCountInString(unit) > MostUnit:
		return fmt.Errorf("unit has %d characters (want at most %d)", utf8.RuneCountInString(unit), MostUnit)
	}
	return nil
}

// checkImplementations checks implementations, each of which may be there only once. It returns their names, and whether
// each was timed.
func checkImplementations(all []Implementation) (competes map[string]bool, err error) {
	if len(all) == 0 {
		return nil, errors.New("has no implementations")
	}
	competes = make(map[string]bool, len(all))
	for i := range all {
		m := &all[i]
		if err := checkName(m.Name); err != nil {
			return nil, fmt.Errorf("implementations[%d]: name %w", i, err)
		}
		if _, twice := competes[m.Name]; twice {
			return nil, fmt.Errorf("implementation %s: is there twice", quoted(m.Name))
		}
		competes[m.Name] = m.Excluded == ""
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("implementation %s: %w", quoted(m.Name), err)
		}
	}
	return competes, nil
}

func (m *Implementation) check() error {
	if err := oneOf("processor", m.Processor, "cpu", "gpu"); err != nil {
		return err
	}
	if m.RelativeError != -1 || m.Excluded == "" {
		if err := notNegative(quantity{"relative_error", m.RelativeError}); err != nil {
			return err
		}
	}
	if err := notNegative(quantity{"error_bound", m.ErrorBound}); err != nil {
		return err
	}
	if m.Revision < 0 || m.Revision > math.MaxInt32 {
		return fmt.Errorf("revision is %d (want 0 to %d)", m.Revision, math.MaxInt32)
	}
	if m.Wrong && m.Excluded == "" {
		return errors.New("wrong is true, and excluded does not say why")
	}
	if m.Cost != nil {
		if err := m.Cost.check(); err != nil {
			return fmt.Errorf("cost: %w", err)
		}
	}
	if len(m.GPUTimes) > 0 && m.Processor != "gpu" {
		return fmt.Errorf("has gpu_times, but its processor is %q", m.Processor)
	}
	for i := range m.GPUTimes {
		if err := m.GPUTimes[i].check(); err != nil {
			return fmt.Errorf("gpu_times[%d]: %w", i, err)
		}
		if i > 0 && m.GPUTimes[i].Size <= m.GPUTimes[i-1].Size {
			return fmt.Errorf("gpu_times[%d]: size is %d after %d (want ascending sizes)", i, m.GPUTimes[i].Size, m.GPUTimes[i-1].Size)
		}
	}
	return nil
}

func (c *Cost) check() error {
	return notNegative(
		quantity{"fixed_seconds", c.FixedSeconds},
		quantity{"size_seconds", c.SizeSeconds},
		quantity{"exponent", c.Exponent},
		quantity{"residual", c.Residual},
	)
}

func (g *GPUTimes) check() error {
	if g.Size < 1 {
		return fmt.Errorf("size is %d (want at least 1)", g.Size)
	}
	return notNegative(
		quantity{"wall_seconds", g.WallSeconds},
		quantity{"gpu_seconds", g.GPUSeconds},
		quantity{"encode_seconds", g.EncodeSeconds},
		quantity{"gap_seconds", g.GapSeconds},
		quantity{"launch_efficiency", g.LaunchEfficiency},
	)
}

// checkSegments checks that the segments cover the axis, each size once, and name implementations that competed.
func (c *Case) checkSegments(competes map[string]bool) error {
	for i := range c.Segments {
		s := &c.Segments[i]
		if err := s.check(competes); err != nil {
			return fmt.Errorf("segment %d %w", i+1, err)
		}
		if i == 0 {
			if s.From != c.Axis.From {
				return fmt.Errorf("segment 1 starts at %d (want %d, where the axis starts)", s.From, c.Axis.From)
			}
			if s.Interval != nil {
				return errors.New("segment 1 has an interval, but it starts with the axis and not at a threshold")
			}
			continue
		}
		before := &c.Segments[i-1]
		place := fmt.Sprintf("segment %d (%d..%d)", i, before.From, before.To)
		switch {
		case s.From < before.From:
			return fmt.Errorf("segment %d starts at %d before %s", i+1, s.From, place)
		case s.From <= before.To:
			return fmt.Errorf("segment %d starts at %d inside %s", i+1, s.From, place)
		case s.From-1 != before.To:
			return fmt.Errorf("segment %d starts at %d, which leaves a gap behind %s", i+1, s.From, place)
		}
	}
	if n := len(c.Segments); n > 0 && c.Segments[n-1].To != c.Axis.To {
		return fmt.Errorf("segment %d ends at %d (want %d, where the axis ends)", n, c.Segments[n-1].To, c.Axis.To)
	}
	return nil
}

// check checks a doubt: a part of the segment with another implementation that competed.
func (d *Doubt) check(s *Segment, competes map[string]bool) error {
	if d.From < s.From || d.To > s.To || d.From > d.To {
		return fmt.Errorf("is %d to %d (want a part of %d to %d)", d.From, d.To, s.From, s.To)
	}
	if d.Implementation == s.Implementation {
		return fmt.Errorf("names %s, which the segment has", quoted(d.Implementation))
	}
	return checkCompetitor(d.Implementation, competes)
}

// check checks that costs are finite and the upper bound is not below the mean.
func (r *Regret) check() error {
	switch {
	case r == nil:
		return nil
	case !(r.Mean > -1) || math.IsInf(r.Mean, 1):
		return fmt.Errorf("mean is %v (want a finite number above -1)", r.Mean)
	case r.Upper != nil && (!(*r.Upper >= r.Mean) || math.IsInf(*r.Upper, 1)):
		return fmt.Errorf("upper is %v (want a finite number, at least the mean, %v)", *r.Upper, r.Mean)
	case r.Parts < 1:
		return fmt.Errorf("parts is %d (want at least 1)", r.Parts)
	}
	return nil
}

func (s *Segment) check(competes map[string]bool) error {
	switch {
	case s.From < 1:
		return fmt.Errorf("starts at %d (want at least 1)", s.From)
	case s.To < s.From:
		return fmt.Errorf("ends at %d before it starts at %d", s.To, s.From)
	}
	named := map[string]bool{s.Implementation: true}
	if err := checkCompetitor(s.Implementation, competes); err != nil {
		return err
	}
	for i, next := range s.Next {
		if err := checkCompetitor(next.Implementation, competes); err != nil {
			return fmt.Errorf("next[%d] %w", i, err)
		}
		if named[next.Implementation] {
			return fmt.Errorf("next[%d] names %s again", i, quoted(next.Implementation))
		}
		named[next.Implementation] = true
		if err := notNegative(quantity{"slowdown", next.Slowdown}); err != nil {
			return fmt.Errorf("next[%d] %w", i, err)
		}
	}
	for i := range s.Doubts {
		if err := s.Doubts[i].check(s, competes); err != nil {
			return fmt.Errorf("doubts[%d] %w", i, err)
		}
	}
	if s.Interval == nil {
		return nil
	}
	if err := notNegative(quantity{"assumed_between_runs", s.Interval.AssumedBetweenRuns}); err != nil {
		return err
	}
	low, high := s.Interval.Low, s.Interval.High
	switch {
	case low < 1:
		return fmt.Errorf("has an interval from %d (want at least 1)", low)
	case high < low:
		return fmt.Errorf("has an interval from %d down to %d", low, high)
	// A bootstrap interval need not hold the estimate. But an interval that is a factor of two away belongs to another
	// threshold.
	case s.From < low/2 || s.From/2 > high:
		return fmt.Errorf("starts at %d, far from its interval %d..%d", s.From, low, high)
	}
	return nil
}

func checkCompetitor(name string, competes map[string]bool) error {
	competed, known := competes[name]
	switch {
	case name == "":
		return errors.New("names no implementation")
	case !known:
		return fmt.Errorf("names %s, which is not among the implementations", quoted(name))
	case !competed:
		return fmt.Errorf("names %s, which is excluded", quoted(name))
	}
	return nil
}

// checkVerdict checks the verdict against the segments.
func (c *Case) checkVerdict() error {
	segments := len(c.Segments)
	switch c.Verdict {
	case Unresolved:
		return nil
	case Always, Tie:
		if segments != 1 {
			return fmt.Errorf("verdict %q with %d segments (want 1)", c.Verdict, segments)
		}
		return nil
	case Crossover:
		if segments < 2 {
			return fmt.Errorf("verdict %q with %d segments (want at least 2)", c.Verdict, segments)
		}
		for i := 1; i < segments; i++ {
			if name := c.Segments[i].Implementation; name == c.Segments[i-1].Implementation {
				return fmt.Errorf("segments %d and %d are both %s, with no crossover between", i, i+1, quoted(name))
			}
		}
		return nil
	}
	return oneOf("verdict", string(c.Verdict), string(Crossover), string(Always), string(Tie), string(Unresolved))
}

// checkName checks the name of a case, an implementation, an axis or a parameter. A name is text without spaces that fits on
// a command line.
func checkName(name string) error {
	if name == "" {
		return errors.New("is missing")
	}
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.ContainsFunc(name, odd) {
		return fmt.Errorf("%s has a space or a control character", quoted(name))
	}
	if len(name) > MostName {
		return fmt.Errorf("has %d bytes (want at most %d)", len(name), MostName)
	}
	return nil
}

func oneOf(field, value string, accepted ...string) error {
	if slices.Contains(accepted, value) {
		return nil
	}
	return fmt.Errorf("%s is %s (want %s)", field, quoted(value), strings.Join(accepted, ", "))
}

// quantity is a number with its name in the file.
type quantity struct {
	name  string
	value float64
}

func notNegative(quantities ...quantity) error {
	for _, q := range quantities {
		if !(q.value >= 0) || math.IsInf(q.value, 1) {
			return fmt.Errorf("%s is %s (want a finite number, at least 0)", q.name, strconv.FormatFloat(q.value, 'g', -1, 64))
		}
	}
	return nil
}
