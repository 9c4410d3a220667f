// Package docs tests the pages against the code: their imports, folders and snippets.
package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "crossover"

// packages returns the folders with Go files, each with the packages of this module that its files import. Imports of tests
// do not count, because tests may import anything.
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

// rule is a line of ARCHITECTURE's list of imports: the packages who may import the packages whom. Both are patterns of
// path.Match.
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

// allowed reports whether a rule lets package who import package whom. known says whether any rule is about who.
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

// An import that no package has must not be in the list.
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

// folders returns the folders that the map must name: those with Go files, and those with other files that git knows. Data
// and charts are named by the folder above them.
func folders(t *testing.T) []string {
	t.Helper()
	all := slices.Collect(maps.Keys(packages(t)))
	tracked, err := exec.Command("git", "-C", "..", "ls-files").Output()
	if err != nil {
		t.Logf("git lists no files, so only folders with Go files are tested: %v", err)
	}
	for name := range strings.Lines(string(tracked)) {
		folder := path.Dir(strings.TrimSpace(name))
		data := strings.Contains(folder+"/", "testdata/") || strings.HasPrefix(folder, "plots/") || strings.HasPrefix(folder, "sweeps/data/")
		if folder != "." && !data {
			all = append(all, folder)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// mapped returns the folders that ARCHITECTURE's map names, each with the paths that it may stand for. The first cell of a
// row has folders, of which one without a slash lies beside the one before it. In the other cells, names with a slash are
// folders, from the root or inside a folder of the first cell.
func mapped(t *testing.T) [][]string {
	t.Helper()
	_, table, _ := strings.Cut(page(t, "ARCHITECTURE.md"), "## The map")
	table, _, _ = strings.Cut(table, "\n## ")
	var all [][]string
	for row := range strings.Lines(table) {
		first, others, _ := strings.Cut(strings.Trim(row, "| \n"), "|")
		var named []string
		for _, name := range quoted.FindAllStringSubmatch(first, -1) {
			folder := path.Clean(name[1])
			if n := len(named); n > 0 && !strings.Contains(name[1], "/") {
				folder = path.Join(path.Dir(named[n-1]), folder)
			}
			named = append(named, folder)
			all = append(all, []string{folder})
		}
		for _, name := range quoted.FindAllStringSubmatch(others, -1) {
			if !strings.Contains(name[1], "/") || strings.ContainsAny(name[1], "<* ") {
				continue
			}
			may := []string{path.Clean(name[1])}
			for _, folder := range named {
				may = append(may, path.Join(folder, name[1]))
			}
			all = append(all, may)
		}
	}
	return all
}

func TestArchitectureMapsEveryFolder(t *testing.T) {
	named := slices.Concat(mapped(t)...)
	for _, folder := range folders(t) {
		if !slices.Contains(named, folder) {
			t.Errorf("ARCHITECTURE.md does not map %s", folder)
		}
	}
}

func TestArchitectureMapsNoFolderThatIsGone(t *testing.T) {
	for _, paths := range mapped(t) {
		if !slices.ContainsFunc(paths, func(p string) bool { _, err := os.Stat(filepath.Join("..", p)); return err == nil }) {
			t.Errorf("ARCHITECTURE.md maps %s, which does not exist", paths[0])
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

// trimmed returns the lines of a text without their margins. It replaces the path by which an Example reads the committed
// file from its own folder.
func trimmed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return strings.ReplaceAll(out.String(), `"../../calibration.json"`, `"calibration.json"`)
}

func TestSnippetsAreExamples(t *testing.T) {
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
	for _, name := range []string{"README.md", "docs/usage.md"} {
		snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page(t, name), -1)
		if len(snippets) == 0 {
			t.Errorf("%s has no snippet", name)
		}
		for _, s := range snippets {
			if !slices.ContainsFunc(examples, func(e string) bool { return strings.Contains(e, trimmed(s[1])) }) {
				t.Errorf("no Example holds this snippet of %s:\n%s", name, s[1])
			}
		}
	}
}
