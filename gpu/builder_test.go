package gpu

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestBuilderMistakes(t *testing.T) {
	_, device := newFake(t, false)
	_, other := newFake(t, false)
	for _, c := range []struct {
		name  string
		build func(b *Builder)
		want  string
	}{
		{"nothing", func(b *Builder) {}, "without kernels"},
		{"no elements", func(b *Builder) { b.Input(Float, 0) }, "a buffer of 0 elements"},
		{"negative", func(b *Builder) { b.Output(Float, -1) }, "a buffer of -1 elements"},
		{"too large", func(b *Builder) { b.Scratch(Float4, 1<<24+1) }, "takes at most 268435456"},
		{"overflow", func(b *Builder) { b.Scratch(Float4, math.MaxInt) }, "takes at most 268435456"},
		{"no constants", func(b *Builder) { b.Constant(Float, nil) }, "a buffer of 0 elements"},
		{"half a constant", func(b *Builder) { b.Constant(Float2, make([]float32, 3)) }, "12 bytes are no whole number of float2"},
		{"unknown kernel", func(b *Builder) { b.Kernel(fakeSource, "nothing") }, `fake.metal: there is no kernel "nothing"`},
		{"no pipeline", func(b *Builder) { b.Kernel(fakeSource, "unlinkable") }, "fake.metal: kernel unlinkable: no such symbol"},
		{"outside of the dialect", func(b *Builder) {
			b.Kernel(Source{Name: "half.metal", Text: "kernel void k(device half* y [[buffer(0)]]) {}"}, "k")
		}, "half.metal: line 1: kernel k: y has type half"},
		{"no kernel", func(b *Builder) { b.Dispatch(nil, one(1), one(1)) }, "without a kernel"},
		{"kernel of another device", func(b *Builder) {
			k, err := other.Kernel(fakeSource, "copy")
			if err != nil {
				panic(err)
			}
			b.Dispatch(k, one(1), one(1))
		}, "another device's"},
		{"too few arguments", dispatch("copy", func(b *Builder) []Argument { return []Argument{b.Output(Float, 1)} }),
			"fake.metal: kernel copy: 1 arguments; want 3"},
		{"too many arguments", dispatch("pairs", func(b *Builder) []Argument {
			return []Argument{b.Output(Float2, 1), Values(1, float32(1)), Values(1)}
		}), "3 arguments; want 2"},
		{"wrong order", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), Values(1), b.Input(Float, 1)}
		}), "argument 1 (x): a value; want a buffer of float"},
		{"buffer for a value", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), b.Input(Float, 1), b.Input(Uint, 1)}
		}), "argument 2 (n): a buffer; want a value of type uint"},
		{"wrong type", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float2, 1), b.Input(Float, 1), Values(1)}
		}), "argument 0 (y): a buffer of float2; want float"},
		{"wrong type of the same size", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), b.Input(Uint, 1), Values(1)}
		}), "argument 1 (x): a buffer of uint; want float"},
		{"value of a wrong size", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), b.Input(Float, 1), Values(1, 2)}
		}), "argument 2 (n): a value of 8 bytes; want uint of 4"},
		{"no threadgroup memory", sharing(0), "argument 1 (a): 0 bytes of threadgroup memory; want a multiple of 16"},
		{"negative threadgroup memory", sharing(-16), "-16 bytes of threadgroup memory"},
		{"half a unit of threadgroup memory", sharing(24), "24 bytes of threadgroup memory; want a multiple of 16"},
		{"too much threadgroup memory", sharing(32<<10 + 16), "argument 1 (a): 32784 bytes of threadgroup memory; fake has 32768"},
		{"buffer for threadgroup memory", dispatch("sharing", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), b.Output(Float4, 1)}
		}), "argument 1 (a): a buffer or a value; want threadgroup memory"},
		{"value for threadgroup memory", dispatch("sharing", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), Values(64)}
		}), "argument 1 (a): a buffer or a value; want threadgroup memory"},
		{"threadgroup memory for a buffer", dispatch("sharing", func(b *Builder) []Argument {
			return []Argument{Threadgroup(16), Threadgroup(16)}
		}), "argument 0 (y): threadgroup memory; want a buffer of float"},
		{"threadgroup memory for a value", dispatch("pairs", func(b *Builder) []Argument {
			return []Argument{b.Output(Float2, 1), Threadgroup(16)}
		}), "argument 1 (p): threadgroup memory; want a value of Params"},
		{"struct without a field", dispatch("pairs", func(b *Builder) []Argument {
			return []Argument{b.Output(Float2, 1), Values(1)}
		}), "argument 1 (p): a value of 4 bytes; want Params of 8"},
		{"no value", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), b.Input(Float, 1), Values()}
		}), "a value of 0 bytes"},
		{"negative value", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), b.Input(Float, 1), Values(-1)}
		}), "argument 2 (n): -1; want a value that fits"},
		{"large value", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), b.Input(Float, 1), Values(1 << 32)}
		}), "4294967296; want a value that fits"},
		{"value of a type that no kernel has", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), b.Input(Float, 1), Values(1.0)}
		}), "a value of type float64"},
		{"nil", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), nil, Values(1)}
		}), "argument 1 (x): nothing"},
		{"nil buffer", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 1), (*Buffer)(nil), Values(1)}
		}), "argument 1 (x): nothing"},
		{"input that is written", dispatch("copy", func(b *Builder) []Argument {
			x := b.Input(Float, 1)
			return []Argument{x, x, Values(1)}
		}), "argument 0 (y): an input"},
		{"constant that is written", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Constant(Float, []float32{1}), b.Input(Float, 1), Values(1)}
		}), "argument 0 (y): a constant"},
		{"foreign buffer", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{device.NewPlan().Output(Float, 1), b.Input(Float, 1), Values(1)}
		}), "argument 0 (y): a buffer of another plan"},
		{"foreign buffer from an element on", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{device.NewPlan().Output(Float, 9).At(3), b.Input(Float, 1), Values(1)}
		}), "a buffer of another plan"},
		{"offset at the end", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 4).At(4), b.Input(Float, 1), Values(1)}
		}), "offset 16 in a buffer of 16 bytes"},
		{"offset before the beginning", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 4).At(-1), b.Input(Float, 1), Values(1)}
		}), "offset -4"},
		{"offset that overflows", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 4).At(math.MaxInt / 2), b.Input(Float, 1), Values(1)}
		}), "offset"},
		{"odd number for pairs", dispatch("pairs", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 3).As(Float2), Values(1, float32(1))}
		}), "a buffer of 12 bytes; want a multiple of 8"},
		{"no whole number of structs", dispatch("tables", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 3).As("Params"), b.ConstantUints([]uint32{1})}
		}), "a buffer of 12 bytes; want a multiple of 8"},
		{"no threadgroups", grid(one(0), one(1)), "0×1×1 threadgroups"},
		{"no threads", grid(one(1), Size{X: 1, Y: 1}), "1×1×0 threads"},
		{"negative threads", grid(one(1), Size{X: -1, Y: -1, Z: 1}), "-1×-1×1 threads"},
		{"too many threads", grid(one(1), one(513)), "513×1×1 threads in a threadgroup; want at most 512"},
		{"too many threads in three dimensions", grid(one(1), Size{X: 8, Y: 8, Z: 9}), "8×8×9 threads"},
		{"threads that overflow", grid(one(1), Size{X: 1 << 32, Y: 1 << 32, Z: 1}), "want at most 512"},
		{"too deep", grid(one(1), Size{X: 1, Y: 1, Z: 65}), "at most 64 in the third dimension"},
		{"too wide a grid", grid(one(1<<31), one(1)), "threadgroups; want at most"},
		{"too high a grid", grid(Size{X: 1, Y: 1 << 16, Z: 1}, one(1)), "threadgroups; want at most"},
		{"positions that wrap", grid(one(1<<23), one(512)), "whose positions are uints"},
		{"copy of another size", func(b *Builder) { b.Copy(b.Output(Float, 1), b.Input(Float, 2)) }, "a copy of 8 bytes to a buffer of 4"},
		{"copy to an input", func(b *Builder) { b.Copy(b.Input(Float, 1), b.Output(Float, 1)) }, "a copy to a constant or an input"},
		{"copy to a constant", func(b *Builder) { b.Copy(b.Constant(Float, []float32{1}), b.Output(Float, 1)) }, "a copy to a constant or an input"},
		{"copy to itself", func(b *Builder) { s := b.Scratch(Float, 1); b.Copy(s, s) }, "a copy of a buffer to itself"},
		{"copy from another plan", func(b *Builder) { b.Copy(b.Output(Float, 1), device.NewPlan().Input(Float, 1)) }, "belongs to another plan"},
		{"copy of nothing", func(b *Builder) { b.Copy(b.Output(Float, 1), nil) }, "belongs to another plan"},
		{"first mistake", func(b *Builder) { b.Input(Float, 0); b.Output(Float, -1) }, "a buffer of 0 elements"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := device.NewPlan()
			c.build(b)
			p, err := b.Build()
			if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v; want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %v", err)
			}
			if use := device.Memory(); use.Used != 0 {
				t.Errorf("%d bytes are in use", use.Used)
			}
		})
	}
}

// dispatch describes a plan of one kernel with the given arguments.
func dispatch(kernel string, arguments func(b *Builder) []Argument) func(*Builder) {
	return func(b *Builder) { b.Dispatch(b.Kernel(fakeSource, kernel), one(1), one(1), arguments(b)...) }
}

// sharing describes a plan of the kernel that has threadgroup memory.
func sharing(bytes int) func(*Builder) {
	return dispatch("sharing", func(b *Builder) []Argument { return []Argument{b.Output(Float, 1), Threadgroup(bytes)} })
}

// grid describes a plan of one kernel with the given extents.
func grid(groups, threads Size) func(*Builder) {
	return func(b *Builder) {
		b.Dispatch(b.Kernel(fakeSource, "copy"), groups, threads, b.Output(Float, 1), b.Input(Float, 1), Values(1))
	}
}

func TestBuilderTakes(t *testing.T) {
	_, device := newFake(t, false)
	for _, c := range []struct {
		name  string
		build func(b *Builder)
	}{
		{"buffers and a value", grid(one(1), one(1))},
		{"the largest grid", grid(Size{X: 1<<31 - 1, Y: 1<<16 - 1, Z: 1<<16 - 1}, one(2))},
		{"the most threads", grid(one(1), Size{X: 2, Y: 4, Z: 64})},
		{"offset", dispatch("copy", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 4).At(3), b.Constant(Float, []float32{1, 2}).At(1), Values(uint32(1))}
		})},
		{"another type", dispatch("pairs", func(b *Builder) []Argument {
			return []Argument{b.Output(Float, 4).As(Float2), Values(int32(-1), float32(1))}
		})},
		{"structs", dispatch("tables", func(b *Builder) []Argument {
			return []Argument{b.Scratch(Float, 4).As("Params"), b.ConstantUints([]uint32{1})}
		})},
		{"threadgroup memory", sharing(16)},
		{"all threadgroup memory", sharing(32 << 10)},
		{"state, read and written", dispatch("copy", func(b *Builder) []Argument {
			s := b.State(Float, 4)
			return []Argument{s, s, Values(4)}
		})},
		{"copy", func(b *Builder) { b.Copy(b.Output(Float, 2), b.Constant(Float2, []float32{1, 2})) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := device.NewPlan()
			c.build(b)
			p, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			p.Close()
		})
	}
}

// The code for a buffer that a kernel reads and writes by two arguments is readied when the dispatch is described. Otherwise the
// first call would compile it.
func TestOverlapIsReadiedAhead(t *testing.T) {
	driver, device := newFake(t, false)
	refused := errors.New("refused")
	for _, c := range []struct {
		name     string
		describe func(b *Builder) []Argument
		fail     error
		overlaps int
	}{
		{"two buffers", func(b *Builder) []Argument { return []Argument{b.Output(Float, 4), b.Input(Float, 4), Values(1)} }, nil, 0},
		{"one buffer", func(b *Builder) []Argument {
			x := b.Scratch(Float, 4)
			return []Argument{x, x, Values(1)}
		}, nil, 1},
		{"two places in a buffer", func(b *Builder) []Argument {
			x := b.Scratch(Float, 4)
			return []Argument{x, x.At(2), Values(1)}
		}, nil, 1},
		{"code that cannot be compiled", func(b *Builder) []Argument {
			x := b.Scratch(Float, 4)
			return []Argument{x, x, Values(1)}
		}, refused, 1},
	} {
		driver.overlaps, driver.failOverlap = 0, c.fail
		b := device.NewPlan()
		b.Dispatch(b.Kernel(fakeSource, "copy"), one(1), one(1), c.describe(b)...)
		if driver.overlaps != c.overlaps || !errors.Is(b.Err(), c.fail) {
			t.Errorf("%s: readied %d times, error %v; want %d, %v", c.name, driver.overlaps, b.Err(), c.overlaps, c.fail)
		}
	}
}

// compiling is a library that notes what it compiles.
type compiling struct {
	FFT
	asked []Transform
	err   error
}

func (l *compiling) CompileFFT(t Transform) error {
	l.asked = append(l.asked, t)
	return l.err
}

// Compile compiles what the libraries of vendors need, and a plan with a mistake compiles nothing.
func TestCompileTransforms(t *testing.T) {
	_, device := newFake(t, false)
	library, plain := &compiling{}, struct{ FFT }{}
	b := device.NewPlan()
	x, y := b.Input(Float, 8), b.Output(Float2, 5)
	b.FFT(plain, y, x, Transform{N: 8, Batch: 1})
	b.FFT(library, y, x, Transform{N: 8, Batch: 1})
	if err := b.Compile(); err != nil || len(library.asked) != 1 || library.asked[0] != (Transform{N: 8, Batch: 1}) {
		t.Errorf("error %v, compiled %+v", err, library.asked)
	}
	library.err = errors.New("no compiler")
	if err := b.Compile(); !errors.Is(err, library.err) {
		t.Errorf("a compiler's error became %v", err)
	}
	b.Refuse(errors.New("too large"))
	if err := b.Compile(); err == nil || len(library.asked) != 2 {
		t.Errorf("a refused plan was compiled: error %v", err)
	}
}

func TestTooLargeIsOutOfMemory(t *testing.T) {
	_, device := newFake(t, false)
	b := device.NewPlan()
	b.Scratch(Float, 1<<26+1)
	if _, err := b.Build(); !errors.Is(err, ErrOutOfMemory) {
		t.Error(err)
	}
}

func TestBuiltTwice(t *testing.T) {
	_, device := newFake(t, false)
	b := device.NewPlan()
	grid(one(1), one(1))(b)
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := b.Build(); err == nil || !strings.Contains(err.Error(), "built twice") {
		t.Error(err)
	}
	if err := p.Run(); err != nil {
		t.Error(err)
	}
}

func TestDefine(t *testing.T) {
	base := Source{Name: "a"}.Define("A", 1)
	base.Macros = append(make([]Macro, 0, 4), base.Macros...) // spare capacity, which Define must not write to
	b, c := base.Define("B", 2), base.Define("C", "x + 1")
	if len(base.Macros) != 1 || b.Macros[1] != (Macro{"B", "2"}) || c.Macros[1] != (Macro{"C", "x + 1"}) {
		t.Errorf("%v %v %v", base, b, c)
	}
	keys := map[sourceKey]bool{}
	for _, s := range []Source{base, b, c, {Name: "a"}, {Name: "a", Text: "1"}, {Name: "a1"}, Source{Name: "a"}.Define("A", `1 "B" 2`)} {
		keys[s.key()] = true
	}
	if len(keys) != 7 {
		t.Errorf("%d keys of 7 sources", len(keys))
	}
}
