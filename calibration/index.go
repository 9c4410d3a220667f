package calibration

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Index is a calibration file with hosts that are not decoded yet.
type Index struct {
	SchemaVersion string
	Entries       []Entry // in the order of the file

	text   text
	others []member // fields of the file that this package does not know
	merged bool     // whether an entry was merged since the file was read
}

// member is one field of an object. Its value is not decoded.
type member struct {
	name string
	at   span
}

// Entry is one host of an Index: the facts by which a program chooses a host, and the text of the host.
type Entry struct {
	ID        string
	Simulated bool
	Facts     Facts
	Created   string // RFC 3339; Host decodes the time

	digest   string
	digestAt span     // in the text
	text     text     // of the whole file; nil if it was not read
	file     *os.File // that is read instead
	at       span     // of the host
	position int      // of the host in the array
}

// ReadIndex finds the hosts of a calibration file. It decodes only the fields of an Entry. Entry.Host finds mistakes inside
// a host.
func ReadIndex(r io.Reader) (*Index, error) {
	x, err := readIndex(r)
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	return x, nil
}

func readIndex(r io.Reader) (*Index, error) {
	data, err := readAll(r, MaxFileBytes)
	if err != nil {
		return nil, err
	}
	x, err := newIndex(data)
	if err != nil {
		if syntax := data.syntax(); syntax != nil {
			return nil, syntax // names the right place: newIndex skips most of the text, and may stumble far behind a mistake
		}
		return nil, err
	}
	return x, nil
}

// Host decodes and checks the entry. Its error names the place in the file but not the file.
func (e *Entry) Host() (*Host, error) {
	if e.text == nil {
		return e.hostAt()
	}
	edited := make(chan bool, 1)
	go func() { edited <- e.edited() }()
	h := new(Host)
	err := e.text.decodeHost(e.at, h)
	if err == nil {
		err = h.check()
	}
	h.Edited = <-edited
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hostPlace(e.position, e.ID), err)
	}
	h.normalise()
	return h, nil
}

func newIndex(data text) (*Index, error) {
	x := &Index{text: data}
	count := fieldCount{}
	end, err := data.object(data.skipSpace(0), func(key string, at int) (int, error) {
		switch {
		case count.is(key, "schema_version"):
			behind, err := data.value(at, &x.SchemaVersion)
			if err != nil {
				return 0, fmt.Errorf("schema_version: %w", err)
			}
			return behind, nil
		case count.is(key, "hosts"):
			return data.array(at, func(at int) (int, error) {
				if len(x.Entries) == MaxHosts {
					return 0, fmt.Errorf("holds more than %d hosts", MaxHosts)
				}
				entry, err := newEntry(data, at, len(x.Entries))
				if err != nil {
					return 0, fmt.Errorf("%s: %w", hostPlace(entry.position, entry.ID), err)
				}
				x.Entries = append(x.Entries, entry)
				return entry.at.end, nil
			})
		}
		behind, err := data.skipValue(at)
		if key != hostBytesKey {
			x.others = append(x.others, member{key, span{at, behind}})
		}
		return behind, err
	})
	if err != nil {
		return nil, err
	}
	if behind := data.skipSpace(end); behind != len(data) {
		return nil, data.stop(behind, "nothing behind the closing brace")
	}
	if err := count.atMostOnce(); err != nil {
		return nil, err
	}
	if err := checkVersion(x.SchemaVersion); err != nil {
		return nil, err
	}
	if count["hosts"] == 0 {
		return nil, errors.New("hosts is missing (want a list)")
	}
	return x, checkUnique(len(x.Entries), func(i int) string { return x.Entries[i].ID })
}

// newEntry returns the entry of the host that starts at an offset.
func newEntry(data text, start, position int) (Entry, error) {
	e := Entry{text: data, position: position}
	count := fieldCount{}
	end, err := data.object(start, func(key string, at int) (int, error) {
		into := e.field(key, count)
		if into == nil {
			return data.skipValue(at)
		}
		behind, err := data.value(at, into)
		if into == &e.digest {
			e.digestAt = span{at, behind}
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", key, err)
		}
		return behind, nil
	})
	if err != nil {
		return e, err
	}
	e.at = span{start, end}
	e.clean()
	if err := count.atMostOnce(); err != nil {
		return e, err
	}
	if end-start > MaxHostBytes {
		return e, fmt.Errorf("holds %d bytes (want at most %d)", end-start, MaxHostBytes)
	}
	return e, checkID(e.ID)
}

// field returns what a field of a host is decoded into, nil if the entry has no such field. It counts the field.
func (e *Entry) field(key string, count fieldCount) any {
	switch {
	case count.is(key, "id"):
		return &e.ID
	case count.is(key, "simulated"):
		return &e.Simulated
	case count.is(key, "facts"):
		return &e.Facts
	case count.is(key, "created"):
		return &e.Created
	case count.is(key, "digest"):
		return &e.digest
	}
	return nil
}

func (e *Entry) clean() {
	e.Facts.clean()
	clean(&e.Created)
}

// fieldCount counts how often an object has each field of an index. If a field is there twice, encoding/json takes the last,
// or a mixture of both, and nobody knows which one was meant.
type fieldCount map[string]int

// is reports whether a key names a field, ignoring case as encoding/json does. If so, it counts the field.
func (c fieldCount) is(key, name string) bool {
	if !strings.EqualFold(key, name) {
		return false
	}
	c[name]++
	return true
}

func (c fieldCount) atMostOnce() error {
	for _, name := range []string{"schema_version", "hosts", "id", "simulated", "facts", "created", "digest"} {
		if c[name] > 1 {
			return fmt.Errorf("%s is given %d times", name, c[name])
		}
	}
	return nil
}

// checkVersion accepts the major version that this package writes and those before it, each with every minor version.
func checkVersion(version string) error {
	if version == "" {
		return fmt.Errorf("schema_version is missing (want %s)", SchemaVersion)
	}
	major, _, valid := parseVersion(version)
	ours, _, _ := parseVersion(SchemaVersion)
	switch {
	case !valid:
		return fmt.Errorf("schema_version %s is not a version (want %s)", quoted(version), SchemaVersion)
	case major == 0:
		return fmt.Errorf("schema_version %s is older than %s; calibrate again", version, SchemaVersion)
	case major > ours:
		return fmt.Errorf("schema_version %s is newer than %s; update crossover", version, SchemaVersion)
	}
	return nil
}

// newerMinor reports whether a version that checkVersion accepts is newer than the one that this package writes.
func newerMinor(version string) bool {
	major, minor, _ := parseVersion(version)
	ours, oursMinor, _ := parseVersion(SchemaVersion)
	return major == ours && minor > oursMinor
}

func parseVersion(version string) (major, minor uint64, valid bool) {
	before, behind, _ := strings.Cut(version, ".")
	major, majorErr := strconv.ParseUint(before, 10, 16)
	minor, minorErr := strconv.ParseUint(behind, 10, 16)
	return major, minor, majorErr == nil && minorErr == nil && len(version) <= len("65535.65535")
}

// checkUnique finds the first host that has the id of an earlier one.
func checkUnique(hosts int, id func(int) string) error {
	first := make(map[string]int, hosts)
	for i := range hosts {
		if earlier, twice := first[id(i)]; twice {
			return fmt.Errorf("%s: has the id of hosts[%d]", hostPlace(i, id(i)), earlier)
		}
		first[id(i)] = i
	}
	return nil
}

// hostPlace names a host by its position in the file, and by its id if it has one.
func hostPlace(position int, id string) string {
	if id == "" {
		return fmt.Sprintf("hosts[%d]", position)
	}
	return fmt.Sprintf("hosts[%d] %s", position, quoted(id))
}
