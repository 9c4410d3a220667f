//go:build amd64 || arm64

package signpost

import (
	"debug/macho"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// In an object file for a Mac, each text is a symbol in the section that readers of signposts look at.
func TestTextsOfALibraryForAMac(t *testing.T) {
	clang, err := exec.LookPath("clang")
	if err != nil {
		if clang, err = exec.LookPath("clang-19"); err != nil {
			t.Skip("there is no clang (Debian package clang-19)")
		}
	}
	texts := []string{formatWithText, formatWithoutText, "call"}
	object := filepath.Join(t.TempDir(), "texts.o")
	for _, target := range []string{"arm64-apple-macos14", "x86_64-apple-macos14"} {
		compile := exec.Command(clang, "--target="+target, "-x", "c", "-c", "-", "-o", object)
		compile.Stdin = strings.NewReader(librarySource(texts))
		if said, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", target, err, said)
		}
		f, err := macho.Open(object)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		found := 0
		for _, s := range f.Symtab.Syms {
			if s.Sect == 0 {
				continue
			}
			section := f.Sections[s.Sect-1]
			data, err := section.Data()
			if err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(string(data[s.Value-section.Addr:]), "\x00")
			for i, want := range texts {
				if s.Name != "_"+symbol(i) {
					continue
				}
				found++
				if text != want || section.Seg != "__TEXT" || section.Name != "__oslogstring" {
					t.Errorf("%s: %s is %q in %s,%s", target, s.Name, text, section.Seg, section.Name)
				}
			}
		}
		if found != len(texts) {
			t.Errorf("%s: %d texts, want %d", target, found, len(texts))
		}
	}
}
