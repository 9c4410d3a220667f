package kerneltest

import (
	"fmt"
	"testing"
	"unsafe"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/pool"
)

// WithGEMM returns backends with an emulated GPU of unified memory and a stand-in for the vendor's matrix multiplication,
// named "mps". The stand-in is a plain loop. It shows that an operation passes the right matrices, not that the vendor's
// library is right. The test is skipped if there is no C++ compiler.
func WithGEMM(t testing.TB) *kernels.Backends {
	t.Helper()
	emulated := gpu.NewBackend("metal", func() (gpu.Driver, error) {
		driver, err := emulator.New(emulator.Unified(true))
		return withGEMM{driver}, err
	})
	if err := emulated.Probe(); err != nil {
		t.Skip(err)
	}
	return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{emulated}}
}

type withGEMM struct{ gpu.Driver }

// Facts names the API of the backend.
func (d withGEMM) Facts() gpu.Facts {
	facts := d.Driver.Facts()
	facts.API = "metal"
	return facts
}

func (withGEMM) GEMMMissing() error  { return nil }
func (withGEMM) GEMMVersion() string { return "" }

// Allocate makes private memory visible to the host, because the stand-in computes there.
func (d withGEMM) Allocate(bytes int, s gpu.Storage) (gpu.Memory, error) {
	if s == gpu.Private {
		s = gpu.Shared
	}
	return d.Driver.Allocate(bytes, s)
}

func (withGEMM) NewProduct(p gpu.Product) (gpu.External, error) {
	m, n, k := p.M, p.N, p.K
	if p.C.Bytes < 4*m*n || p.A.Bytes < 4*m*k || p.B.Bytes < 4*k*n {
		return nil, fmt.Errorf("a product of %d×%d×%d in %d, %d and %d bytes", m, n, k, p.C.Bytes, p.A.Bytes, p.B.Bytes)
	}
	return newGEMM(p), nil
}

func newGEMM(p gpu.Product) *gemm {
	m, n, k := p.M, p.N, p.K
	g := &gemm{regionFloats(p.C), regionFloats(p.A), regionFloats(p.B), m, n, k, k, 1, n, 1, p.Alpha, p.Beta}
	if p.TransposeA {
		g.rowA, g.columnA = 1, m
	}
	if p.TransposeB {
		g.rowB, g.columnB = 1, k
	}
	return g
}

// NewProducts is NewProduct of matrices that lie one after the other.
func (withGEMM) NewProducts(p gpu.Product, count int) (gpu.External, error) {
	m, n, k := p.M, p.N, p.K
	if p.C.Bytes < 4*count*m*n || p.A.Bytes < 4*count*m*k || p.B.Bytes < 4*count*k*n {
		return nil, fmt.Errorf("%d products of %d×%d×%d in %d, %d and %d bytes", count, m, n, k, p.C.Bytes, p.A.Bytes, p.B.Bytes)
	}
	var all gemms
	for range count {
		all = append(all, newGEMM(p))
		for _, of := range []struct {
			*gpu.Region
			floats int
		}{{&p.C, m * n}, {&p.A, m * k}, {&p.B, k * n}} {
			of.Offset += 4 * of.floats
			of.Bytes -= 4 * of.floats
		}
	}
	return all, nil
}

// NewVectorProduct is a product with a matrix of one column.
func (d withGEMM) NewVectorProduct(y, a, x gpu.Region, rows, columns int) (gpu.External, error) {
	return d.NewProduct(gpu.Product{C: y, A: a, B: x, M: rows, N: 1, K: columns, Alpha: 1})
}

type gemms []*gemm

func (gemms) Close() {}

func (all gemms) Encode(target uintptr) error {
	for _, g := range all {
		_ = g.Encode(target) // which does not fail
	}
	return nil
}

func regionFloats(r gpu.Region) []float32 {
	host := r.Memory.Host()
	return unsafe.Slice((*float32)(unsafe.Pointer(&host[r.Offset])), r.Bytes/4)
}

// gemm is c = alpha·a·b + beta·c. It does not read c if beta is 0.
type gemm struct {
	c, a, b       []float32
	m, n, k       int
	rowA, columnA int // elements from one row of a to the next, and from one column to the next
	rowB, columnB int
	alpha, beta   float32
}

func (*gemm) Close() {}

func (p *gemm) Encode(uintptr) error {
	for i := range p.m {
		for j := range p.n {
			sum := float32(0)
			for l := range p.k {
				sum += p.a[i*p.rowA+l*p.columnA] * p.b[l*p.rowB+j*p.columnB]
			}
			sum *= p.alpha
			if p.beta != 0 {
				sum += p.beta * p.c[i*p.n+j]
			}
			p.c[i*p.n+j] = sum
		}
	}
	return nil
}

// Record makes a step of each command: a product, or a recording of the emulator.
func (d withGEMM) Record(commands []gpu.Command) (gpu.Recording, error) {
	var all steps
	for i := range commands {
		if commands[i].Kind == gpu.Encode {
			all = append(all, product{commands[i].External})
			continue
		}
		r, err := d.Driver.Record(commands[i : i+1])
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return &all, nil
}

// steps run one after the other during Wait.
type steps []gpu.Recording

func (*steps) Submit(bool) error { return nil }

func (s *steps) Wait() (gpu.Times, error) {
	for _, r := range *s {
		if err := r.Submit(false); err != nil {
			return gpu.Times{}, err
		}
		if _, err := r.Wait(); err != nil {
			return gpu.Times{}, err
		}
	}
	return gpu.Times{}, nil
}

func (s *steps) Close() {
	for _, r := range *s {
		r.Close()
	}
}

type product struct{ of gpu.External }

func (product) Submit(bool) error          { return nil }
func (p product) Wait() (gpu.Times, error) { return gpu.Times{}, p.of.Encode(0) }
func (product) Close()                     {}
