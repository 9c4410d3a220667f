//go:build darwin || linux

package objc

// sendStruct is the function for methods that return a struct of more than two words. The place of the result is passed
// ahead of the receiver.
const sendStruct = "objc_msgSend_stret"

// registers is how many words go in registers. The others go on the stack, each in a slot of its own.
const registers = 6

// abi lays out arguments by System V's calling convention. Integers go in six registers and then on the stack. Structs
// of more than two words always go on the stack.
//
// Reference: https://gitlab.com/x86-psABIs/x86-64-ABI
type abi struct {
	inRegisters, onStack []uintptr
}

func newABI() *abi { return &abi{} }

func (a *abi) word(w uintptr) {
	if len(a.inRegisters) < registers {
		a.inRegisters = append(a.inRegisters, w)
		return
	}
	a.onStack = append(a.onStack, w)
}

func (a *abi) structure(words []uintptr) { a.onStack = append(a.onStack, words...) }

func (a *abi) message() Message {
	words := a.inRegisters
	if len(a.onStack) > 0 {
		words = append(make([]uintptr, 0, registers+len(a.onStack)), a.inRegisters...)
		words = append(words[:registers], a.onStack...)
	}
	return Message{words: words}
}
