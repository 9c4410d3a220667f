package calibration

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
)

// Update changes the calibration file at path. It reads the file and calls change with its content. If change merged
// anything, Update writes the file back in one step, as Save does. A missing file is an empty one. Concurrent updates follow
// one another, so that none loses what another wrote. An update that waits for too long fails, with the number of the
// process for which it waits.
//
// If reading, change or writing fails, or if ctx ends before writing began, the file stays as it was. An error of change is
// returned unchanged. Entries that change does not merge are not decoded and keep their bytes, including fields of a newer
// minor version of the schema. So do such fields of the file itself. An entry that change replaces loses the fields that
// this package does not know.
func Update(ctx context.Context, path string, change func(*Index) error) error {
	var refused error // error of change
	err := locked(ctx, path, func(target string) error {
		x, err := loadForUpdate(target)
		if err != nil {
			return err
		}
		if refused = change(x); refused != nil || !x.merged {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return x.replace(target)
	})
	if refused != nil {
		return refused
	}
	return err
}

// LoadForUpdate reads the calibration file at path as Update does: it checks the whole text, and finds the hosts without
// decoding them. A missing file has no hosts.
func LoadForUpdate(path string) (*Index, error) {
	if err := checkRegular(path); err != nil {
		return nil, named(path, err)
	}
	x, err := loadForUpdate(path)
	if err != nil {
		return nil, named(path, err)
	}
	return x, nil
}

func loadForUpdate(path string) (*Index, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Index{SchemaVersion: SchemaVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readWhole(file)
}

// Host decodes and checks the entry with an id. It returns nil if there is none.
func (x *Index) Host(id string) (*Host, error) {
	at := x.find(id)
	if at < 0 {
		return nil, nil
	}
	return x.Entries[at].Host()
}

func (x *Index) find(id string) int {
	return slices.IndexFunc(x.Entries, func(e Entry) bool { return e.ID == id })
}

// Merge adds an entry, or replaces the entry with the same id, and leaves all others as they are. It sorts the entries by
// id. It fails if the entry is not valid, or if a simulated entry would replace a measured one.
func (x *Index) Merge(h Host) error {
	if err := h.Validate(); err != nil {
		return err
	}
	h.normalise()
	at := x.find(h.ID)
	if at >= 0 {
		if h.Simulated && !x.Entries[at].Simulated {
			return simulatedOver(h.ID)
		}
		if old, err := x.Entries[at].Host(); err == nil && reflect.DeepEqual(*old, h) {
			return nil
		}
	}
	encoded, err := h.encode()
	if err != nil {
		return err
	}
	entry, err := newEntry(encoded, 0, max(at, 0))
	if err != nil {
		return fmt.Errorf("calibration: %s: %w", hostPlace(entry.position, h.ID), err)
	}
	if at < 0 {
		x.Entries = append(x.Entries, entry)
	} else {
		x.Entries[at] = entry
	}
	slices.SortFunc(x.Entries, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	x.merged = true
	return nil
}

// Save writes the file to path, whatever was there, as the function Save does.
func (x *Index) Save(path string) error {
	return locked(context.Background(), path, x.replace)
}

// replace writes the file to a path whose lock the caller holds.
func (x *Index) replace(path string) error {
	if len(x.Entries) > MaxHosts {
		return fmt.Errorf("holds more than %d hosts", MaxHosts)
	}
	if size := x.size(); size > MaxFileBytes {
		return fmt.Errorf("holds %d bytes (want at most %d)", size, MaxFileBytes)
	}
	return replaceBy(path, func(to io.Writer) error {
		buffered := bufio.NewWriterSize(to, 1<<20)
		x.writeTo(buffered)
		return buffered.Flush() // returns the first error of all writes
	})
}

// size returns the number of bytes of the file.
func (x *Index) size() int64 {
	var n counter
	x.writeTo(&n)
	return int64(n)
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// writeTo writes the text of the file. Entries and fields that this package does not know keep their bytes. Errors are left
// to the writer.
func (x *Index) writeTo(w io.Writer) {
	version := SchemaVersion
	if newerMinor(x.SchemaVersion) {
		version = x.SchemaVersion // a newer minor version, whose fields are kept
	}
	sizes := []int{}
	for i := range x.Entries {
		sizes = append(sizes, len(x.Entries[i].raw()))
	}
	list, _ := json.Marshal(sizes)
	fmt.Fprintf(w, "{\n \"schema_version\": %q,\n %q: %s,\n \"hosts\": [", version, hostBytesKey, layOut(list, 1))
	for i := range x.Entries {
		io.WriteString(w, separator(i)+"\n  ")
		w.Write(x.Entries[i].raw())
	}
	if len(x.Entries) > 0 {
		io.WriteString(w, "\n ")
	}
	io.WriteString(w, "]")
	for _, other := range x.others {
		name, _ := json.Marshal(other.name)
		fmt.Fprintf(w, ",\n %s: %s", name, x.text[other.at.start:other.at.end])
	}
	io.WriteString(w, "\n}\n")
}
