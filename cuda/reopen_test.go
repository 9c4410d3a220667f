//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"testing"

	"crossover/gpu"
)

// A context is given back with the last of what the host sees of it, streams, handles and all. A device that works is opened anew.
func TestReopen(t *testing.T) {
	f := loadFake(t)
	b := gpu.NewBackend("cuda", open)
	device, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	old, err := newScalePlan(device, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.check(1); err != nil {
		t.Fatal(err)
	}
	product, err := device.Driver().(gpu.GEMM).NewProduct(gpu.Product{C: old.y.Region(), A: old.x.Region(), B: old.x.Region(), M: 4, N: 4, K: 4, Alpha: 1})
	if err != nil {
		t.Fatal(err)
	}
	product.Close() // its handle is kept
	shared, err := device.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Reopen(); err != nil {
		t.Fatal(err)
	}
	if got := f.retained(); got != 2 {
		t.Errorf("the context is held %d times beside memory that the host sees, want 2", got)
	}
	old.x.Floats()[0], shared.Floats()[0] = 1, 1
	if err := old.Run(); !errors.Is(err, gpu.ErrLost) {
		t.Errorf("a plan of the old device: %v, want ErrLost", err)
	}
	next, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := scenario(next); err != nil {
		t.Errorf("the new device: %v", err)
	}
	next.Trim()
	old.Close()
	shared.Free()
	if got := f.retained(); got != 1 {
		t.Errorf("the context is held %d times after the old plan was closed, want 1", got)
	}
	if blocks, handles := f.blocks(0)+f.blocks(1), f.live(liveHandle); blocks != 0 || handles != 0 {
		t.Errorf("%d blocks of memory and %d handles are left of the old device", blocks, handles)
	}
	if err := scenario(next); err != nil {
		t.Errorf("the new device afterwards: %v", err)
	}
	next.Close()
	if got, streams := f.retained(), f.live(liveStream); got != 0 || streams != 0 {
		t.Errorf("the context is held %d times at the end, and %d streams are left", got, streams)
	}
}

// CUDA gives no other context to a process that has lost one. Then Reopen says so, and nothing crashes.
func TestReopenALostDevice(t *testing.T) {
	f := loadFake(t)
	b := gpu.NewBackend("cuda", open)
	device, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	p, err := newScalePlan(device, 64)
	if err != nil {
		t.Fatal(err)
	}
	f.fail("cuStreamSynchronize", 1, 700)
	if err := p.Run(); !errors.Is(err, gpu.ErrLost) {
		t.Fatalf("%v, want ErrLost", err)
	}
	if err := b.Reopen(); err != nil {
		t.Errorf("while pinned memory is held: %v, want the same context", err)
	}
	p.x.Floats()[0] = 1
	p.Close()
	oneLineWith(t, b.Reopen(), "cuDevicePrimaryCtxRetain: CUDA_ERROR_ILLEGAL_ADDRESS")
	if got := f.retained(); got != 0 {
		t.Errorf("the context is held %d times, want 0", got)
	}
	if err := b.Probe(); !errors.Is(err, gpu.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	oneLineWith(t, b.Reopen(), "cuDevicePrimaryCtxRetain: CUDA_ERROR_ILLEGAL_ADDRESS")
}
