package dryrun

import (
	"fmt"
	"slices"
	"sync"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// GPU is a GPU that notes what it is asked for.
type GPU struct {
	API   string // the name of its implementations: "apple-10"
	Cores int    // 0 where its driver does not know

	cuda        bool // NVIDIA's, not Apple's
	threadgroup int  // bytes of threadgroup memory that a kernel may have altogether; 0 for those that it may declare

	mu         sync.Mutex
	memory     []byte // shared by all of its buffers: results are not read
	dispatches []Dispatch
}

// Dispatch is a kernel that a launch plan runs.
type Dispatch struct {
	Source          gpu.Source
	Kernel          string
	Groups, Threads gpu.Size
}

// GPUs are the smallest of Apple's chips, a usual one, a large one, and one whose driver does not know its cores.
var GPUs = []*GPU{
	{API: "apple-8", Cores: 8},
	{API: "apple-10", Cores: 10},
	{API: "apple-40", Cores: 40},
	{API: "apple-unknown"},
}

// NVIDIA are the GPUs of an H200 and of a small card.
var NVIDIA = []*GPU{
	{API: "nvidia-132", Cores: 132, cuda: true, threadgroup: 227 << 10},
	{API: "nvidia-24", Cores: 24, cuda: true, threadgroup: 99 << 10},
}

// Backends returns GPUs and NVIDIA as backends.
func Backends() []*gpu.Backend {
	var all []*gpu.Backend
	for _, g := range slices.Concat(GPUs, NVIDIA) {
		all = append(all, gpu.NewBackend(g.API, func() (gpu.Driver, error) { return driver{g}, nil }))
	}
	return all
}

// PlannedCores returns the number of cores that launch plans on the GPU go by: the driver's, or the one that package
// gpu assumes.
func (g *GPU) PlannedCores() int {
	device, err := gpu.NewDevice(driver{g})
	if err != nil {
		panic(err) // the facts are constants
	}
	return device.Facts().Cores
}

// Dispatches returns what the plans that were built since the last call dispatch, in order.
func (g *GPU) Dispatches() []Dispatch {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.dispatches
	g.dispatches = nil
	return list
}

// driver is the GPU as package gpu sees it.
type driver struct{ gpu *GPU }

// Facts are those that Metal reports of an M1 with 16 GiB, or those that CUDA reports, except for the number of cores.
func (d driver) Facts() gpu.Facts {
	if d.gpu.cuda {
		// Its memory counts as the host's, since a plan otherwise runs copies of its constants.
		return gpu.Facts{
			API: "cuda", Name: d.gpu.API, Driver: "dry run", Cores: d.gpu.Cores, MemoryBytes: 8 << 30, MaxBufferBytes: 8 << 30,
			Unified: true, SIMDWidth: 32, MaxThreads: 1024, ThreadgroupBytes: 48 << 10, MostThreadgroupBytes: d.gpu.threadgroup,
			Registers: 64 << 10,
		}
	}
	return gpu.Facts{
		API: "metal", Name: d.gpu.API, Driver: "dry run", Cores: d.gpu.Cores,
		MemoryBytes: 10 << 30, MaxBufferBytes: 8 << 30, Unified: true,
		SIMDWidth: 32, MaxThreads: 1024, ThreadgroupBytes: 32 << 10, SIMDMatrices: true,
	}
}

// library is a source. A pipeline is one of its kernels.
type library struct{ source gpu.Source }

type pipeline struct {
	source gpu.Source
	kernel string
}

func (driver) Compile(src gpu.Source, _ []msl.Function) (gpu.Library, error) {
	return library{src}, nil
}

func (l library) Pipeline(f *msl.Function) (gpu.Pipeline, error) {
	return pipeline{l.source, f.Name}, nil
}

func (pipeline) MaxThreads() int { return 1024 }

// memory is a buffer. All of them share their bytes, so that the largest sizes cost no more than one of them.
type memory struct {
	bytes int
	host  []byte
}

func (d driver) Allocate(bytes int, s gpu.Storage) (gpu.Memory, error) {
	if s == gpu.Private {
		return &memory{bytes: bytes}, nil
	}
	d.gpu.mu.Lock()
	defer d.gpu.mu.Unlock()
	if len(d.gpu.memory) < bytes {
		d.gpu.memory = make([]byte, bytes)
	}
	return &memory{bytes, d.gpu.memory[:bytes]}, nil
}

func (m *memory) Bytes() int    { return m.bytes }
func (m *memory) Host() []byte  { return m.host }
func (*memory) Fill(byte) error { return nil }
func (*memory) Free()           {}

func (d driver) Record(commands []gpu.Command) (gpu.Recording, error) {
	d.gpu.mu.Lock()
	defer d.gpu.mu.Unlock()
	for _, c := range commands {
		if c.Kind == gpu.Dispatch {
			p := c.Pipeline.(pipeline)
			d.gpu.dispatches = append(d.gpu.dispatches, Dispatch{p.source, p.kernel, c.Groups, c.Threads})
		}
	}
	return recording{}, nil
}

func (driver) Forget() {}
func (driver) Close()  {}

// recording refuses to run.
type recording struct{}

func (recording) Submit(bool) error { return fmt.Errorf("dryrun: nothing runs here") }
func (recording) Wait() (gpu.Times, error) {
	return gpu.Times{}, fmt.Errorf("dryrun: nothing runs here")
}
func (recording) Close() {}
