package gpu

import (
	"errors"
	"fmt"
	"time"

	"crossover/gpu/msl"
)

// Facts is a device as far as launch plans depend on it.
type Facts struct {
	API              string // name of the driver's API: "metal", "cuda"
	Name             string // "NVIDIA H200", "Apple M3 Max"
	Driver           string // "CUDA 13.0, driver 580.159.04": the versions of what runs the kernels
	Cores            int    // multiprocessors or GPU cores; 0 where a driver does not know, see Device.Facts
	MemoryBytes      int64  // that buffers can take
	Unified          bool   // whether device and host share memory, so that nothing is copied
	SIMDWidth        int    // threads that run in step; the kernels assume 32
	MaxThreads       int    // in a threadgroup
	ThreadgroupBytes int    // of threadgroup memory that a kernel may declare

	// MostThreadgroupBytes is how much threadgroup memory a kernel may have if it takes some as an argument: what it declares and
	// the argument together. A driver that does not know says 0; a device then has ThreadgroupBytes.
	MostThreadgroupBytes int

	Registers      int    // of 32 bits that the threads of a threadgroup may have together; 0 where a driver does not know
	MaxBufferBytes int64  // 0 where there is no limit but the memory's
	Families       string // of features that the device says it has: "Apple7 Mac2 Metal3"; "" where the API has none
	SIMDMatrices   bool   // whether kernels may use Metal's matrices of a simdgroup
	Lacks          string // what the kernels need and the device does not have, in one line; "" where they can run
}

// Driver is what a platform implements. Package gpu checks what a plan asks for before a driver sees it. A driver
// reports the system's errors as one line, wrapping [ErrOutOfMemory] and [ErrLost] where they apply. Every method may
// be called by any goroutine.
type Driver interface {
	Facts() Facts
	// Compile makes a library of a text. It fails with a *[CompileError] where the compiler does.
	Compile(src Source, functions []msl.Function) (Library, error)
	// Allocate returns memory of at least 1 byte. Shared memory starts at the beginning of a page and has a host side.
	Allocate(bytes int, storage Storage) (Memory, error)
	// Record readies commands, which run in order, each one seeing what the ones before it wrote.
	Record(commands []Command) (Recording, error)
	// Forget drops what Compile keeps beyond the libraries that are in use, on disk too, so that the next Compile is
	// as cold as the first one ever.
	Forget()
	// Close gives back what the driver holds of the system, such as its context. Memory and recordings are gone by then, and nothing
	// is asked of the driver afterwards. Libraries and pipelines may still be reachable.
	Close()
}

// Library holds the compiled kernels of a text.
type Library interface {
	// Pipeline returns the kernel of a name that the text declares.
	Pipeline(f *msl.Function) (Pipeline, error)
}

// Pipeline is a kernel that is ready to run.
type Pipeline interface {
	// MaxThreads is how many threads of this kernel fit into a threadgroup.
	MaxThreads() int
}

// OverlapPipeline is a pipeline with other code for a dispatch in which a buffer that the kernel writes is another argument
// too. A builder readies that code when such a dispatch is described, so that no call compiles it.
type OverlapPipeline interface {
	Pipeline
	ReadyOverlap() error
}

// Storage says which processors can read and write a buffer.
type Storage int

// The storages.
const (
	Private Storage = iota // the device alone
	Shared                 // device and host: pinned memory, or unified memory
)

// Memory is a piece of memory that the device sees.
type Memory interface {
	// Bytes is the size that was asked for or more.
	Bytes() int
	// Host is the memory as the host sees it; nil where it is private.
	Host() []byte
	// Fill sets every byte, and returns when that is done.
	Fill(value byte) error
	// Free gives the memory back. No recording may use it any more.
	Free()
}

// Size is an extent in up to three dimensions, each at least 1.
type Size struct{ X, Y, Z int }

// Count returns the product of the dimensions.
func (s Size) Count() int { return s.X * s.Y * s.Z }

// CommandKind says what a command does.
type CommandKind int

// The kinds of commands.
const (
	Dispatch CommandKind = iota // run a kernel
	Copy                        // copy Bytes from Source to Target, of which one is shared and the other one private, or both private
	Encode                      // let a vendor's library append its own work
)

// Command is one step of a recording, already checked.
type Command struct {
	Kind CommandKind

	Pipeline        Pipeline // of a dispatch
	Groups, Threads Size     // threadgroups in the grid, threads in each
	Arguments       []Binding

	Target, Source Region // of a copy
	Bytes          int

	External External // of an encode
}

// Region is a place in memory.
type Region struct {
	Memory Memory
	Offset int // in bytes
	Bytes  int // from there to the end of the plan's buffer; the memory may be larger
}

// Binding is one argument of a dispatch: memory, or where Memory is nil a value or threadgroup memory.
type Binding struct {
	Region
	Value       []byte
	Threadgroup int // bytes, of threadgroup memory; else 0
}

// External is work of a vendor's library. Encode appends the work to target: a CUstream on CUDA, an MTLCommandBuffer on
// Metal. Encode is called at every submission, or only once by a driver that replays what was appended. It must not
// allocate.
type External interface {
	Encode(target uintptr) error
	Close()
}

// Recording is a list of commands that can be submitted again and again. At most one submission is in flight.
type Recording interface {
	// Submit hands the commands to the device and returns. If timed is set, Wait returns the times. If Submit fails,
	// none of the commands run any more, and there is nothing to wait for.
	Submit(timed bool) error
	// Wait returns when the host can read what the commands wrote. Times are those of a timed submission, else zero.
	// After an error neither results nor times can be trusted. Either way, none of the commands run any more.
	Wait() (Times, error)
	// Close releases the recording, which must not be in flight.
	Close()
}

// Times of one submission, as the device and the host saw it.
type Times struct {
	Encode time.Duration // host: from Submit's begin to its return
	Wall   time.Duration // host: from Submit's begin to Wait's return
	Span   time.Duration // device: from the first command's start to the last one's end
	Busy   time.Duration // device: sum over the kernels alone; 0 where the device does not tell
	Gaps   time.Duration // device: sum of the pauses between kernels; 0 with one kernel or where it does not tell
	Kernel int           // how many kernels and library calls Busy is the sum of
}

// Errors that a driver's errors wrap.
var (
	ErrOutOfMemory = errors.New("out of GPU memory")
	ErrLost        = errors.New("the GPU was lost")
)

// CompileError is a compiler's message about a kernel text.
type CompileError struct {
	Source  string // the text's name: "fft.metal"
	Kernel  string // the kernel that Line lies in, "" where it lies in none
	Line    int    // in the text; 0 where the compiler names none
	Message string // the first error, one line
	Log     string // everything that the compiler said
}

func (e *CompileError) Error() string {
	place := e.Source
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, e.Line)
	}
	if e.Kernel != "" {
		place += ": kernel " + e.Kernel
	}
	return place + ": " + e.Message
}
