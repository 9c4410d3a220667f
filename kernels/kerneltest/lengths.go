package kerneltest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
)

// running calls f with the lines along which the parameters, and so the plan, stay the same. All lines go through the shape
// that middle returns.
func running[P any](t *testing.T, op *kernels.Op[P], o Options, f func(t *testing.T, line kernels.Line)) {
	through, size := middle(op, o)
	s := through.At(size)
	for i, axis := range op.Axes {
		var fixed []kernels.Param
		for k, other := range op.Axes {
			if k != i {
				fixed = append(fixed, kernels.Param{Name: other.Name, Value: s[k]})
			}
		}
		line := kernels.Along(op.Axes, axis.Name, fixed...)
		if sameParams(op, line, 1, 2) {
			t.Run(axis.Name, func(t *testing.T) { f(t, line) })
		}
	}
}

// checkLengths tests calls on a GPU whose lengths change. Each must compute the same as a plan made for that length alone,
// whatever longer calls left in its memory. Changing lengths must not cost memory or launch plans.
func checkLengths[P any](t *testing.T, op *kernels.Op[P], o Options) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once that does not in a call of one length")
	}
	running(t, op, o, func(t *testing.T, line kernels.Line) {
		for _, unified := range []bool{false, true} {
			onGPUs(t, op, Backends(t, emulator.Unified(unified)), unified, line, func(t *testing.T, b *kernels.Backends, name string) {
				checkAfterLonger(t, op, b, name, line, o)
			})
			counted, _ := AccountBackends(unified)
			onGPUs(t, op, counted, unified, line, func(t *testing.T, _ *kernels.Backends, name string) {
				checkHeld(t, op, name, unified, line)
			})
		}
	})
}

// sameParams reports whether two sizes of a line have the same parameters, and so the same plan.
func sameParams[P any](op *kernels.Op[P], line kernels.Line, a, b int) bool {
	return reflect.DeepEqual(op.Params(line.At(a)), op.Params(line.At(b)))
}

// onGPUs calls f with every implementation on the GPUs of the given backends.
func onGPUs[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, unified bool, line kernels.Line,
	f func(t *testing.T, b *kernels.Backends, name string)) {
	for _, i := range op.CaseOf(b, line).Implementations {
		if i.Processor == kernels.GPU && i.Missing() == nil {
			t.Run(fmt.Sprintf("%s,unified=%v", i.Name, unified), func(t *testing.T) { f(t, b, i.Name) })
		}
	}
}

// spoilers change the inputs of the longer calls. A result that depends on what these calls leave in memory differs with one
// of the spoilers.
var spoilers = []func(x []float32){
	func(x []float32) { set(x, float32(math.NaN())) },
	func(x []float32) { scale(x, 3) },
}

// checkAfterLonger makes long calls, and then shorter ones in the memory of the long ones.
func checkAfterLonger[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, name string, line kernels.Line, o Options) {
	all := slices.DeleteFunc(slices.Clone(awkward), func(n int) bool {
		return n > line.Axis.Max || words(op, line, n) > min(o.Emulated, 8<<10)
	})
	if len(all) < 2 {
		return
	}
	longest := all[len(all)-1]
	all = slices.DeleteFunc(all, func(n int) bool { return !sameParams(op, line, n, longest) })
	wants := map[int]kernels.Args{} // the outputs at each length, of a plan for that length alone
	for _, spoil := range spoilers {
		used := newCall(t, op, b, name, line, longest)
		spoiled := false
		for less := range min(longest, 6) { // more lengths than a plan remembers
			c := newCall(t, op, b, name, line, longest-less)
			for i, tensor := range c.tensors {
				if tensor.Role == kernels.In && (tensor.Type == kernels.Float32 || tensor.Type == kernels.Complex64) {
					spoil(c.args[i])
					spoiled = true
				}
			}
			if err := used.plan.Run(c.shape, c.args); err != nil {
				t.Fatal(err)
			}
		}
		for k := len(all) - 2; k >= 0; k -= 1 + len(all)/6 {
			c := newCall(t, op, b, name, line, all[k])
			want, known := wants[all[k]]
			if !known {
				run(t, c)
				want = cloneOutputs(c)
				wants[all[k]] = want
			}
			for i, tensor := range c.tensors {
				if tensor.Role == kernels.Out {
					set(c.args[i], canary)
				}
			}
			if err := used.plan.Run(c.shape, c.args); err != nil {
				t.Fatal(err)
			}
			for i, tensor := range c.tensors {
				if tensor.Role == kernels.Out && !sameBits(want[i], c.args[i]) {
					t.Errorf("%s=%d: %s is another one after calls of %d", line.Axis.Name, all[k], tensor.Name, longest)
				}
			}
			c.checkGuards(t, name)
			c.plan.Close()
		}
		if !spoiled {
			return // the other calls would be the same
		}
	}
}

// checkHeld counts the memory and the recordings of calls whose length rises by a little each time.
func checkHeld[P any](t *testing.T, op *kernels.Op[P], name string, unified bool, line kernels.Line) {
	first, lengths := 1000, 2000
	step := 5
	if words(op, line, first+lengths) > 64<<10 {
		first, lengths, step = 50, 100, 1
	}
	if first+lengths > line.Axis.Max {
		return
	}
	last := line.At(first + lengths)
	var room kernels.Args // for the tensors of every call, because new memory takes longer than most calls
	call := func(plan *kernels.Plan[P], s kernels.Shape) {
		var args kernels.Args
		for i, tensor := range op.IO(op.Params(last), s) {
			room[i] = slices.Grow(room[i][:0], tensor.Len())
			args[i] = room[i][:tensor.Len()]
			clear(args[i])
		}
		if err := plan.Run(s, args); err != nil {
			t.Fatal(err)
		}
	}
	var alone Usage // of the length that costs most
	for n := first; n <= first+lengths; n += lengths / 20 {
		b, one := AccountBackends(unified)
		plan, err := kernels.NewPlanOf(b, op, op.Params(last), name)
		if err != nil {
			t.Fatal(err)
		}
		call(plan, line.At(n))
		use := one.Usage()
		alone.Most, alone.Fills, alone.Recordings = max(alone.Most, use.Most), max(alone.Fills, use.Fills), max(alone.Recordings, use.Recordings)
		plan.Close()
	}

	b, all := AccountBackends(unified)
	plan, err := kernels.NewPlanOf(b, op, op.Params(last), name)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	for i := 0; i < lengths; i += step {
		call(plan, line.At(first+i))
	}
	use := all.Usage()
	// A plan remembers four shapes, and the memory of each is a little larger than needed.
	if most := 8 * alone.Most; use.Most > most {
		t.Errorf("%d lengths take %d bytes; want at most %d, of which one alone takes %d", lengths/step, use.Most, most, alone.Most)
	}
	// The memory of each of the four shapes grows by at least a fifth at a time.
	growth := math.Log2(float64(words(op, line, first+lengths)) / float64(words(op, line, first)))
	if most := 4 * alone.Fills * int(2+math.Ceil(4*growth)); use.Fills > most {
		t.Errorf("%d lengths make new memory %d times; want at most %d, where one length does %d times", lengths/step, use.Fills, most, alone.Fills)
	}
	if most := 4 * alone.Recordings; use.Recordings > most {
		t.Errorf("%d lengths keep %d recordings; want at most %d", lengths/step, use.Recordings, most)
	}
}
