//go:build (darwin || linux) && (amd64 || arm64)

package metal_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"crossover/metal/objc"
)

// headers returns what Apple's headers say of the methods that are declared here: encodings by class and selector.
func headers(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.ReadFile("testdata/selectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	encodings := map[string]string{}
	for i, line := range strings.Split(string(file), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			t.Fatalf("testdata/selectors.tsv:%d: %d columns", i+1, len(fields))
		}
		encodings[fields[0]+" "+fields[1]] = bracedStructs(fields[2])
	}
	return encodings
}

// bracedStructs writes ?NSRange, a struct that the extraction from the headers does not know, like the other structs.
func bracedStructs(encoding string) string {
	return strings.ReplaceAll(encoding, "?NSRange", "{NSRange}")
}

// compare returns what is wrong with declarations.
func compare(declared []objc.Declaration, headers map[string]string) (problems []string) {
	seen := map[string]bool{}
	for _, d := range declared {
		key := d.Class + " " + d.Selector
		switch want, known := headers[key]; {
		case seen[key]:
			problems = append(problems, fmt.Sprintf("%s is declared twice", key))
		case !known:
			problems = append(problems, fmt.Sprintf("%s is in no header", key))
		case d.Encoding != want:
			problems = append(problems, fmt.Sprintf("%s is declared as %s, and is %s", key, d.Encoding, want))
		}
		seen[key] = true
	}
	for key := range headers {
		if !seen[key] {
			problems = append(problems, fmt.Sprintf("%s is not declared", key))
		}
	}
	slices.Sort(problems)
	return problems
}

func TestDeclarationsMatchAppleHeaders(t *testing.T) {
	declared := objc.Declared()
	if len(declared) < 50 {
		t.Errorf("%d declarations; there are more", len(declared))
	}
	for _, problem := range compare(declared, headers(t)) {
		t.Error(problem)
	}
}

// The comparison finds likely mistakes in a declaration.
func TestComparisonFindsMistakes(t *testing.T) {
	const newBuffer = "MTLDevice newBufferWithLength:options:"
	all := headers(t)
	for _, test := range []struct {
		name    string
		mistake objc.Declaration
		want    string
	}{
		{"a misspelled selector", objc.Declaration{Class: "MTLDevice", Selector: "newBufferWithLenght:options:", Encoding: "@|QQ"}, "MTLDevice newBufferWithLenght:options: is in no header"},
		{"another class's selector", objc.Declaration{Class: "MTLBuffer", Selector: "newBufferWithLength:options:", Encoding: "@|QQ"}, "MTLBuffer newBufferWithLength:options: is in no header"},
		{"a width", objc.Declaration{Class: "MTLDevice", Selector: "newBufferWithLength:options:", Encoding: "@|IQ"}, newBuffer + " is declared as @|IQ, and is @|QQ"},
		{"a signed integer", objc.Declaration{Class: "MTLDevice", Selector: "newBufferWithLength:options:", Encoding: "@|qQ"}, newBuffer + " is declared as @|qQ, and is @|QQ"},
		{"a missing result", objc.Declaration{Class: "MTLDevice", Selector: "newBufferWithLength:options:", Encoding: "v|QQ"}, newBuffer + " is declared as v|QQ, and is @|QQ"},
		{"a double", objc.Declaration{Class: "MTLCommandBuffer", Selector: "GPUEndTime", Encoding: "f|"}, "MTLCommandBuffer GPUEndTime is declared as f|, and is d|"},
		{"a struct", objc.Declaration{Class: "MTLDevice", Selector: "maxThreadsPerThreadgroup", Encoding: "{MTLOrigin}|"}, "MTLDevice maxThreadsPerThreadgroup is declared as {MTLOrigin}|, and is {MTLSize}|"},
	} {
		if problems := compare([]objc.Declaration{test.mistake}, all); !slices.Contains(problems, test.want) {
			t.Errorf("%s: not found among %q", test.name, problems)
		}
	}
	twice := objc.Declaration{Class: "MTLDevice", Selector: "newBufferWithLength:options:", Encoding: "@|QQ"}
	if problems := compare([]objc.Declaration{twice, twice}, all); !slices.Contains(problems, newBuffer+" is declared twice") {
		t.Error("a second declaration: not found")
	}
}
