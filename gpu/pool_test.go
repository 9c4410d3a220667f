package gpu

import (
	"errors"
	"testing"
)

func TestClass(t *testing.T) {
	p := memoryPool{}
	previous := 0
	for _, bytes := range []int{1, 4095, 4096, 4097, 5120, 5121, 8192, 8193, 10240, 10241, 1 << 20, 1<<20 + 1, 1<<40 + 1} {
		class := p.class(bytes)
		if class < bytes || bytes > leastClass && float64(class) > 1.25*float64(bytes) {
			t.Errorf("%d bytes lie in class %d", bytes, class)
		}
		if p.class(class) != class {
			t.Errorf("class %d lies in class %d", class, p.class(class))
		}
		if class < previous {
			t.Errorf("%d bytes: class %d after %d", bytes, class, previous)
		}
		previous = class
	}
	p.largest = 9000
	if class := p.class(8999); class != 8999 {
		t.Errorf("class %d, and buffers have at most %d", class, p.largest)
	}
}

func TestPool(t *testing.T) {
	d, device := newFake(t, false)
	pool := &device.pool
	take := func(bytes int, s Storage) Memory {
		t.Helper()
		m, err := pool.take(bytes, s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	expect := func(used, cached, high int64) {
		t.Helper()
		if use := device.Memory(); use != (PoolUse{used, cached, high}) {
			t.Errorf("%+v, want %d used, %d cached, %d at most", use, used, cached, high)
		}
	}
	a, b := take(5000, Private), take(4000, Private)
	expect(5120+4096, 0, 9216)
	pool.give(a, 5000, Private)
	expect(4096, 5120, 9216)
	if m := take(5100, Private); m != a {
		t.Error("memory of the same class is not used again")
	}
	pool.give(a, 5100, Private)
	// Keeping the private memory would exceed the most that was used at once, so it is freed.
	shared := take(5100, Shared)
	if shared == a || len(d.allocated) != 2 {
		t.Errorf("%d pieces of memory are held, shared memory that was private: %v", len(d.allocated), shared == a)
	}
	expect(4096+5120, 0, 9216)
	a = take(5100, Private)
	expect(5120+4096+5120, 0, 14336)
	pool.give(shared, 5100, Shared)
	pool.give(a, 5100, Private)
	pool.give(b, 4000, Private)
	expect(0, 14336, 14336)
	// Memory of another class comes back. The memory that was given back first is freed.
	pool.give(take(6000, Private), 6000, Private)
	expect(0, 4096+6144, 14336)
	if len(d.allocated) != 2 {
		t.Errorf("%d pieces of memory are held", len(d.allocated))
	}
	if bytes := device.Trim(); bytes != 10240 || len(d.allocated) != 0 {
		t.Errorf("trimmed %d bytes, %d pieces of memory are held", bytes, len(d.allocated))
	}
	expect(0, 0, 14336)
	if bytes := device.Trim(); bytes != 0 {
		t.Errorf("trimmed %d bytes of nothing", bytes)
	}
}

// Where the device has no memory left, what is cached goes, and the allocation succeeds after all.
func TestPoolTrimsAndRetries(t *testing.T) {
	d, device := newFake(t, false)
	const limit = 64 << 10
	d.failAllocate = func(bytes int, _ Storage) error {
		for m := range d.allocated {
			bytes += m.Bytes()
		}
		if bytes > limit {
			return ErrOutOfMemory
		}
		return nil
	}
	pool := &device.pool
	m, err := pool.take(48<<10, Private)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.take(32<<10, Private); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("%v while the memory is in use", err)
	}
	pool.give(m, 48<<10, Private)
	m, err = pool.take(32<<10, Private)
	if err != nil {
		t.Fatalf("%v after the memory was given back", err)
	}
	pool.give(m, 32<<10, Private)
	if use := device.Memory(); use != (PoolUse{Cached: 32 << 10, HighWater: 48 << 10}) {
		t.Errorf("%+v", use)
	}
	other := errors.New("driver error")
	d.failAllocate = func(int, Storage) error { return other }
	if _, err := pool.take(8192, Private); !errors.Is(err, other) || device.Memory().Cached == 0 {
		t.Errorf("%v; an error of another kind trims nothing", err)
	}
}
