// Package docs tests the pages against the code: the imports, the folders and the snippets that they show.
package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "crossover"

// packages returns the folders that hold Go files, and what the files of each import of ours. Tests may import anything.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := entry.Name(); entry.IsDir() && (base == "testdata" || base != ".." && strings.HasPrefix(base, ".")) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../")
		imports := found[folder]
		if !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, i := range file.Imports {
				imported, _ := strconv.Unquote(i.Path.Value)
				if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(imports, ours) {
					imports = append(imports, ours)
				}
			}
		}
		found[folder] = imports
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// page returns a page of the repository.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rule is a line of ARCHITECTURE's list of imports: who may import whom. Both are patterns of path.Match.
type rule struct{ who, whom []string }

func rules(t *testing.T) []rule {
	t.Helper()
	_, list, found := strings.Cut(page(t, "ARCHITECTURE.md"), "## Allowed imports")
	if !found {
		t.Fatal("ARCHITECTURE.md does not say who imports whom")
	}
	list, _, _ = strings.Cut(list, "\n## ")
	var all []rule
	for line := range strings.Lines(list) {
		who, whom, found := strings.Cut(line, "->")
		if !strings.HasPrefix(line, "    ") || !found {
			continue
		}
		all = append(all, rule{strings.Fields(strings.ReplaceAll(who, ",", " ")), strings.Fields(strings.ReplaceAll(whom, ",", " "))})
	}
	return all
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok || pattern == "everything"
	})
}

// allowed reports whether a rule lets a package import another one, and whether any rule is about the package.
func allowed(all []rule, who, whom string) (ok, known bool) {
	for _, r := range all {
		if matches(r.who, who) {
			known = true
			ok = ok || matches(r.whom, whom)
		}
	}
	return ok, known
}

func TestArchitectureSaysWhoImportsWhom(t *testing.T) {
	all := rules(t)
	for who, imports := range packages(t) {
		if _, known := allowed(all, who, ""); !known {
			t.Errorf("ARCHITECTURE.md does not say what %s may import", who)
			continue
		}
		for _, whom := range imports {
			if ok, _ := allowed(all, who, whom); !ok {
				t.Errorf("%s imports %s, and ARCHITECTURE.md does not allow that", who, whom)
			}
		}
	}
}

// An import that no package has any more must leave the list.
func TestArchitectureListsNoImportInVain(t *testing.T) {
	imported := packages(t)
	for _, r := range rules(t) {
		for _, whom := range r.whom {
			if whom == "everything" || whom == "nothing" {
				continue
			}
			used := false
			for who, imports := range imported {
				used = used || matches(r.who, who) && slices.ContainsFunc(imports, func(i string) bool { return matches([]string{whom}, i) })
			}
			if !used {
				t.Errorf("ARCHITECTURE.md lets %s import %s, and none does", strings.Join(r.who, ", "), whom)
			}
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// Every folder with code is in the map, by its path or by its last name.
func TestArchitectureMapsEveryFolder(t *testing.T) {
	_, table, _ := strings.Cut(page(t, "ARCHITECTURE.md"), "## The map")
	table, _, _ = strings.Cut(table, "\n## ")
	mapped := map[string]bool{}
	for _, name := range quoted.FindAllStringSubmatch(table, -1) {
		mapped[strings.TrimSuffix(name[1], "/")] = true
	}
	for folder := range packages(t) {
		if inside := path.Base(folder); !mapped[folder] && !mapped[inside] {
			t.Errorf("ARCHITECTURE.md does not map %s", folder)
		}
	}
	for name := range mapped {
		if !strings.Contains(name, "/") || strings.ContainsAny(name, "*<. ") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", name)); err != nil {
			t.Errorf("ARCHITECTURE.md maps %s, which does not exist", name)
		}
	}
}

func TestReadmeListsEveryFolder(t *testing.T) {
	readme := page(t, "README.md")
	for folder := range packages(t) {
		top, _, _ := strings.Cut(folder, "/")
		if !strings.Contains(readme, "| ["+top+"/]("+top+") |") {
			t.Errorf("README.md's table of folders lacks %s", top)
		}
	}
}

// The README sends a reader to an Example of each operation.
func TestEveryOperationHasAnExample(t *testing.T) {
	for _, folder := range packages(t)["kernels/catalogue"] {
		text, err := os.ReadFile(filepath.Join("..", folder, "example_test.go"))
		if err != nil || !strings.Contains(string(text), "// Output:") {
			t.Errorf("%s has no example_test.go with an Example that prints something", folder)
		}
	}
}

// trimmed returns the lines of a text without their margins. An Example reads the committed file from its own folder.
func trimmed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return strings.ReplaceAll(out.String(), `"../../calibration.json"`, `"calibration.json"`)
}

func TestReadmesSnippetsAreExamples(t *testing.T) {
	var examples []string
	for folder := range packages(t) {
		names, err := filepath.Glob(filepath.Join("..", folder, "*example*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			examples = append(examples, strings.ReplaceAll(trimmed(string(text)), `"../calibration.json"`, `"calibration.json"`))
		}
	}
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page(t, "README.md"), -1)
	if len(snippets) == 0 {
		t.Fatal("README.md has no snippet")
	}
	for _, s := range snippets {
		if !slices.ContainsFunc(examples, func(e string) bool { return strings.Contains(e, trimmed(s[1])) }) {
			t.Errorf("no Example holds this snippet of README.md:\n%s", s[1])
		}
	}
}
