package gpu

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"crossover/gpu/msl"
)

// Macro is a preprocessor definition that specialises a text.
type Macro struct {
	Name  string
	Value string
}

// Source is a kernel text and the macros to compile it with. The same source is compiled once a device.
type Source struct {
	Name   string // for messages: "fft.metal"
	Text   string
	Macros []Macro
}

// Define returns the source with one more macro, its value printed as Go prints it.
func (s Source) Define(name string, value any) Source {
	s.Macros = append(s.Macros[:len(s.Macros):len(s.Macros)], Macro{name, fmt.Sprint(value)})
	return s
}

// sourceKey tells sources apart. It is made at every launch plan, so it does not copy the text.
type sourceKey struct{ name, text, macros string }

func (s Source) key() sourceKey {
	var b strings.Builder
	for _, m := range s.Macros {
		// No compiler takes a NUL, so names and values hold none.
		b.WriteString(m.Name)
		b.WriteByte(0)
		b.WriteString(m.Value)
		b.WriteByte(0)
	}
	return sourceKey{s.Name, s.Text, b.String()}
}

// Device is a GPU that launch plans run on.
type Device struct {
	driver Driver
	facts  Facts
	pool   memoryPool
	shared sharedRanges
	life   lifetime

	mu       sync.Mutex
	programs map[sourceKey]*program
}

// program is a source that has been compiled, or the reason why it could not be.
type program struct {
	once      sync.Once
	library   Library
	functions []msl.Function
	err       error

	mu      sync.Mutex
	kernels map[string]*Kernel
}

// assumedCores is the number of cores that launch plans go by if the driver does not know the number. One of the middle
// Apple chips has as many. With too high a number, a small GPU gets a few more threadgroups than it runs at once. With
// too low a number, cores stay idle.
const assumedCores = 16

// NewDevice returns the device of a driver. Programs use [Backend.Open]; tests bring drivers of their own.
func NewDevice(d Driver) (*Device, error) {
	facts := d.Facts()
	if facts.Cores < 1 {
		facts.Cores = assumedCores
	}
	if facts.SIMDWidth != 32 {
		return nil, fmt.Errorf("gpu: %s runs %d threads in step; the kernels are written for 32", facts.Name, facts.SIMDWidth)
	}
	facts.MostThreadgroupBytes = max(facts.MostThreadgroupBytes, facts.ThreadgroupBytes)
	device := &Device{driver: d, facts: facts, programs: map[sourceKey]*program{}}
	device.pool.allocate, device.pool.largest = d.Allocate, facts.MaxBufferBytes
	return device, nil
}

// Facts returns what the driver says of the device, as far as launch plans go by it. If the driver does not know the
// number of cores, Facts holds an assumed one, not 0. A record of the machine asks the driver itself.
func (d *Device) Facts() Facts { return d.facts }

// Driver returns what the platform's package made, for the capabilities that only some platforms have, such as
// [FFT].
func (d *Device) Driver() Driver { return d.driver }

// Memory returns what the device's buffer pool holds.
func (d *Device) Memory() PoolUse { return d.pool.report() }

// Trim gives memory that no plan uses back to the system, and returns how many bytes that was.
func (d *Device) Trim() int64 { return d.pool.trim() }

// Forget drops every compiled program that no plan holds, on disk too. After that the next plan is as cold as the first
// one.
func (d *Device) Forget() {
	d.mu.Lock()
	d.programs = map[sourceKey]*program{}
	d.mu.Unlock()
	d.driver.Forget()
}

// Kernel is a compiled kernel with its signature.
type Kernel struct {
	device   *Device
	source   string
	function msl.Function
	pipeline Pipeline
}

// MaxThreads is how many threads of the kernel fit into a threadgroup of the device.
func (k *Kernel) MaxThreads() int { return k.pipeline.MaxThreads() }

// Kernel returns the kernel of a name from a source, compiling the source when it is new. It fails with a
// *[CompileError] where the compiler does.
func (d *Device) Kernel(src Source, name string) (*Kernel, error) {
	if err := d.hold(); err != nil {
		return nil, err
	}
	defer d.letGo()
	key := src.key()
	d.mu.Lock()
	p := d.programs[key]
	if p == nil {
		p = &program{kernels: map[string]*Kernel{}}
		d.programs[key] = p
	}
	d.mu.Unlock()
	p.once.Do(func() {
		if p.functions, p.err = parse(src.Text); p.err != nil {
			p.err = fmt.Errorf("%s: %w", src.Name, p.err)
			return
		}
		p.library, p.err = d.driver.Compile(src, p.functions)
	})
	if p.err != nil {
		d.forgetFailure(key, p)
		return nil, p.err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.kernels[name]; k != nil {
		return k, nil
	}
	for i := range p.functions {
		if p.functions[i].Name != name {
			continue
		}
		pipeline, err := p.library.Pipeline(&p.functions[i])
		if err != nil {
			return nil, fmt.Errorf("%s: kernel %s: %w", src.Name, name, err)
		}
		k := &Kernel{device: d, source: src.Name, function: p.functions[i], pipeline: pipeline}
		p.kernels[name] = k
		return k, nil
	}
	return nil, fmt.Errorf("%s: there is no kernel %q", src.Name, name)
}

// parse returns the kernels of a text. It reads a text once in a process, because texts are constants that are compiled with
// several macros and for several devices.
func parse(text string) ([]msl.Function, error) {
	once, known := parsed.Load(text)
	if !known {
		once, _ = parsed.LoadOrStore(text, sync.OnceValues(func() ([]msl.Function, error) { return msl.Parse(text) }))
	}
	return once.(func() ([]msl.Function, error))()
}

var parsed sync.Map // of texts, to functions that parse them once

// forgetFailure drops a program that could not be compiled for a reason other than its text, such as a full disk. The
// next attempt may succeed.
func (d *Device) forgetFailure(key sourceKey, p *program) {
	if compile := (*CompileError)(nil); errors.As(p.err, &compile) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.programs[key] == p {
		delete(d.programs, key)
	}
}

// Transform is a batch of Fourier transforms in FP32, unscaled, of rows that lie one after the other.
type Transform struct {
	N, Batch int  // values of a row, and rows
	Complex  bool // N complex values of a row become N others; otherwise N real values become N/2+1 complex ones

	// Inverse is the other way, times N. The imaginary parts of value 0 of a row that becomes real must then be 0, and those of
	// value N/2 if N is even.
	Inverse bool
}

// FFT is a driver that has a vendor's FFT.
type FFT interface {
	// NewFFT readies a transform from src to dst. A transform to real values may overwrite src. If it is complex, dst may be src.
	NewFFT(dst, src Region, t Transform) (External, error)
	// FFTMissing returns nil where there is one, else what is missing.
	FFTMissing() error
	// FFTVersion names the library and its version.
	FFTVersion() string
}

// FFTCompiler is an FFT that compiles something for a transform. CompileFFT does so, and NewFFT then need not.
type FFTCompiler interface {
	FFT
	CompileFFT(t Transform) error
}

// GEMM is a driver that has a vendor's matrix multiplication.
type GEMM interface {
	// NewProduct readies a product of matrices.
	NewProduct(p Product) (External, error)
	// GEMMMissing returns nil where there is one, else what is missing.
	GEMMMissing() error
	// GEMMVersion names the library and its version.
	GEMMVersion() string
}

// Product is C = Alpha·op(A)·op(B) + Beta·C in FP32, row-major without gaps. op(A) is M×K, op(B) is K×N and C is M×N. op(A) is
// the transpose of A, which then is K×M, if TransposeA is set; likewise op(B). C is not read if Beta is 0.
type Product struct {
	C, A, B                Region
	M, N, K                int
	TransposeA, TransposeB bool
	Alpha, Beta            float32
}

// Products is a driver whose vendor's library also has forms of products that no operation uses. Our kernels are compared with
// them.
type Products interface {
	GEMM
	// NewProducts readies count products of one form. The matrices of C lie one after the other, and so do those of A and B.
	NewProducts(p Product, count int) (External, error)
	// NewVectorProduct readies y = A·x in FP32. A is rows×columns, row-major without gaps.
	NewVectorProduct(y, a, x Region, rows, columns int) (External, error)
}

// Floor is a driver that can say how fast its system launches anything at all.
type Floor interface {
	// NewFloors readies the system's own ways to launch a kernel that does nothing and to wait for it. They must be
	// used on the operating system's thread that called NewFloors: see runtime.LockOSThread. release ends them.
	NewFloors() (floors []LaunchFloor, release func(), err error)
}

// LaunchFloor is one way of launching a kernel and waiting for it, with nothing around the system's own calls.
type LaunchFloor struct {
	Name          string // "cuLaunchKernel"
	LaunchAndWait func() error
}
