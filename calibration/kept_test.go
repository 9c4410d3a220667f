//go:build darwin || linux

package calibration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newer returns the example as a newer minor version may write it: with unknown fields at every depth, and one host with
// another indentation.
func newer(t testing.TB) string {
	text := string(encoded(t, example()))
	text = strings.Replace(text, `"2.3"`, `"2.7"`, 1)
	for _, place := range []string{`"simulated"`, `"chip"`, `"operation"`, `"processor"`, `"low":`} {
		text = strings.ReplaceAll(text, place, `"future":   {"hosts": [1, "]}"], "n": 1e400},`+place)
	}
	return strings.TrimSuffix(text, "\n}\n") + ",\n \"future <3\": [1,  2.50],\n \"other\": \"\\u00e9\"\n}\n"
}

func TestUpdateKeepsWhatANewerVersionWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	old := newer(t)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write(old)
	update(t, path, func(*Index) error { return nil })
	update(t, path, changed("apple-m3-max-40", func(*Host) {}))
	if diff := cmp.Diff(old, read()); diff != "" {
		t.Errorf("an update that changes nothing (-old +new):\n%s", diff)
	}

	write(old)
	update(t, path, merged("new"))
	x, err := loadIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := ReadIndex(strings.NewReader(old))
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Entries) != 3 || x.SchemaVersion != "2.7" || !reflect.DeepEqual(x.others[1].name, "other") {
		t.Fatalf("version %s, %d hosts, fields %v", x.SchemaVersion, len(x.Entries), x.others)
	}
	for i, e := range before.Entries {
		if diff := cmp.Diff(string(e.raw()), string(x.Entries[i].raw())); diff != "" {
			t.Errorf("%s (-old +new):\n%s", e.ID, diff)
		}
	}

	// A changed host is written anew, however deep the change is. The others stay.
	write(old)
	update(t, path, changed("apple-m3-max-40", func(h *Host) { h.Cases[0].Segments[1].Next[0].Slowdown++ }))
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Host("apple-m3-max-40").Cases[0].Segments[1].Next[0].Slowdown; got != 2.3 {
		t.Errorf("slowdown %v, want 2.3", got)
	}
	if x, err = loadIndex(path); err != nil || !bytes.Equal(x.Entries[0].raw(), before.Entries[0].raw()) {
		t.Errorf("%v; the other host changed", err)
	}
}

// An update neither finds nor repairs a mistake in the entry of another host. It refuses a mistake in the text of the file.
func TestUpdateBesideAMistake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	mistaken := strings.Replace(string(encoded(t, example())), `"cores": 2`, `"cores": -2`, 1)
	if err := os.WriteFile(path, []byte(mistaken), 0o644); err != nil {
		t.Fatal(err)
	}
	_, want := Load(path)
	if want == nil {
		t.Fatal("it is no mistake")
	}
	before, err := loadIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	update(t, path, merged("new"))
	after, err := loadIndex(path)
	if err != nil || len(after.Entries) != 3 || !bytes.Equal(after.Entries[0].raw(), before.Entries[0].raw()) {
		t.Errorf("%v, %d hosts", err, len(after.Entries))
	}
	if _, err := Load(path); err == nil || err.Error() != want.Error() {
		t.Errorf("error %v, want %v", err, want)
	}
	update(t, path, merged("amd-epyc-2"))
	if _, err := Load(path); err != nil {
		t.Errorf("in the place of the mistake: %v", err)
	}

	nonsense := strings.Replace(mistaken, `"cores": -2`, `<<<<<<< HEAD`, 1)
	if err := os.WriteFile(path, []byte(nonsense), 0o644); err != nil {
		t.Fatal(err)
	}
	_, loadErr := LoadForUpdate(path)
	for _, err := range []error{loadErr, Update(t.Context(), path, merged("new"))} {
		if err == nil || !strings.Contains(err.Error(), "not JSON") {
			t.Errorf("nonsense in the entry of another host: %v", err)
		}
	}
	if text, _ := os.ReadFile(path); string(text) != nonsense {
		t.Error("the file changed")
	}
}

func TestSaveRefusesANewerVersion(t *testing.T) {
	f, err := Read(strings.NewReader(newer(t)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "calibration.json")
	want := path + ": schema_version 2.7 is newer than 2.3, and its fields would be lost; update crossover"
	if err := Save(path, f); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Other programs rely on the digest. The one below is of the text that the schema describes.
func TestDigest(t *testing.T) {
	const want = "sha256:bbc17253f5cc708ac9bcb70dca5b6af41d0f1e8aaa6579810d463fb40992c4eb" // of {"id":"a","digest":"","z":[1,"b c"]}
	for text, edited := range map[string]bool{
		`{"id": "a", "digest": "` + want + `", "z": [1, "b c"]}`:    false,
		"{\n\"id\":\"a\",\"digest\":\"" + want + `","z":[1,"b c"]}`: false,
		`{"id": "a", "digest": "` + want + `", "z": [1, "bc"]}`:     true,
		`{"id": "a", "digest": "sha256:", "z": [1, "b c"]}`:         true,
		`{"id": "a", "z": [1, "b c"]}`:                              false,
	} {
		x, err := ReadIndex(strings.NewReader(`{"schema_version": "1.0", "hosts": [` + text + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if x.Entries[0].edited() != edited {
			t.Errorf("%s: edited is %v", text, !edited)
		}
	}
}

// TestFlips flips bits of a file. A file that is accepted nevertheless either says that it was edited or has the same
// calibration.
func TestFlips(t *testing.T) {
	want, err := Read(bytes.NewReader(encoded(t, example())))
	if err != nil {
		t.Fatal(err)
	}
	text := encoded(t, example())
	random := rand.New(rand.NewPCG(1, 2))
	edited := 0
	for range 500 {
		at, bit := random.IntN(len(text)), random.IntN(8)
		flipped := bytes.Clone(text)
		flipped[at] ^= 1 << bit
		f, err := Read(bytes.NewReader(flipped))
		if err != nil {
			continue
		}
		for i := range f.Hosts {
			if f.Hosts[i].Edited {
				edited++
				continue
			}
			if old := want.Host(f.Hosts[i].ID); old == nil || !reflect.DeepEqual(*old, f.Hosts[i]) {
				t.Errorf("bit %d of byte %d, in %q: accepted in silence", bit, at, flipped[max(0, at-20):min(len(text), at+20)])
			}
		}
		if len(f.Hosts) != len(want.Hosts) {
			t.Errorf("bit %d of byte %d: %d hosts", bit, at, len(f.Hosts))
		}
	}
	if edited == 0 {
		t.Error("no flip was noticed: this test tests nothing")
	}
}

// An edited entry says so until the host is measured again, even if the file is written for another host in between.
func TestEditedStaysEdited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := Save(path, example()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"blocks": 60`), []byte(`"blocks": 61`), 1)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	edited := func() string {
		t.Helper()
		f, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		var hosts []string
		for _, h := range f.Hosts {
			if h.Edited {
				hosts = append(hosts, h.ID)
			}
		}
		return strings.Join(hosts, " ")
	}
	if got := edited(); got != "apple-m3-max-40" {
		t.Errorf("edited: %q", got)
	}
	update(t, path, merged("new"))
	if got := edited(); got != "apple-m3-max-40" {
		t.Errorf("edited after an update: %q", got)
	}
	update(t, path, merged("apple-m3-max-40"))
	if got := edited(); got != "" {
		t.Errorf("edited after a fresh calibration: %q", got)
	}
}

// TestTexts puts text with terminal commands, or very long text, into each text of a host in turn. It is refused by a short
// line, or read as one short line.
func TestTexts(t *testing.T) {
	for name, hostile := range map[string]string{"escapes": "a\x1b[2J\n\u009b", "length": strings.Repeat("ab", 10_000)} {
		t.Run(name, func(t *testing.T) {
			var visit func(place string, v reflect.Value, try func(place string))
			visit = func(place string, v reflect.Value, try func(place string)) {
				switch v.Kind() {
				case reflect.String:
					old := v.String()
					v.SetString(hostile)
					try(place)
					v.SetString(old)
				case reflect.Pointer:
					visit(place, v.Elem(), try)
				case reflect.Slice:
					for i := range v.Len() {
						visit(fmt.Sprintf("%s[%d]", place, i), v.Index(i), try)
					}
				case reflect.Map:
					v.SetMapIndex(reflect.ValueOf(hostile), reflect.ValueOf(1))
					try(place)
					v.SetMapIndex(reflect.ValueOf(hostile), reflect.Value{})
				case reflect.Struct:
					for i := range v.NumField() {
						if field := v.Type().Field(i); field.IsExported() {
							visit(place+"."+field.Name, v.Field(i), try)
						}
					}
				}
			}
			f := example()
			f.normalise() // so that no map is nil
			tried := 0
			visit("file", reflect.ValueOf(f).Elem(), func(place string) {
				tried++
				text := []byte(encodedAsIs(t, f))
				if x, err := ReadIndex(bytes.NewReader(text)); err == nil {
					for _, e := range x.Entries {
						holdText(t, place, fmt.Sprint(e.ID, e.Created, e.Facts))
					}
				}
				read, err := Read(bytes.NewReader(text))
				if err != nil {
					holdText(t, place, err.Error())
					return
				}
				for _, h := range read.Hosts {
					h.Cases = nil
					holdText(t, place, fmt.Sprintf("%+v", h))
				}
				for _, h := range read.Hosts {
					for _, c := range h.Cases {
						holdText(t, place, fmt.Sprintf("%+v", c))
					}
				}
				if err := Save(filepath.Join(t.TempDir(), "f.json"), f); err != nil {
					t.Errorf("%s: read and not saved: %v", place, err)
				}
			})
			if tried < 50 {
				t.Errorf("%d texts tried", tried)
			}
		})
	}
}

func holdText(t *testing.T, place, text string) {
	t.Helper()
	if strings.ContainsAny(text, "\x1b\n\u009b") {
		t.Errorf("%s: %.300q has control characters", place, text)
	}
	if len(text) > 8000 {
		t.Errorf("%s: %d bytes: %.100q", place, len(text), text)
	}
}

func TestCheckRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	missing, err := LoadForUpdate(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := missing.CheckRoom("new", 60); err != nil {
		t.Errorf("a missing file: %v", err)
	}
	if err := Save(path, example()); err != nil {
		t.Fatal(err)
	}
	saved, err := LoadForUpdate(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := saved.CheckRoom("new", 60); err != nil {
		t.Error(err)
	}
	want := "an entry of 257 cases may not fit (want at most 256)"
	if err := saved.CheckRoom("new", 257); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}

	full := &Index{text: make(text, MaxFileBytes-operationsBytes-mostCaseBytes+1), Entries: []Entry{{ID: "old", at: span{100, 200}}}}
	want = "holds 532660225 bytes of other hosts, and an entry of 1 cases may not fit in the 536870912 bytes that a file can take (take another file)"
	if err := full.CheckRoom("new", 1); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := full.CheckRoom("old", 1); err != nil {
		t.Errorf("in place of another entry: %v", err)
	}
	many := &Index{Entries: make([]Entry, MaxHosts)}
	want = "holds 10000 other hosts, as many as a file can take (take another file)"
	if err := many.CheckRoom("new", 1); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// FuzzUpdate looks for files that an update damages. A file that cannot be read stays as it is. In other files, the hosts
// that the update does not change keep their bytes.
func FuzzUpdate(f *testing.F) {
	f.Add(encoded(f, example()))
	f.Add([]byte(newer(f)))
	f.Add([]byte(encodedAsIs(f, example())))
	for _, seed := range []string{
		"", "{", `{"schema_version":"2.9","hosts":[]}`, `{"hosts":[],"\ud800":1e999,"schema_version":"1.0","x":[],"x":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		folder := t.TempDir()
		path := filepath.Join(folder, "calibration.json")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, readErr := Read(bytes.NewReader(text))
		err := Update(t.Context(), path, merged("fuzz"))
		onlyFiles(t, folder, "calibration.json")
		after, _ := os.ReadFile(path)
		if err != nil && readErr == nil {
			t.Fatalf("Read accepts what Update does not: %v", err)
		}
		if err != nil {
			if !bytes.Equal(after, text) {
				t.Fatalf("a failed update changed the file to %s", after)
			}
			return
		}
		old, err := ReadIndex(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := ReadIndex(bytes.NewReader(after))
		if err != nil {
			t.Fatal(err)
		}
		kept := map[string]string{}
		for _, e := range fresh.Entries {
			kept[e.ID] = string(e.raw())
		}
		for _, e := range old.Entries {
			if e.ID != "fuzz" && kept[e.ID] != string(e.raw()) {
				t.Fatalf("%s (-old +new):\n%s", e.ID, cmp.Diff(string(e.raw()), kept[e.ID]))
			}
		}
		if kept["fuzz"] == "" || len(fresh.others) != len(old.others) {
			t.Fatalf("%d fields, want %d: %s", len(fresh.others), len(old.others), after)
		}
		if _, err := Read(bytes.NewReader(after)); err != nil && readErr == nil { // a mistake in another host stays
			t.Fatalf("Read refuses what was written: %v\n%s", err, after)
		}
	})
}
