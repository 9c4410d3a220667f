package gpu

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestNewDevice(t *testing.T) {
	if _, err := NewDevice(&fakeDriver{facts: Facts{Name: "wide", SIMDWidth: 64}}); err == nil ||
		!strings.Contains(err.Error(), "wide runs 64 threads in step") {
		t.Error(err)
	}
}

// Launch plans divide by the number of cores.
func TestCoresAreNeverZero(t *testing.T) {
	for told, want := range map[int]int{132: 132, 1: 1, 0: assumedCores, -3: assumedCores} {
		driver := &fakeDriver{facts: Facts{SIMDWidth: 32, Cores: told}}
		device, err := NewDevice(driver)
		if err != nil {
			t.Fatal(err)
		}
		if got := device.Facts().Cores; got != want {
			t.Errorf("a driver tells of %d cores: launch plans go by %d, want %d", told, got, want)
		}
		if got := device.Driver().Facts().Cores; got != told {
			t.Errorf("a driver tells of %d cores: it tells of %d afterwards", told, got)
		}
	}
}

func TestKernelIsCompiledOnce(t *testing.T) {
	fake, d := newFake(t, false)
	kernel := func(src Source, name string) *Kernel {
		t.Helper()
		k, err := d.Kernel(src, name)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a := kernel(fakeSource, "copy")
	if a.MaxThreads() != 512 {
		t.Errorf("%d threads", a.MaxThreads())
	}
	if kernel(fakeSource, "copy") != a {
		t.Error("another kernel of the same name")
	}
	kernel(fakeSource, "pairs")
	if fake.compiled != 1 {
		t.Errorf("compiled %d times", fake.compiled)
	}
	kernel(fakeSource.Define("WIDTH", 1), "copy")
	kernel(fakeSource.Define("WIDTH", 2), "copy")
	kernel(fakeSource.Define("WIDTH", 1), "copy")
	if fake.compiled != 3 {
		t.Errorf("compiled %d times for 3 sets of macros", fake.compiled)
	}
	d.Forget()
	kernel(fakeSource, "copy")
	if fake.compiled != 4 || fake.forgotten != 1 {
		t.Errorf("compiled %d times, forgotten %d times", fake.compiled, fake.forgotten)
	}
}

// A mistake in a text stays. A failure of the machine may pass.
func TestKernelThatDoesNotCompile(t *testing.T) {
	fake, d := newFake(t, false)
	compile := &CompileError{Source: "fake.metal", Kernel: "copy", Line: 3, Message: "expected ';'"}
	fake.failCompile = func(Source) error { return compile }
	for range 2 {
		_, err := d.Kernel(fakeSource, "copy")
		var got *CompileError
		if !errors.As(err, &got) || err.Error() != "fake.metal:3: kernel copy: expected ';'" {
			t.Error(err)
		}
	}
	if fake.compiled != 1 {
		t.Errorf("compiled %d times", fake.compiled)
	}
	fake, d = newFake(t, false)
	full := errors.New("no space left on device")
	fake.failCompile = func(Source) error { return full }
	if _, err := d.Kernel(fakeSource, "copy"); !errors.Is(err, full) {
		t.Error(err)
	}
	fake.failCompile = nil
	if _, err := d.Kernel(fakeSource, "copy"); err != nil {
		t.Error(err)
	}
}

func TestCompileError(t *testing.T) {
	for want, e := range map[string]CompileError{
		"a.metal: out of memory":     {Source: "a.metal", Message: "out of memory"},
		"a.metal:7: no such name":    {Source: "a.metal", Line: 7, Message: "no such name"},
		"a.metal:7: kernel k: no, 1": {Source: "a.metal", Line: 7, Kernel: "k", Message: "no, 1"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Goroutines share a device: they compile, build, run, close and trim at once. The race detector watches.
func TestDeviceIsShared(t *testing.T) {
	fake, d := newFake(t, false)
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			for i := range 50 {
				b := d.NewPlan()
				n := 1 + 1000*((g+i)%3)
				x, y := b.Input(Float, n), b.Output(Float, n)
				b.Dispatch(b.Kernel(fakeSource.Define("I", i%4), "copy"), one(1), one(1), y, x, Values(n))
				p, err := b.Build()
				if err != nil {
					t.Error(err)
					return
				}
				if err := p.Run(); err != nil {
					t.Error(err)
				}
				d.Memory()
				if i%10 == g {
					d.Trim()
				}
				p.Close()
			}
		})
	}
	wait.Wait()
	if fake.compiled != 4 {
		t.Errorf("compiled %d times for 4 sets of macros", fake.compiled)
	}
	if use := d.Memory(); use.Used != 0 {
		t.Errorf("%+v", use)
	}
	d.Trim()
	if len(fake.allocated) != 0 || len(fake.recordings) != 0 {
		t.Errorf("%d pieces of memory and %d recordings are left", len(fake.allocated), len(fake.recordings))
	}
}
