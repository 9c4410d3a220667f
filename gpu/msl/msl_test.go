package msl

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Function
	}{
		{"empty", "", nil},
		{"no kernel", "float twice(float x) { return 2 * x; }\nvoid kernel_of(float x) {}", nil},
		{"no parameters", "kernel void k() {}", []Function{{Name: "k", Line: 1, LastLine: 1}}},
		{"buffers", `
kernel void k(device float* a [[buffer(0)]],
              device const float2 *b [[ buffer( 1 ) ]],
              const device uint * c [[buffer(2)]],
              constant float4* d [[buffer(3)]],
              device int const* e [[buffer(4)]],
              device uchar*f[[buffer(5)]]) {
}`, []Function{{Name: "k", Line: 2, LastLine: 8, Parameters: []Parameter{
			{Name: "a", Kind: Buffer, Type: "float", Index: 0, Bytes: 4},
			{Name: "b", Kind: Buffer, Type: "float2", Index: 1, Bytes: 8, ReadOnly: true},
			{Name: "c", Kind: Buffer, Type: "uint", Index: 2, Bytes: 4, ReadOnly: true},
			{Name: "d", Kind: Buffer, Type: "float4", Index: 3, Bytes: 16, ReadOnly: true},
			{Name: "e", Kind: Buffer, Type: "int", Index: 4, Bytes: 4, ReadOnly: true},
			{Name: "f", Kind: Buffer, Type: "uchar", Index: 5, Bytes: 1},
		}}}},
		{"values", `struct Params { uint n; float a, b[3]; };
struct Own { float tile[2048]; uchar c; };
kernel void k(constant Params& p [[buffer(0)]], constant const uint2& n [[buffer(1)]], device Params* q [[buffer(2)]]) {}`,
			[]Function{{Name: "k", Line: 3, LastLine: 3, Parameters: []Parameter{
				{Name: "p", Kind: Value, Type: "Params", Index: 0, Bytes: 20, ReadOnly: true},
				{Name: "n", Kind: Value, Type: "uint2", Index: 1, Bytes: 8, ReadOnly: true},
				{Name: "q", Kind: Buffer, Type: "Params", Index: 2, Bytes: 20},
			}}}},
		{"positions", `kernel void k(uint2 a [[thread_position_in_grid]], uint2 b [[threads_per_grid]],
    uint c [[thread_index_in_simdgroup]], uint d [[thread_index_in_threadgroup]]) { { } }
kernel void l(uint3 a [[threadgroup_position_in_grid]]) {
    if (true) { }
}
kernel void m(uint a [[thread_position_in_threadgroup]]) {}`, []Function{
			{Name: "k", Line: 1, LastLine: 2, Parameters: []Parameter{
				{Name: "a", Kind: ID, Type: "uint2", Bytes: 8, Attribute: "thread_position_in_grid"},
				{Name: "b", Kind: ID, Type: "uint2", Bytes: 8, Attribute: "threads_per_grid"},
				{Name: "c", Kind: ID, Type: "uint", Bytes: 4, Attribute: "thread_index_in_simdgroup"},
				{Name: "d", Kind: ID, Type: "uint", Bytes: 4, Attribute: "thread_index_in_threadgroup"},
			}},
			{Name: "l", Line: 3, LastLine: 5, Parameters: []Parameter{
				{Name: "a", Kind: ID, Type: "uint3", Bytes: 12, Attribute: "threadgroup_position_in_grid"},
			}},
			{Name: "m", Line: 6, LastLine: 6, Parameters: []Parameter{
				{Name: "a", Kind: ID, Type: "uint", Bytes: 4, Attribute: "thread_position_in_threadgroup"},
			}},
		}},
		{"most threads", `#define WIDTH 256
[[max_total_threads_per_threadgroup(WIDTH)]]
kernel void k(device float* a [[buffer(0)]]) {}
[[max_total_threads_per_threadgroup( 32 * 4 )]] kernel void l() {}`, []Function{
			{Name: "k", Line: 3, LastLine: 3, MaxThreads: "WIDTH", Parameters: []Parameter{{Name: "a", Type: "float", Bytes: 4}}},
			{Name: "l", Line: 4, LastLine: 4, MaxThreads: "32 * 4"},
		}},
		{"threadgroup memory", `kernel void k(device float* a [[buffer(0)]],
    threadgroup  element *b [[ threadgroup( 0 ) ]], uint i [[thread_position_in_grid]]) {}`, []Function{{Name: "k", Line: 1, LastLine: 2, Parameters: []Parameter{
			{Name: "a", Type: "float", Bytes: 4},
			{Name: "b", Kind: Threadgroup, Type: "element", Index: 1},
			{Name: "i", Kind: ID, Type: "uint", Bytes: 4, Attribute: "thread_position_in_grid"},
		}}}},
		{"comments", `// kernel void a(
/* kernel void b(
   × */ kernel /* the */ void k(device float* a [[buffer(0)]], // of n, (rows)
   /* then */ device float* b [[buffer(1)]]) {
   // }
}`, []Function{{Name: "k", Line: 3, LastLine: 6, Parameters: []Parameter{
			{Name: "a", Type: "float", Bytes: 4},
			{Name: "b", Type: "float", Bytes: 4, Index: 1},
		}}}},
		{"body without an end", "kernel void k() {\n\n", []Function{{Name: "k", Line: 1, LastLine: 3}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, parameters, want string }{
		{"gap in the indices", "device float* a [[buffer(1)]]", "line 2: kernel k: a is buffer 1; want 0"},
		{"index twice", "device float* a [[buffer(0)]], device float* b [[buffer(0)]]", "b is buffer 0; want 1"},
		{"index beyond Metal's", "device float* a [[buffer(31)]]", "want at most 30"},
		{"index beyond all", "device float* a [[buffer(99999999999999999999)]]", "want at most 30"},
		{"no index", "device float* a", `parameter "device float* a" is outside of the dialect`},
		{"no address space", "float* a [[buffer(0)]]", "outside of the dialect"},
		{"another index of threadgroup memory", "threadgroup float* a [[threadgroup(1)]]", "outside of the dialect"},
		{"threadgroup memory in a buffer", "threadgroup float* a [[buffer(0)]]", "outside of the dialect"},
		{"threadgroup memory twice", "threadgroup float* a [[threadgroup(0)]], threadgroup float* b [[threadgroup(0)]]",
			"a and b are threadgroup memory; want one such parameter"},
		{"threadgroup memory before a buffer", "threadgroup float* a [[threadgroup(0)]], device float* b [[buffer(0)]]",
			"b comes after a; want threadgroup memory behind the buffers"},
		{"texture", "texture2d<float> a [[texture(0)]]", "outside of the dialect"},
		{"unknown type", "device half* a [[buffer(0)]]", "type half, of which the size is not known"},
		{"three floats", "device float3* a [[buffer(0)]]", "float3, of which the size is not known"},
		{"struct of other things", "constant Bytes& a [[buffer(0)]]", "Bytes, of which the size is not known"},
		{"struct that is too large", "constant Large& a [[buffer(0)]]", "Large, of which the size is not known"},
		{"struct that overflows", "constant Overflow& a [[buffer(0)]]", "Overflow, of which the size is not known"},
		{"device reference", "device float& a [[buffer(0)]]", "reference to device memory"},
		{"unknown position", "uint a [[threads_per_simdgroup]]", "threads_per_simdgroup"},
		{"position of another type", "ushort a [[thread_position_in_grid]]", "outside of the dialect"},
		{"index that is a vector", "uint2 a [[thread_index_in_threadgroup]]", "uint2 [[thread_index_in_threadgroup]]"},
		{"mixed positions", "uint2 a [[thread_position_in_grid]], uint b [[threads_per_threadgroup]]",
			"a is uint2 and b is uint; want one type"},
		{"comma too many", "device float* a [[buffer(0)]],", `parameter ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "struct Bytes { uchar a; }; struct Large { float a[1024], b; }; struct Overflow { float a[4611686018427387904]; };\n" +
				"kernel void k(" + c.parameters + ") {}"
			_, err := Parse(text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %v", err)
			}
		})
	}
	for text, want := range map[string]string{
		"kernel void k(device float* a [[buffer(0)]]": "line 1: kernel k: its parameter list is not closed",
		"kernel void k() {}\nkernel void k() {}":      "line 2: kernel k is there twice",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// Compilers that have no threadgroup memory in parameters get another word there, and the arrays as they are.
func TestWithThreadgroupParameters(t *testing.T) {
	const text = "kernel void k(threadgroup\n  element* a [[threadgroup(0)]], uint i [[threadgroup_position_in_grid]]) {\n  threadgroup float b[2];\n}"
	const want = "kernel void k(SPACE\n  element* a, uint i [[threadgroup_position_in_grid]]) {\n  threadgroup float b[2];\n}"
	if got := WithThreadgroupParameters(text, "SPACE"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestArguments(t *testing.T) {
	functions, err := Parse(`kernel void k(uint i [[thread_position_in_grid]], device float* a [[buffer(0)]],
    constant uint& n [[buffer(1)]])`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range functions[0].Arguments() {
		names = append(names, p.Name)
	}
	if d := cmp.Diff([]string{"a", "n"}, names); d != "" {
		t.Error(d)
	}
}

func TestAround(t *testing.T) {
	functions, err := Parse("\nkernel void k() {\n\n}\n\nkernel void l() {\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range 9 {
		got = append(got, Around(functions, line))
	}
	if d := cmp.Diff([]string{"", "", "k", "k", "k", "", "l", "l", ""}, got); d != "" {
		t.Error(d)
	}
}

func TestUncommented(t *testing.T) {
	const text = "a // b × c\nd /* e\n// f */ g / h"
	const want = "a          \nd     \n        g / h"
	if got := Uncommented(text); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// texts returns all texts of the project that have kernels. Each stands behind the texts that it includes, because
// operations join them in this order.
func texts(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("../../kernels", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".metal" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(Uncommented(string(text)), "kernel void") {
			all[path] = included(t, path, map[string]bool{})
		}
		return err
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("%d kernel texts: %v", len(all), err)
	}
	return all
}

var quoted = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// included returns the text of a file after the texts that it includes, each once. Their guards are left in place.
func included(t testing.TB, path string, seen map[string]bool) string {
	t.Helper()
	if seen[path] {
		return ""
	}
	seen[path] = true
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	for _, match := range quoted.FindAllStringSubmatch(string(text), -1) {
		before += included(t, filepath.Join(filepath.Dir(path), match[1]), seen)
	}
	return before + string(text)
}

func TestParseCommittedTexts(t *testing.T) {
	kernels := 0
	for path, text := range texts(t) {
		functions, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if n := strings.Count(Uncommented(text), "kernel void"); n != len(functions) {
			t.Errorf("%s: %d kernels of %d", path, len(functions), n)
		}
		kernels += len(functions)
	}
	if kernels == 0 {
		t.Error("no kernels")
	}
}

// What the package comment promises is in every prelude.
func TestFunctionsAreInEveryPrelude(t *testing.T) {
	source, err := os.ReadFile("msl.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(source), "// These are the functions")
	list, _, end := strings.Cut(list, "package msl")
	if !found || !end {
		t.Fatal("the package comment lists no functions")
	}
	var names []string
	for _, line := range strings.Split(list, "\n") {
		indented, ok := strings.CutPrefix(line, "//\t")
		if !ok && !strings.Contains(line, "FLT_") {
			continue
		}
		indented, _, _ = strings.Cut(indented, ", which")
		if !ok {
			indented = line
		}
		for _, name := range regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]+`).FindAllString(indented, -1) {
			if !slices.Contains([]string{"f2", "f4", "of", "and", "int", "uint", "float", "float2", "float4", "any", "type", "too", "vectors",
				"bool", "with", "And", "the", "constants"}, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) < 90 {
		t.Fatalf("%d names: %v", len(names), names)
	}
	for _, path := range []string{"../emulator/cpp/prelude.h", "../../cuda/prelude.cuh"} {
		prelude, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		words := regexp.MustCompile(`\w+`).FindAllString(string(prelude), -1)
		for _, name := range names {
			if !slices.Contains(words, name) {
				t.Errorf("%s has no %s", path, name)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range texts(f) {
		f.Add(text)
	}
	f.Add("kernel void k(")
	f.Add("struct S { float a[99999999999999999999]; }; kernel void k(constant S& s [[buffer(0)]])")
	f.Add("/*\xff*/ kernel void \xff(")
	f.Fuzz(func(t *testing.T, text string) {
		functions, err := Parse(text)
		if err != nil && functions != nil {
			t.Error("functions and an error")
		}
		if u := Uncommented(text); len(u) != len(text) || strings.Count(u, "\n") != strings.Count(text, "\n") {
			t.Error("Uncommented moves the text")
		}
		for _, f := range functions {
			if f.Name == "" || f.Line < 1 || f.LastLine < f.Line || f.LastLine > 1+strings.Count(text, "\n") {
				t.Errorf("%+v", f)
			}
			for i, p := range f.Arguments() {
				if p.Index != i || (p.Bytes < 1) != (p.Kind == Threadgroup) || p.Bytes > mostValueBytes {
					t.Errorf("%+v", p)
				}
			}
		}
	})
}
