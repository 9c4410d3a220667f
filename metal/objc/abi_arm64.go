//go:build darwin || linux

package objc

import (
	"fmt"
	"unsafe"
)

// sendStruct is the function for methods that return a struct of more than two words. arm64 has a register for the
// place of the result.
const sendStruct = "objc_msgSend"

// registers is how many words go in registers. Darwin packs arguments on the stack by their sizes, so this package puts
// none there.
const registers = 8

// abi lays out arguments by Arm's calling convention. Integers go in eight registers. A struct of more than two words
// goes as the address of a copy.
//
// Reference: https://github.com/ARM-software/abi-aa/blob/main/aapcs64/aapcs64.rst,
// https://developer.apple.com/documentation/xcode/writing-arm64-code-for-apple-platforms
type abi struct {
	words   []uintptr
	structs []structArgument
}

func newABI() *abi { return &abi{} }

func (a *abi) word(w uintptr) {
	if len(a.words) == registers {
		panic(fmt.Sprintf("objc: a message takes at most %d arguments", registers-firstArgument))
	}
	a.words = append(a.words, w)
}

func (a *abi) structure(words []uintptr) {
	s := structArgument{value: words, copied: make([]uintptr, len(words))}
	a.structs = append(a.structs, s)
	a.word(uintptr(unsafe.Pointer(unsafe.SliceData(s.copied))))
}

func (a *abi) message() Message { return Message{a.words, a.structs} }
