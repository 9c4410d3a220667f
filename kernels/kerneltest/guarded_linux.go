package kerneltest

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Guarded returns n zeros at the end of readable memory, and n zeros at the beginning of readable memory. The process dies
// if something touches memory beyond. Elsewhere than on Linux the test is skipped.
func Guarded(t testing.TB, n int) (atEnd, atBegin []float32) {
	t.Helper()
	page := os.Getpagesize()
	room := max(1, (4*n+page-1)/page) * page
	memory, err := unix.Mmap(-1, 0, room+2*page, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	inside := memory[page:][:room]
	if err := unix.Mprotect(inside, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Skip(err)
	}
	values := unsafe.Slice((*float32)(unsafe.Pointer(&inside[0])), room/4)
	return values[room/4-n:], values[:n]
}
