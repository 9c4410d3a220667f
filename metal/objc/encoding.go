//go:build (darwin || linux) && (amd64 || arm64)

package objc

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Declaration is what a declared method claims.
type Declaration struct {
	Class    string
	Selector string
	// Encoding is the result, a bar, and the arguments without the receiver: `@` object, `:` selector, `Q` NSUInteger,
	// `q` NSInteger, `I` and `i` 32-bit and `C` 8-bit integers, `d` double, `f` float, `B` BOOL, `^` pointer or C
	// string, `{Name}` struct, `v` nothing. The Go name of a struct is Apple's with a prefix in lower case: mtlSize.
	Encoding string
}

// Declared returns what has been declared, sorted, for tests that compare it with Apple's headers.
func Declared() []Declaration {
	library.mu.Lock()
	defer library.mu.Unlock()
	var all []Declaration
	for _, m := range declared {
		all = append(all, m.declaration())
	}
	slices.SortFunc(all, func(a, b Declaration) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Selector, b.Selector))
	})
	return all
}

func (m *Method[F]) declaration() Declaration {
	f := reflect.TypeFor[F]()
	var e strings.Builder
	if f.NumOut() == 0 {
		e.WriteByte('v')
	} else {
		e.WriteString(encode(f.Out(0)))
	}
	e.WriteByte('|')
	for i := 1; i < f.NumIn(); i++ {
		e.WriteString(encode(f.In(i)))
	}
	return Declaration{m.class, m.name, e.String()}
}

// encode returns the encoding of a type.
func encode(t reflect.Type) string {
	switch t {
	case idType:
		return "@"
	case selectorType:
		return ":"
	}
	switch t.Kind() {
	case reflect.Uint, reflect.Uint64:
		return "Q"
	case reflect.Int, reflect.Int64:
		return "q"
	case reflect.Uint32:
		return "I"
	case reflect.Int32:
		return "i"
	case reflect.Uint8:
		return "C"
	case reflect.Float64:
		return "d"
	case reflect.Float32:
		return "f"
	case reflect.Bool:
		return "B"
	case reflect.Pointer, reflect.UnsafePointer, reflect.Uintptr, reflect.String:
		return "^"
	case reflect.Struct:
		return "{" + structName(t) + "}"
	}
	return fmt.Sprintf("?%s", t)
}

// structName returns what Apple calls a struct: mtlSize is MTLSize, nsRange is NSRange.
func structName(t reflect.Type) string {
	const prefix = 3
	name := t.Name()
	if len(name) < prefix {
		return name
	}
	return strings.ToUpper(name[:prefix]) + name[prefix:]
}
