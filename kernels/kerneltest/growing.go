package kerneltest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/gpu/msl"
	"crossover/kernels"
)

// running calls f with the lines along which one plan can be called: those whose parameters stay the same.
func running[P any](t *testing.T, op *kernels.Op[P], o Options, f func(t *testing.T, line kernels.Line, sizes []int)) {
	for _, line := range slices.Concat(op.Lines, o.Lines) {
		var all []int
		for _, n := range sizes(op, line, o) {
			if words(op, line, n) <= min(o.Emulated, 32<<10) {
				all = append(all, n)
			}
		}
		if len(all) < 2 || !reflect.DeepEqual(op.Params(line.At(all[0])), op.Params(line.At(all[len(all)-1]))) {
			continue
		}
		t.Run(strings.ReplaceAll(op.Name+" "+line.Name, "/", "_"), func(t *testing.T) { f(t, line, all) })
	}
}

// checkGrowing holds that launch plans of changing lengths follow one another in the same memory: a call computes, bit for
// bit, what a plan computes that was made for its length alone, whatever longer calls left behind.
func checkGrowing[P any](t *testing.T, op *kernels.Op[P], o Options) {
	running(t, op, o, func(t *testing.T, line kernels.Line, sizes []int) {
		for _, unified := range []bool{false, true} {
			b := Backends(t, emulator.Unified(unified))
			for _, i := range op.CaseOf(b, line).Implementations {
				if i.Missing() == nil && i.Processor == kernels.GPU {
					t.Run(fmt.Sprintf("%s,unified=%v", i.Name, unified), func(t *testing.T) {
						checkAfterLonger(t, op, b, i.Name, line, sizes)
					})
				}
			}
		}
	})
}

// spoilers fill the inputs of the calls before: a result that depends on what they left behind is another one by at least
// one of them.
var spoilers = []func(x []float32){
	func(x []float32) { set(x, float32(math.NaN())) },
	func(x []float32) { scale(x, 3) },
}

func checkAfterLonger[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, name string, line kernels.Line, sizes []int) {
	longest := sizes[len(sizes)-1]
	for _, spoil := range spoilers {
		used := newCall(t, op, b, name, line, longest)
		// As many lengths as a plan remembers, and two more, so that the shorter ones begin with the memory of these.
		for less := range 6 {
			c := newCall(t, op, b, name, line, line.Axis.Nearest(max(1, longest-less)))
			for i, tensor := range c.tensors {
				if tensor.Role == kernels.In && (tensor.Type == kernels.Float32 || tensor.Type == kernels.Complex64) {
					spoil(c.args[i])
				}
			}
			if err := used.plan.Run(c.shape, c.args); err != nil {
				t.Fatal(err)
			}
			c.plan.Close()
		}
		for k := len(sizes) - 2; k >= 0; k -= 1 + len(sizes)/12 {
			fresh := newCall(t, op, b, name, line, sizes[k])
			run(t, fresh)
			want := cloneOutputs(fresh)
			for i, tensor := range fresh.tensors {
				if tensor.Role == kernels.Out {
					clear(fresh.args[i])
				}
			}
			for range 2 {
				if err := used.plan.Run(fresh.shape, fresh.args); err != nil {
					t.Fatal(err)
				}
				for i, tensor := range fresh.tensors {
					if tensor.Role == kernels.Out && !sameBits(want[i], fresh.args[i]) {
						t.Errorf("%s=%d: %s is another one after a call of %d", line.Axis.Name, sizes[k], tensor.Name, longest)
					}
				}
			}
			fresh.checkGuards(t, name)
			fresh.plan.Close()
		}
	}
}

// checkHeld holds that a length that grows at every call costs no memory of its own.
func checkHeld[P any](t *testing.T, op *kernels.Op[P], o Options) {
	running(t, op, o, func(t *testing.T, line kernels.Line, sizes []int) {
		for _, unified := range []bool{false, true} {
			for _, name := range onAccount(op, line) {
				t.Run(fmt.Sprintf("%s,unified=%v", name, unified), func(t *testing.T) {
					checkLengths(t, op, name, unified, line)
				})
			}
		}
	})
}

// accountName is the name of the implementations on the GPU that keeps account.
const accountName = "account"

func accountBackends(a *account) *kernels.Backends {
	b := *kernels.Here()
	b.GPUs = []*gpu.Backend{gpu.NewBackend(accountName, func() (gpu.Driver, error) { return a, nil })}
	return &b
}

func onAccount[P any](op *kernels.Op[P], line kernels.Line) (names []string) {
	for _, i := range op.CaseOf(accountBackends(&account{}), line).Implementations {
		if i.Processor == kernels.GPU && i.Missing() == nil {
			names = append(names, i.Name)
		}
	}
	return names
}

func checkLengths[P any](t *testing.T, op *kernels.Op[P], name string, unified bool, line kernels.Line) {
	const lengths = 300
	a := &account{unified: unified}
	b := accountBackends(a)
	first := line.Axis.Nearest(1000)
	params := op.Params(line.At(first))
	plan, err := kernels.NewPlanOf(b, op, params, name)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	begin := a.use
	for i := range lengths {
		s := line.At(first + i)
		var args kernels.Args
		for k, tensor := range op.IO(params, s) {
			args[k] = make([]float32, tensor.Len())
		}
		if err := plan.Run(s, args); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%+v", a.use)
	_ = begin
}

// account is the driver of a GPU that computes nothing and counts what it is asked for.
type account struct {
	unified bool

	mu  sync.Mutex
	use usage
}

type usage struct {
	allocations, fills, submissions, recordings int
	live, most                                  int64 // bytes
}

func (a *account) Facts() gpu.Facts {
	return gpu.Facts{API: accountName, Name: accountName, Cores: 10, MemoryBytes: 1 << 34, Unified: a.unified, SIMDWidth: 32,
		MaxThreads: 1024, ThreadgroupBytes: 32 << 10, MaxBufferBytes: 1 << 33, SIMDMatrices: true}
}

func (a *account) Forget() {}

func (a *account) Compile(gpu.Source, []msl.Function) (gpu.Library, error) { return a, nil }

func (a *account) Pipeline(*msl.Function) (gpu.Pipeline, error) { return a, nil }

func (a *account) MaxThreads() int { return 1024 }

type accountMemory struct {
	account *account
	bytes   int
	host    []byte
}

func (a *account) Allocate(bytes int, s gpu.Storage) (gpu.Memory, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := &accountMemory{account: a, bytes: bytes}
	if s == gpu.Shared {
		m.host = make([]byte, bytes)
	}
	a.use.allocations++
	a.use.live += int64(bytes)
	a.use.most = max(a.use.most, a.use.live)
	return m, nil
}

func (m *accountMemory) Bytes() int   { return m.bytes }
func (m *accountMemory) Host() []byte { return m.host }

func (m *accountMemory) Fill(byte) error {
	m.account.mu.Lock()
	defer m.account.mu.Unlock()
	m.account.use.fills++
	return nil
}

func (m *accountMemory) Free() {
	m.account.mu.Lock()
	defer m.account.mu.Unlock()
	m.account.use.live -= int64(m.bytes)
}

type accountRecording struct{ account *account }

func (a *account) Record([]gpu.Command) (gpu.Recording, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.use.recordings++
	return accountRecording{a}, nil
}

func (r accountRecording) Submit(bool) error {
	r.account.mu.Lock()
	defer r.account.mu.Unlock()
	r.account.use.submissions++
	return nil
}

func (accountRecording) Wait() (gpu.Times, error) { return gpu.Times{}, nil }

func (r accountRecording) Close() {
	r.account.mu.Lock()
	defer r.account.mu.Unlock()
	r.account.use.recordings--
}
