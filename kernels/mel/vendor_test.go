package mel

import (
	"fmt"
	"testing"
	"unsafe"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/pool"
)

// withGEMM is a device of unified memory with a matrix multiplication of its vendor's, and nothing else.
type withGEMM struct{ gpu.Driver }

func (withGEMM) GEMMMissing() error  { return nil }
func (withGEMM) GEMMVersion() string { return "" }

func (withGEMM) NewGEMM(c, a, b gpu.Region, m, n, k int, transposed bool, alpha, beta float32) (gpu.External, error) {
	if !transposed || alpha != 1 || beta != 0 {
		return nil, fmt.Errorf("transposed %t, alpha %v, beta %v; want true, 1, 0", transposed, alpha, beta)
	}
	return &product{floats(c), floats(a), floats(b), m, n, k}, nil
}

func (withGEMM) Record(commands []gpu.Command) (gpu.Recording, error) {
	if len(commands) != 1 || commands[0].External == nil {
		return nil, fmt.Errorf("%d commands, want one product", len(commands))
	}
	return &recordedProduct{commands[0].External}, nil
}

func floats(r gpu.Region) []float32 {
	host := r.Memory.Host()
	return unsafe.Slice((*float32)(unsafe.Pointer(&host[r.Offset])), (len(host)-r.Offset)/4)
}

// product is c = a·bᵀ, a being m×k and b n×k.
type product struct {
	c, a, b []float32
	m, n, k int
}

func (*product) Close() {}

func (p *product) Encode(uintptr) error {
	for i := range p.m {
		for j := range p.n {
			p.c[i*p.n+j] = dot(p.a[i*p.k:(i+1)*p.k], p.b[j*p.k:])
		}
	}
	return nil
}

type recordedProduct struct{ product gpu.External }

func (*recordedProduct) Submit(bool) error          { return nil }
func (r *recordedProduct) Wait() (gpu.Times, error) { return gpu.Times{}, r.product.Encode(0) }
func (*recordedProduct) Close()                     {}

// TestVendor shows that the vendor's product gets the right matrices. It cannot show that the vendor's is right.
func TestVendor(t *testing.T) {
	b := &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend("metal", func() (gpu.Driver, error) {
		driver, err := emulator.New(emulator.Unified(true))
		return withGEMM{driver}, err
	})}}
	if err := b.GPUs[0].Probe(); err != nil {
		t.Skip(err)
	}
	for _, n := range []int{1, 3} {
		problem := Op.Problem(b, Op.Lines[0].At(n), kernels.Caller, kernels.GeneratedInput())
		call, err := problem.Bind("mps")
		if err != nil {
			t.Fatal(err)
		}
		defer call.Release()
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if e := call.ErrorAgainst(problem.Reference()); !(e <= allowed) {
			t.Errorf("%d frames: relative error %.2g", n, e)
		}
	}
}
