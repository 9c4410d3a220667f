package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = "../../../docs/simulated-chips.md"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page's tables are what "go generate ./lab/chips" writes from the code.
func TestPageIsGenerated(t *testing.T) {
	page := read(t, document)
	want, err := fill(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("run go generate ./lab/chips (-code +page):\n%s", diff)
	}
}

func TestWriteFillsAStalePage(t *testing.T) {
	page := read(t, document)
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(page, "| 4 Mi |", "| 5 Mi |")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, read(t, path)); diff != "" {
		t.Errorf("a stale page was not made new (-want +got):\n%s", diff)
	}
	if _, err := fill("# No marks\n"); err == nil {
		t.Error("a page without marks was filled")
	}
}
