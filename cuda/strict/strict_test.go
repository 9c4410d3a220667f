//go:build linux && (amd64 || arm64)

package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"crossover/cuda"
	"crossover/gpu"
	"crossover/gpu/dryrun"
	"crossover/gpu/kept"
	"crossover/gpu/msl"
	"crossover/kernels/catalogue/launches"
	"crossover/metal/strict"
)

// mostShared is how many bytes of shared memory CUDA gives the variables of a kernel.
const mostShared = 48 << 10

// flags make clang a compiler of CUDA without NVIDIA's toolkit, as NVRTC's options do. They are those of clang's inner command,
// which compiles many texts in one process. Warnings are off, as for NVRTC: package metal/strict has them.
var flags = []string{
	"-cc1", "-triple", "nvptx64-nvidia-cuda", "-aux-triple", "x86_64-pc-linux-gnu", "-target-cpu", "sm_90", "-target-feature", "+ptx78",
	"-x", "cuda", "-fcuda-is-device", "-std=c++17", "-fno-builtin", "-w", "-ferror-limit", "3",
}

// front is clang with the prelude and what NVRTC declares, compiled beforehand. It makes PTX. It is not NVRTC: it knows other
// extensions, and nothing assembles its PTX. What it says of programs that it takes is kept.
type front struct {
	clang, folder string
	kept          kept.Folder
	parts         []any // of what is kept, besides the program
}

// newFront skips the test if there is no clang.
func newFront(t *testing.T, prelude string) *front {
	t.Helper()
	clang, err := strict.Clang()
	if err != nil {
		t.Skip(err)
	}
	version, err := strict.Version(clang)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := os.ReadFile("testdata/nvrtc.cuh")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{clang, t.TempDir(), kept.Open("strict"), []any{version, flags, string(declared), prelude}}
	for name, text := range map[string]string{
		"nvrtc.cuh": string(declared), cuda.PreludeName: prelude,
		"both.cuh": fmt.Sprintf("#include \"nvrtc.cuh\"\n#include <%s>\n", cuda.PreludeName),
	} {
		if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.run("-I", f.folder, "-emit-pch", "-o", f.path("both.pch"), f.path("both.cuh")); err != nil {
		t.Fatalf("the prelude: %v", err)
	}
	return f
}

func (f *front) path(name string) string { return filepath.Join(f.folder, name) }

// run runs clang. Its error has clang's errors, one a line.
func (f *front) run(arguments ...string) (output string, err error) {
	command := exec.Command(f.clang, append(flags, arguments...)...)
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	if err = command.Run(); err != nil {
		var lines []string
		for line := range strings.Lines(messages.String()) {
			if strings.Contains(line, "error: ") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		if len(lines) > 0 {
			err = errors.New(strings.Join(lines, "\n"))
		}
	}
	return out.String(), err
}

// shared is a variable of shared memory in PTX: its function and name, as C++ mangles them, and its bytes.
var shared = regexp.MustCompile(`(?m)^\s*(?:\.\w+ )*\.shared \.align \d+ \.\w+ (_ZZ\w+E)\d+\w+(?:\[(\d+)\])?;`)

// program is a program of CUDA.
type program struct{ text, file string }

// compile compiles programs, unless the one before it has taken them.
func (f *front) compile(programs ...program) error {
	var files []string
	var compiled []program
	for _, p := range programs {
		if err := f.keep(p, ""); errors.Is(err, errNotKept) {
			files, compiled = append(files, p.file), append(compiled, p)
		} else if err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	ptx, err := f.run(append([]string{"-I", f.folder, "-include-pch", f.path("both.pch"), "-S", "-o", "-"}, files...)...)
	if err != nil {
		return err
	}
	texts := strings.Split(ptx, ".version ")[1:]
	if len(texts) != len(files) {
		return fmt.Errorf("clang compiled %d of %d programs", len(texts), len(files))
	}
	for i, text := range texts {
		if err := f.keep(compiled[i], "shared memory:\n"+strings.Join(shared.FindAllString(text, -1), "\n")); err != nil {
			return err
		}
	}
	return nil
}

var errNotKept = errors.New("clang has not compiled it")

// keep checks what clang has made of a program: the variables in shared memory. If they are "", they must have been kept.
// Otherwise keep keeps them.
func (f *front) keep(p program, variables string) error {
	build := func(path string) error {
		if variables == "" {
			return errNotKept
		}
		return os.WriteFile(path, []byte(variables), 0o600)
	}
	check := func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(text), "shared memory:\n") {
			return errNotKept // as a file may be after the machine has failed
		}
		return sharedMemory(string(text))
	}
	return f.kept.File(build, check, append(f.parts, p.text)...)
}

// sharedMemory returns an error if a kernel has too much shared memory.
func sharedMemory(ptx string) (err error) {
	bytes := map[string]int{}
	for _, m := range shared.FindAllStringSubmatch(ptx, -1) {
		n := 8 // of a scalar, at most
		if m[2] != "" {
			if n, err = strconv.Atoi(m[2]); err != nil {
				return err
			}
		}
		if bytes[m[1]] += n; bytes[m[1]] > mostShared {
			return fmt.Errorf("error: %s has more than %d bytes of shared memory", m[1], mostShared)
		}
	}
	return nil
}

// write writes the program of a source to a file.
func (f *front) write(src gpu.Source) (p program, err error) {
	if p.text, err = cuda.Program(src); err != nil {
		return p, err
	}
	file, err := os.CreateTemp(f.folder, "*.cu")
	if err != nil {
		return p, err
	}
	p.file = file.Name()
	if _, err := file.WriteString(p.text); err != nil {
		return p, err
	}
	return p, file.Close()
}

// check compiles sources, many in a process and a process for each processor, and returns the errors of those that clang
// refuses.
func (f *front) check(t *testing.T, sources []gpu.Source) (refused []error) {
	t.Helper()
	var programs []program
	for _, s := range sources {
		p, err := f.write(s)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		programs = append(programs, p)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for part := range parts {
		first, end := part*len(programs)/parts, (part+1)*len(programs)/parts
		all.Go(func() {
			if first == end || f.compile(programs[first:end]...) == nil {
				return
			}
			for i := first; i < end; i++ { // one at a time, to tell whose error it is
				if err := f.compile(programs[i]); err != nil {
					mu.Lock()
					refused = append(refused, fmt.Errorf("%s %v: %w", sources[i].Name, sources[i].Macros, err))
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return refused
}

// Every text that the catalogue's launch plans compile on NVIDIA's GPUs is CUDA, in the form that NVRTC gets.
func TestEveryTextIsCUDA(t *testing.T) {
	if testing.Short() {
		t.Skip("plans every case at some thirty sizes")
	}
	f := newFront(t, cuda.Prelude)
	texts, err := launches.Texts(dryrun.NVIDIA...)
	if err != nil {
		t.Fatal(err)
	}
	var sources []gpu.Source
	for _, s := range texts {
		sources = append(sources, s.Source)
	}
	if len(sources) < 300 {
		t.Errorf("there are %d texts, want at least 300", len(sources))
	}
	for _, err := range f.check(t, sources) {
		t.Error(err)
	}
}

// So is every text as it stands in its file, which has the kernels that no case launches. Texts with the matrices of a simdgroup
// are for Metal alone.
func TestEveryPlainTextIsCUDA(t *testing.T) {
	f := newFront(t, cuda.Prelude)
	var sources []gpu.Source
	take := func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".metal" {
			return err
		}
		text, err := msl.ReadFile(path)
		if err == nil && !strings.Contains(text, "simdgroup_float8x8") {
			sources = append(sources, gpu.Source{Name: filepath.Base(path), Text: text})
		}
		return err
	}
	err := errors.Join(filepath.WalkDir("../../kernels", take), filepath.WalkDir("../../cmd", take))
	if err != nil || len(sources) < 20 {
		t.Fatalf("%d texts, %v", len(sources), err)
	}
	for _, err := range f.check(t, sources) {
		t.Error(err)
	}
}

func planted(body string) gpu.Source {
	return gpu.Source{Name: "planted.metal", Text: "#include <metal_stdlib>\nusing namespace metal;\nstruct Pair { float a; uint b; };\n" +
		"kernel void planted(device float* y [[buffer(0)]], device const Pair* x [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n" +
		body + "\n}\n"}
}

func TestMistakesInCUDAAreFound(t *testing.T) {
	f := newFront(t, cuda.Prelude)
	good := planted("Pair p = x[i];\ny[i] = simd_sum(p.a) + float(simd_shuffle_xor(uint2(p.b), 1u).y);")
	for name, mistake := range map[string]struct{ body, want string }{
		"a shuffle of a struct":          {"y[i] = simd_shuffle(x[i], 0u).a;", "no matching function for call to 'simd_shuffle'"},
		"a shuffle of a type without it": {"y[i] = float(simd_shuffle_xor(ulong2(1, 2), 1u).x);", "undeclared identifier 'ulong2'"},
		"an ambiguous overload":          {"y[min(i, 3)] = 1.0f;", "call to 'min' is ambiguous"},
		"an ambiguous shuffle":           {"unsigned long v = i;\ny[i] = float(simd_shuffle(v, 0u));", "call to 'simd_shuffle' is ambiguous"},
		"a function that Metal has":      {"y[i] = precise::log1p(x[i].a);", "no member named 'log1p'"},
		"a swizzle":                      {"y[i] = dot(float4(x[i].a).xy, float2(1.0f));", "no member named 'xy'"},
		"a matrix of a simdgroup":        {"simdgroup_float8x8 m;\ny[i] = 0.0f;", "unknown type name 'simdgroup_float8x8'"},
		"a name of CUDA's":               {"float __shared__ = 1.0f;\ny[i] = 0.0f;", "expected"},
		"52 KiB of shared memory":        {"threadgroup float a[26 * 256], b[26 * 256];\na[i] = b[i];\ny[i] = a[i + 1];", "bytes of shared memory"},
	} {
		refused := f.check(t, []gpu.Source{good, planted(mistake.body), good})
		if len(refused) != 1 || !strings.Contains(refused[0].Error(), mistake.want) {
			t.Errorf("%s: %v; want %q in it", name, refused, mistake.want)
		}
	}
	if refused := f.check(t, []gpu.Source{good}); len(refused) != 0 {
		t.Error(refused)
	}
}

// A program that clang has taken needs no clang. Another one does, and so does the same one with another prelude or clang.
func TestEveryPartOfAProgramCounts(t *testing.T) {
	f := newFront(t, cuda.Prelude)
	f.kept = kept.Folder(t.TempDir())
	good := planted("y[i] = x[i].a;")
	if refused := f.check(t, []gpu.Source{good}); len(refused) != 0 {
		t.Fatal(refused)
	}
	f.clang = f.path("none")
	if refused := f.check(t, []gpu.Source{good, good}); len(refused) != 0 {
		t.Errorf("without clang: %v", refused)
	}
	if refused := f.check(t, []gpu.Source{good, planted("y[i] = -x[i].a;")}); len(refused) != 1 {
		t.Errorf("what was kept of another program is used: %v", refused)
	}
	for i := range f.parts {
		other := *f
		other.parts = slices.Clone(f.parts)
		other.parts[i] = fmt.Sprint(other.parts[i], "1")
		if refused := other.check(t, []gpu.Source{good}); len(refused) != 1 {
			t.Errorf("what was kept with another part %d is used: %v", i, refused)
		}
	}
}

// A function that the prelude lacks is found in the texts that call it.
func TestAnIncompletePreludeIsFound(t *testing.T) {
	const function = "static inline uint ctz(uint a) { return a ? __ffs(a) - 1 : 32; }\n"
	if !strings.Contains(cuda.Prelude, function) {
		t.Fatal("the prelude has another ctz")
	}
	f := newFront(t, strings.Replace(cuda.Prelude, function, "", 1))
	text, err := os.ReadFile("../../kernels/peaks/peaks.metal")
	if err != nil {
		t.Fatal(err)
	}
	refused := f.check(t, []gpu.Source{{Name: "peaks.metal", Text: string(text)}})
	if len(refused) != 1 || !strings.Contains(refused[0].Error(), "undeclared identifier 'ctz'") {
		t.Error(refused)
	}
}
