package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// SharedMemory is memory of the host that a device reaches without a copy by the processor. For a device with memory of its
// own it is pinned, and the device copies from it and to it. Where memory is unified, kernels work on it directly.
// [Plan.Call] recognises slices of it by their addresses.
type SharedMemory struct {
	device *Device
	memory Memory
	floats []float32 // nil once freed
}

// mostShared is the greatest number of float32 of a shared memory. It keeps the number of bytes from overflowing.
const mostShared = 1 << 40

// Alloc returns zeroed shared memory for n float32, n from 1 to 2⁴⁰. Only Free gives the memory back: the garbage
// collector cannot know whether a slice of it is still in use. Alloc fails if n is out of range. It fails with
// [ErrOutOfMemory] wrapped if the system has no such memory left or the device takes no buffer as large.
func (d *Device) Alloc(n int) (*SharedMemory, error) {
	if n < 1 || int64(n) > mostShared {
		return nil, fmt.Errorf("gpu: shared memory for %d values; want 1 to %d", n, int64(mostShared))
	}
	const vector = 4
	bytes := 4 * ((n + vector - 1) / vector * vector)
	if most := d.facts.MaxBufferBytes; most > 0 && int64(bytes) > most {
		return nil, fmt.Errorf("gpu: shared memory of %d bytes; %s takes at most %d: %w", bytes, d.facts.Name, most, ErrOutOfMemory)
	}
	if err := d.hold(); err != nil {
		return nil, err
	}
	m, err := d.pool.take(bytes, Shared)
	if err != nil {
		d.letGo()
		return nil, err
	}
	s := &SharedMemory{device: d, memory: m}
	host := m.Host()
	clear(host)
	s.floats = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(host))), n)
	d.shared.add(host, m, bytes)
	return s, nil
}

// Floats returns the memory as a slice, which must not be used after Free. After Free, Floats returns nil.
func (s *SharedMemory) Floats() []float32 { return s.floats }

// Free gives the memory back. No call may be using it. Freeing twice is harmless.
func (s *SharedMemory) Free() {
	if s.floats == nil {
		return
	}
	s.device.shared.free(s.device, s.memory.Host())
	s.floats = nil
}

// sharedCount is the number of shared memories of all devices.
var sharedCount atomic.Int64

// AnyShared reports whether any device has shared memory at present. Where none does, no slice need be looked up.
func AnyShared() bool { return sharedCount.Load() > 0 }

// sharedRanges are the shared memories of a device, by address.
type sharedRanges struct {
	mu     sync.Mutex
	ranges atomic.Pointer[[]sharedRange] // ascending; replaced, never changed
}

type sharedRange struct {
	from, to uintptr
	memory   Memory
	bytes    int // that were taken from the pool
}

func (r *sharedRanges) load() []sharedRange {
	if p := r.ranges.Load(); p != nil {
		return *p
	}
	return nil
}

func address(host []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(host))) }

func byAddress(r sharedRange, at uintptr) int { return cmp.Compare(r.from, at) }

func (r *sharedRanges) add(host []byte, m Memory, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := address(host)
	i, _ := slices.BinarySearchFunc(r.load(), at, byAddress)
	next := slices.Insert(slices.Clone(r.load()), i, sharedRange{at, at + uintptr(bytes), m, bytes})
	r.ranges.Store(&next)
	sharedCount.Add(1)
}

// free gives the memory at an address back, unless that has been done.
func (r *sharedRanges) free(d *Device, host []byte) {
	r.mu.Lock()
	all := r.load()
	i, found := slices.BinarySearchFunc(all, address(host), byAddress)
	if !found {
		r.mu.Unlock()
		return
	}
	freed := all[i]
	next := slices.Delete(slices.Clone(all), i, i+1)
	r.ranges.Store(&next)
	sharedCount.Add(-1)
	r.mu.Unlock()
	d.pool.give(freed.memory, freed.bytes, Shared)
	d.letGo()
}

// find returns the region of shared memory from the start of a slice to the end of the memory, and false where the slice
// does not lie in shared memory. It allocates nothing.
func (r *sharedRanges) find(data []float32) (Region, bool) {
	all := r.load()
	if len(all) == 0 || len(data) == 0 {
		return Region{}, false
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	i, exact := slices.BinarySearchFunc(all, from, byAddress)
	if !exact {
		i--
	}
	if i < 0 || from+uintptr(4*len(data)) > all[i].to {
		return Region{}, false
	}
	offset := int(from - all[i].from)
	return Region{Memory: all[i].memory, Offset: offset, Bytes: int(all[i].to - from)}, true
}

// InShared reports whether a slice lies in shared memory of the device. It allocates nothing and takes a few nanoseconds.
func (d *Device) InShared(data []float32) bool {
	_, found := d.shared.find(data)
	return found
}
