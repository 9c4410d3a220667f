package calibration

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

// TestManyHosts tests that hundreds of hosts, each with a GPU and the whole catalogue, fit into a file of the greatest size.
// Viewing one of them reads no other.
func TestManyHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a file of 150 MB")
	}
	committed, err := loadIndex("../calibration.json")
	if err != nil {
		t.Fatal(err)
	}
	largest := &committed.Entries[0]
	for i := range committed.Entries {
		if e := &committed.Entries[i]; len(e.raw()) > len(largest.raw()) {
			largest = e
		}
	}
	many := &Index{}
	for i := range 100 {
		id := fmt.Appendf(nil, `"id": "host-%03d"`, i)
		host := bytes.Replace(largest.raw(), []byte(`"id": "`+largest.ID+`"`), id, 1)
		many.Entries = append(many.Entries, Entry{text: host, at: span{0, len(host)}})
	}
	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := many.Save(path); err != nil {
		t.Fatal(err)
	}
	many = nil

	var host *Host
	allocated := allocatedBy(func() {
		err = View(path, func(entries []Entry) error {
			host, err = entries[80].Host()
			return err
		})
	})
	if err != nil || host.ID != "host-080" {
		t.Fatalf("%v, %+v", err, host)
	}
	if most := uint64(32 << 20); allocated > most { // of which 100 beginnings of hosts have 2 MB
		t.Errorf("%d bytes allocated to load one host of many, want at most %d", allocated, most)
	}
	x, err := loadIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.CheckRoom("new", 60); err != nil {
		t.Error(err)
	}
}

// TestRoomForTheCatalogue tests that a host with fifty operations in two placements takes less than four megabytes. Each has
// as many shapes as are ever fitted.
func TestRoomForTheCatalogue(t *testing.T) {
	h := m3()
	one := h.Cases[0]
	h.Cases, h.Operations = nil, nil
	for k := range 200 {
		c := one
		c.Name = fmt.Sprintf("fft/batch=%d", 1+k)
		if k%10 > 0 {
			c.Within = nil // implementations of few operations differ in their error bounds
		}
		h.Cases = append(h.Cases, c)
	}
	for k := range 50 {
		o := wideOperation(fmt.Sprintf("operation-%02d", k), 500, "go", "go-parallel", "fftw", "fftw-parallel", "metal", "mpsgraph")
		h.Operations = append(h.Operations, o)
		o.Placement = "shared"
		h.Operations = append(h.Operations, o)
	}
	text := encoded(t, &File{Hosts: []Host{h}})
	t.Logf("%d bytes", len(text))
	if len(text) > 4<<20 {
		t.Errorf("a host takes %d bytes, want less than 4 MiB", len(text))
	}
}

// TestHostileSizes bounds the memory that a short text may take. A file of nothing but brackets is refused at its first
// host.
func TestHostileSizes(t *testing.T) {
	list := func(element string, n int) string {
		return `{"schema_version": "1.0", "hosts": [` + string(bytes.Repeat([]byte(element+","), n)) + element + `]}`
	}
	for name, test := range map[string]struct{ text, want string }{
		"hosts without ids": {list("{}", 1<<20), "hosts[0]: id is missing"},
		"many hosts":        {numbered(MaxHosts + 1), "holds more than 10000 hosts"},
		"a large host": {list(`{"id": "a", "x": "`+string(bytes.Repeat([]byte("x"), MaxHostBytes))+`"}`, 0),
			`hosts[0] "a": holds 8388628 bytes (want at most 8388608)`},
	} {
		var err error
		allocated := allocatedBy(func() { _, err = ReadIndex(bytes.NewReader([]byte(test.text))) })
		if want := "calibration: " + test.want; err == nil || err.Error() != want {
			t.Errorf("%s: error %.200v, want %s", name, err, want)
		}
		if !testing.Short() && allocated > uint64(4*len(test.text)+32<<20) { // the race detector, which tests run under with -short, adds to it
			t.Errorf("%s: %d bytes allocated for a text of %d", name, allocated, len(test.text))
		}
	}
}

// numbered returns the text of a file with hosts that have nothing but an id.
func numbered(hosts int) string {
	var text bytes.Buffer
	text.WriteString(`{"schema_version": "1.0", "hosts": [`)
	for i := range hosts {
		fmt.Fprintf(&text, `%s{"id": "h%d"}`, separator(i), i)
	}
	text.WriteString("]}")
	return text.String()
}
