//go:build (darwin || linux) && (amd64 || arm64)

package strict

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/dryrun"
	"crossover/gpu/kept"
	"crossover/gpu/msl"
	"crossover/kernels/catalogue/launches"
	"crossover/metal"
)

// front returns the front-end. It skips the test if there is no clang.
func front(t *testing.T) *FrontEnd {
	t.Helper()
	f, err := New(t.TempDir())
	if err != nil {
		t.Skip(err)
	}
	return f
}

// hold fails the test if the front-end refuses the text.
func (f *FrontEnd) hold(t *testing.T, name, text string) {
	t.Helper()
	if _, err := f.Check(text); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// Every text that the catalogue's launch plans compile on Apple's GPUs passes, in the form that Metal's compiler would
// get.
func TestEverySpecialisedText(t *testing.T) {
	f := front(t)
	if testing.Short() {
		t.Skip("plans every case at some thirty sizes")
	}
	texts, err := launches.Texts(dryrun.GPUs...)
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string]int{}
	for i, s := range texts {
		shapes[s.Name]++
		t.Run(fmt.Sprintf("%s,%d", s.Name, i), func(t *testing.T) {
			t.Parallel()
			f.hold(t, fmt.Sprint(s.Name, s.Macros), metal.Specialise(s.Source))
		})
	}
	for name, least := range map[string]int{
		"elementwise.metal": 1, "simdgroup.metal": 4, "mel.metal": 3, "section.metal+scan.metal": 6, "oscillator.metal": 6, "linear.metal": 4,
		"butterflies.metal+radices.metal+mixed.metal": 2, "butterflies.metal+passes.metal+real.metal": 8, "softmax.metal": 1,
	} {
		if shapes[name] < least {
			t.Errorf("%s is compiled in %d shapes, want at least %d", name, shapes[name], least)
		}
	}
}

// Every text also passes as it stands in its file, which is what Xcode's compiler gets.
func TestEveryPlainText(t *testing.T) {
	f := front(t)
	plain := 0
	take := func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".metal" {
			return err
		}
		plain++
		text, err := msl.ReadFile(path)
		if err != nil {
			return err
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			f.hold(t, path, text)
		})
		return nil
	}
	err := errors.Join(filepath.WalkDir("../../kernels", take), filepath.WalkDir("../../cmd", take))
	if err != nil || plain < 20 {
		t.Fatalf("%d texts, %v", plain, err)
	}
}

// head is the beginning of a text. body is what a kernel reads and writes.
const head = "#include <metal_stdlib>\nusing namespace metal;\n"

func kernelOf(body string) string {
	return head + "struct Pair { float a; uint b; };\n" +
		"kernel void planted(device float* y [[buffer(0)]], device const Pair* x [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n" +
		body + "\n}\n"
}

// Mistakes that none of our texts has, because Metal refuses them, are found when they are planted.
func TestMistakesAreFound(t *testing.T) {
	f := front(t)
	for name, mistake := range map[string]struct{ text, want string }{
		"a macro before the library": {"#define N 1024\n" + kernelOf("y[i] = N;"), "name of the standard library: N"},
		"a macro that is a function": {
			metal.Specialise(gpu.Source{Name: "k.metal", Text: kernelOf("y[i] = x[i].a;")}.Define("step", 4)), "name of the standard library: step"},
		"a macro that is a type":        {head + "#define filter 3\n", "name of the standard library: filter"},
		"a macro that is reserved":      {head + "#define _Size 3\n", "macro name is a reserved identifier"},
		"a macro that was not defined":  {head + "#if NOWHERE\n#endif\n", "'NOWHERE' is not defined"},
		"no address space":              {kernelOf("device const Pair* p = x;\nfloat* q = &y[i];\n*q = p->a;"), "float* without an address space"},
		"no address space, by a type":   {head + "typedef float element;\n" + "static inline void f(element* p) { *p = 1.0f; }\n", "element* without an address space"},
		"another address space":         {kernelOf("thread float* q = &y[i];\n*q = 1.0f;"), "cannot initialize a variable of type 'float *'"},
		"another space of an argument":  {head + "static inline float f(thread const float& p) { return p; }\n" + strings.TrimPrefix(kernelOf("y[i] = f(x[i].a);"), head), "no matching function"},
		"a write to constant memory":    {head + "constant float table[2] = {1.0f, 2.0f};\n" + strings.TrimPrefix(kernelOf("table[i] = y[i];"), head), "const-qualified"},
		"a narrowed fraction":           {kernelOf("int n = x[i].a;\ny[n] = 1.0f;"), "turns floating-point number into integer"},
		"a narrowed integer":            {kernelOf("ulong n = i;\nuint m = n;\ny[m] = 1.0f;"), "loses integer precision"},
		"an integer as a fraction":      {kernelOf("y[i] = i;"), "may lose precision"},
		"a literal in double precision": {kernelOf("y[i] = x[i].a * 0.1;"), "double"},
		"a lane that is too wide":       {kernelOf("y[i] = simd_shuffle(x[i].a, ulong(i) + 1u);"), "loses integer precision"},
		"a function of C":               {kernelOf("y[i] = expf(x[i].a);"), "undeclared identifier 'expf'"},
		"a function of nobody":          {kernelOf("y[i] = precise::logistic(x[i].a);"), "no member named 'logistic'"},
		"a function without precision":  {kernelOf("y[i] = exp(x[i].a);"), "undeclared identifier 'exp'"},
		"a minimum of two types":        {kernelOf("y[min(i, 3)] = 1.0f;"), "ambiguous"},
		"33 KiB in an array":            {kernelOf("threadgroup float a[33 * 256];\na[i] = y[i];"), "kernel planted has 33792 bytes of threadgroup memory (want at most 32768)"},
		"33 KiB in two":                 {kernelOf("threadgroup float2 a[2048], b[2176];\na[i] = b[i];"), "kernel planted has 33792 bytes of threadgroup memory"},
		"C++17":                         {kernelOf("if constexpr (true) y[i] = 1.0f;"), "C++17 extension"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := f.Check(mistake.text)
			if err == nil || !strings.Contains(err.Error(), mistake.want) {
				t.Errorf("%v; want %q in it", err, mistake.want)
			}
		})
	}
}

// The front-end takes what Metal takes: a struct may be copied from any address space.
func TestStructsAreCopied(t *testing.T) {
	f := front(t)
	f.hold(t, "planted", kernelOf("Pair p = x[i];\np = x[i + 1];\ny[i] = p.a;"))
}

func TestThreadgroupMemoryIsCounted(t *testing.T) {
	f := front(t)
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"none":            {"y[i] = 1.0f;", 0},
		"exactly 32 KiB":  {"threadgroup float4 a[2048];\na[i] = float4(1.0f);", 32 << 10},
		"in two arrays":   {"threadgroup float2 a[2048], b[1920];\na[i] = b[i];", 31 << 10},
		"in two rows":     {"threadgroup float a[2][128];\nthreadgroup uint b[3];\na[1][b[i]] = 1.0f;", 1036},
		"after a padding": {"threadgroup float a[1];\nthreadgroup float4 b[1];\na[0] = b[0].x;", 32},
		"no arrays":       {"threadgroup float a;\nthreadgroup uint b;\nb = i;\na = y[b];\ny[i] = a;", 8},
		"of threes":       {"threadgroup float3 a[2];\na[0] = a[1];", 32},
	} {
		memory, err := f.Check(kernelOf(test.body))
		if err != nil || memory["planted"] != test.want {
			t.Errorf("%s: %v, %v; want %d bytes", name, memory, err, test.want)
		}
	}
}

// A text that has passed needs no clang, and its memory is counted again. A text, library or clang that differs needs one.
func TestEveryPartOfATextCounts(t *testing.T) {
	f := front(t)
	f.kept = kept.Folder(t.TempDir())
	text := kernelOf("threadgroup float a[3];\na[i] = y[i];\ny[0] = a[1];")
	f.hold(t, "planted", text)
	absent := *f
	absent.clang = filepath.Join(t.TempDir(), "none")
	if memory, err := absent.Check(text); err != nil || memory["planted"] != 12 {
		t.Errorf("%v, %v; want 12 bytes, without clang", memory, err)
	}
	newer := absent
	newer.version += "1"
	_, otherText := absent.Check(text + "\n")
	_, otherClang := newer.Check(text)
	defer func(text string) { library = text }(library)
	library += "\n"
	_, otherLibrary := absent.Check(text)
	for what, err := range map[string]error{"text": otherText, "clang": otherClang, "library": otherLibrary} {
		if err == nil {
			t.Errorf("what was kept of another %s is used", what)
		}
	}
}
