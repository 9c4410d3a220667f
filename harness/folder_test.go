package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// Whenever a process is killed in Discard, the rest is a whole run, or NewFolder removes it.
func TestDiscard(t *testing.T) {
	for _, name := range []string{"20260101T000000Z", "unfinished-20260101T000000Z-1"} {
		host := t.TempDir()
		folder := filepath.Join(host, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"a.bench", EntryFile, "z.bench"} {
			if err := os.WriteFile(filepath.Join(folder, file), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := Discard(folder); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(host); len(left) > 0 {
			t.Errorf("%s: %v is there", name, left)
		}
	}
}

// A run without some of its files is never found, whatever a killed process had removed: Discard removes the entry first,
// from a folder whose name is not that of a finished run.
func TestDiscardRemovesTheEntryFirst(t *testing.T) {
	host := t.TempDir()
	folder := filepath.Join(host, "20260101T000000Z")
	stuck := filepath.Join(folder, EntryFile, "inside") // a non-empty folder cannot be removed like a file
	if err := os.MkdirAll(stuck, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.bench"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Discard(folder); err == nil {
		t.Fatal("an entry that cannot be removed was no error")
	}
	left, _ := os.ReadDir(host)
	if len(left) != 1 || !IsUnfinished(left[0].Name()) {
		t.Fatalf("%v is there, want an unfinished run", left)
	}
	if _, err := os.Stat(filepath.Join(host, left[0].Name(), "a.bench")); err != nil {
		t.Error("samples went before the entry")
	}
}
