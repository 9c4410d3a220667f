package gpu

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// ways are all that a plan can be asked for, but Wait.
func ways(p *Plan, x, y, state *Buffer) map[string]func() error {
	data := [][]float32{make([]float32, 3), make([]float32, 5), make([]float32, 7)}
	return map[string]func() error{
		"Run":            p.Run,
		"Submit":         p.Submit,
		"RunResident":    p.RunResident,
		"SubmitResident": p.SubmitResident,
		"Upload":         p.Upload,
		"Download":       p.Download,
		"Time":           func() error { _, err := p.Time(false); return err },
		"Call":           func() error { return p.Call(data) },
		"CallTimed":      func() error { _, err := p.CallTimed(data); return err },
		"SubmitOn":       func() error { return p.SubmitOn(data) },
		"TimeOn":         func() error { _, err := p.TimeOn(data); return err },
		"Load":           func() error { return p.Load(data) },
		"Store":          func() error { return p.Store(data) },
		"Write":          func() error { return p.Write(state, nil) },
	}
}

// A closed device takes from a plan all but the memory that the host sees: at once, or when what is in flight has ended. The plan
// fails, nothing else is made of the device, and the driver is closed after the last of it.
func TestDeviceClose(t *testing.T) {
	for _, unified := range []bool{false, true} {
		d, device := newFake(t, unified)
		idle, x, y, state, _ := newCopy(t, device)
		flying, fx, fy, fstate, _ := newCopy(t, device)
		spare, _, _, _, _ := newCopy(t, device)
		spare.Close() // its memory is kept for later plans
		shared, err := device.Alloc(100)
		if err != nil {
			t.Fatal(err)
		}
		if err := flying.Submit(); err != nil {
			t.Fatal(err)
		}
		device.Close()
		for name, way := range ways(idle, x, y, state) {
			if err := way(); !errors.Is(err, ErrLost) {
				t.Errorf("unified %v: %s: %v, want ErrLost", unified, name, err)
			}
		}
		if err := flying.Wait(); err != nil {
			t.Errorf("unified %v: what is in flight ends with %v", unified, err)
		}
		for name, way := range ways(flying, fx, fy, fstate) {
			if err := way(); !errors.Is(err, ErrLost) {
				t.Errorf("unified %v: %s after its last call: %v, want ErrLost", unified, name, err)
			}
		}
		// Three buffers of each plan have a host's side, and the shared memory is one more.
		if len(d.recordings) != 0 || len(d.allocated) != 7 {
			t.Errorf("unified %v: %d recordings and %d pieces of memory are left, want 0 and 7", unified, len(d.recordings), len(d.allocated))
		}
		for m := range d.allocated {
			if m.Host() == nil {
				t.Errorf("unified %v: memory that the host does not see is left", unified)
			}
		}
		if len(x.Floats()) != 3 || len(fy.Floats()) != 5 || len(shared.Floats()) != 100 {
			t.Errorf("unified %v: memory that the host sees is gone", unified)
		}
		if _, err := device.Kernel(fakeSource, "copy"); !errors.Is(err, ErrLost) {
			t.Errorf("unified %v: a kernel: %v, want ErrLost", unified, err)
		}
		if _, err := device.Alloc(1); !errors.Is(err, ErrLost) {
			t.Errorf("unified %v: shared memory: %v, want ErrLost", unified, err)
		}
		device.Close()
		for _, last := range []func(){idle.Close, idle.Close, flying.Close, shared.Free} {
			if d.closed != 0 {
				t.Errorf("unified %v: the driver is closed before the last memory is free", unified)
			}
			last()
		}
		if d.closed != 1 || len(d.allocated) != 0 {
			t.Errorf("unified %v: the driver is closed %d times, and %d pieces of memory are left", unified, d.closed, len(d.allocated))
		}
	}
}

// A plan that was described before the device is closed cannot be built afterwards, over another plan or not.
func TestBuildOnAClosedDevice(t *testing.T) {
	d, device := newFake(t, false)
	spent, _, _, _, _ := newCopy(t, device)
	describe := func() *Builder {
		b := device.NewPlan()
		b.Dispatch(b.Kernel(fakeSource, "copy"), one(1), one(1), b.Output(Float, 4), b.Input(Float, 4), Values(1))
		return b
	}
	over, alone := describe(), describe()
	device.Close()
	if _, err := over.BuildOver(spent); !errors.Is(err, ErrLost) {
		t.Errorf("over another plan: %v, want ErrLost", err)
	}
	if _, err := alone.Build(); !errors.Is(err, ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	if d.closed != 1 || len(d.allocated) != 0 {
		t.Errorf("the driver is closed %d times, and %d pieces of memory are left", d.closed, len(d.allocated))
	}
}

// Plans of many goroutines are built, called and closed while the device is closed. Each ends with ErrLost, and nothing is left.
func TestCloseUnderPlans(t *testing.T) {
	for round := range 20 {
		d, device := newFake(t, round%2 == 0)
		var all sync.WaitGroup
		begun := make(chan struct{}, 8)
		for range cap(begun) {
			all.Go(func() {
				begun <- struct{}{}
				if err := untilLost(device); !errors.Is(err, ErrLost) {
					t.Errorf("%v, want ErrLost", err)
				}
			})
		}
		for range cap(begun) {
			<-begun
		}
		device.Close()
		all.Wait()
		if d.closed != 1 || len(d.allocated)+len(d.recordings) != 0 {
			t.Fatalf("the driver is closed %d times; %d pieces of memory and %d recordings are left", d.closed, len(d.allocated), len(d.recordings))
		}
	}
}

func untilLost(device *Device) error {
	data := [][]float32{make([]float32, 4), make([]float32, 4)}
	for {
		b := device.NewPlan()
		b.Dispatch(b.Kernel(fakeSource, "copy"), one(1), one(1), b.Output(Float, 4), b.Input(Float, 4), Values(1))
		p, err := b.Build()
		if err != nil {
			return err
		}
		for range 3 {
			if err = p.Call(data); err == nil {
				if err = p.Submit(); err == nil {
					err = p.Wait()
				}
			}
			if err != nil {
				break
			}
		}
		p.Close()
		if err != nil {
			return fmt.Errorf("a call: %w", err)
		}
	}
}
