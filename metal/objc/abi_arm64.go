//go:build darwin || linux

package objc

import (
	"fmt"
	"unsafe"
)

// sendStruct is what returns a struct of more than two words: arm64 has a register for its place.
const sendStruct = "objc_msgSend"

// registers is how many words go in registers. Darwin packs what goes on the stack by its size, so nothing does here.
const registers = 8

// abi lays out arguments as Arm's calling convention wants them: integers in eight registers, and for a struct of more
// than two words the address of a copy.
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
