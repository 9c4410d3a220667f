//go:build (darwin || linux) && (amd64 || arm64)

package signpost

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"

	"crossover/native/loadable"
)

// Library returns texts from a library that has nothing else. Those of the formats are always among them. clang, or another C compiler
// that is called cc, makes the library if it is not in the folder yet. It must stay there: readers look the texts up in the file, also
// long after the program has ended. On Linux the library serves tests.
func Library(folder string, texts ...string) (Texts, error) {
	texts = append([]string{formatWithText, formatWithoutText}, texts...)
	source := librarySource(texts)
	path := filepath.Join(folder, fmt.Sprintf("signposts-%x-%s.dylib", sha256.Sum256([]byte(source)), runtime.GOARCH))
	if _, err := os.Stat(path); err != nil {
		if err := compile(path, source); err != nil {
			return nil, err
		}
	}
	handle, err := loadable.Open(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("signpost: %w", err)
	}
	return func(text string) (uintptr, error) {
		for i, known := range texts {
			if known == text {
				return loadable.Symbol(handle, symbol(i))
			}
		}
		return 0, fmt.Errorf("signpost: the library of texts does not have %q", text)
	}, nil
}

// symbol returns the symbol of the i-th text.
func symbol(i int) string { return fmt.Sprintf("signpost_%d", i) }

// librarySource returns the library in C. Each text has a symbol, so that nobody has to know how a linker arranges them.
func librarySource(texts []string) string {
	var c strings.Builder
	c.WriteString(`#ifdef __APPLE__
#define TEXT __attribute__((used, visibility("default"), section("__TEXT,__oslogstring")))
#else
#define TEXT
#endif
`)
	for i, text := range texts {
		fmt.Fprintf(&c, "TEXT const char %s[] = {", symbol(i))
		for _, b := range []byte(text) {
			fmt.Fprintf(&c, "%d, ", b)
		}
		c.WriteString("0};\n")
	}
	return c.String()
}

// compile makes the library beside its place and moves it there, so that nobody finds half of it.
func compile(path, source string) error {
	compiler, err := exec.LookPath("clang")
	if err != nil {
		if compiler, err = exec.LookPath("cc"); err != nil {
			return errors.New("signpost: there is no clang and no cc, one of which makes the names that Instruments reads (xcode-select --install)")
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("signpost: %w", err)
	}
	folder, err := os.MkdirTemp(filepath.Dir(path), "making-")
	if err != nil {
		return fmt.Errorf("signpost: %w", err)
	}
	defer os.RemoveAll(folder)
	made := filepath.Join(folder, filepath.Base(path))
	arguments := append(strings.Fields(libraryFlags), "-x", "c", "-", "-o", made)
	command := exec.Command(compiler, arguments...)
	command.Stdin = strings.NewReader(source)
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("signpost: %s makes no library of names: %w: %s", compiler, err, strings.Join(strings.Fields(string(said)), " "))
	}
	if err := os.Rename(made, path); err != nil {
		return fmt.Errorf("signpost: %w", err)
	}
	return nil
}
