package loadable

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux maps libraries without looking at their length")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	// Without the reference to the section table, only the lengths of the segments show that the rest is missing.
	segments := append([]byte(nil), whole[:4096]...)
	clear(segments[40:48]) // e_shoff
	clear(segments[60:64]) // e_shnum, e_shstrndx
	dir := t.TempDir()
	for _, c := range []struct {
		name    string
		content []byte
		want    string // in the error; "" for none
	}{
		{"whole", whole, ""},
		{"half", whole[:len(whole)/2], "ELF"},
		{"segments gone", segments, "cut off at 4096 bytes"},
		{"empty", nil, "ELF"},
		{"text", []byte("not a library\n"), "ELF"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, c.content, 0o644); err != nil {
			t.Fatal(err)
		}
		err := Check(path)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if err := Check(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing file passes")
	}
	if err := Check("libsomething.so.1"); err != nil {
		t.Errorf("a bare name: %v", err)
	}
}
