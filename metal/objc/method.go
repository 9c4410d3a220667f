//go:build (darwin || linux) && (amd64 || arm64)

package objc

import (
	"fmt"
	"reflect"

	"github.com/ebitengine/purego"
)

// Method is a method of a class or of its instances. F is its type as a Go function: first the receiver, an [ID], then
// the arguments. Objects are IDs, NSUInteger is uint, NSInteger int, BOOL bool; strings are copied to and from C; a
// struct that goes by value is a Go struct with its fields, named as [Declaration] says.
type Method[F any] struct {
	// Call sends the message and waits for the method to return. Call allocates; see [Method.To] for calls that must
	// not. Call is nil until the runtime is loaded.
	Call F

	class, name string
	selector    Selector
}

// Declare declares a method, once for the whole program. It panics if F is not a type that a method can have.
func Declare[F any](class, selector string) *Method[F] {
	m := &Method[F]{class: class, name: selector}
	if err := check(reflect.TypeFor[F](), selector); err != nil {
		panic(fmt.Sprintf("objc: %s %s: %v", class, selector, err))
	}
	library.mu.Lock()
	defer library.mu.Unlock()
	declared = append(declared, m)
	if library.loaded {
		m.bind()
	}
	return m
}

var (
	idType       = reflect.TypeFor[ID]()
	selectorType = reflect.TypeFor[Selector]()
)

func check(f reflect.Type, selector string) error {
	switch {
	case f.Kind() != reflect.Func:
		return fmt.Errorf("declared as %s; want a function", f)
	case f.IsVariadic() || f.NumOut() > 1:
		return fmt.Errorf("declared as %s; want fixed arguments and at most one result", f)
	case f.NumIn() == 0 || f.In(0) != idType:
		return fmt.Errorf("declared as %s; want the receiver, an ID, as first argument", f)
	}
	colons := 0
	for _, r := range selector {
		if r == ':' {
			colons++
		}
	}
	if arguments := f.NumIn() - 1; arguments != colons {
		return fmt.Errorf("declared with %d arguments; its selector takes %d", arguments, colons)
	}
	return nil
}

// bind makes Call. The C function takes the selector after the receiver, which the declared type leaves out.
func (m *Method[F]) bind() {
	m.selector = library.registerName(m.name)
	f := reflect.TypeFor[F]()
	in, out := []reflect.Type{idType, selectorType}, []reflect.Type(nil)
	for i := 1; i < f.NumIn(); i++ {
		in = append(in, f.In(i))
	}
	address := library.send
	if f.NumOut() == 1 {
		out = append(out, f.Out(0))
		if f.Out(0).Kind() == reflect.Struct && f.Out(0).Size() > 2*wordSize {
			address = library.sendStruct
		}
	}
	send := reflect.New(reflect.FuncOf(in, out, false))
	purego.RegisterFunc(send.Interface(), address)
	selector := reflect.ValueOf(m.selector)
	m.Call = reflect.MakeFunc(f, func(arguments []reflect.Value) []reflect.Value {
		return send.Elem().Call(append([]reflect.Value{arguments[0], selector}, arguments[1:]...))
	}).Interface().(F)
}
