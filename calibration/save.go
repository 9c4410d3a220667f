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

// Host returns the entry with an id, or nil if there is none. It points into the file.
func (f *File) Host(id string) *Host {
	for i := range f.Hosts {
		if f.Hosts[i].ID == id {
			return &f.Hosts[i]
		}
	}
	return nil
}

// Merge adds an entry, or replaces the entry with the same id, and leaves all others as they are. It fails if a simulated
// entry would replace a measured one.
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

// WriteTo writes the file as text, in the form of Save, and returns the number of bytes written. If the file is not valid,
// it fails and writes nothing.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	text, err := f.encode()
	if err != nil {
		return 0, fmt.Errorf("calibration: %w", err)
	}
	n, err := w.Write(text)
	return int64(n), err
}

// Save checks the file and writes it to path, whatever was there. The text has the present SchemaVersion. Hosts are sorted
// by id, cases by name, and operations by name and placement. Times are in UTC and whole seconds. Texts for people have no
// control characters and at most MostText characters. The text is indented by two spaces and ends with a newline. An object or
// array that fits into a line has one. Equal values become the same bytes. A file of a newer minor version is refused, because
// fields that this version does not know would be lost. Update keeps them.
//
// Save writes a temporary file beside path, syncs it to the disk, and renames it to path. If a step before that fails, the
// old file stays as it was, and no other file is left. A new file gets mode 0644. An old file keeps its mode and, if the
// system allows it, its owner. If path is a symbolic link, Save replaces the file to which it points. Save never replaces
// anything but a regular file.
func Save(path string, f *File) error {
	return locked(context.Background(), path, func(target string) error {
		text, err := f.encode()
		if err != nil {
			return err
		}
		return replace(target, text)
	})
}

// SaveCompressed is Save for a file of one host, compressed with gzip. Load reads it; Update and ReadIndex do not.
func SaveCompressed(path string, f *File) error {
	return locked(context.Background(), path, func(target string) error {
		text, err := f.encode()
		if err == nil {
			text, err = compress(text)
		}
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

// separator returns the text before the element of a list at the given position.
func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// encode returns the text of one host in a file, with its digest. The host must be normalised.
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
	return layOut(fmt.Appendf(before, "%q%s", digest(before, behind), behind), 2), nil
}

// normalise gives the file the one form of its value: sorted, and with clean texts for people. It does not change arrays
// that the caller may share.
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
		c.Segments = copiedSegments(c.Segments)
		c.normaliseWithin()
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
	h.normalisePipelines()
}

// copiedSegments returns a copy in which every segment has an array of alternatives.
func copiedSegments(all []Segment) []Segment {
	all = copied(all)
	for i := range all {
		all[i].Next = copied(all[i].Next)
	}
	return all
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

// copied returns a copy of the array. The copy of an empty array is empty and not nil, so that it is not written as null.
func copied[T any](array []T) []T { return append(make([]T, 0, len(array)), array...) }

func byID(a, b Host) int { return cmp.Compare(a.ID, b.ID) }
