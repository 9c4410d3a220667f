//go:build linux && (amd64 || arm64)

package cuda

import (
	"strings"
	"testing"

	"crossover/gpu"
)

// newSharePlan is a plan of a kernel that writes how many bytes of threadgroup memory a launch gives it.
func newSharePlan(d *gpu.Device, bytes int) (*gpu.Plan, *gpu.Buffer, error) {
	b := d.NewPlan()
	y := b.Output(gpu.Float, 1)
	b.Dispatch(b.Kernel(testSource, "share"), line(1), line(32), y, gpu.Threadgroup(bytes))
	p, err := b.Build()
	return p, y, err
}

// A launch has the threadgroup memory that it asks for, by calls and by a graph, also when another plan of the kernel asked for less.
func TestThreadgroupMemory(t *testing.T) {
	device, _, f := openFake(t)
	const own = 1024 // that the stand-in's kernels have
	most := device.Facts().MostThreadgroupBytes - own
	for _, bytes := range []int{16, 48 << 10, most} {
		p, y, err := newSharePlan(device, bytes)
		if err != nil {
			t.Fatal(err)
		}
		small, _, err := newSharePlan(device, 16)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			y.Floats()[0] = -1
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if got := int(y.Floats()[0]); got != bytes {
				t.Errorf("a launch has %d bytes; want %d", got, bytes)
			}
		}
		p.Close()
		small.Close()
	}
	if _, _, err := newSharePlan(device, most+16); err == nil ||
		!strings.Contains(err.Error(), "cuda: kernel share: 231440 bytes of threadgroup memory; beside its own 1024 there are 231424") {
		t.Errorf("too much: %v", err)
	}
	for _, name := range []string{"cuFuncGetAttribute", "cuFuncSetAttribute"} {
		f.fail(name, 1, 2)
		device.Forget()
		if _, _, err := newSharePlan(device, 64<<10); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s fails: %v", name, err)
		}
	}
	calls := f.calls("cuFuncSetAttribute")
	p, err := newScalePlan(device, 4)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if got := f.calls("cuFuncSetAttribute"); got != calls {
		t.Error("a kernel without such memory asks for some")
	}
}
