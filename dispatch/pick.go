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

	predicted map[*calibration.Operation]*predicted // by operations, also those of a match; made when needed, under the lock

	// near finds the near match for what this host's own entry does not know. It is nil if there is none.
	near func() (entry, error)
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

// knows reports whether the entry has a choice for calls of an operation in general: a surface, or the case of an operation with one
// axis at more than one size. Other cases, and shapes that somebody asked for, are not enough.
func (e entry) knows(operation string) bool {
	if e.host == nil {
		return false
	}
	return slices.ContainsFunc(e.host.Operations, func(o calibration.Operation) bool { return o.Name == operation && o.Surface.Fitted() }) ||
		slices.ContainsFunc(e.host.Cases, func(c calibration.Case) bool {
			_, fixed, _ := splitName(c.Name)
			return c.Operation == operation && len(fixed) == 0 && !single(&c)
		})
}

// has reports whether a case is one of the entry.
func (e entry) has(c *calibration.Case) bool {
	if e.host == nil {
		return false
	}
	for i := range e.host.Cases {
		if &e.host.Cases[i] == c {
			return true
		}
	}
	return false
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

// match is a candidate that may stand in for this host.
type match struct {
	candidate
	likeness host.Likeness
	reason   string // why it is not this host
}

// pick takes the entry of this host, otherwise the nearest match, otherwise none. Nil candidates mean that there is no
// calibration. again picks from the same candidates as the given function does.
func (d *Dispatcher) pick(candidates []candidate, again func(pick func([]candidate) (entry, error)) (entry, error)) (entry, error) {
	if candidates == nil {
		return entry{fallback: noCalibration}, nil
	}
	own, matches, missing := d.matches(candidates)
	switch {
	case own != nil:
		h, err := own.host()
		e := newEntry(h)
		if len(matches) > 0 {
			e.near = func() (entry, error) { return again(d.pickNear) }
		}
		return e, err
	case len(matches) > 0:
		return d.nearest(matches, missing)
	}
	return entry{fallback: missing + d.othersThan(candidates)}, nil
}

// pickNear takes the nearest match for what the entry of this host lacks, otherwise none.
func (d *Dispatcher) pickNear(candidates []candidate) (entry, error) {
	_, matches, _ := d.matches(candidates)
	if len(matches) == 0 {
		return entry{}, nil
	}
	return d.nearest(matches, "the entry of this host says nothing of such calls")
}

// matches returns the entry of this host, nil if there is none, and the near matches. missing says that there is no entry.
func (d *Dispatcher) matches(candidates []candidate) (own *candidate, matches []match, missing string) {
	id := d.host.ID()
	missing = "no entry for " + id
	for _, c := range candidates {
		if c.simulated && !d.allowSimulated {
			if c.id == id {
				missing = "no measured entry for " + id
			}
			continue
		}
		switch likeness, reason := d.host.Compare(c.facts, c.id == id); likeness {
		case host.Same:
			if own == nil {
				own = &c
			}
		case host.Other:
		default:
			matches = append(matches, match{c, likeness, reason})
		}
	}
	return own, matches, missing
}

// nearest returns the entry of the nearest match. missing says why it is needed.
func (d *Dispatcher) nearest(matches []match, missing string) (entry, error) {
	best := slices.MinFunc(matches, func(a, b match) int {
		return cmp.Or(
			compareBool(a.simulated, b.simulated),
			cmp.Compare(b.likeness, a.likeness),
			b.created.Compare(a.created),
			cmp.Compare(a.id, b.id),
		)
	})
	name := best.id
	if name == d.host.ID() {
		name = "of that name"
	}
	h, err := best.candidate.host()
	e := newEntry(h)
	e.fallback = fmt.Sprintf("%s, so the near match %s stands in: %s", missing, name, best.reason)
	e.otherGPU = d.host.GPU != best.facts.GPU && !d.host.SameGPU(best.facts)
	return e, err
}

// entryFor returns the entry behind the choices of an operation: that of this host, or the near match if only the match knows the
// operation. What this host's entry has of it nevertheless comes first: see find. The caller holds the lock.
func (d *Dispatcher) entryFor(operation string) entry {
	if d.entry.near == nil || d.entry.knows(operation) {
		return d.entry
	}
	if near := d.standIn(); near.knows(operation) {
		return near
	}
	return d.entry
}

// find returns a case of this host's entry, or of the entry behind the choices of the operation, nil if neither has it. One that
// says more comes first. The caller holds the lock.
func (d *Dispatcher) find(operation, name string) *calibration.Case {
	own, other := d.entry.find(name), d.entryFor(operation).find(name)
	if own == nil || decided(other) && (!decided(own) || single(own) && !single(other)) {
		return other
	}
	return own
}

// entryOf returns the entry that a case is from. The caller holds the lock.
func (d *Dispatcher) entryOf(c *calibration.Case) entry {
	if d.entry.has(c) {
		return d.entry
	}
	return d.entryFor(c.Operation)
}

// standIn returns the near match of an entry that has one. An entry without a host takes the place of one that cannot be read,
// because the choices for the other operations hold without it. The caller holds the lock.
func (d *Dispatcher) standIn() entry {
	if d.match == nil {
		e, err := d.entry.near()
		if err != nil {
			warn("the near match for operations that this host's entry lacks cannot be read: %v", err)
			e = entry{}
		}
		d.match = &e
	}
	return *d.match
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
