package calibration

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestManyHosts tests that hundreds of hosts, each with a GPU and the whole catalogue, fit into a file of the greatest size.
// Loading one of them decodes no other.
func TestManyHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a file of 470 MB")
	}
	committed, err := LoadIndex("../calibration.json")
	if err != nil {
		t.Fatal(err)
	}
	largest := &committed.Entries[0]
	for i := range committed.Entries {
		if e := &committed.Entries[i]; len(e.raw()) > len(largest.raw()) {
			largest = e
		}
	}
	path := filepath.Join(t.TempDir(), "calibration.json")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	to := bufio.NewWriter(file)
	to.WriteString(`{"schema_version": "1.0", "hosts": [`)
	for i := range 600 {
		id := fmt.Appendf(nil, `"id": "host-%d"`, i)
		to.WriteString(separator(i) + "\n    ")
		to.Write(bytes.Replace(largest.raw(), []byte(`"id": "`+largest.ID+`"`), id, 1))
	}
	to.WriteString("]}\n")
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}

	var x *Index
	var host *Host
	allocated := allocatedBy(func() {
		if x, err = LoadIndex(path); err == nil {
			host, err = x.Entries[500].Host()
		}
	})
	if err != nil || host.ID != "host-500" {
		t.Fatalf("%v, %+v", err, host)
	}
	if most := uint64(len(x.text) + 16<<20); allocated > most {
		t.Errorf("%d bytes allocated to load one host from a file of %d", allocated, len(x.text))
	}
	if err := x.CheckRoom("new", 60); err != nil {
		t.Error(err)
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
		if allocated > uint64(4*len(test.text)+32<<20) {
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
