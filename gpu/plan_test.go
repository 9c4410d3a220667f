package gpu

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// newCopy builds a plan of one kernel with an input, an output, state, a constant and scratch memory.
func newCopy(t *testing.T, d *Device) (p *Plan, x, y, state, scratch *Buffer) {
	t.Helper()
	b := d.NewPlan()
	x, y, state, scratch = b.Input(Float, 3), b.Output(Float, 5), b.State(Float, 7), b.Scratch(Float2, 9)
	table := b.Constant(Float, []float32{1, 2, 3})
	k := b.Kernel(fakeSource, "copy")
	b.Dispatch(k, one(1), one(1), y, x, Values(1))
	b.Dispatch(k, one(1), one(1), scratch.As(Float), table.At(1), Values(1))
	b.Dispatch(k, one(1), one(1), state, state, Values(1))
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return p, x, y, state, scratch
}

// kinds writes a recording as a word: d for a dispatch, u for a copy to private memory, r for one from it, p for one
// within it.
func kinds(r Recording) string {
	if r == nil {
		return ""
	}
	var word strings.Builder
	for _, c := range r.(*fakeRecording).commands {
		switch {
		case c.Kind == Dispatch:
			word.WriteByte('d')
		case c.Kind == Encode:
			word.WriteByte('e')
		case c.Source.Memory.Host() != nil:
			word.WriteByte('u')
		case c.Target.Memory.Host() != nil:
			word.WriteByte('r')
		default:
			word.WriteByte('p')
		}
	}
	return word.String()
}

func TestPlanShapes(t *testing.T) {
	_, discrete := newFake(t, false)
	p, x, y, state, scratch := newCopy(t, discrete)
	defer p.Close()
	for what, c := range map[string]struct {
		r    Recording
		want string
	}{
		"full":     {p.own.full, "uudddrr"},
		"resident": {p.own.resident, "ddd"},
		"upload":   {p.upload, "uu"},
		"download": {p.download, "rr"},
	} {
		if got := kinds(c.r); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
	if got := p.Transfers(); got != 4*(3+5+7+7) {
		t.Errorf("%d bytes are carried", got)
	}
	if len(x.Floats()) != 3 || len(y.Floats()) != 5 || len(state.Floats()) != 7 || scratch.Floats() != nil || len(y.Uints()) != 5 {
		t.Error("the host's sides have other lengths")
	}
	for _, b := range []*Buffer{x, y, state} {
		if b.host == b.device {
			t.Error("host and device share memory")
		}
	}

	_, unified := newFake(t, true)
	u, x, y, state, scratch := newCopy(t, unified)
	defer u.Close()
	if kinds(u.own.full) != "ddd" || u.own.resident != u.own.full || u.upload != nil || u.download != nil || u.Transfers() != 0 {
		t.Errorf("%s, %v, %v, %v, %d", kinds(u.own.full), u.own.resident, u.upload, u.download, u.Transfers())
	}
	for _, b := range []*Buffer{x, y, state} {
		if b.host != b.device {
			t.Error("host and device do not share memory")
		}
	}
	if scratch.device.Host() != nil {
		t.Error("scratch memory is shared")
	}
	if err := u.Upload(); err != nil {
		t.Error(err)
	}
	if err := u.Download(); err != nil {
		t.Error(err)
	}
}

// The region of an argument says where the plan's buffer ends, since pooled memory is larger.
func TestBindings(t *testing.T) {
	_, d := newFake(t, false)
	p, _, _, _, _ := newCopy(t, d)
	defer p.Close()
	commands := p.own.resident.(*fakeRecording).commands
	if a := commands[0].Arguments[0]; a.Offset != 0 || a.Bytes != 20 || a.Memory.Bytes() <= 20 {
		t.Errorf("%+v", a)
	}
	if a := commands[1].Arguments[1]; a.Offset != 4 || a.Bytes != 8 {
		t.Errorf("%+v", a)
	}
	if a := commands[0].Arguments[2]; a.Memory != nil || string(a.Value) != "\x01\x00\x00\x00" {
		t.Errorf("%+v", a)
	}
}

func TestPoison(t *testing.T) {
	for _, unified := range []bool{false, true} {
		_, d := newFake(t, unified)
		// A first plan leaves zeros in the pool.
		p, x, y, state, scratch := newCopy(t, d)
		for _, b := range []*Buffer{x, y, state, scratch} {
			clear(b.device.(*fakeMemory).bytes)
			if b.host != nil {
				clear(b.host.(*fakeMemory).bytes)
			}
		}
		p.Close()
		p, x, y, state, scratch = newCopy(t, d)
		defer p.Close()
		for what, b := range map[string]*Buffer{"input": x, "output": y, "state": state, "scratch": scratch} {
			for _, m := range []Memory{b.device, b.host} {
				if m == nil {
					continue
				}
				for i, v := range m.(*fakeMemory).bytes {
					if v != 0xff {
						t.Fatalf("unified %v: %s: byte %d is %d", unified, what, i, v)
					}
				}
			}
		}
	}
	if !math.IsNaN(float64(math.Float32frombits(math.MaxUint32))) {
		t.Error("the poison is a number")
	}
}

func TestConstants(t *testing.T) {
	for _, unified := range []bool{false, true} {
		_, d := newFake(t, unified)
		b := d.NewPlan()
		values := []float32{1, 2}
		c, u := b.Constant(Float2, values), b.ConstantUints([]uint32{3})
		b.Copy(b.Output(Float2, 1), c)
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if got := string(c.device.(*fakeMemory).bytes[:8]); got != "\x00\x00\x80\x3f\x00\x00\x00\x40" {
			t.Errorf("%q", got)
		}
		if got := u.device.(*fakeMemory).bytes[0]; got != 3 {
			t.Errorf("%d", got)
		}
	}
}

func TestInFlight(t *testing.T) {
	_, d := newFake(t, false)
	p, _, _, _, _ := newCopy(t, d)
	if err := p.Wait(); err != nil {
		t.Errorf("a wait for nothing: %v", err)
	}
	if err := p.Submit(); err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]func() error{
		"Run": p.Run, "Submit": p.Submit, "RunResident": p.RunResident, "SubmitResident": p.SubmitResident,
		"Upload": p.Upload, "Download": p.Download, "Time": func() error { _, err := p.Time(false); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "in flight") {
			t.Errorf("%s of a plan in flight: %v", what, err)
		}
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if err := p.RunResident(); err != nil {
		t.Error(err)
	}
	times, err := p.Time(true)
	if err != nil || times.Busy != 7 {
		t.Errorf("%+v, %v", times, err)
	}
	if err := p.SubmitResident(); err != nil {
		t.Error(err)
	}
	p.Close() // waits
	p.Close()
	for what, f := range map[string]func() error{
		"Run": p.Run, "Submit": p.Submit, "RunResident": p.RunResident, "SubmitResident": p.SubmitResident,
		"Upload": p.Upload, "Download": p.Download, "Time": func() error { _, err := p.Time(true); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s of a closed plan: %v", what, err)
		}
	}
	if use := d.Memory(); use.Used != 0 {
		t.Errorf("%d bytes are in use", use.Used)
	}
}

// Several plans are in flight at once, each one once.
func TestPipeline(t *testing.T) {
	fake, d := newFake(t, false)
	fake.submitted = make([][]Command, 0, 100)
	var plans [8]*Plan
	for i := range plans {
		plans[i], _, _, _, _ = newCopy(t, d)
		defer plans[i].Close()
	}
	fake.submitted = fake.submitted[:0] // constants
	for range 3 {
		for _, p := range plans {
			if err := p.Submit(); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range plans {
			if err := p.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(fake.submitted); n != 24 {
		t.Errorf("%d submissions", n)
	}
}

// A plan that fails to build leaves nothing behind, at whatever step it fails.
func TestBuildFails(t *testing.T) {
	failure := errors.New("failure")
	build := func(d *Device, e *fakeExternal, encode error) error {
		b := d.NewPlan()
		x, y := b.Input(Float, 2000), b.Output(Float, 3000)
		table := b.Constant(Float, make([]float32, 4000))
		b.Dispatch(b.Kernel(fakeSource, "copy"), one(1), one(1), y, table, Values(1))
		b.Encode(func() (External, error) { return e, nil })
		b.Encode(func() (External, error) {
			if encode != nil {
				return nil, encode
			}
			return &fakeExternal{}, nil
		})
		b.Copy(y, b.Scratch(Float, 3000))
		_ = x
		p, err := b.Build()
		if err == nil {
			p.Close()
		}
		return err
	}
	for _, unified := range []bool{false, true} {
		allocations, records := 0, 0
		fake, d := newFake(t, unified)
		fake.failAllocate = func(int, Storage) error { allocations++; return nil }
		fake.failRecord = func([]Command) error { records++; return nil }
		if err := build(d, &fakeExternal{}, nil); err != nil {
			t.Fatal(err)
		}
		type failing struct {
			what string
			set  func(f *fakeDriver)
		}
		steps := []failing{
			{"fill", func(f *fakeDriver) { f.failFill = failure }},
			{"compile", func(f *fakeDriver) { f.failCompile = func(Source) error { return failure } }},
		}
		if !unified {
			steps = append(steps,
				failing{"submission of a constant", func(f *fakeDriver) { f.failSubmit = failure }},
				failing{"wait for a constant", func(f *fakeDriver) { f.failWait = failure }})
		}
		for i := range allocations {
			steps = append(steps, failing{"allocation", func(f *fakeDriver) {
				n := 0
				f.failAllocate = func(int, Storage) error {
					if n++; n == i+1 {
						return failure
					}
					return nil
				}
			}})
		}
		for i := range records {
			steps = append(steps, failing{"recording", func(f *fakeDriver) {
				n := 0
				f.failRecord = func([]Command) error {
					if n++; n == i+1 {
						return failure
					}
					return nil
				}
			}})
		}
		for i, s := range steps {
			fake, d := newFake(t, unified)
			s.set(fake)
			e := &fakeExternal{}
			if err := build(d, e, nil); !errors.Is(err, failure) {
				t.Errorf("unified %v: step %d, %s: %v", unified, i, s.what, err)
			}
			if use := d.Memory(); use.Used != 0 || len(fake.recordings) != 0 {
				t.Errorf("unified %v: step %d, %s: %+v, %d recordings", unified, i, s.what, use, len(fake.recordings))
			}
			d.Trim()
			if len(fake.allocated) != 0 {
				t.Errorf("unified %v: step %d, %s: %d pieces of memory", unified, i, s.what, len(fake.allocated))
			}
			if s.what == "recording" && e.closed != 1 && i == len(steps)-1 {
				t.Errorf("unified %v: the vendor's work is closed %d times", unified, e.closed)
			}
		}
		fake, d = newFake(t, unified)
		e := &fakeExternal{}
		if err := build(d, e, failure); !errors.Is(err, failure) || e.closed != 1 || d.Memory().Used != 0 {
			t.Errorf("unified %v: %v, closed %d times, %+v", unified, err, e.closed, d.Memory())
		}
		if len(fake.recordings) != 0 {
			t.Errorf("unified %v: %d recordings", unified, len(fake.recordings))
		}
	}
}

// A failed run says so, and the plan can be run again or closed.
func TestRunFails(t *testing.T) {
	fake, d := newFake(t, false)
	p, _, _, _, _ := newCopy(t, d)
	lost := errors.New("lost")
	fake.failSubmit = lost
	if err := p.Run(); !errors.Is(err, lost) {
		t.Error(err)
	}
	if _, err := p.Time(false); !errors.Is(err, lost) {
		t.Error(err)
	}
	fake.failSubmit, fake.failWait = nil, lost
	if err := p.Run(); !errors.Is(err, lost) {
		t.Error(err)
	}
	if _, err := p.Time(false); !errors.Is(err, lost) {
		t.Error(err)
	}
	fake.failWait = nil
	if err := p.Run(); err != nil {
		t.Error(err)
	}
	fake.failWait = lost
	if err := p.Submit(); err != nil {
		t.Error(err)
	}
	p.Close()
	if use := d.Memory(); use.Used != 0 {
		t.Errorf("%+v", use)
	}
}

func TestExternals(t *testing.T) {
	_, d := newFake(t, false)
	b := d.NewPlan()
	x, y := b.Input(Float2, 8), b.Output(Float2, 8)
	e := &fakeExternal{}
	var seen Region
	b.Encode(func() (External, error) {
		seen = x.Region()
		return e, nil
	})
	b.Copy(y, x)
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if seen.Memory == nil || seen.Bytes != 64 {
		t.Errorf("%+v", seen)
	}
	if got := kinds(p.own.full); got != "uepr" {
		t.Error(got)
	}
	p.Close()
	p.Close()
	if e.closed != 1 {
		t.Errorf("closed %d times", e.closed)
	}
}

func TestExternalThatIsNone(t *testing.T) {
	_, d := newFake(t, false)
	b := d.NewPlan()
	b.Output(Float, 1)
	b.Encode(func() (External, error) { return nil, nil })
	if _, err := b.Build(); err == nil || d.Memory().Used != 0 {
		t.Errorf("%v, %+v", err, d.Memory())
	}
}

func TestWarmRunAllocatesNothing(t *testing.T) {
	for _, unified := range []bool{false, true} {
		_, d := newFake(t, unified)
		p, _, _, _, _ := newCopy(t, d)
		defer p.Close()
		for what, f := range map[string]func() error{
			"Run": p.Run, "RunResident": p.RunResident, "Upload": p.Upload, "Download": p.Download,
			"Submit and Wait": func() error { return errors.Join(p.Submit(), p.Wait()) },
			"Time":            func() error { _, err := p.Time(false); return err },
		} {
			if n := testing.AllocsPerRun(100, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("unified %v: %s allocates %g times", unified, what, n)
			}
		}
	}
}
