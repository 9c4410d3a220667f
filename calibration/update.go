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

// Update changes the calibration file at path: it reads the file, calls change with what is in it, and writes the file
// back in one step, as Save does, if change merged anything. A missing file is an empty one. Concurrent updates follow one
// another, so that none loses what another wrote; an update that has to wait for long fails with the number of the process
// that it waits for.
//
// Where reading, change or writing fails, or ctx ends before writing began, the file stays as it was. An error of change
// is returned as it is. Entries that change does not merge are not decoded and keep their bytes, also fields of a newer
// minor version of the schema, and so do such fields of the file itself. An entry that change replaces loses the fields
// that this package does not know.
func Update(ctx context.Context, path string, change func(*Index) error) error {
	var refused error // by change
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

// LoadForUpdate reads the calibration file at path as Update does: it looks at the whole text, and finds the hosts without
// decoding them. A missing file is one without hosts.
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

// Host decodes and checks the entry with an id, nil where there is none.
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

// Merge puts an entry in, in place of the one with the same id if there is one, and leaves all others as they are. It sorts
// the entries by id. A simulated entry does not replace a measured one; that is an error, as is an entry that is not valid.
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

// Save writes the file to path, as the function Save does, whatever was there.
func (x *Index) Save(path string) error {
	return locked(context.Background(), path, x.replace)
}

// replace writes the file to a path of which the caller holds the lock.
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
		return buffered.Flush() // with the first error of all
	})
}

// size is how many bytes the file takes.
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

// writeTo writes the text of the file: the entries and the fields that this package does not know as they stand. Errors are
// left to the writer.
func (x *Index) writeTo(w io.Writer) {
	version := SchemaVersion
	if newerMinor(x.SchemaVersion) {
		version = x.SchemaVersion // whose fields are kept
	}
	fmt.Fprintf(w, "{\n  \"schema_version\": %q,\n  \"hosts\": [", version)
	for i := range x.Entries {
		io.WriteString(w, separator(i)+"\n    ")
		w.Write(x.Entries[i].raw())
	}
	if len(x.Entries) > 0 {
		io.WriteString(w, "\n  ")
	}
	io.WriteString(w, "]")
	for _, other := range x.others {
		name, _ := json.Marshal(other.name)
		fmt.Fprintf(w, ",\n  %s: %s", name, x.text[other.at.start:other.at.end])
	}
	io.WriteString(w, "\n}\n")
}
