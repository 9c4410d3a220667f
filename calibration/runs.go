package calibration

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Run is a run of some cases of an entry: when it was, the state of the machine, and how it measured.
type Run struct {
	Created     time.Time   `json:"created"` // UTC, whole seconds
	Environment Environment `json:"environment"`
	Method      Method      `json:"method"`
}

// RunOf returns the newest run of a case of the entry.
func (h *Host) RunOf(c *Case) Run { return h.run(c.Run) }

// EarlierRun returns an earlier run of a case.
func (h *Host) EarlierRun(e Earlier) Run { return h.run(e.Run) }

// run returns the run with a number: 0 is the entry's own, and n is Runs[n-1].
func (h *Host) run(n int) Run {
	if n > 0 && n <= len(h.Runs) {
		return h.Runs[n-1]
	}
	return Run{Created: h.Created, Environment: h.Environment, Method: h.Method}
}

// Processors returns the greatest number of processors to which the entry's times may belong: those that the processes could use, or
// more if Go was told so.
func (h *Host) Processors() int {
	most := h.Facts.Cores
	for n := range len(h.Runs) + 1 {
		if s := h.run(n).Environment.Sentinel; s != nil {
			most = max(most, s.Processors)
		}
	}
	return most
}

// For returns the host as it was in the newest run of a case, without cases, operations and pipelines.
func (h *Host) For(c *Case) *Host {
	run, of := h.RunOf(c), *h
	of.Created, of.Environment, of.Method = run.Created, run.Environment, run.Method
	of.Runs, of.Cases, of.Operations, of.Pipelines = nil, nil, nil, nil
	return &of
}

// checkRuns checks that each run is complete, and that a case refers to it.
func (h *Host) checkRuns() error {
	used := make([]bool, len(h.Runs))
	for i := range h.Cases {
		c := &h.Cases[i]
		switch {
		case c.Run < 0 || c.Run > len(h.Runs):
			return fmt.Errorf("case %q: run is %d (want 0 to %d, the number of runs)", c.Name, c.Run, len(h.Runs))
		case c.Run > 0:
			used[c.Run-1] = true
		}
		seen := map[int]bool{c.Run: true}
		for k, e := range c.Earlier {
			switch {
			case e.Run < 0 || e.Run > len(h.Runs):
				return fmt.Errorf("case %q: earlier[%d]: run is %d (want 0 to %d, the number of runs)", c.Name, k, e.Run, len(h.Runs))
			case seen[e.Run]:
				return fmt.Errorf("case %q: earlier[%d]: run %d is there twice", c.Name, k, e.Run)
			case e.Blocks < 1 || !samplesDigest.MatchString(e.Samples):
				return fmt.Errorf(`case %q: earlier[%d]: want a number of blocks and a digest ("sha256:" and 64 hexadecimal digits)`, c.Name, k)
			case e.Run > 0:
				used[e.Run-1] = true
			}
			seen[e.Run] = true
		}
	}
	for i := range h.Runs {
		if err := h.Runs[i].check(); err != nil {
			return fmt.Errorf("runs[%d]: %w", i, err)
		}
		if !used[i] {
			return fmt.Errorf("runs[%d]: no case is from it", i)
		}
	}
	return nil
}

func (r *Run) check() error {
	if err := checkCreated(r.Created); err != nil {
		return err
	}
	if err := r.Environment.check(); err != nil {
		return fmt.Errorf("environment: %w", err)
	}
	if err := r.Method.check(); err != nil {
		return fmt.Errorf("method: %w", err)
	}
	return nil
}

func checkCreated(created time.Time) error {
	if created.IsZero() {
		return errors.New("created is missing")
	}
	if year := created.UTC().Year(); year < 1 || year > 9999 {
		return fmt.Errorf("created in the year %d (want 1 to 9999)", year)
	}
	return nil
}

var samplesDigest = regexp.MustCompile(`^(sha256:[0-9a-f]{64})?$`)

// checkSamples checks a digest, which may be empty. Package timings makes digests.
func (c *Case) checkSamples() error {
	if !samplesDigest.MatchString(c.Samples) {
		return errNoDigest
	}
	return nil
}

var errNoDigest = errors.New(`samples is no digest (want "sha256:" and 64 hexadecimal digits)`)
