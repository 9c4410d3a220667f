package proof

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// parsed returns the files of a folder and of its subfolders, without tests.
func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	var files []*ast.File
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("%s holds no code", dir)
	}
	return files
}

func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		imported, _ := strconv.Unquote(i.Path.Value)
		return imported == path || strings.HasPrefix(imported, path+"/")
	})
}

// A proof must not use the constants of what it tests.
func TestTheProofKnowsNoConstantOfTheIntervals(t *testing.T) {
	for _, dir := range []string{"../../thresholds", "../../harness", "../../timings", "../../sweeps"} {
		for _, file := range parsed(t, dir) {
			if imports(file, "crossover/lab") {
				t.Errorf("%s imports the models that it is tested on", dir)
			}
		}
	}
	for _, file := range parsed(t, "../model") {
		if imports(file, "crossover/thresholds") || imports(file, "crossover/harness") {
			t.Error("the model imports what is tested on it")
		}
	}
	constants := numbers(parsed(t, "../../thresholds"))
	if !constants["MinTieBand"] || !constants["assumedBetweenRuns"] {
		t.Fatalf("the constants of the intervals are %v", constants)
	}
	for _, file := range parsed(t, "..") {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if from, ok := s.X.(*ast.Ident); ok && from.Name == "thresholds" && constants[s.Sel.Name] || s.Sel.Name == "Assumed" || s.Sel.Name == "AssumedBetweenRuns" {
				t.Errorf("package %s reads %s of the intervals", file.Name.Name, s.Sel.Name)
			}
			return true
		})
	}
}

// numbers returns the names of the constants whose value is a number.
func numbers(files []*ast.File) map[string]bool {
	found := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for k, name := range spec.Names {
					if k < len(spec.Values) && name.Obj != nil && name.Obj.Kind == ast.Con && !isIota(spec.Values[k]) {
						found[name.Name] = true
					}
				}
			}
			return true
		})
	}
	return found
}

func isIota(value ast.Expr) bool {
	name, ok := value.(*ast.Ident)
	return ok && name.Name == "iota"
}
