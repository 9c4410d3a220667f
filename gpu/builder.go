package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"crossover/gpu/msl"
)

// Type is the type of a buffer's elements, as the kernel text names it.
type Type string

// The types of elements.
const (
	Float  Type = "float"
	Float2 Type = "float2" // complex values: real and imaginary part
	Float4 Type = "float4"
	Uint   Type = "uint"
	Int    Type = "int"
)

func (t Type) bytes() int {
	switch t {
	case Float2:
		return 8
	case Float4:
		return 16
	}
	return 4
}

// role is what a plan does with a buffer.
type role int

const (
	scratch role = iota
	constant
	input
	output
	inputOutput
	kept
)

// Buffer is memory of a plan: device memory, and for an input or an output the host's side of it.
type Buffer struct {
	role     role
	elements Type
	bytes    int
	capacity int     // bytes of the memory that it has, once it has some: at least bytes
	storage  Storage // of device
	device   Memory
	host     Memory // nil for scratch memory and constants; device itself where memory is unified
	initial  []byte // of a constant
	offset   int    // in device, in bytes: above 0 while commands are bound to a caller's shared memory
}

// isHosted reports whether the host writes or reads the buffer.
func (b *Buffer) isHosted() bool { return b.role == input || b.role == output || b.role == inputOutput }

// Floats returns the host's side of an input or an output, two values for an element of type Float2. A write to an
// input counts from the next submission on. An output is valid after Wait. The slice must not be used after the plan
// was closed. Before Build, and for other buffers, Floats returns nil.
func (b *Buffer) Floats() []float32 {
	if b.host == nil {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b.host.Host()))), b.bytes/4)
}

// Uints is Floats for elements that are integers: the same memory as 32-bit words.
func (b *Buffer) Uints() []uint32 {
	if b.host == nil {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b.host.Host()))), b.bytes/4)
}

// Argument is what a kernel is given: a *Buffer, a place in one (see Buffer.At), a value (see Values), or threadgroup memory (see
// Threadgroup).
type Argument interface{ argument() argument }

type argument struct {
	buffer      *Buffer
	elements    Type
	offset      int // bytes
	value       []byte
	threadgroup int   // bytes
	err         error // of a value that no kernel takes
}

func (b *Buffer) argument() argument  { return argument{buffer: b, elements: b.elements} }
func (a argument) argument() argument { return a }

// At is the buffer from its element i onwards.
func (b *Buffer) At(i int) Argument {
	return argument{buffer: b, elements: b.elements, offset: i * b.elements.bytes()}
}

// As is the buffer seen as elements of another type. The buffer's size must be a multiple of that type's size.
func (b *Buffer) As(t Type) Argument { return argument{buffer: b, elements: t} }

// Values is what the kernel takes as `constant T&`: one value, or the fields of a struct in their order, each a uint32,
// an int32, a float32 or a non-negative int that fits into 32 bits. A plan with any other value does not build.
func Values(values ...any) Argument {
	a := argument{value: make([]byte, 0, 4*len(values))}
	for _, v := range values {
		var word uint32
		switch v := v.(type) {
		case uint32:
			word = v
		case int32:
			word = uint32(v)
		case float32:
			word = math.Float32bits(v)
		case int:
			if v < 0 || v > math.MaxUint32 {
				a.err = fmt.Errorf("%d; want a value that fits into a uint", v)
			}
			word = uint32(v)
		default:
			a.err = fmt.Errorf("a value of type %T; want uint32, int32, float32 or int", v)
		}
		a.value = binary.LittleEndian.AppendUint32(a.value, word)
	}
	return a
}

// threadgroupUnit is what the bytes of threadgroup memory are a multiple of, as Metal wants.
const threadgroupUnit = 16

// Threadgroup is what the kernel takes as `threadgroup T* a [[threadgroup(0)]]`: bytes of memory, a multiple of 16, that the
// threads of a threadgroup share. Beside the arrays that the kernel declares there are at most [Facts].MostThreadgroupBytes. No
// call finds what an earlier one left there.
func Threadgroup(bytes int) Argument {
	a := argument{threadgroup: bytes}
	if bytes < threadgroupUnit || bytes%threadgroupUnit != 0 {
		a.err = fmt.Errorf("%d bytes of threadgroup memory; want a multiple of %d", bytes, threadgroupUnit)
	}
	return a
}

// Builder describes a plan. It keeps its first mistake, and Build returns it. So the calls before Build need no checks.
type Builder struct {
	device   *Device
	buffers  []*Buffer
	commands []command
	built    bool
	err      error
}

// command is a command whose buffers have no memory yet.
type command struct {
	kernel          *Kernel
	groups, threads Size
	arguments       []argument
	target, source  *Buffer // of a copy
	encode          func() (External, error)
	compile         func() error // what encode needs; may be nil
}

// NewPlan begins a plan.
func (d *Device) NewPlan() *Builder { return &Builder{device: d} }

// Facts returns the facts of the device that the plan will run on.
func (b *Builder) Facts() Facts { return b.device.facts }

func (b *Builder) fail(format string, arguments ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, arguments...)
	}
}

func (b *Builder) buffer(r role, t Type, n int) *Buffer {
	if n < 1 {
		b.fail("gpu: a buffer of %d elements; want at least 1", n)
		n = 1
	}
	most := b.device.facts.MaxBufferBytes
	if most == 0 {
		most = math.MaxInt64
	}
	if int64(n) > most/int64(t.bytes()) {
		b.fail("gpu: a buffer of %d × %d bytes; %s takes at most %d: %w", n, t.bytes(), b.device.facts.Name, most, ErrOutOfMemory)
		n = 1
	}
	buffer := &Buffer{role: r, elements: t, bytes: n * t.bytes()}
	b.buffers = append(b.buffers, buffer)
	return buffer
}

// Input is memory that the host writes before a call.
func (b *Builder) Input(t Type, n int) *Buffer { return b.buffer(input, t, n) }

// Output is memory that the host reads after a call.
func (b *Builder) Output(t Type, n int) *Buffer { return b.buffer(output, t, n) }

// State is memory that goes both ways at each call.
func (b *Builder) State(t Type, n int) *Buffer { return b.buffer(inputOutput, t, n) }

// Scratch is memory of the device alone. Before the first call it holds NaNs, or what an earlier plan left. Before
// every later call it holds what the last call left.
func (b *Builder) Scratch(t Type, n int) *Buffer { return b.buffer(scratch, t, n) }

// Kept is memory of the device alone that the host may write between two calls: see [Plan.Write]. Otherwise it is as scratch
// memory.
func (b *Builder) Kept(t Type, n int) *Buffer { return b.buffer(kept, t, n) }

// Constant is memory that holds values from Build on. Kernels must take it as const. values must not change until the
// plan is closed. A plan that is built over another one ([Builder.BuildOver]) need not write the same slice again.
func (b *Builder) Constant(t Type, values []float32) *Buffer {
	return b.constant(t, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values)))
}

// ConstantUints is Constant of integers.
func (b *Builder) ConstantUints(values []uint32) *Buffer {
	return b.constant(Uint, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values)))
}

func (b *Builder) constant(t Type, values []byte) *Buffer {
	buffer := b.buffer(constant, t, len(values)/t.bytes())
	if len(values)%t.bytes() != 0 {
		b.fail("gpu: %d bytes are no whole number of %s", len(values), t)
	}
	buffer.initial = values
	return buffer
}

// Refuse makes Build fail with an error: for a shape, say, that no kernel takes.
func (b *Builder) Refuse(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Err returns the error that Build would fail with: the first mistake, or the argument of Refuse.
func (b *Builder) Err() error { return b.err }

// Kernel returns a kernel of a source, compiled. It is nil after a mistake.
func (b *Builder) Kernel(src Source, name string) *Kernel {
	if b.err != nil {
		return nil
	}
	k, err := b.device.Kernel(src, name)
	if err != nil {
		b.err = err
	}
	return k
}

// Dispatch runs a kernel on groups×threads threads, after everything before it. Arguments are the kernel's buffers and
// values in the order of their indices.
func (b *Builder) Dispatch(k *Kernel, groups, threads Size, arguments ...Argument) {
	if b.err != nil {
		return
	}
	if k == nil || k.device != b.device {
		b.fail("gpu: a dispatch without a kernel, or of another device's")
		return
	}
	c := command{kernel: k, groups: groups, threads: threads}
	for _, a := range arguments {
		if buffer, ok := a.(*Buffer); a == nil || ok && buffer == nil {
			a = argument{err: errors.New("nothing; want a buffer or a value")}
		}
		c.arguments = append(c.arguments, a.argument())
	}
	if err := b.check(&c); err != nil {
		b.fail("gpu: %s: kernel %s: %w", k.source, k.function.Name, err)
		return
	}
	if p, ok := k.pipeline.(OverlapPipeline); ok && c.overlaps() {
		if err := p.ReadyOverlap(); err != nil {
			b.Refuse(err)
			return
		}
	}
	b.commands = append(b.commands, c)
}

// overlaps reports whether a buffer that the kernel writes is another argument too.
func (c *command) overlaps() bool {
	for i, p := range c.kernel.function.Arguments() {
		written := c.arguments[i].buffer
		if written == nil || p.ReadOnly {
			continue
		}
		for j := range c.arguments {
			if j != i && c.arguments[j].buffer == written {
				return true
			}
		}
	}
	return false
}

// Copy copies all of src to dst, which has its size, on the device, after everything before it.
func (b *Builder) Copy(dst, src *Buffer) {
	switch {
	case !b.owns(dst) || !b.owns(src):
		b.fail("gpu: a copy between buffers of which one belongs to another plan")
	case dst == src:
		b.fail("gpu: a copy of a buffer to itself")
	case dst.bytes != src.bytes:
		b.fail("gpu: a copy of %d bytes to a buffer of %d", src.bytes, dst.bytes)
	case dst.role == constant || dst.role == input:
		b.fail("gpu: a copy to a constant or an input")
	}
	b.commands = append(b.commands, command{target: dst, source: src})
}

// Encode appends work of a vendor's library, after everything before it. ready is called by Build, when buffers have
// their memory: see Buffer.Region.
func (b *Builder) Encode(ready func() (External, error)) {
	b.commands = append(b.commands, command{encode: ready})
}

// FFT appends a transform by a vendor's library from src to dst, after everything before it.
func (b *Builder) FFT(library FFT, dst, src *Buffer, t Transform) {
	c := command{encode: func() (External, error) { return library.NewFFT(dst.Region(), src.Region(), t) }}
	if l, ok := library.(FFTCompiler); ok {
		c.compile = func() error { return l.CompileFFT(t) }
	}
	b.commands = append(b.commands, c)
}

// Compile compiles what the vendors' libraries need. Kernels are compiled already: see Kernel.
func (b *Builder) Compile() error {
	if b.err != nil {
		return b.err
	}
	for _, c := range b.commands {
		if c.compile != nil {
			if err := c.compile(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Region returns the buffer's device memory. It may be called by what was passed to Encode, and after Build.
func (b *Buffer) Region() Region { return Region{Memory: b.device, Offset: b.offset, Bytes: b.bytes} }

// The greatest extents that every API takes. The first two are of a grid in threadgroups. The third is of a grid in
// threads, because positions are uints. The last is of a threadgroup's third dimension, in threads.
const (
	mostGroupsX   = 1<<31 - 1
	mostGroupsYZ  = 1<<16 - 1
	mostPositions = math.MaxUint32
	mostThreadsZ  = 64
)

// check tests a dispatch against the kernel's signature and the device's limits.
func (b *Builder) check(c *command) error {
	for _, s := range []struct {
		what string
		Size
	}{{"threadgroups", c.groups}, {"threads", c.threads}} {
		if s.X < 1 || s.Y < 1 || s.Z < 1 {
			return fmt.Errorf("%d×%d×%d %s; want at least 1 in each dimension", s.X, s.Y, s.Z, s.what)
		}
	}
	if c.groups.X > mostGroupsX || c.groups.Y > mostGroupsYZ || c.groups.Z > mostGroupsYZ {
		return fmt.Errorf("%d×%d×%d threadgroups; want at most %d×%d×%d", c.groups.X, c.groups.Y, c.groups.Z, mostGroupsX, mostGroupsYZ, mostGroupsYZ)
	}
	most := min(c.kernel.MaxThreads(), b.device.facts.MaxThreads)
	if t := c.threads; t.X > most || t.Y > most || t.Z > mostThreadsZ || t.Count() > most {
		return fmt.Errorf("%d×%d×%d threads in a threadgroup; want at most %d, and at most %d in the third dimension", t.X, t.Y, t.Z, most, mostThreadsZ)
	}
	if c.groups.X*c.threads.X > mostPositions {
		return fmt.Errorf("%d threadgroups of %d threads; want at most %d threads in a row, whose positions are uints", c.groups.X, c.threads.X, mostPositions)
	}
	want := c.kernel.function.Arguments()
	if len(c.arguments) != len(want) {
		return fmt.Errorf("%d arguments; want %d", len(c.arguments), len(want))
	}
	for i, p := range want {
		if err := c.arguments[i].check(b, p); err != nil {
			return fmt.Errorf("argument %d (%s): %w", i, p.Name, err)
		}
	}
	return nil
}

func (a argument) check(b *Builder, p msl.Parameter) error {
	if a.err != nil {
		return a.err
	}
	if p.Kind == msl.Threadgroup {
		switch most := b.device.facts.MostThreadgroupBytes; {
		case a.threadgroup == 0:
			return errors.New("a buffer or a value; want threadgroup memory")
		case a.threadgroup > most:
			return fmt.Errorf("%d bytes of threadgroup memory; %s has %d", a.threadgroup, b.device.facts.Name, most)
		}
		return nil
	}
	if a.threadgroup != 0 {
		return fmt.Errorf("threadgroup memory; want %s of %s", map[msl.Kind]string{msl.Value: "a value", msl.Buffer: "a buffer"}[p.Kind], p.Type)
	}
	if p.Kind == msl.Value {
		switch {
		case a.buffer != nil:
			return fmt.Errorf("a buffer; want a value of type %s", p.Type)
		case len(a.value) != p.Bytes:
			return fmt.Errorf("a value of %d bytes; want %s of %d", len(a.value), p.Type, p.Bytes)
		}
		return nil
	}
	switch {
	case a.buffer == nil:
		return fmt.Errorf("a value; want a buffer of %s", p.Type)
	case !b.owns(a.buffer):
		return errors.New("a buffer of another plan")
	case string(a.elements) != p.Type && !(p.Bytes > 0 && isStruct(p.Type)):
		return fmt.Errorf("a buffer of %s; want %s", a.elements, p.Type)
	case a.buffer.bytes%p.Bytes != 0:
		return fmt.Errorf("a buffer of %d bytes; want a multiple of %d, the size of %s", a.buffer.bytes, p.Bytes, p.Type)
	case a.offset < 0 || a.offset >= a.buffer.bytes:
		return fmt.Errorf("offset %d in a buffer of %d bytes", a.offset, a.buffer.bytes)
	case a.offset%p.Bytes != 0:
		return fmt.Errorf("offset %d; want a multiple of %d", a.offset, p.Bytes)
	case a.buffer.role == constant && !p.ReadOnly:
		return errors.New("a constant; the kernel does not promise to leave it as it is")
	case a.buffer.role == input && !p.ReadOnly:
		return errors.New("an input; the kernel does not promise to leave it as it is (want const, or State)")
	}
	return nil
}

// isStruct reports whether a type is not one of the types that buffers have.
func isStruct(t string) bool {
	switch Type(t) {
	case Float, Float2, Float4, Uint, Int:
		return false
	}
	return true
}

func (b *Builder) owns(buffer *Buffer) bool { return slices.Contains(b.buffers, buffer) }
