package calibration

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Host returns the entry with an id, nil where there is none. It points into the file.
func (f *File) Host(id string) *Host {
	for i := range f.Hosts {
		if f.Hosts[i].ID == id {
			return &f.Hosts[i]
		}
	}
	return nil
}

// Merge puts an entry in, in place of the one with the same id if there is one, and leaves all others as they are. A
// simulated entry does not replace a measured one; that is an error.
func (f *File) Merge(h Host) error {
	if old := f.Host(h.ID); old != nil {
		if h.Simulated && !old.Simulated {
			return simulatedOver(h.ID)
		}
		*old = h
	} else {
		f.Hosts = append(f.Hosts, h)
	}
	slices.SortFunc(f.Hosts, byID)
	return nil
}

func simulatedOver(id string) error {
	return fmt.Errorf("calibration: %s was measured, and a simulation does not replace a measurement", quoted(id))
}

// WriteTo writes the file as text, in the form that Save gives it, and returns the number of bytes written. It writes
// nothing where the file is not valid.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	text, err := f.encode()
	if err != nil {
		return 0, fmt.Errorf("calibration: %w", err)
	}
	n, err := w.Write(text)
	return int64(n), err
}

// Save writes the file to path, whatever was there: checked, of the present SchemaVersion, hosts sorted by id, cases by
// name and operations by name and placement, times in UTC and whole seconds, texts for people without control characters
// and of at most MostText characters, indented by two spaces, with a final newline. The same value becomes the same bytes.
// A file that a newer minor version wrote is refused, because what this one does not know would be lost; Update
// keeps it.
//
// The text goes to a temporary file beside path, reaches the disk, and takes the place of path in one step. Whatever
// fails up to there leaves the old file as it was and no other file behind. A new file gets mode 0644, an old one keeps
// its mode and, where the system lets us, its owner; behind a symbolic link, the file that it points to is replaced. What
// is not a regular file is never replaced.
func Save(path string, f *File) error {
	return locked(context.Background(), path, func(target string) error {
		text, err := f.encode()
		if err != nil {
			return err
		}
		return replace(target, text)
	})
}

// encode returns the text of the file.
func (f *File) encode() ([]byte, error) {
	fresh := File{SchemaVersion: SchemaVersion, Hosts: slices.Clone(f.Hosts)}
	if f.SchemaVersion != "" {
		if err := checkVersion(f.SchemaVersion); err != nil {
			return nil, err
		}
	}
	if newerMinor(f.SchemaVersion) {
		return nil, fmt.Errorf("schema_version %s is newer than %s, and its fields would be lost; update crossover", f.SchemaVersion, SchemaVersion)
	}
	if err := fresh.check(); err != nil {
		return nil, err
	}
	fresh.normalise()
	x := new(Index)
	for i := range fresh.Hosts {
		entry, err := fresh.Hosts[i].encode()
		if err != nil {
			return nil, err
		}
		if len(entry) > MaxHostBytes {
			return nil, fmt.Errorf("%s: holds %d bytes (want at most %d)", hostPlace(i, fresh.Hosts[i].ID), len(entry), MaxHostBytes)
		}
		x.Entries = append(x.Entries, Entry{text: entry, at: span{0, len(entry)}})
	}
	var text bytes.Buffer
	x.writeTo(&text)
	if text.Len() > MaxFileBytes {
		return nil, fmt.Errorf("holds %d bytes (want at most %d)", text.Len(), MaxFileBytes)
	}
	return text.Bytes(), nil
}

// separator returns what stands before the element of a list at the given position.
func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// encode returns the text of one host as it stands in a file, with its digest. The host is normalised.
func (h *Host) encode() ([]byte, error) {
	var compact bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(h); err != nil {
		return nil, err
	}
	object := bytes.TrimSuffix(compact.Bytes(), []byte("}\n"))
	before := slices.Concat(object, []byte(`,"digest":`))
	behind := []byte("}")
	var indented bytes.Buffer
	if err := json.Indent(&indented, fmt.Appendf(before, "%q%s", digest(before, behind), behind), "    ", "  "); err != nil {
		return nil, err
	}
	return packNumbers(indented.Bytes()), nil
}

// normalise brings the file into the one form that its value has: sorted, and with clean texts for people. It changes
// no array that the caller may share.
func (f *File) normalise() {
	f.Hosts = copied(f.Hosts)
	for i := range f.Hosts {
		f.Hosts[i].normalise()
	}
	slices.SortFunc(f.Hosts, byID)
}

func (h *Host) normalise() {
	h.Created = h.Created.UTC().Truncate(time.Second)
	h.Facts.clean()
	h.Environment.clean()
	clean(&h.Method.Audio)
	h.Warnings = cleaned(h.Warnings)
	if len(h.Facts.CoreKinds) == 0 {
		h.Facts.CoreKinds = nil // as with the warnings
	}
	if len(h.Warnings) == 0 {
		h.Warnings = nil // no warnings are left out of the file, and read back as nil
	}
	h.Runs = slices.Clone(h.Runs)
	for i := range h.Runs {
		h.Runs[i].Created = h.Runs[i].Created.UTC().Truncate(time.Second)
	}
	if len(h.Runs) == 0 {
		h.Runs = nil
	}
	h.Cases = copied(h.Cases)
	for i := range h.Cases {
		c := &h.Cases[i]
		if c.Parameters == nil {
			c.Parameters = map[string]int{}
		}
		clean(&c.Reason)
		c.Warnings = cleaned(c.Warnings)
		c.Implementations = cleanedImplementations(c.Implementations)
		c.Sizes = copied(c.Sizes)
		c.Segments = copied(c.Segments)
		for j := range c.Segments {
			c.Segments[j].Next = copied(c.Segments[j].Next)
		}
	}
	slices.SortFunc(h.Cases, func(a, b Case) int { return cmp.Compare(a.Name, b.Name) })
	h.Operations = slices.Clone(h.Operations)
	for i := range h.Operations {
		h.Operations[i].normalise()
	}
	if len(h.Operations) == 0 {
		h.Operations = nil
	}
	slices.SortFunc(h.Operations, byNameAndPlacement)
}

// cleanedImplementations returns a copy with clean texts.
func cleanedImplementations(all []Implementation) []Implementation {
	all = copied(all)
	for i := range all {
		clean(&all[i].Version)
		clean(&all[i].Excluded)
	}
	return all
}

// copied returns a copy of the array. The copy of an empty array is empty and not nil, so that it is not written as
// null.
func copied[T any](array []T) []T { return append(make([]T, 0, len(array)), array...) }

func byID(a, b Host) int { return cmp.Compare(a.ID, b.ID) }
