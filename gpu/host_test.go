package gpu_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
)

// calling returns the plan y = x + sum + 100, sum += 0.5, that the tests of data on the host run, on n elements.
func calling(t *testing.T, d *gpu.Device, n int) *gpu.Plan { return newAccumulator(t, d, n).Plan }

// places are where the data of a call may lie.
var places = map[string]func(t *testing.T, d *gpu.Device, n int) []float32{
	"caller": func(_ *testing.T, _ *gpu.Device, n int) []float32 { return make([]float32, n) },
	"shared": func(t *testing.T, d *gpu.Device, n int) []float32 {
		m, err := d.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Free)
		return m.Floats()
	},
	"the middle of shared": func(t *testing.T, d *gpu.Device, n int) []float32 {
		m, err := d.Alloc(n + 13)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Free)
		return m.Floats()[5 : n+5]
	},
}

// TestCall computes on data in every mixture of places, small and in pieces, where memory is unified and where it is not.
func TestCall(t *testing.T) {
	for _, unified := range []bool{false, true} {
		d := emulator.Open(t, emulator.Unified(unified))
		for _, n := range []int{1, 5, 1000, 200_003} {
			p := calling(t, d, n)
			for in, makeIn := range places {
				for out, makeOut := range places {
					t.Run(fmt.Sprintf("unified=%v/n=%d/%s to %s", unified, n, in, out), func(t *testing.T) {
						x, sum, y := makeIn(t, d, n), makeOut(t, d, n), makeOut(t, d, n)
						for round := range 3 {
							for i := range x {
								x[i] = float32(i%977 + round)
							}
							if err := p.Call([][]float32{x, sum, y}); err != nil {
								t.Fatal(err)
							}
							for i := range y {
								before := 0.5 * float32(round)
								if want := x[i] + before + 100; y[i] != want || sum[i] != before+0.5 {
									t.Fatalf("round %d, element %d: y is %v and sum %v, want %v and %v", round, i, y[i], sum[i], want, before+0.5)
								}
							}
						}
					})
				}
			}
		}
	}
}

// Kernels move whole vectors. In shared memory, other data may lie directly behind those of a call, and must stay as
// they are.
func TestCallLeavesItsNeighboursAlone(t *testing.T) {
	for _, unified := range []bool{false, true} {
		d := emulator.Open(t, emulator.Unified(unified))
		m, err := d.Alloc(64)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		all := m.Floats()
		for i := range all {
			all[i] = -1
		}
		const n = 7
		p := calling(t, d, 8) // a buffer of whole vectors
		x, sum, y := all[16:16+n], all[32:32+n], all[48:48+n]
		clear(x)
		clear(sum)
		if err := p.Call([][]float32{x, sum, y}); err != nil {
			t.Fatal(err)
		}
		for i, v := range all {
			mine := i >= 16 && i < 16+n || i >= 32 && i < 32+n || i >= 48 && i < 48+n
			if !mine && v != -1 {
				t.Errorf("unified %v: element %d of the memory is %v", unified, i, v)
			}
		}
		if y[n-1] != 100 {
			t.Errorf("unified %v: the last value is %v, want 100", unified, y[n-1])
		}
	}
}

func TestCallInPlace(t *testing.T) {
	for _, unified := range []bool{false, true} {
		for _, n := range []int{100, 200_000} {
			d := emulator.Open(t, emulator.Unified(unified))
			p := calling(t, d, n)
			for place, make := range places {
				x, sum := make(t, d, n), make(t, d, n)
				for i := range x {
					x[i] = float32(i % 100)
				}
				if err := p.Call([][]float32{x, sum, x}); err != nil {
					t.Fatal(err)
				}
				for i, v := range x {
					if want := float32(i%100) + 100; v != want {
						t.Fatalf("unified %v, %s: element %d is %v, want %v", unified, place, i, v, want)
					}
				}
			}
		}
	}
}

func TestWarmCallDoesNotAllocate(t *testing.T) {
	d := emulator.Open(t)
	for _, n := range []int{100, 200_000} {
		p := calling(t, d, n)
		for place, make := range places {
			data := [][]float32{make(t, d, n), make(t, d, n), make(t, d, n)}
			if got := testing.AllocsPerRun(3, func() { _ = p.Call(data) }); got != 0 && !emulator.Racing() {
				t.Errorf("%s, n=%d: %v allocations", place, n, got)
			}
		}
	}
}

func TestOverlappedCalls(t *testing.T) {
	d := emulator.Open(t)
	const n = 100
	p, q := calling(t, d, n), calling(t, d, n)
	data := func() [][]float32 { return [][]float32{make([]float32, n), make([]float32, n), make([]float32, n)} }
	a, b := data(), data()
	for _, step := range []error{p.SubmitOn(a), q.SubmitOn(b), p.WaitOn(a), q.WaitOn(b)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	if a[2][n-1] != 100 || b[2][n-1] != 100 {
		t.Errorf("the last values are %v and %v, want 100", a[2][n-1], b[2][n-1])
	}
	if times, err := p.TimeOn(a); err != nil || times.Wall <= 0 || a[2][0] != 100.5 {
		t.Errorf("timed: %+v, %v, first value %v", times, err, a[2][0])
	}
}

func TestCallRefuses(t *testing.T) {
	d := emulator.Open(t)
	p := calling(t, d, 10)
	for name, data := range map[string][][]float32{
		"too few":  {make([]float32, 10)},
		"too long": {make([]float32, 10), make([]float32, 10), make([]float32, 11)},
	} {
		if err := p.Call(data); err == nil {
			t.Errorf("%s slices are taken", name)
		}
	}
	p.Close()
	if err := p.Call([][]float32{nil, nil, nil}); err == nil {
		t.Error("a closed plan computes")
	}
}

// losing is a driver whose device is lost at a wait.
type losing struct {
	gpu.Driver
	waits int // that succeed
}

type losingRecording struct {
	gpu.Recording
	driver *losing
}

func (d *losing) Record(commands []gpu.Command) (gpu.Recording, error) {
	r, err := d.Driver.Record(commands)
	return &losingRecording{r, d}, err
}

func (r *losingRecording) Wait() (gpu.Times, error) {
	times, err := r.Recording.Wait()
	if r.driver.waits--; r.driver.waits < 0 {
		return times, gpu.ErrLost
	}
	return times, err
}

// A device that is lost on the way leaves what a call was given as it was, in place and in shared memory too.
func TestLostCallKeepsItsData(t *testing.T) {
	const n = 200_000
	for _, unified := range []bool{false, true} {
		for place, make := range places {
			t.Run(fmt.Sprintf("unified=%v/%s", unified, place), func(t *testing.T) {
				for waits := 0; loses(t, unified, make, n, waits); waits++ {
					if waits == 20 {
						t.Fatal("a call has more than 20 waits")
					}
				}
			})
		}
	}
}

// loses makes a call in place, and the device is lost after the given number of waits. It reports whether the call
// waited that often.
func loses(t *testing.T, unified bool, make func(t *testing.T, d *gpu.Device, n int) []float32, n, waits int) bool {
	driver, err := emulator.New(emulator.Unified(unified))
	if err != nil {
		t.Skip(err)
	}
	d := &losing{Driver: driver, waits: 100}
	device, err := gpu.NewDevice(d)
	if err != nil {
		t.Fatal(err)
	}
	p := calling(t, device, n)
	x, sum := make(t, device, n), make(t, device, n)
	for i := range x {
		x[i] = float32(i % 100)
	}
	if err := p.Call([][]float32{x, sum, x}); err != nil {
		t.Fatal(err)
	}
	if d.waits = waits; p.Call([][]float32{x, sum, x}) == nil {
		return false
	}
	for i := range x {
		if want := float32(i%100) + 100; x[i] != want || sum[i] != 0.5 {
			t.Fatalf("lost after %d waits: element %d is %v, want %v, and the state %v, want 0.5", waits, i, x[i], want, sum[i])
		}
	}
	return true
}

func TestSharedMemoryIsRecognised(t *testing.T) {
	d := emulator.Open(t)
	plain := make([]float32, 100)
	if d.InShared(plain) {
		t.Error("a plain slice counts as shared memory")
	}
	m, err := d.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	data := m.Floats()
	for name, test := range map[string]struct {
		data []float32
		want bool
	}{"all": {data, true}, "middle": {data[10:20], true}, "end": {data[99:], true}, "plain": {plain, false}, "nothing": {nil, false}} {
		if got := d.InShared(test.data); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if got := testing.AllocsPerRun(10, func() { d.InShared(data) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
	m.Free()
	m.Free()
	if d.InShared(data) {
		t.Error("freed memory counts as shared")
	}
	if used := d.Memory().Used; used != 0 {
		t.Errorf("%d bytes are still in use", used)
	}
	for _, n := range []int{0, -1, 1<<40 + 1, math.MaxInt} {
		if _, err := d.Alloc(n); err == nil || !strings.HasSuffix(err.Error(), "want 1 to 1099511627776") {
			t.Errorf("%d values: %v", n, err)
		}
	}
}

// A program that kept only the slice, and not the SharedMemory, still has its memory.
func TestSharedMemoryOutlivesItsHandle(t *testing.T) {
	d := emulator.Open(t)
	const values = 1000
	alloc := func() []float32 {
		m, err := d.Alloc(values)
		if err != nil {
			t.Fatal(err)
		}
		return m.Floats()
	}
	data := alloc()
	for range 10 {
		runtime.GC()
	}
	if used := d.Memory().Used; used < 4*values || !d.InShared(data) {
		t.Errorf("%d bytes are in use, want at least %d", used, 4*values)
	}
}
