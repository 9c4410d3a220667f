package kerneltest

import (
	"sync"

	"crossover/gpu"
	"crossover/gpu/msl"
	"crossover/kernels"
	"crossover/pool"
)

// AccountName is the name of the implementation on the GPU of an [Account].
const AccountName = "account"

// Account is the driver of a GPU that computes nothing and counts what it is asked for. It needs no compiler.
type Account struct {
	unified bool

	mu  sync.Mutex
	use Usage
}

// Usage is what an [Account] has counted.
type Usage struct {
	Allocations int // number of allocations so far
	Fills       int // number of times so far that memory new to a plan was filled
	Bytes, Most int // bytes allocated now, and the most at any time
	Recordings  int // number of open recordings
	Texts       int // number of texts so far that were compiled
}

// AccountBackends returns backends whose only GPU is that of an Account. unified says whether the GPU shares the processor's
// memory.
func AccountBackends(unified bool) (*kernels.Backends, *Account) {
	a := &Account{unified: unified}
	return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{
		gpu.NewBackend(AccountName, func() (gpu.Driver, error) { return a, nil }),
	}}, a
}

// Usage returns what the driver has counted so far.
func (a *Account) Usage() Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.use
}

func (a *Account) note(f func(u *Usage)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&a.use)
	a.use.Most = max(a.use.Most, a.use.Bytes)
}

// Facts returns those of one of Apple's GPUs, except that memory need not be unified.
func (a *Account) Facts() gpu.Facts {
	return gpu.Facts{API: AccountName, Name: AccountName, Cores: 10, MemoryBytes: 16 << 30, MaxBufferBytes: 8 << 30,
		Unified: a.unified, SIMDWidth: 32, MaxThreads: 1024, ThreadgroupBytes: 32 << 10, SIMDMatrices: true}
}

// Forget does nothing.
func (a *Account) Forget() {}

// Close does nothing: the driver counts on when its device is opened anew.
func (a *Account) Close() {}

// accountKernel stands for a compiled text and for each of its kernels.
type accountKernel struct{}

func (accountKernel) Pipeline(*msl.Function) (gpu.Pipeline, error) { return accountKernel{}, nil }
func (accountKernel) MaxThreads() int                              { return 1024 }

// Compile accepts every text.
func (a *Account) Compile(gpu.Source, []msl.Function) (gpu.Library, error) {
	a.note(func(u *Usage) { u.Texts++ })
	return accountKernel{}, nil
}

type accountMemory struct {
	*Account
	bytes int
	host  []byte
}

// Allocate returns memory that the host can reach only if it is shared.
func (a *Account) Allocate(bytes int, s gpu.Storage) (gpu.Memory, error) {
	m := &accountMemory{Account: a, bytes: bytes}
	if s == gpu.Shared {
		m.host = make([]byte, bytes)
	}
	a.note(func(u *Usage) { u.Allocations, u.Bytes = u.Allocations+1, u.Bytes+bytes })
	return m, nil
}

func (m *accountMemory) Bytes() int   { return m.bytes }
func (m *accountMemory) Host() []byte { return m.host }
func (m *accountMemory) Free()        { m.note(func(u *Usage) { u.Bytes -= m.bytes }) }

func (m *accountMemory) Fill(byte) error {
	m.note(func(u *Usage) { u.Fills++ })
	return nil
}

type accountRecording struct{ *Account }

// Record accepts every list of commands.
func (a *Account) Record([]gpu.Command) (gpu.Recording, error) {
	a.note(func(u *Usage) { u.Recordings++ })
	return &accountRecording{a}, nil
}

func (*accountRecording) Submit(bool) error        { return nil }
func (*accountRecording) Wait() (gpu.Times, error) { return gpu.Times{}, nil }
func (r *accountRecording) Close()                 { r.note(func(u *Usage) { u.Recordings-- }) }
