//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"path/filepath"
	"testing"

	"crossover/gpu"
	"crossover/gpu/kept"
	"crossover/gpu/msl"
)

// A text that is kept needs no compiler. A text, macro, runtime or compiler that differs needs one.
func TestEveryPartOfATextCounts(t *testing.T) {
	found, err := findCompiler()
	if err != nil {
		t.Skip(err)
	}
	folder := kept.Folder(t.TempDir())
	src := gpu.Source{Name: "kept.metal", Text: "kernel void k(device float* y [[buffer(0)]]) { y[0] = N; }"}
	build := func(c compiler, src gpu.Source) error {
		c.kept = folder
		functions, err := msl.Parse(src.Text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.build(src, functions)
		return err
	}
	if err := build(*found, src.Define("N", 1)); err != nil {
		t.Fatal(err)
	}
	absent := *found
	absent.path = filepath.Join(t.TempDir(), "none")
	if err := build(absent, src.Define("N", 1)); err != nil {
		t.Errorf("a text that is kept is compiled: %v", err)
	}
	other, newer := src, absent
	other.Text += "\n"
	newer.version += "1"
	for name, err := range map[string]error{
		"macro":    build(absent, src.Define("N", 2)),
		"text":     build(absent, other.Define("N", 1)),
		"compiler": build(newer, src.Define("N", 1)),
	} {
		if err == nil {
			t.Errorf("what was made with another %s is used", name)
		}
	}
	defer func(text string) { runtimeText = text }(runtimeText)
	runtimeText += "\n"
	if build(absent, src.Define("N", 1)) == nil {
		t.Error("what was made with another runtime is used")
	}
}
