package gpu

import (
	"errors"
	"math/bits"
	"slices"
	"sync"
)

// memoryPool keeps the memory that plans give back, by storage and size class, for later plans. Size classes are four
// to an octave, so at most a fifth of a buffer is unused. Kept and used memory together never exceed the most that was
// used at once. The memory that was given back first is freed first.
type memoryPool struct {
	allocate func(bytes int, s Storage) (Memory, error)
	largest  int64 // size of a buffer; 0 where there is no limit

	mu     sync.Mutex
	cached []cachedMemory // in the order in which it was given back
	closed bool           // whether what is given back is freed
	held   PoolUse
}

type cachedMemory struct {
	Memory
	storage Storage
	class   int
}

// PoolUse is what a pool holds, in bytes, of device memory and of pinned host memory together.
type PoolUse struct {
	Used      int64 // by plans
	Cached    int64 // given back and kept
	HighWater int64 // the most that was used at once
}

// leastClass is the smallest size class: below it, buffers are all alike.
const leastClass = 4096

// class returns the size of the smallest class that holds bytes.
func (p *memoryPool) class(bytes int) int {
	if bytes <= leastClass {
		return leastClass
	}
	step := 1 << (bits.Len(uint(bytes-1)) - 3)
	class := (bytes + step - 1) / step * step
	if p.largest > 0 && int64(class) > p.largest {
		return bytes
	}
	return class
}

// take returns memory of at least the given number of bytes. If the system has none left, take gives back what is
// cached and asks again.
func (p *memoryPool) take(bytes int, s Storage) (Memory, error) {
	class := p.class(bytes)
	if m := p.reuse(class, s); m != nil {
		return m, nil
	}
	p.makeRoom(class)
	m, err := p.allocate(class, s)
	if errors.Is(err, ErrOutOfMemory) && p.trim() > 0 {
		m, err = p.allocate(class, s)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.use(class)
	return m, nil
}

// reuse returns the memory of a class that was given back last, nil where there is none.
func (p *memoryPool) reuse(class int, s Storage) Memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.cached) - 1; i >= 0; i-- {
		c := p.cached[i]
		if c.class == class && c.storage == s {
			p.cached = slices.Delete(p.cached, i, i+1)
			p.held.Cached -= int64(class)
			p.use(class)
			return c.Memory
		}
	}
	return nil
}

// makeRoom frees kept memory before so many bytes more are used. Kept and used memory together must not exceed the most
// that was used at once.
func (p *memoryPool) makeRoom(bytes int) {
	p.mu.Lock()
	used := p.held.Used + int64(bytes)
	surplus := p.oldest(used + p.held.Cached - max(used, p.held.HighWater))
	p.mu.Unlock()
	for _, c := range surplus {
		c.Free()
	}
}

// use counts bytes as used; mu is held.
func (p *memoryPool) use(bytes int) {
	p.held.Used += int64(bytes)
	p.held.HighWater = max(p.held.HighWater, p.held.Used)
}

// give takes back memory that take returned for the given number of bytes.
func (p *memoryPool) give(m Memory, bytes int, s Storage) {
	class := p.class(bytes)
	p.mu.Lock()
	p.held.Used -= int64(class)
	if p.closed {
		p.mu.Unlock()
		m.Free()
		return
	}
	p.held.Cached += int64(class)
	p.cached = append(p.cached, cachedMemory{m, s, class})
	p.mu.Unlock()
}

// oldest takes memory of at least the given number of bytes out of the cache, the oldest first; mu is held.
func (p *memoryPool) oldest(bytes int64) []cachedMemory {
	n := 0
	for ; bytes > 0 && n < len(p.cached); n++ {
		bytes -= int64(p.cached[n].class)
		p.held.Cached -= int64(p.cached[n].class)
	}
	taken := slices.Clone(p.cached[:n])
	p.cached = slices.Delete(p.cached, 0, n)
	return taken
}

// trim frees what is cached and returns how many bytes that was.
func (p *memoryPool) trim() int64 {
	p.mu.Lock()
	bytes := p.held.Cached
	all := p.oldest(bytes)
	p.mu.Unlock()
	for _, c := range all {
		c.Free()
	}
	return bytes
}

// close frees what is cached, and keeps nothing from then on.
func (p *memoryPool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.trim()
}

func (p *memoryPool) report() PoolUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}
