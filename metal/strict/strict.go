package strict

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"crossover/gpu/kept"
	"crossover/gpu/msl"
)

//go:embed include/metal_stdlib
var library string

// oldest is the version of clang that the library is written for: older ones lack functions of vectors.
const oldest = 19

// newest is the last version that is looked for under a name of its own.
const newest = 29

// mostThreadgroupBytes is what an Apple GPU gives a threadgroup.
const mostThreadgroupBytes = 32 << 10

// FrontEnd is clang with our metal_stdlib. It keeps what clang says of texts that pass, and needs no clang for them again.
type FrontEnd struct {
	clang, include string
	version        string // of clang
	kept           kept.Folder
}

// New finds clang and writes the library to a folder. If no clang is new enough, New fails and names the package to
// install.
func New(folder string) (*FrontEnd, error) {
	clang, err := Clang()
	if err != nil {
		return nil, err
	}
	version, err := Version(clang)
	if err != nil {
		return nil, err
	}
	return &FrontEnd{clang, folder, version, kept.Open("strict")}, os.WriteFile(filepath.Join(folder, "metal_stdlib"), []byte(library), 0o600)
}

// Clang returns the path of a clang that is new enough, of at least version 19, or an error that names the package to install.
func Clang() (string, error) {
	for version := oldest; version <= newest; version++ {
		if path, err := exec.LookPath(fmt.Sprintf("clang-%d", version)); err == nil {
			return path, nil
		}
	}
	missing := fmt.Errorf("strict: no clang of version %d or later (Debian package clang-%d)", oldest, oldest)
	path, err := exec.LookPath("clang")
	if err != nil {
		return "", missing
	}
	// Apple's clang has other version numbers, and says that it is Apple's.
	version, err := exec.Command(path, "--version").Output()
	var major int
	if _, scanErr := fmt.Sscanf(versionNumber.FindString(string(version)), "clang version %d", &major); err != nil || scanErr != nil ||
		major < oldest || bytes.Contains(version, []byte("Apple")) {
		return "", missing
	}
	return path, nil
}

// Version returns what a clang says of its version.
func Version(clang string) (string, error) {
	version, err := exec.Command(clang, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("strict: %s --version: %w", clang, err)
	}
	return string(version), nil
}

var versionNumber = regexp.MustCompile(`clang version \d+`)

// flags make clang a compiler of what C++14 and Metal have in common, and turn its warnings into errors. Attributes are
// Metal's, and package msl reads them. Parameters may be left unused, and so may functions, because other texts include
// them. A change of sign keeps every bit, and the texts count on that where they turn an int into a uint.
var flags = []string{
	"-x", "c++", "-std=c++14", "-nostdinc", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "--target=arm64-apple-macosx14.0",
	"-Werror", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wreserved-macro-identifier", "-Wundef",
	"-Wno-sign-conversion", "-Wno-unknown-attributes", "-Wno-unused-parameter", "-Wno-unused-function", "-ferror-limit=5",
}

// Check compiles a text as Metal's compiler gets it, with its macros. It returns the bytes of threadgroup memory of
// every kernel that has any, or the text's mistakes, one a line.
func (f *FrontEnd) Check(text string) (threadgroupBytes map[string]int, err error) {
	if names := collisions(text); len(names) > 0 {
		return nil, fmt.Errorf("strict: a macro replaces a name of the standard library: %s", strings.Join(names, ", "))
	}
	if err := msl.Check(text); err != nil {
		return nil, fmt.Errorf("strict: %w", err)
	}
	said, text := "", copied(text)
	compile := func(path string) error {
		assembly, err := f.compile(text)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte("compiled\n"+strings.Join(inSpace3.FindAllString(assembly, -1), "\n")), 0o600)
	}
	read := func(path string) error {
		data, err := os.ReadFile(path)
		found := false
		if said, found = strings.CutPrefix(string(data), "compiled\n"); err == nil && !found {
			err = fmt.Errorf("strict: %s is not what was kept", path) // as a file may be after the machine has failed
		}
		return err
	}
	if err := f.kept.File(compile, read, f.version, flags, library, text); err != nil {
		return nil, err
	}
	if threadgroupBytes, err = threadgroupMemory(said); err != nil {
		return nil, err
	}
	for kernel, bytes := range threadgroupBytes {
		if bytes > mostThreadgroupBytes {
			return nil, fmt.Errorf("strict: kernel %s has %d bytes of threadgroup memory (want at most %d)", kernel, bytes, mostThreadgroupBytes)
		}
	}
	return threadgroupBytes, nil
}

// compile returns LLVM's assembly of a text, or the text's mistakes.
func (f *FrontEnd) compile(text string) (string, error) {
	command := exec.Command(f.clang, append(flags, "-I", f.include, "-O0", "-S", "-emit-llvm", "-o", "-", "-")...)
	command.Stdin = strings.NewReader(text)
	var assembly, messages bytes.Buffer
	command.Stdout, command.Stderr = &assembly, &messages
	if err := command.Run(); err != nil {
		if said := errorLines(messages.String()); said != "" {
			err = errors.New(said)
		}
		return "", fmt.Errorf("strict: %w", err)
	}
	return assembly.String(), nil
}

// errorLines returns the lines of clang's messages that are errors.
func errorLines(messages string) string {
	var lines []string
	for line := range strings.Lines(messages) {
		if strings.Contains(line, "error: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

var structure = regexp.MustCompile(`\bstruct\s+(\w+)\s*\{`)

// copied returns the text with structs that can be copied from every address space, as in Metal, and with parameters in the space of
// threadgroup memory. Lines keep their numbers.
func copied(text string) string {
	text = msl.WithThreadgroupParameters(msl.Uncommented(text), "STRICT_THREADGROUP")
	return structure.ReplaceAllString(text, "$0 STRICT_COPIES($1)")
}

var (
	definition = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)
	identifier = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
)

// collisions returns the macros of a text that are names of the library: of its functions, types, macros or parameters
// of templates. Defined before the library, such a macro replaces the name in the library. Defined after it, the macro
// replaces the name in the text.
func collisions(text string) []string {
	var found []string
	for _, m := range definition.FindAllStringSubmatch(msl.Uncommented(text), -1) {
		if libraryNames[m[1]] {
			found = append(found, m[1])
		}
	}
	return found
}

var libraryNames = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range identifier.FindAllString(msl.Uncommented(library), -1) {
		names[name] = true
	}
	return names
}()
