package kerneltest

import (
	"strings"
	"sync"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/gpu/msl"
	"crossover/kernels"
	"crossover/pool"
)

const barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"

// Barriers tests that every threadgroup barrier in an operation's kernel texts is needed. It removes each barrier in turn
// from the texts that the named implementation compiles for the emulated GPU ("emulator", or "emulator/" and a variant).
// Without the barrier, a call must fail or its result must be wrong at one of the given shapes. The shapes must reach every
// kernel. The test is skipped if there is no C++ compiler.
func Barriers[P any](t *testing.T, op *kernels.Op[P], implementation string, shapes ...kernels.Shape) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	EmulatedAlone(t)
	if Backends(t).GPUs == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	whole, wants := &editing{}, make([][]float64, len(shapes))
	if fails(t, op, implementation, shapes, wants, whole) {
		t.Fatal("fails with every barrier in its place")
	}
	removed := 0
	for text := range whole.texts {
		for i := range strings.Count(text, barrier) {
			removed++
			if !fails(t, op, implementation, shapes, wants, &editing{edit: text, without: i}) {
				t.Errorf("nothing fails without barrier %d of %d in %s", i+1, strings.Count(text, barrier), whole.texts[text])
			}
		}
	}
	if removed == 0 {
		t.Error("there is no barrier to remove")
	}
}

// fails reports whether a call fails or computes wrong values at any of the shapes. It keeps the references of the shapes in
// wants.
func fails[P any](t *testing.T, op *kernels.Op[P], implementation string, shapes []kernels.Shape, wants [][]float64, e *editing) bool {
	t.Helper()
	backend := gpu.NewBackend(GPUName, func() (gpu.Driver, error) {
		driver, err := emulator.New()
		return &editingDriver{driver, e}, err
	})
	b := &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{backend}}
	for i, s := range shapes {
		problem := op.Problem(b, s, kernels.Caller, generated())
		if wants[i] == nil {
			wants[i] = problem.Reference()
		}
		call, err := problem.Bind(implementation)
		if err != nil {
			t.Fatal(err)
		}
		err = call.Run()
		wrong := err != nil || !(call.ErrorAgainst(wants[i]) <= allowed(op, b, implementation, s))
		call.Release()
		if wrong {
			return true
		}
	}
	return false
}

// editing removes a barrier from a text on its way to the compiler, and notes the texts.
type editing struct {
	mu      sync.Mutex
	texts   map[string]string // names of the compiled texts, by text
	edit    string            // the text that loses barrier number `without`; "" for none
	without int
}

type editingDriver struct {
	gpu.Driver
	*editing
}

func (d *editingDriver) Compile(src gpu.Source, functions []msl.Function) (gpu.Library, error) {
	d.mu.Lock()
	if d.texts == nil {
		d.texts = map[string]string{}
	}
	d.texts[src.Text] = src.Name
	d.mu.Unlock()
	if src.Text == d.edit {
		pieces := strings.Split(src.Text, barrier)
		src.Text = strings.Join(pieces[:d.without+1], barrier) + strings.Join(pieces[d.without+1:], barrier)
	}
	return d.Driver.Compile(src, functions)
}
