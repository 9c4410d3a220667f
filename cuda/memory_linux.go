//go:build amd64 || arm64

package cuda

import (
	"unsafe"

	"crossover/gpu"
)

// memory is device memory, or pinned memory of the host, which the device sees at the same address.
type memory struct {
	driver  *driver
	address uintptr
	bytes   int
	host    []byte // nil for device memory
}

// Allocate returns device memory, or pinned memory where it is shared.
func (d *driver) Allocate(bytes int, storage gpu.Storage) (gpu.Memory, error) {
	m := &memory{driver: d, bytes: bytes}
	at := new(uintptr)
	if storage == gpu.Private {
		err := d.do(&d.memAlloc, uintptr(unsafe.Pointer(at)), uintptr(bytes))
		if err != nil {
			return nil, err
		}
		m.address = *at
		return m, nil
	}
	if err := d.do(&d.memHostAlloc, uintptr(unsafe.Pointer(at)), uintptr(bytes), hostAllocPortable|hostAllocDeviceMap); err != nil {
		return nil, err
	}
	m.address = *at
	m.host = unsafe.Slice((*byte)(outside(*at)), bytes)
	return m, nil
}

func (m *memory) Bytes() int   { return m.bytes }
func (m *memory) Host() []byte { return m.host }

// Fill sets every byte.
func (m *memory) Fill(value byte) error {
	if m.host != nil {
		m.host[0] = value
		for done := 1; done < len(m.host); done *= 2 {
			copy(m.host[done:], m.host[:done])
		}
		return nil
	}
	d := m.driver
	stream, err := d.takeStream()
	if err != nil {
		return err
	}
	defer d.giveStream(stream)
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := d.check(&d.memsetD8Async, d.memsetD8Async.call(m.address, uintptr(value), uintptr(m.bytes), stream)); err != nil {
		return err
	}
	return d.vital(&d.streamSynchronize, d.streamSynchronize.call(stream))
}

// Free gives the memory back to the system. A lost device has nothing to give back.
func (m *memory) Free() {
	f := &m.driver.memFree
	if m.host != nil {
		f = &m.driver.memFreeHost
	}
	_ = m.driver.do(f, m.address)
	m.address, m.host = 0, nil
}
