package kerneltest

import (
	"sync"

	"crossover/gpu"
	"crossover/gpu/msl"
	"crossover/kernels"
	"crossover/pool"
)

// AccountName is the name of the implementations on the GPU that keeps account.
const AccountName = "account"

// Account is the driver of a GPU that computes nothing and keeps account of what it is asked for. It needs no compiler.
type Account struct {
	unified bool

	mu  sync.Mutex
	use Usage
}

// Usage is what an [Account] was asked for.
type Usage struct {
	Allocations int // of memory, so far
	Fills       int // of memory that is new to a plan, so far
	Bytes, Most int // of memory that is there, and that was there at once
	Recordings  int // that are open
}

// AccountBackends returns the backends of this machine with an Account in the place of the real GPUs.
func AccountBackends(unified bool) (*kernels.Backends, *Account) {
	a := &Account{unified: unified}
	return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{
		gpu.NewBackend(AccountName, func() (gpu.Driver, error) { return a, nil }),
	}}, a
}

// Usage returns what the driver was asked for so far.
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

// Facts are those of one of Apple's GPUs, but for the memory.
func (a *Account) Facts() gpu.Facts {
	return gpu.Facts{API: AccountName, Name: AccountName, Cores: 10, MemoryBytes: 16 << 30, MaxBufferBytes: 8 << 30,
		Unified: a.unified, SIMDWidth: 32, MaxThreads: 1024, ThreadgroupBytes: 32 << 10, SIMDMatrices: true}
}

// Forget does nothing.
func (a *Account) Forget() {}

// accountKernel is a text, and each of its kernels.
type accountKernel struct{}

func (accountKernel) Pipeline(*msl.Function) (gpu.Pipeline, error) { return accountKernel{}, nil }
func (accountKernel) MaxThreads() int                              { return 1024 }

// Compile takes every text.
func (a *Account) Compile(gpu.Source, []msl.Function) (gpu.Library, error) {
	return accountKernel{}, nil
}

type accountMemory struct {
	*Account
	bytes int
	host  []byte
}

// Allocate returns memory of the host where it is shared.
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

// Record takes every list of commands.
func (a *Account) Record([]gpu.Command) (gpu.Recording, error) {
	a.note(func(u *Usage) { u.Recordings++ })
	return &accountRecording{a}, nil
}

func (*accountRecording) Submit(bool) error        { return nil }
func (*accountRecording) Wait() (gpu.Times, error) { return gpu.Times{}, nil }
func (r *accountRecording) Close()                 { r.note(func(u *Usage) { u.Recordings-- }) }
