package calibration

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// View calls use with the entries of the calibration file at path. The entries are not decoded, and may be used until use
// returns. If the file says where its hosts are, as every file from version 2.1 on does, View reads only the beginnings of
// hosts, and Entry.Host only one host. Then a mistake in another host, even text that is not JSON, is not found. Otherwise
// View reads the whole file.
//
// Errors of use are returned with the name of the file. If there is no such file, the error wraps fs.ErrNotExist.
func View(path string, use func([]Entry) error) error {
	_, err := load(path, func(file *os.File) (*Index, error) {
		entries, found := entriesAt(file)
		if !found {
			x, err := readIndex(file)
			if err != nil {
				return nil, err
			}
			entries = x.Entries
		}
		return nil, use(entries)
	})
	return err
}

const (
	// headBytes is the number of bytes at the beginning of a host that are read for its entry. The facts of machines have less
	// than 2 KB.
	headBytes = 16 << 10
	// startBytes is the number of bytes at the beginning of a file in which its hosts begin. A list of the sizes of MaxHosts
	// hosts has less than 100 KB.
	startBytes = 128 << 10
)

// errEnough ends the walk over the members of an object.
var errEnough = errors.New("enough")

// entriesAt finds the hosts of a file by the sizes that the file states. It returns false if there are none, or if the text
// is not exactly where the sizes say. Somebody may have edited the text, or merged two files.
func entriesAt(file *os.File) (entries []Entry, found bool) {
	info, err := file.Stat()
	if err != nil || info.Size() > MaxFileBytes {
		return nil, false
	}
	start, err := readAt(file, 0, min(startBytes, info.Size()))
	if err != nil {
		return nil, false
	}
	sizes, at := start.hostBytes()
	if len(sizes) == 0 || len(sizes) > MaxHosts {
		return nil, false
	}
	for i, size := range sizes {
		if size < len("{}") || size > MaxHostBytes || int64(at+size) > info.Size() {
			return nil, false
		}
		head, err := readAt(file, at, min(headBytes, int64(size)))
		if err != nil {
			return nil, false
		}
		e := Entry{position: i, file: file, at: span{at, at + size}}
		if e.readHead(head) != nil {
			return nil, false
		}
		entries = append(entries, e)
		last := i == len(sizes)-1
		if at = betweenHosts(file, at+size, last); at < 0 {
			return nil, false
		}
	}
	return entries, checkUnique(len(entries), func(i int) string { return entries[i].ID }) == nil
}

// hostBytes returns the sizes of the hosts, and the offset of the first one, from the beginning of a file. It returns no
// sizes if there are none before the hosts.
func (t text) hostBytes() (sizes []int, first int) {
	version := ""
	_, err := t.object(t.skipSpace(0), func(key string, at int) (int, error) {
		switch key {
		case "schema_version":
			return t.value(at, &version)
		case hostBytesKey:
			return t.value(at, &sizes)
		case "hosts":
			if t.at(at) == '[' {
				first = t.skipSpace(at + 1)
				return 0, errEnough
			}
		}
		return t.skipValue(at)
	})
	if err != errEnough || checkVersion(version) != nil {
		return nil, 0
	}
	return sizes, first
}

// hostBytesKey is the name of the field with the sizes of the hosts. It stands before the hosts.
const hostBytesKey = "host_bytes"

// betweenHosts returns the offset of the next host, where a host ends at end. It returns −1 if the text there is not that
// between two hosts, or behind the last one.
func betweenHosts(file *os.File, end int, last bool) int {
	const white = 64 // more than Save writes
	around, err := readAt(file, end-1, white)
	if err != nil && err != io.EOF {
		return -1
	}
	between := around.skipSpace(1)
	switch {
	case around.at(0) != '}':
	case last && around.at(between) == ']':
		return end
	case !last && around.at(between) == ',':
		return end - 1 + around.skipSpace(between+1)
	}
	return -1
}

// readAt reads a part of a file. The error is io.EOF if the file ends before.
func readAt(file *os.File, at int, n int64) (text, error) {
	part := make(text, n)
	read, err := file.ReadAt(part, int64(at))
	return part[:read], err
}

// readHead fills in an entry from the beginning of its host.
func (e *Entry) readHead(head text) error {
	count := fieldCount{}
	_, err := head.object(0, func(key string, at int) (int, error) {
		if into := e.field(key, count); into != nil {
			behind, err := head.value(at, into)
			if err == nil && count["id"]*count["simulated"]*count["facts"]*count["created"] == 1 {
				err = errEnough
			}
			return behind, err
		}
		return head.skipValue(at)
	})
	if err != errEnough {
		return fmt.Errorf("no entry: %w", err)
	}
	e.clean()
	return checkID(e.ID)
}

// hostAt decodes and checks the entry from its part of the file. If there is a mistake, the whole file is read to say where.
func (e *Entry) hostAt() (*Host, error) {
	part, err := readAt(e.file, e.at.start, int64(e.at.end-e.at.start))
	if err == nil {
		alone, err := newEntry(part, 0, e.position)
		if err == nil && alone.ID == e.ID && alone.at.end == len(part) {
			if h, err := alone.Host(); err == nil {
				return h, nil
			}
		}
	}
	info, err := e.file.Stat()
	if err != nil {
		return nil, err
	}
	x, err := readIndex(io.NewSectionReader(e.file, 0, info.Size()))
	if err != nil {
		return nil, err
	}
	if e.position >= len(x.Entries) || x.Entries[e.position].ID != e.ID {
		return nil, fmt.Errorf("%s: is not where the file says (calibrate writes it anew)", hostPlace(e.position, e.ID))
	}
	return x.Entries[e.position].Host()
}
