//go:build (darwin || linux) && (amd64 || arm64)

package objc

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Pool is an autorelease pool: what methods return without the caller owning it lives until Pop. Pools belong to a
// thread, so the goroutine keeps its thread between Push and Pop. The zero value is ready, and may be used again after
// Pop; where it is part of something on the heap, Push and Pop allocate nothing.
type Pool struct {
	token [1]uintptr
}

// Push opens the pool.
//
// Reference: https://clang.llvm.org/docs/AutomaticReferenceCounting.html#void-objc-autoreleasepoolpush-void
func (p *Pool) Push() {
	runtime.LockOSThread()
	p.token[0], _, _ = purego.SyscallN(library.push)
}

// Pop releases what the pool holds.
//
// Reference: https://clang.llvm.org/docs/AutomaticReferenceCounting.html#void-objc-autoreleasepoolpop-void-pool
func (p *Pool) Pop() {
	purego.SyscallN(library.pop, p.token[:]...)
	runtime.UnlockOSThread()
}

// InPool calls f with a pool around it.
func InPool(f func()) {
	var p Pool
	p.Push()
	defer p.Pop()
	f()
}
