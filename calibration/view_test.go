package calibration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// loadIndex reads the whole file at path.
func loadIndex(path string) (*Index, error) {
	return load(path, func(file *os.File) (*Index, error) { return readIndex(file) })
}

// viewed returns the hosts of a file as View gives them, and whether it found them by their sizes.
func viewed(t testing.TB, path string) (hosts []Host, bySizes bool, err error) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, bySizes = entriesAt(file)
	err = View(path, func(entries []Entry) error {
		for i := range entries {
			h, err := entries[i].Host()
			if err != nil {
				return err
			}
			if e := &entries[i]; e.ID != h.ID || e.Simulated != h.Simulated || !reflect.DeepEqual(e.Facts, h.Facts) || e.Created == "" {
				t.Errorf("entry %+v of host %q", e, h.ID)
			}
			hosts = append(hosts, *h)
		}
		return nil
	})
	return hosts, bySizes, err
}

// TestView tests that hosts are found by their sizes in a file that was saved or updated, and by reading the whole file
// where the sizes do not match it. Both ways give what Load gives.
func TestView(t *testing.T) {
	saved := string(encoded(t, example()))
	sizes := saved[strings.Index(saved, hostBytesKey)-1 : strings.Index(saved, `"hosts"`)]
	replace := func(old, new string) string {
		if !strings.Contains(saved, old) {
			t.Fatalf("the text lacks %q", old)
		}
		return strings.Replace(saved, old, new, 1)
	}
	for name, test := range map[string]struct {
		text    string
		bySizes bool
	}{
		"as saved":               {saved, true},
		"with another value":     {replace(`"cores": 16`, `"cores": 12`), true},
		"a newer minor version":  {replace(`"2.3"`, `"2.9"`), true},
		"a field of a host more": {replace(`"simulated"`, `"future": 1, "simulated"`), false},
		"another layout":         {strings.ReplaceAll(saved, "\n  {", "\n {"), true},
		"without sizes":          {replace(sizes, ""), false},
		"no size":                {replace(sizes, `"host_bytes": [], `), false},
		"a size too few":         {replace(sizes, fmt.Sprintf(`"host_bytes": [%d], `, strings.Index(saved, "},\n  {\n   \"id\"")+1-strings.Index(saved, "{\n   \"id\""))), false},
		"wrong sizes":            {replace(sizes, `"host_bytes": [100, 200], `), false},
		"no list of sizes":       {replace(sizes, `"host_bytes": {"a": 1}, `), false},
		"negative sizes":         {replace(sizes, `"host_bytes": [-1, -1], `), false},
		"huge sizes":             {replace(sizes, `"host_bytes": [9223372036854775807, 9223372036854775807], `), false},
		"sizes behind":           {strings.TrimSuffix(replace(sizes, ""), "\n}\n") + ", " + strings.TrimRight(sizes, ", \n") + "}", false},
		"no file of sizes":       {encodedAsIs(t, example()), false},
	} {
		path := filepath.Join(t.TempDir(), "calibration.json")
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		want, err := Load(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, bySizes, err := viewed(t, path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if bySizes != test.bySizes {
			t.Errorf("%s: found by sizes: %v, want %v", name, bySizes, test.bySizes)
		}
		if len(got) != len(want.Hosts) {
			t.Errorf("%s: %d hosts, want %d", name, len(got), len(want.Hosts))
		}
		for i := range got {
			if known := want.Host(got[i].ID); known == nil || !reflect.DeepEqual(*known, got[i]) {
				t.Errorf("%s: host %q differs", name, got[i].ID)
			}
		}
		update(t, path, merged("new"))
		if got, bySizes, err := viewed(t, path); err != nil || !bySizes || len(got) != 3 {
			t.Errorf("%s: after an update %d hosts, by sizes: %v, %v", name, len(got), bySizes, err)
		}
	}
}

// TestViewOfMistakes tests that View says the same of a file with mistakes as reading the whole does, but finds no mistake in
// a host that is not asked for.
func TestViewOfMistakes(t *testing.T) {
	saved := string(encoded(t, example()))
	path := filepath.Join(t.TempDir(), "calibration.json")
	for name, text := range map[string]string{
		"a wrong value":       strings.Replace(saved, `"blocks": 60`, `"blocks": -1`, 1),
		"a wrong type":        strings.Replace(saved, `"blocks": 60`, `"blocks": "x`, 1) + `"`,
		"no JSON":             strings.Replace(saved, `"blocks": 60`, `"blocks": no`, 1),
		"a byte of no JSON":   strings.Replace(saved, `"cores": 16`, `"cores": 1x`, 1),
		"an id that is there": strings.Replace(saved, `"simulated": false`, `"id": "apple", "simulated": false`, 1),
		"cut short":           saved[:len(saved)-200],
		"text behind":         saved + "x",
		"empty":               "",
		"another version":     strings.Replace(saved, `"2.3"`, `"3.1"`, 1),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		want := ""
		x, err := loadIndex(path)
		for i := 0; err == nil && i < len(x.Entries); i++ {
			if _, err = x.Entries[i].Host(); err != nil {
				err = named(path, err)
			}
		}
		if err != nil {
			want = err.Error()
		} else if name != "text behind" {
			t.Fatalf("%s: it is no mistake", name)
		}
		if _, _, err := viewed(t, path); name != "text behind" && (err == nil || err.Error() != want) {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
}

// TestViewReadsOneHost tests that a mistake in another host is not found, and that others are not read.
func TestViewReadsOneHost(t *testing.T) {
	f := &File{}
	for i := range 8 {
		h := m3()
		h.ID, h.Operations = fmt.Sprintf("host-%d", i), nil
		for k := range 14 {
			h.Operations = append(h.Operations, wideOperation(fmt.Sprintf("operation-%02d", k), 200, "go", "go-parallel", "fftw"))
		}
		f.Hosts = append(f.Hosts, h)
	}
	text := encoded(t, f)
	for from := 0; ; { // damage all but one
		at := bytes.Index(text[from:], []byte(`"risk": 0.03`))
		if at < 0 {
			break
		}
		from += at + 1
		if id := bytes.LastIndex(text[:from], []byte(`"id": "host-`)); text[id+len(`"id": "host-`)] != '5' {
			copy(text[from:], []byte(`"risk": nope`[1:]))
		}
	}
	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	var err error
	allocated := allocatedBy(func() {
		err = View(path, func(entries []Entry) error {
			h, err := entries[5].Host()
			if err == nil && (h.ID != "host-5" || len(h.Operations) != 14) {
				t.Errorf("host %q with %d operations", h.ID, len(h.Operations))
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if most := uint64(4*len(text)/8 + 1<<20); allocated > most {
		t.Errorf("%d bytes allocated for one of eight hosts in %d bytes, want at most %d", allocated, len(text), most)
	}
	if err := View(path, func(entries []Entry) error { _, err := entries[4].Host(); return err }); err == nil {
		t.Error("the mistakes are none: this test tests nothing")
	}
}
