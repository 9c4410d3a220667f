//go:build darwin || linux

package objc

import (
	"strings"
	"testing"
	"unsafe"
)

// A struct of three words goes by the address of a copy, which Send makes again before each call.
func TestStructGoesByReference(t *testing.T) {
	var list []Message
	m := Declare[func(ID, mtlSize, uint)]("C", "a:b:")
	m.selector = 77
	m.To(&list)(0, mtlSize{1, 2, 3}, 4)
	words, structs := list[0].words, list[0].structs
	if len(words) != 4 || len(structs) != 1 || words[3] != 4 || words[2] != uintptr(unsafe.Pointer(&structs[0].copied[0])) {
		t.Fatalf("words %v, structs %v", words, structs)
	}
	if v := structs[0].value; len(v) != 3 || v[0] != 1 || v[1] != 2 || v[2] != 3 {
		t.Errorf("value %v", v)
	}
}

// Darwin packs arguments on the stack, so more arguments than registers panic.
func TestTooManyArguments(t *testing.T) {
	var list []Message
	m := Declare[func(ID, uint, uint, uint, uint, uint, uint, uint)]("C", "a:b:c:d:e:f:g:")
	if reason := panics(func() { m.To(&list)(0, 1, 2, 3, 4, 5, 6, 7) }); !strings.Contains(reason, "at most 6 arguments") {
		t.Errorf("%q", reason)
	}
}
