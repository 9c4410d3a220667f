//go:build (darwin || linux) && (amd64 || arm64)

package objc

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Pool is an autorelease pool. Objects that methods return without making the caller their owner live until Pop. Pools
// belong to a thread, so the goroutine keeps its thread between Push and Pop. The zero value is ready, and may be used
// again after Pop. Push and Pop allocate nothing if the Pool is part of something on the heap.
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
