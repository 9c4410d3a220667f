package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/host"
)

const noCalibration = "no calibration loaded"

// entry is the calibration behind the choices.
type entry struct {
	host     *calibration.Host // nil if there is none
	fallback string            // why it is not that of this host; "" if it is
	otherGPU bool              // its GPU is not the one of this host, so its GPU thresholds do not hold here

	predicted map[*calibration.Operation]*predicted // by operations of the host; made when needed, under the lock
}

func newEntry(h *calibration.Host) entry {
	return entry{host: h, predicted: map[*calibration.Operation]*predicted{}}
}

// find returns a case of the entry, nil if it has none of that name.
func (e entry) find(name string) *calibration.Case {
	if e.host == nil {
		return nil
	}
	for i := range e.host.Cases {
		if e.host.Cases[i].Name == name {
			return &e.host.Cases[i]
		}
	}
	return nil
}

// measured returns the case that was measured on a line, nil if none was, or if it does not decide.
func (e entry) measured(l *line) *calibration.Case {
	for i := range e.host.Cases {
		if c := &e.host.Cases[i]; l.is(c) && decided(c) {
			return c
		}
	}
	return nil
}

// names returns the names of the entry's cases and of their operations.
func (e entry) names() []string {
	if e.host == nil {
		return nil
	}
	var names []string
	for i := range e.host.Cases {
		names = append(names, e.host.Cases[i].Name, e.host.Cases[i].Operation)
	}
	return names
}

// candidate is an entry that may be picked, and a function that returns the whole entry.
type candidate struct {
	id        string
	simulated bool
	facts     host.Facts
	created   time.Time
	host      func() (*calibration.Host, error)
}

// fileCandidates returns the entries of a file, nil for no file.
func fileCandidates(file *calibration.File) []candidate {
	if file == nil {
		return nil
	}
	candidates := make([]candidate, len(file.Hosts))
	for i := range file.Hosts {
		h := &file.Hosts[i]
		candidates[i] = candidate{h.ID, h.Simulated, host.Facts(h.Facts), h.Created, func() (*calibration.Host, error) {
			return h, h.Validate()
		}}
	}
	return candidates
}

// entryCandidates returns the entries of a file that are not decoded. An entry whose time cannot be read counts as old.
// Decoding it fails later.
func entryCandidates(entries []calibration.Entry) []candidate {
	candidates := make([]candidate, len(entries))
	for i := range entries {
		e := &entries[i]
		created, _ := time.Parse(time.RFC3339, e.Created)
		candidates[i] = candidate{e.ID, e.Simulated, host.Facts(e.Facts), created, e.Host}
	}
	return candidates
}

// near is a candidate that may stand in for this host.
type near struct {
	candidate
	likeness host.Likeness
	reason   string // why it is not this host
}

// pick takes the entry of this host, otherwise the nearest match, otherwise none. Nil candidates mean that there is no
// calibration.
func (d *Dispatcher) pick(candidates []candidate) (entry, error) {
	if candidates == nil {
		return entry{fallback: noCalibration}, nil
	}
	id := d.host.ID()
	missing := "no entry for " + id
	var matches []near
	for _, c := range candidates {
		if c.simulated && !d.allowSimulated {
			if c.id == id {
				missing = "no measured entry for " + id
			}
			continue
		}
		switch likeness, reason := d.host.Compare(c.facts, c.id == id); likeness {
		case host.Same:
			h, err := c.host()
			return newEntry(h), err
		case host.Other:
		default:
			matches = append(matches, near{c, likeness, reason})
		}
	}
	if len(matches) == 0 {
		return entry{fallback: missing + d.othersThan(candidates)}, nil
	}
	best := slices.MinFunc(matches, func(a, b near) int {
		return cmp.Or(
			compareBool(a.simulated, b.simulated),
			cmp.Compare(b.likeness, a.likeness),
			b.created.Compare(a.created),
			cmp.Compare(a.id, b.id),
		)
	})
	name := best.id
	if name == id {
		name = "of that name"
	}
	h, err := best.candidate.host()
	e := newEntry(h)
	e.fallback = fmt.Sprintf("%s, so the near match %s stands in: %s", missing, name, best.reason)
	e.otherGPU = d.host.GPU != best.facts.GPU && !d.host.SameGPU(best.facts)
	return e, err
}

// othersThan says which hosts are in a file that has no entry for this host.
func (d *Dispatcher) othersThan(candidates []candidate) string {
	const shown = 4
	var ids []string
	for _, c := range candidates {
		if !c.simulated || d.allowSimulated {
			ids = append(ids, c.id)
		}
	}
	family := "its family"
	if d.host.Family != "" {
		family += ", " + d.host.Family
	}
	text := " and none for " + family
	switch {
	case len(ids) == 0:
		return text + " (the file has no measured host)"
	case len(ids) > shown:
		return fmt.Sprintf("%s (the file has %s and %d more)", text, strings.Join(ids[:shown], ", "), len(ids)-shown)
	}
	return fmt.Sprintf("%s (the file has %s)", text, strings.Join(ids, ", "))
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
