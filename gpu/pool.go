package gpu

import (
	"errors"
	"math/bits"
	"sync"
)

// memoryPool keeps the memory that plans give back, by storage and size class, for the plans to come. Size classes are
// four to an octave, so at most a quarter of a buffer is unused.
type memoryPool struct {
	allocate func(bytes int, s Storage) (Memory, error)

	mu   sync.Mutex
	free [2]map[int][]Memory
	held PoolUse
}

// PoolUse is what a pool holds, in bytes.
type PoolUse struct {
	Used      int64 // by plans
	Cached    int64 // given back and kept
	HighWater int64 // the most that was used at once
}

// leastClass is the smallest size class: below it, buffers are all alike.
const leastClass = 4096

// sizeClass returns the size of the smallest class that holds bytes.
func sizeClass(bytes int) int {
	if bytes <= leastClass {
		return leastClass
	}
	step := 1 << max(bits.Len(uint(bytes-1))-3, 0)
	return (bytes + step - 1) / step * step
}

// take returns memory of at least so many bytes. Where the system has none left, it gives back what is cached and asks
// again.
func (p *memoryPool) take(bytes int, s Storage) (Memory, error) {
	class := sizeClass(bytes)
	p.mu.Lock()
	if list := p.free[s][class]; len(list) > 0 {
		m := list[len(list)-1]
		p.free[s][class] = list[:len(list)-1]
		p.held.Cached -= int64(class)
		p.count(int64(class))
		p.mu.Unlock()
		return m, nil
	}
	p.mu.Unlock()
	m, err := p.allocate(class, s)
	if errors.Is(err, ErrOutOfMemory) && p.trim() > 0 {
		m, err = p.allocate(class, s)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.count(int64(class))
	p.mu.Unlock()
	return m, nil
}

// count counts bytes as used; mu is held.
func (p *memoryPool) count(bytes int64) {
	p.held.Used += bytes
	p.held.HighWater = max(p.held.HighWater, p.held.Used)
}

// give takes memory back that take returned for so many bytes.
func (p *memoryPool) give(m Memory, bytes int, s Storage) {
	class := sizeClass(bytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free[s] == nil {
		p.free[s] = map[int][]Memory{}
	}
	p.free[s][class] = append(p.free[s][class], m)
	p.held.Used -= int64(class)
	p.held.Cached += int64(class)
}

// trim frees what is cached and returns how many bytes that was.
func (p *memoryPool) trim() int64 {
	p.mu.Lock()
	lists := p.free
	p.free = [2]map[int][]Memory{}
	bytes := p.held.Cached
	p.held.Cached = 0
	p.mu.Unlock()
	for _, classes := range lists {
		for _, list := range classes {
			for _, m := range list {
				m.Free()
			}
		}
	}
	return bytes
}

func (p *memoryPool) use() PoolUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}
