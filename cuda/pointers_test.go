//go:build linux && (amd64 || arm64)

package cuda

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// held are the functions that store addresses for later. They also keep the objects alive.
var held = []string{"launch", "NewProduct", "NewProducts", "NewVectorProduct"}

// The address of a Go object may only be an argument of a function that is marked uintptrescapes. Such an object is on
// the heap and stays there until the call is over. In any other way C may write to where a stack used to be, and tests
// would rarely notice.
func TestAddressesAreArguments(t *testing.T) {
	files, err := filepath.Glob("*_linux.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	set, seen := token.NewFileSet(), 0
	for _, name := range files {
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		var path []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			if isAddress(n) {
				seen++
				if !isArgument(path) && !slices.Contains(held, enclosing(path)) {
					t.Errorf("%v: an address that is not an argument of call or do", set.Position(n.Pos()))
				}
			}
			path = append(path, n)
			return true
		})
	}
	if seen < 20 {
		t.Errorf("%d addresses seen; want them all", seen)
	}
}

// isAddress reports whether a node is uintptr(unsafe.Pointer(…)).
func isAddress(n ast.Node) bool {
	outer, ok := n.(*ast.CallExpr)
	if !ok || len(outer.Args) != 1 {
		return false
	}
	if name, ok := outer.Fun.(*ast.Ident); !ok || name.Name != "uintptr" {
		return false
	}
	inner, ok := outer.Args[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := inner.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Pointer"
}

// isArgument reports whether the last node of a path is a call of call or do.
func isArgument(path []ast.Node) bool {
	parent, ok := path[len(path)-1].(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := parent.Fun.(*ast.SelectorExpr)
	return ok && (selector.Sel.Name == "call" || selector.Sel.Name == "do")
}

// enclosing returns the name of the function that contains a path.
func enclosing(path []ast.Node) string {
	for _, n := range path {
		if f, ok := n.(*ast.FuncDecl); ok {
			return f.Name.Name
		}
	}
	return ""
}

// The two functions that pass addresses on are marked.
func TestFunctionsAreMarked(t *testing.T) {
	for name, function := range map[string]string{"library_linux.go": "call", "driver_linux.go": "do"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		marked := false
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == function && f.Doc != nil {
				marked = slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool { return strings.TrimSpace(c.Text) == "//go:uintptrescapes" })
			}
		}
		if !marked {
			t.Errorf("%s: %s is not marked //go:uintptrescapes", name, function)
		}
	}
}
