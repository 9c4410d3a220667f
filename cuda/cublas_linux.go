//go:build amd64 || arm64

package cuda

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"crossover/gpu"
)

// cublas is cuBLAS as far as it is used. Every function returns a cublasStatus_t.
// Reference: https://docs.nvidia.com/cuda/cublas/
type cublas struct {
	create, destroy        function
	setStream, setMathMode function
	setWorkspace           function
	sgemm, sgemmBatch      function
	sgemv, getProperty     function
	version                string

	mu    sync.Mutex
	spare []*bench // not in use, and kept because they take long to make
}

// bench is a handle of cuBLAS with its workspace, for one multiplication. A captured graph holds the workspace's
// address, so cuBLAS must neither free the workspace nor share it.
type bench struct {
	handle    uintptr
	workspace uintptr
}

// workspaceBytes is what NVIDIA recommends for Hopper; earlier devices need less.
const workspaceBytes = 32 << 20

// Values from cublas_api.h. In the default mode cublasSgemm computes in FP32; TF32 would have to be asked for.
const (
	cublasOpN         = 0
	cublasOpT         = 1
	cublasDefaultMath = 0
	cublasAllocFailed = 3
)

// loadCUBLAS finds and loads cuBLAS.
func loadCUBLAS(driverMajor int) (*cublas, error) {
	l := &cublas{}
	find := search{
		environment: "CROSSOVER_LIBCUBLAS",
		names:       versions("libcublas.so", driverMajor, 0),
		companions:  []string{"libcublasLt.so.[0-9][0-9]"},
		advice:      "install the CUDA toolkit's cuBLAS",
	}
	err := find.open(named(map[string]*function{
		"cublasCreate_v2": &l.create, "cublasDestroy_v2": &l.destroy, "cublasSetStream_v2": &l.setStream,
		"cublasSetMathMode": &l.setMathMode, "cublasSetWorkspace_v2": &l.setWorkspace, "cublasSgemm_v2": &l.sgemm,
		"cublasSgemmStridedBatched": &l.sgemmBatch, "cublasSgemv_v2": &l.sgemv, "cublasGetProperty": &l.getProperty,
	})...)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	if l.version, err = propertyVersion("cuBLAS", &l.getProperty); err != nil {
		return nil, err
	}
	l.version += ", FP32 (TF32 off)"
	return l, nil
}

func (l *cublas) check(f *function, status int32) error {
	switch status {
	case 0:
		return nil
	case cublasAllocFailed:
		return fmt.Errorf("cuda: %s: no memory for its workspace: %w", f.name, gpu.ErrOutOfMemory)
	}
	return fmt.Errorf("cuda: %s: cublasStatus_t %d", f.name, status)
}

// bench returns a handle in the default mode, with its workspace.
func (d *driver) bench(l *cublas) (*bench, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.spare); n > 0 {
		b := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return b, nil
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	at := new(uintptr)
	if err := d.check(&d.memAlloc, d.memAlloc.call(uintptr(unsafe.Pointer(at)), workspaceBytes)); err != nil {
		return nil, err
	}
	b := &bench{workspace: *at}
	handle := new(uintptr)
	err := l.check(&l.create, l.create.call(uintptr(unsafe.Pointer(handle))))
	if err == nil {
		b.handle = *handle
		err = l.check(&l.setMathMode, l.setMathMode.call(b.handle, cublasDefaultMath))
	}
	if err != nil {
		if b.handle != 0 {
			l.destroy.call(b.handle)
		}
		d.memFree.call(b.workspace)
		return nil, err
	}
	return b, nil
}

// destroyBenches destroys the handles that are not in use, with their workspaces. Those of a lost device stay.
func (d *driver) destroyBenches(l *cublas) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.enter() != nil {
		return
	}
	defer d.leave()
	for _, b := range l.spare {
		l.destroy.call(b.handle)
		d.memFree.call(b.workspace)
	}
	l.spare = nil
}

// product is a call that multiplies matrices, or a matrix and a vector, on the memory that it works on.
type product struct {
	library     *cublas
	function    *function
	bench       *bench
	alpha, beta *float32
	arguments   []uintptr
}

// GEMMMissing returns nil where cuBLAS is there.
func (d *driver) GEMMMissing() error {
	_, err := d.cublas()
	return err
}

// GEMMVersion returns "cuBLAS 13.0.2, FP32 (TF32 off)".
func (d *driver) GEMMVersion() string {
	l, err := d.cublas()
	if err != nil {
		return ""
	}
	return l.version
}

// NewProduct readies a multiplication of row-major matrices. cuBLAS stores matrices by columns, so it sees each of them
// transposed and computes Cᵀ = op(B)ᵀ·op(A)ᵀ.
func (d *driver) NewProduct(of gpu.Product) (gpu.External, error) {
	m, n, k := of.M, of.N, of.K
	p, err := d.newProduct(of.Alpha, of.Beta, m, n, k, 1)
	if err != nil {
		return nil, err
	}
	p.function = &p.library.sgemm
	operationA, rowA := cublasStored(of.TransposeA, m, k)
	operationB, rowB := cublasStored(of.TransposeB, k, n)
	p.arguments = []uintptr{
		p.bench.handle, operationB, operationA, uintptr(n), uintptr(m), uintptr(k),
		uintptr(unsafe.Pointer(p.alpha)), place(of.B), rowB, place(of.A), rowA, uintptr(unsafe.Pointer(p.beta)), place(of.C), uintptr(n),
	}
	return p, nil
}

// NewProducts readies count multiplications by one call of cuBLAS.
func (d *driver) NewProducts(of gpu.Product, count int) (gpu.External, error) {
	m, n, k := of.M, of.N, of.K
	p, err := d.newProduct(of.Alpha, of.Beta, m, n, k, count)
	if err != nil {
		return nil, err
	}
	p.function = &p.library.sgemmBatch
	operationA, rowA := cublasStored(of.TransposeA, m, k)
	operationB, rowB := cublasStored(of.TransposeB, k, n)
	p.arguments = []uintptr{
		p.bench.handle, operationB, operationA, uintptr(n), uintptr(m), uintptr(k), uintptr(unsafe.Pointer(p.alpha)),
		place(of.B), rowB, uintptr(k * n), place(of.A), rowA, uintptr(m * k), uintptr(unsafe.Pointer(p.beta)),
		place(of.C), uintptr(n), uintptr(m * n), uintptr(count),
	}
	return p, nil
}

// NewVectorProduct readies a multiplication of a row-major matrix and a vector. cuBLAS sees the matrix transposed.
func (d *driver) NewVectorProduct(y, a, x gpu.Region, rows, columns int) (gpu.External, error) {
	p, err := d.newProduct(1, 0, rows, 1, columns, 1)
	if err != nil {
		return nil, err
	}
	p.function = &p.library.sgemv
	p.arguments = []uintptr{
		p.bench.handle, cublasOpT, uintptr(columns), uintptr(rows), uintptr(unsafe.Pointer(p.alpha)), place(a), uintptr(columns),
		place(x), 1, uintptr(unsafe.Pointer(p.beta)), place(y), 1,
	}
	return p, nil
}

// newProduct returns count products of a size on a handle of their own. They lack the function and its arguments.
func (d *driver) newProduct(alpha, beta float32, m, n, k, count int) (*product, error) {
	l, err := d.cublas()
	if err != nil {
		return nil, err
	}
	if m < 1 || n < 1 || k < 1 || count < 1 || !fits32(m, n, k, count) {
		return nil, fmt.Errorf("cuda: cuBLAS takes no %d products of %d×%d×%d (want each at least 1 and less than 2^31)", count, m, n, k)
	}
	bench, err := d.bench(l)
	if err != nil {
		return nil, err
	}
	return &product{library: l, bench: bench, alpha: &alpha, beta: &beta}, nil
}

// cublasStored returns how cuBLAS reads a matrix that is rows×columns, or is stored as its transpose, and the length of its
// stored rows.
func cublasStored(transposed bool, rows, columns int) (operation, length uintptr) {
	if transposed {
		return cublasOpT, uintptr(rows)
	}
	return cublasOpN, uintptr(columns)
}

// Encode appends the multiplication to a stream, with the context current.
func (p *product) Encode(stream uintptr) error {
	if p.arguments == nil {
		return errors.New("cuda: the multiplication is closed")
	}
	l := p.library
	if err := l.check(&l.setStream, l.setStream.call(p.bench.handle, stream)); err != nil {
		return err
	}
	// Setting the stream dropped the workspace.
	if err := l.check(&l.setWorkspace, l.setWorkspace.call(p.bench.handle, p.bench.workspace, workspaceBytes)); err != nil {
		return err
	}
	return l.check(p.function, p.function.call(p.arguments...))
}

// Close gives the handle back.
func (p *product) Close() {
	if p.arguments == nil {
		return
	}
	p.arguments = nil
	p.library.mu.Lock()
	defer p.library.mu.Unlock()
	p.library.spare = append(p.library.spare, p.bench)
}

// propertyVersion asks a library for its version: "cuFFT 12.0.0".
func propertyVersion(name string, getProperty *function) (string, error) {
	var numbers [3]int32 // libraryPropertyType: major, minor, patch
	for i := range numbers {
		value := new(int32)
		if status := getProperty.call(uintptr(i), uintptr(unsafe.Pointer(value))); status != 0 {
			return "", fmt.Errorf("cuda: %s: status %d", getProperty.name, status)
		}
		numbers[i] = *value
	}
	return fmt.Sprintf("%s %d.%d.%d", name, numbers[0], numbers[1], numbers[2]), nil
}
