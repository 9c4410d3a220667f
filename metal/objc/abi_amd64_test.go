//go:build darwin || linux

package objc

import (
	"slices"
	"testing"
)

// A struct of three words goes on the stack. The arguments after it go in the registers that are left.
func TestStructGoesOnTheStack(t *testing.T) {
	var list []Message
	m := Declare[func(ID, mtlSize, uint, mtlSize)]("C", "a:b:c:")
	m.selector = 77
	m.To(&list)(0, mtlSize{1, 2, 3}, 4, mtlSize{5, 6, 7})
	if want := []uintptr{0, 77, 4, 0, 0, 0, 1, 2, 3, 5, 6, 7}; !slices.Equal(list[0].words, want) {
		t.Errorf("%v, want %v", list[0].words, want)
	}
}

// The seventh integer and those after it go on the stack.
func TestManyArguments(t *testing.T) {
	var list []Message
	m := Declare[func(ID, uint, uint, uint, uint, uint, uint)]("C", "a:b:c:d:e:f:")
	m.selector = 77
	m.To(&list)(0, 1, 2, 3, 4, 5, 6)
	if want := []uintptr{0, 77, 1, 2, 3, 4, 5, 6}; !slices.Equal(list[0].words, want) {
		t.Errorf("%v, want %v", list[0].words, want)
	}
}
