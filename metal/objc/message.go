//go:build (darwin || linux) && (amd64 || arm64)

package objc

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Message is a call with its arguments, ready to be sent again and again without an allocation. It is for one goroutine
// at a time.
type Message struct {
	words   []uintptr // what the C function takes, in the order of SyscallN: receiver, selector, arguments
	structs []structArgument
}

// structArgument is a struct that the C function takes as the address of a copy. The callee may change the copy, so it
// is made again before each call.
type structArgument struct {
	value, copied []uintptr
}

// firstArgument is where the arguments begin among the words, after the receiver and the selector.
const firstArgument = 2

// To returns a function that does not call the method but appends the call to a list, ready to be sent. The receiver is
// given later, to [Message.Send]: the function ignores the receiver that it is called with, and returns zero. Arguments
// are integers, pointers and structs of integers of more than two words; other types panic. Memory that a pointer
// argument names must stay where it is for as long as the message is used.
func (m *Method[F]) To(list *[]Message) F {
	f := reflect.TypeFor[F]()
	return reflect.MakeFunc(f, func(arguments []reflect.Value) []reflect.Value {
		a := newABI()
		a.word(0)
		a.word(uintptr(m.selector))
		for _, v := range arguments[1:] {
			switch v.Kind() {
			case reflect.Bool:
				word := uintptr(0)
				if v.Bool() {
					word = 1
				}
				a.word(word)
			case reflect.Uint, reflect.Uint8, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
				a.word(uintptr(v.Uint()))
			case reflect.Int, reflect.Int32, reflect.Int64:
				a.word(uintptr(v.Int()))
			case reflect.Pointer, reflect.UnsafePointer:
				a.word(v.Pointer())
			case reflect.Struct:
				a.structure(structWords(v))
			default:
				panic(fmt.Sprintf("objc: %s %s: a message takes no %s", m.class, m.name, v.Type()))
			}
		}
		*list = append(*list, a.message())
		var results []reflect.Value
		if f.NumOut() == 1 {
			results = append(results, reflect.Zero(f.Out(0)))
		}
		return results
	}).Interface().(F)
}

const wordSize = unsafe.Sizeof(uintptr(0))

// structWords returns the fields of a struct that is passed in memory.
func structWords(v reflect.Value) []uintptr {
	if v.Type().Size() <= 2*wordSize {
		panic(fmt.Sprintf("objc: a message takes no %s: structs of up to two words go in registers", v.Type()))
	}
	var words []uintptr
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Uint {
			words = append(words, uintptr(f.Uint()))
			continue
		}
		panic(fmt.Sprintf("objc: a message takes no %s: its fields are not all of type uint", v.Type()))
	}
	return words
}

// Bare returns the message of a method without arguments.
func (m *Method[F]) Bare() Message {
	if n := reflect.TypeFor[F]().NumIn(); n != 1 {
		panic(fmt.Sprintf("objc: %s %s takes %d arguments", m.class, m.name, n-1))
	}
	return Message{words: []uintptr{0, uintptr(m.selector)}}
}

// Set changes argument i, counted from 0, which is an integer, an object or a pointer, in a message without structs.
func (m *Message) Set(i int, value uintptr) { m.words[firstArgument+i] = value }

// Send sends the message to an object and returns the first word of the result.
func (m *Message) Send(receiver ID) uintptr {
	m.words[0] = uintptr(receiver)
	for _, s := range m.structs {
		copy(s.copied, s.value)
	}
	result, _, _ := purego.SyscallN(library.send, m.words...)
	runtime.KeepAlive(m)
	return result
}
