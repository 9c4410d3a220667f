package calibration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A compressed file holds what the plain one holds, and the same values give the same bytes.
func TestSaveCompressed(t *testing.T) {
	folder := t.TempDir()
	plain, compressed := filepath.Join(folder, "plain"), filepath.Join(folder, "compressed")
	var texts [2][]byte
	for k := range texts {
		if err := Save(plain, example()); err != nil {
			t.Fatal(err)
		}
		if err := SaveCompressed(compressed, example()); err != nil {
			t.Fatal(err)
		}
		var err error
		if texts[k], err = os.ReadFile(compressed); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("the same file gave other bytes")
	}
	want, err := Load(plain)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load(compressed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("compressed (-plain +compressed):\n%s", diff)
	}
	if info, err := os.Stat(plain); err != nil || info.Size() < 2*int64(len(texts[0])) {
		t.Errorf("%d bytes are compressed to %d (%v)", info.Size(), len(texts[0]), err)
	}
}

// A compressed file that was cut or changed is refused, or holds the same: gzip ignores some bits of its header.
func TestDamagedCompressedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep")
	if err := SaveCompressed(path, example()); err != nil {
		t.Fatal(err)
	}
	want, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, at int, text []byte, mayLoad bool) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		switch {
		case err == nil && !mayLoad:
			t.Errorf("%s at %d of %d: no error", what, at, len(whole))
		case err == nil && !cmp.Equal(want, got):
			t.Errorf("%s at %d of %d: it holds something else", what, at, len(whole))
		case err != nil && (!strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	for at := 0; at < len(whole); at += 1 + at/20 {
		try("cut", at, whole[:at], false)
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << (at % 8)
		try("flip", at, flipped, at < 10)
	}
}

// A small file does not fill the memory.
func TestCompressedFilesHaveALimit(t *testing.T) {
	text, err := compress(bytes.Repeat([]byte(" "), mostExpanded+1))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sweep")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v", err)
	}
}
