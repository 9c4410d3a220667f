// Command types checks the types of the module's packages and tests for other platforms, without a compiler: no code is generated,
// and the bodies of other modules' functions are skipped. That takes a tenth of the time of go vet, which compiles every package
// that another one imports. It fails if a file is for these platforms alone, because such a file needs go vet.
//
//	types PLATFORM SEEN…
//
// PLATFORM is checked, such as linux/arm64. Each file for it must be for one of the platforms SEEN too, which go vet sees.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "types:", err)
		os.Exit(1)
	}
}

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Standard        bool
	Module          *struct{ Main bool }
	TestGoFiles     []string
	XTestGoFiles    []string
	SFiles          []string
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("want a platform to check, such as linux/arm64, and the platforms that go vet sees")
	}
	if err := seenElsewhere(args[0], args[1:]); err != nil {
		return err
	}
	all, err := list(args[0], "-deps", "-test")
	if err != nil {
		return err
	}
	_, arch, _ := strings.Cut(args[0], "/")
	return check(all, arch)
}

// list returns what go list says about the module's packages on a platform. Dependencies come before those who import them.
func list(platform string, flags ...string) (all []listed, err error) {
	system, arch, found := strings.Cut(platform, "/")
	if !found {
		return nil, fmt.Errorf("%q is no platform (want one such as linux/arm64)", platform)
	}
	fields := "-json=ImportPath,Dir,GoFiles,ImportMap,Standard,Module,TestGoFiles,XTestGoFiles,SFiles"
	command := exec.Command("go", append(append([]string{"list", fields}, flags...), "./...")...)
	command.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w", platform, err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, p)
	}
}

// seenElsewhere fails if the module has a file for one platform that is for none of the others.
func seenElsewhere(platform string, others []string) error {
	seen := map[string]bool{}
	for i, p := range append(slices.Clone(others), platform) {
		packages, err := list(p)
		if err != nil {
			return err
		}
		for _, of := range packages {
			for _, name := range slices.Concat(of.GoFiles, of.TestGoFiles, of.XTestGoFiles, of.SFiles) {
				path := filepath.Join(of.Dir, name)
				if i == len(others) && !seen[path] {
					return fmt.Errorf("%s is for %s alone, and go vet does not see it on %s", path, platform, strings.Join(others, " and "))
				}
				seen[path] = true
			}
		}
	}
	return nil
}

// imports finds the packages that one package imports.
type imports struct {
	of      map[string]string // ImportMap of the package
	checked map[string]*types.Package
}

func (i imports) Import(path string) (*types.Package, error) {
	if to := i.of[path]; to != "" {
		path = to
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %s", path)
}

// check checks the types of all packages, and returns the mistakes of the module's.
func check(all []listed, arch string) error {
	files, checked := token.NewFileSet(), map[string]*types.Package{}
	var mistakes []error
	for _, p := range all {
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // the main packages of tests are generated
		}
		ours := p.Module != nil && p.Module.Main
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			parsed = append(parsed, file)
			if ours && len(p.SFiles) == 0 {
				mistakes = append(mistakes, bodiless(files, file)...)
			}
		}
		config := types.Config{Importer: imports{p.ImportMap, checked}, Sizes: types.SizesFor("gc", arch), IgnoreFuncBodies: !ours,
			Error: func(err error) {
				if ours {
					mistakes = append(mistakes, err)
				}
			}}
		path, _, _ := strings.Cut(p.ImportPath, " ")
		// An error was reported by config.Error.
		checked[p.ImportPath], _ = config.Check(path, files, parsed, nil)
	}
	return errors.Join(mistakes...)
}

// bodiless returns the functions without a body, which is an error where a package has no assembly.
func bodiless(files *token.FileSet, file *ast.File) (mistakes []error) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body == nil {
			mistakes = append(mistakes, fmt.Errorf("%s: function %s has no body", files.Position(f.Pos()), f.Name.Name))
		}
	}
	return mistakes
}
