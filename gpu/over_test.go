package gpu

import (
	"errors"
	"testing"
)

// scaled describes a plan of n elements with an input, an output, state, scratch memory and a table.
func scaled(d *Device, n int, table []float32) (b *Builder, all []*Buffer) {
	b = d.NewPlan()
	x, y, state, scratch := b.Input(Float, n), b.Output(Float, n), b.State(Float, n), b.Scratch(Float, 2*n)
	constant := b.Constant(Float, table)
	k := b.Kernel(fakeSource, "copy")
	b.Dispatch(k, one(1), one(1), scratch, x, Values(n))
	b.Dispatch(k, one(1), one(1), y, constant, Values(n))
	b.Dispatch(k, one(1), one(1), state, scratch, Values(n))
	return b, []*Buffer{x, y, state, scratch, constant}
}

// over builds a plan of n elements over another one. It returns how many pieces of memory the driver was asked for, and
// how many of the buffers hold what the other plan left.
func over(t *testing.T, d *fakeDriver, device *Device, spent *Plan, n int, table []float32) (p *Plan, asked, inherited int) {
	t.Helper()
	d.failAllocate = func(int, Storage) error { asked++; return nil }
	if spent != nil {
		for _, b := range spent.buffers {
			if b.role != constant {
				b.device.(*fakeMemory).bytes[0] = 77
			}
		}
	}
	b, all := scaled(device, n, table)
	p, err := b.BuildOver(spent)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.role != constant && b.device.(*fakeMemory).bytes[0] == 77 {
			inherited++
		}
	}
	return p, asked, inherited
}

// A plan takes over the memory of the plan that it is built over, as far as the memory fits.
func TestBuildOver(t *testing.T) {
	table, other := []float32{1, 2}, []float32{3, 4}
	for _, unified := range []bool{false, true} {
		pieces := map[bool]int{false: 8, true: 5}[unified] // with the host's sides, without the way to a constant
		for _, test := range []struct {
			name             string
			from, to         int
			table            []float32
			asked, inherited int
		}{
			{"a longer one with room", 10_000, 10_200, table, 0, 4},
			{"a shorter one", 10_000, 4_000, table, 0, 4},
			{"one without room", 10_000, 30_000, table, pieces - 1, 0},
			{"a much shorter one", 4 << 20, 1000, table, pieces - 1, 0},
			{"a much shorter one of little", 100_000, 1, table, 0, 4},
		} {
			d, device := newFake(t, unified)
			spent, _, _ := over(t, d, device, nil, test.from, table)
			device.Trim()
			p, asked, inherited := over(t, d, device, spent, test.to, test.table)
			if asked != test.asked || inherited != test.inherited {
				t.Errorf("unified %v: %s: %d pieces of memory are asked for and %d taken over, want %d and %d", unified, test.name, asked,
					inherited, test.asked, test.inherited)
			}
			if err := spent.Run(); err == nil {
				t.Errorf("unified %v: %s: a spent plan runs", unified, test.name)
			}
			if err := p.Run(); err != nil {
				t.Error(err)
			}
			for i, n := range []int{test.to, test.to, test.to, 2 * test.to, 2} {
				if b := p.buffers[i]; b.bytes != 4*n || b.device.Bytes() < b.bytes {
					t.Errorf("unified %v: %s: buffer %d has %d bytes, of %d, want %d", unified, test.name, i, b.bytes, b.device.Bytes(), 4*n)
				}
			}
			p.Close()
			spent.Close()
			if use := device.Memory(); use.Used != 0 || len(d.recordings) != 0 {
				t.Errorf("unified %v: %s: %+v, %d recordings", unified, test.name, use, len(d.recordings))
			}
			if device.Trim(); len(d.allocated) != 0 {
				t.Errorf("unified %v: %s: %d pieces of memory are left", unified, test.name, len(d.allocated))
			}
		}
		// A constant of other values is written.
		d, device := newFake(t, unified)
		spent, _, _ := over(t, d, device, nil, 100, table)
		p, _, _ := over(t, d, device, spent, 100, other)
		if got := p.buffers[4].device.(*fakeMemory).bytes[2:4]; string(got) != "\x40\x40" {
			t.Errorf("unified %v: a constant begins with %x", unified, got)
		}
		// If the device has no memory left, neither plan holds any.
		none := errors.New("none")
		d.failAllocate = func(int, Storage) error { return none }
		b, _ := scaled(device, 1<<20, other)
		if _, err := b.BuildOver(p); !errors.Is(err, none) || device.Memory().Used != 0 {
			t.Errorf("unified %v: %v, %+v", unified, err, device.Memory())
		}
		if b.Refuse(none); !errors.Is(b.Err(), none) {
			t.Errorf("unified %v: a refused builder says %v", unified, b.Err())
		}
	}
}
