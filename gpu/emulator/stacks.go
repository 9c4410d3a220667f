//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import "sync"

// stackBytes is the stack of one fiber.
const stackBytes = 64 << 10

// spareStacks keeps stacks for the next dispatch, each for a whole threadgroup.
var spareStacks struct {
	sync.Mutex
	list [][]byte
}

func stacks() ([]byte, error) {
	spareStacks.Lock()
	defer spareStacks.Unlock()
	if n := len(spareStacks.list); n > 0 {
		s := spareStacks.list[n-1]
		spareStacks.list = spareStacks.list[:n-1]
		return s, nil
	}
	return mapped(mostThreads * stackBytes)
}

func freeStacks(s []byte) {
	spareStacks.Lock()
	defer spareStacks.Unlock()
	spareStacks.list = append(spareStacks.list, s)
}
