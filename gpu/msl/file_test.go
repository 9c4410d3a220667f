package msl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"whole.metal":      "#include <metal_stdlib>\n#include \"parts/part.metal\"\nend\n",
		"lame.metal":       "#include \"parts/part.metal\"\n#include \"nowhere.metal\"\n",
		"parts/part.metal": "#include \"../last.metal\"\n",
		"last.metal":       "last",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadFile(filepath.Join(dir, "whole.metal"))
	if want := "#include <metal_stdlib>\nlast\n\nend\n"; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for _, name := range []string{"lame.metal", "nowhere.metal"} {
		if _, err := ReadFile(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), "nowhere.metal") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
