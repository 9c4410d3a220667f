//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"crossover/gpu"
	"crossover/gpu/kept"
	"crossover/gpu/msl"
	"crossover/native/loadable"
)

// compiler is the host's C++ compiler.
type compiler struct {
	path    string
	version string
	kept    kept.Folder
	runtime []byte // runtime.cpp, compiled
}

var (
	commonFlags = []string{"-std=gnu++14", "-O1", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
		"-fno-stack-protector", "-fno-strict-aliasing", "-fno-math-errno", "-ffp-contract=off", "-c"}
	// Every access of a kernel to memory calls the runtime, so that it is worth more of the compiler's time.
	runtimeFlags = []string{"-O3"}
	kernelFlags  = []string{"-fsanitize=thread,bounds,shift-exponent,integer-divide-by-zero,alignment,float-cast-overflow",
		"-Wno-attributes", "-Wno-unknown-pragmas", "-Werror=double-promotion"}
	linkFlags = []string{"-shared", "-fPIC"}
)

// candidates returns the names that a C++ compiler may have. A name from the environment comes first.
func candidates() []string {
	names := []string{"c++", "g++", "clang++"}
	if own := os.Getenv("CXX"); own != "" {
		names = append([]string{own}, names...)
	}
	return names
}

// findCompiler looks for a C++ compiler and has it compile the runtime, once a process.
var findCompiler = sync.OnceValues(func() (*compiler, error) {
	for _, name := range candidates() {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		c := &compiler{path: path}
		version, err := exec.Command(path, "--version").Output()
		if err != nil {
			return nil, fmt.Errorf("emulator: %s --version: %w", path, err)
		}
		c.version, _, _ = strings.Cut(string(version), "\n")
		c.kept = kept.Open("emulator")
		return c, c.buildRuntime()
	}
	return nil, errors.New("emulator: no C++ compiler (none of c++, g++ and clang++ is on the PATH, and CXX names none)")
})

// buildRuntime compiles the runtime.
func (c *compiler) buildRuntime() error {
	build := func(object string) error {
		log, err := c.compile(runtimeText, filepath.Dir(object), "runtime.cpp", object, runtimeFlags)
		if err != nil {
			return fmt.Errorf("emulator: %s does not compile the runtime: %s", filepath.Base(c.path), firstLine(log, err))
		}
		return nil
	}
	read := func(object string) (err error) {
		if c.runtime, err = os.ReadFile(object); err == nil && len(c.runtime) == 0 {
			err = fmt.Errorf("emulator: %s is empty", object) // as a file may be after the machine has failed
		}
		return err
	}
	return c.kept.File(build, read, c.version, commonFlags, runtimeFlags, runtimeText)
}

// compile makes an object file of a text. If the compiler fails, compile returns what the compiler said.
func (c *compiler) compile(text, dir, name, object string, flags []string) (log string, err error) {
	source := filepath.Join(dir, name)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return "", err
	}
	arguments := append(append([]string{"-I", dir, "-o", object}, commonFlags...), flags...)
	return c.run(append(arguments, source)...)
}

func (c *compiler) run(arguments ...string) (log string, err error) {
	cmd := exec.Command(c.path, arguments...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	return said.String(), err
}

func firstLine(log string, err error) string {
	for _, line := range strings.Split(log, "\n") {
		if strings.Contains(line, "error:") {
			return line
		}
	}
	return err.Error()
}

// image is a compiled text, loaded. It stays loaded as long as the process.
type image struct {
	handle uintptr
	lines  *lineTable
	mu     sync.Mutex // held while one of its kernels runs
}

// build compiles, links and loads a text.
func (c *compiler) build(src gpu.Source, functions []msl.Function) (*image, error) {
	text, err := translate(src, functions)
	if err != nil {
		return nil, err
	}
	var im image
	build := func(library string) error { return c.link(src, functions, text, library) }
	load := func(library string) (err error) {
		if im.handle, err = loadable.Open(library, purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
			return fmt.Errorf("emulator: %s: %w", src.Name, err)
		}
		im.lines = readLines(library, src.Name)
		return nil
	}
	// The source is part of the name because two sources may be the same C++, and an image's memory is its own.
	err = c.kept.File(build, load, c.version, commonFlags, runtimeFlags, kernelFlags, linkFlags, runtimeText, src, text)
	if err != nil {
		return nil, err
	}
	return &im, nil
}

// link makes a shared library of a translated text.
func (c *compiler) link(src gpu.Source, functions []msl.Function, text, library string) error {
	dir := filepath.Dir(library)
	object, runtime := filepath.Join(dir, "kernels.o"), filepath.Join(dir, "runtime.o")
	// Texts include metal_stdlib, which may be empty: the prelude defines the same functions.
	if err := os.WriteFile(filepath.Join(dir, "metal_stdlib"), nil, 0o600); err != nil {
		return err
	}
	if log, err := c.compile(text, dir, "kernels.cpp", object, kernelFlags); err != nil {
		return compileError(src, functions, log, err)
	}
	if err := os.WriteFile(runtime, c.runtime, 0o600); err != nil {
		return err
	}
	if log, err := c.run(append(append([]string{"-o", library}, linkFlags...), object, runtime, "-lm")...); err != nil {
		return fmt.Errorf("emulator: %s: linking: %s", src.Name, firstLine(log, err))
	}
	return nil
}

var diagnostic = regexp.MustCompile(`(?m)^(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$`)

// compileError finds the first error in the compiler's log, and the kernel around it. If the log has no error, the text
// is not to blame.
func compileError(src gpu.Source, functions []msl.Function, log string, err error) error {
	m := diagnostic.FindStringSubmatch(log)
	if m == nil {
		return fmt.Errorf("emulator: %s: the compiler failed: %w", src.Name, err)
	}
	e := &gpu.CompileError{Source: src.Name, Message: m[3], Log: log}
	if filepath.Base(m[1]) == filepath.Base(src.Name) {
		e.Line, _ = strconv.Atoi(m[2])
		e.Kernel = msl.Around(functions, e.Line)
	}
	return e
}
