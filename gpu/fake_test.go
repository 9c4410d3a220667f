package gpu

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"crossover/gpu/msl"
)

// fakeDriver is a device that records calls and computes nothing. A test makes a step fail by setting the field that is
// named after the step.
type fakeDriver struct {
	facts Facts

	failCompile  func(Source) error
	failAllocate func(bytes int, s Storage) error
	failRecord   func(commands []Command) error
	failSubmit   error
	failWait     error
	failFill     error
	failOverlap  error

	mu         sync.Mutex
	compiled   int
	overlaps   int // pipelines that were readied for buffers that share memory
	forgotten  int
	closed     int
	allocated  map[*fakeMemory]bool
	recordings map[*fakeRecording]bool
	submitted  [][]Command
	mistakes   []string
}

func newFake(t *testing.T, unified bool) (*fakeDriver, *Device) {
	t.Helper()
	d := &fakeDriver{
		facts: Facts{API: "fake", Name: "fake", Unified: unified, SIMDWidth: 32, MaxThreads: 1024,
			ThreadgroupBytes: 32 << 10, MemoryBytes: 1 << 30, MaxBufferBytes: 1 << 28},
		allocated:  map[*fakeMemory]bool{},
		recordings: map[*fakeRecording]bool{},
	}
	device, err := NewDevice(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, m := range d.mistakes {
			t.Errorf("the driver saw: %s", m)
		}
	})
	return d, device
}

func (d *fakeDriver) mistake(format string, arguments ...any) {
	d.mistakes = append(d.mistakes, fmt.Sprintf(format, arguments...))
}

func (d *fakeDriver) Facts() Facts { return d.facts }

func (d *fakeDriver) Compile(src Source, functions []msl.Function) (Library, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.compiled++
	if d.failCompile != nil {
		if err := d.failCompile(src); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *fakeDriver) Forget() { d.forgotten++ }

func (d *fakeDriver) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.allocated)+len(d.recordings) > 0 {
		d.mistake("the driver is closed with %d pieces of memory and %d recordings", len(d.allocated), len(d.recordings))
	}
	d.closed++
}

func (d *fakeDriver) Pipeline(f *msl.Function) (Pipeline, error) {
	if f.Name == "unlinkable" {
		return nil, errors.New("no such symbol")
	}
	return &fakePipeline{d}, nil
}

type fakePipeline struct{ driver *fakeDriver }

func (p *fakePipeline) MaxThreads() int { return 512 }

func (p *fakePipeline) ReadyOverlap() error {
	p.driver.overlaps++
	return p.driver.failOverlap
}

type fakeMemory struct {
	driver  *fakeDriver
	bytes   []byte
	storage Storage
}

func (d *fakeDriver) Allocate(bytes int, storage Storage) (Memory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed > 0 {
		d.mistake("memory of a closed driver")
	}
	if d.failAllocate != nil {
		if err := d.failAllocate(bytes, storage); err != nil {
			return nil, err
		}
	}
	m := &fakeMemory{driver: d, bytes: make([]byte, bytes), storage: storage}
	d.allocated[m] = true
	return m, nil
}

func (m *fakeMemory) Bytes() int { return len(m.bytes) }

func (m *fakeMemory) Host() []byte {
	if m.storage == Private {
		return nil
	}
	return m.bytes
}

func (m *fakeMemory) Fill(value byte) error {
	for i := range m.bytes {
		m.bytes[i] = value
	}
	return m.driver.failFill
}

func (m *fakeMemory) Free() {
	d := m.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.allocated[m] {
		d.mistake("memory is freed twice")
	}
	delete(d.allocated, m)
	for r := range d.recordings {
		if r.uses(m) {
			d.mistake("memory is freed that a recording uses")
		}
	}
}

type fakeRecording struct {
	driver   *fakeDriver
	commands []Command
	inFlight bool
}

func (d *fakeDriver) Record(commands []Command) (Recording, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failRecord != nil {
		if err := d.failRecord(commands); err != nil {
			return nil, err
		}
	}
	r := &fakeRecording{driver: d, commands: commands}
	d.recordings[r] = true
	return r, nil
}

func (r *fakeRecording) uses(m Memory) bool {
	for _, c := range r.commands {
		if c.Target.Memory == m || c.Source.Memory == m {
			return true
		}
		for _, a := range c.Arguments {
			if a.Memory == m {
				return true
			}
		}
	}
	return false
}

func (r *fakeRecording) Submit(bool) error {
	d := r.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failSubmit != nil {
		return d.failSubmit
	}
	if r.inFlight || !d.recordings[r] {
		d.mistake("a submission of what is in flight or closed")
	}
	r.inFlight = true
	for i := range r.commands {
		if c := &r.commands[i]; c.Kind == Copy {
			copy(c.Target.Memory.(*fakeMemory).bytes[c.Target.Offset:][:c.Bytes], c.Source.Memory.(*fakeMemory).bytes[c.Source.Offset:])
		}
	}
	if len(d.submitted) < cap(d.submitted) { // so that a warm run allocates nothing
		d.submitted = append(d.submitted, r.commands)
	}
	return nil
}

func (r *fakeRecording) Wait() (Times, error) {
	r.driver.mu.Lock()
	defer r.driver.mu.Unlock()
	if !r.inFlight {
		r.driver.mistake("a wait for nothing")
	}
	r.inFlight = false
	return Times{Busy: 7, Kernel: 1}, r.driver.failWait
}

func (r *fakeRecording) Close() {
	d := r.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.inFlight || !d.recordings[r] {
		d.mistake("a recording is closed in flight or twice")
	}
	delete(d.recordings, r)
}

// fakeExternal is a vendor's work.
type fakeExternal struct{ closed int }

func (e *fakeExternal) Encode(uintptr) error { return nil }
func (e *fakeExternal) Close()               { e.closed++ }

const fakeText = `struct Params { uint n; float a; };
kernel void copy(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]]) {}
kernel void pairs(device float2* y [[buffer(0)]], constant Params& p [[buffer(1)]]) {}
kernel void tables(device Params* y [[buffer(0)]], constant uint* x [[buffer(1)]]) {}
kernel void sharing(device float* y [[buffer(0)]], threadgroup float4* a [[threadgroup(0)]]) {}
kernel void unlinkable() {}
`

var fakeSource = Source{Name: "fake.metal", Text: fakeText}

func one(x int) Size { return Size{X: x, Y: 1, Z: 1} }
