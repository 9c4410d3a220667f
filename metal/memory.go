//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"crossover/gpu"
	"crossover/metal/objc"
)

// Storage modes, as options of a buffer.
//
// Reference: https://developer.apple.com/documentation/metal/mtlresourceoptions
const (
	storageShared  = 0 << 4
	storagePrivate = 2 << 4
)

// page is the size of a page on Apple silicon, and a multiple of it on Intel. Shared memory is a multiple of it.
const page = 16 << 10

// memory is a buffer.
type memory struct {
	driver *driver
	buffer objc.ID
	bytes  int
	host   []byte // nil where the memory is private
	mapped []byte // the mapping that host is part of
}

// Allocate makes a buffer. Shared memory is mapped here and then given to the GPU, so that both sides use the same
// pages.
func (d *driver) Allocate(bytes int, storage gpu.Storage) (gpu.Memory, error) {
	if int64(bytes) > d.facts.MaxBufferBytes {
		return nil, fmt.Errorf("metal: a buffer of %d bytes; want at most %d: %w", bytes, d.facts.MaxBufferBytes, gpu.ErrOutOfMemory)
	}
	bytes = (bytes + page - 1) / page * page
	// The system itself would allow more, until it swaps.
	if most := d.facts.MemoryBytes; d.allocated.Add(int64(bytes)) > most && most > 0 {
		d.allocated.Add(-int64(bytes))
		return nil, fmt.Errorf("metal: %d bytes beside %d in use, of %d that the GPU should take: %w", bytes,
			d.allocated.Load(), most, gpu.ErrOutOfMemory)
	}
	m := &memory{driver: d, bytes: bytes}
	var err error
	if storage == gpu.Shared {
		err = m.share()
	} else {
		objc.InPool(func() { m.buffer = newBufferWithLength.Call(d.device, uint(bytes), storagePrivate) })
	}
	if err == nil && m.buffer == 0 {
		err = fmt.Errorf("metal: no buffer of %d bytes: %w", bytes, gpu.ErrOutOfMemory)
	}
	if err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// share maps memory that begins with a page and makes it a buffer.
func (m *memory) share() error {
	length := m.bytes
	if os.Getpagesize() < page {
		length += page // the mapping may begin anywhere in a page
	}
	mapped, err := syscall.Mmap(-1, 0, length, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("metal: mapping %d bytes: %v: %w", length, err, gpu.ErrOutOfMemory)
	}
	m.mapped = mapped
	begin := unsafe.Pointer(unsafe.SliceData(mapped))
	skip := int(-uintptr(begin) % page)
	m.host = mapped[skip : skip+m.bytes : skip+m.bytes]
	objc.InPool(func() {
		m.buffer = newBufferWithBytesNoCopy.Call(m.driver.device, unsafe.Pointer(unsafe.SliceData(m.host)), uint(m.bytes), storageShared, 0)
	})
	return nil
}

func (m *memory) Bytes() int { return m.bytes }

func (m *memory) Host() []byte { return m.host }

// Fill sets every byte. The processor does so if it sees the memory.
func (m *memory) Fill(value byte) error {
	if m.host == nil {
		return m.driver.blit(func(encoder objc.ID) {
			fillBuffer.Call(encoder, m.buffer, nsRange{0, uint(m.bytes)}, value)
		})
	}
	m.host[0] = value
	for done := 1; done < len(m.host); done *= 2 {
		copy(m.host[done:], m.host[:done])
	}
	return nil
}

// Free releases the buffer, then the pages under it.
func (m *memory) Free() {
	if m.buffer != 0 {
		objc.InPool(func() { objc.Release(m.buffer) })
	}
	if m.mapped != nil {
		_ = syscall.Munmap(m.mapped) // it fails for what was never mapped
	}
	m.driver.allocated.Add(-int64(m.bytes))
	*m = memory{driver: m.driver}
}

// blit runs what encode appends to a blit encoder, and waits for it.
func (d *driver) blit(encode func(encoder objc.ID)) (err error) {
	objc.InPool(func() {
		buffer := commandBuffer.Call(d.queue)
		if buffer == 0 {
			err = errNoCommandBuffer
			return
		}
		encoder := blitCommandEncoder.Call(buffer)
		if encoder == 0 {
			err = errNoEncoder
			return
		}
		encode(encoder)
		endEncoding.Call(encoder)
		commit.Call(buffer)
		waitUntilCompleted.Call(buffer)
		err = fault(buffer)
	})
	return err
}
