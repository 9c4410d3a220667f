package calibration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
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
			return fmt.Errorf("calibration: %q was measured, and a simulation does not replace a measurement", h.ID)
		}
		*old = h
	} else {
		f.Hosts = append(f.Hosts, h)
	}
	slices.SortFunc(f.Hosts, byID)
	return nil
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

// Save writes the file to path: checked, of the present SchemaVersion, hosts sorted by id and cases by name, times in
// UTC and whole seconds, indented by two spaces, with a final newline. The same value becomes the same bytes.
//
// The text goes to a temporary file beside path, reaches the disk, and takes the place of path in one step. Whatever
// fails up to there leaves the old file as it was and no other file behind. A new file gets mode 0644, an old one keeps
// its mode; behind a symbolic link, the file that it points to is replaced.
func Save(path string, f *File) error {
	text, err := f.encode()
	if err == nil {
		err = replace(path, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, unnamed(err))
	}
	return nil
}

// encode returns the text of the file.
func (f *File) encode() ([]byte, error) {
	fresh := File{SchemaVersion: SchemaVersion, Hosts: slices.Clone(f.Hosts)}
	if err := fresh.check(); err != nil {
		return nil, err
	}
	fresh.normalise()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(&fresh); err != nil {
		return nil, err
	}
	if text.Len() > MaxFileBytes {
		return nil, fmt.Errorf("holds %d bytes (want at most %d)", text.Len(), MaxFileBytes)
	}
	return text.Bytes(), nil
}

// normalise brings the file into the one form that its value has. It changes no array that the caller may share.
func (f *File) normalise() {
	f.Hosts = copied(f.Hosts)
	for i := range f.Hosts {
		f.Hosts[i].normalise()
	}
	slices.SortFunc(f.Hosts, byID)
}

func (h *Host) normalise() {
	h.Created = h.Created.UTC().Truncate(time.Second)
	if len(h.Facts.CoreKinds) == 0 {
		h.Facts.CoreKinds = nil // as with the warnings
	}
	if len(h.Warnings) == 0 {
		h.Warnings = nil // it is left out, and read back as nil
	}
	h.Cases = copied(h.Cases)
	for i := range h.Cases {
		c := &h.Cases[i]
		if c.Parameters == nil {
			c.Parameters = map[string]int{}
		}
		c.Implementations = copied(c.Implementations)
		c.Sizes = copied(c.Sizes)
		c.Warnings = copied(c.Warnings)
		c.Segments = copied(c.Segments)
		for j := range c.Segments {
			c.Segments[j].Next = copied(c.Segments[j].Next)
		}
	}
	slices.SortFunc(h.Cases, func(a, b Case) int { return cmp.Compare(a.Name, b.Name) })
}

// copied returns a copy that is an empty array, and not null, where there is nothing in it.
func copied[T any](array []T) []T { return append(make([]T, 0, len(array)), array...) }

func byID(a, b Host) int { return cmp.Compare(a.ID, b.ID) }

// replace writes a file beside path and renames it to path.
func replace(path string, write func(io.Writer) error) (err error) {
	mode := fs.FileMode(0o644)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return errors.New("is a directory (want a file)")
		}
		mode = info.Mode().Perm()
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := file.Chmod(mode); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder brings a rename to the disk. File systems that cannot sync a folder say so, and that is no failure.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	err = folder.Sync()
	if err == nil || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("written, but its folder could not be synced: %w", err)
}
