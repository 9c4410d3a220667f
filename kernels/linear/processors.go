package linear

import (
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// addBias copies the bias into every row of dst. The product is then added to it.
func (p *Params) addBias(dst []float32) {
	for ; len(dst) > 0; dst = dst[p.Out:] {
		copy(dst, p.Bias)
	}
}

// own multiplies by package gemm, with packed weights.
type own struct {
	Params
	packed     *gemm.Packed
	multiplier *gemm.Multiplier
}

// InGo returns a layer on one core. Its Run takes shapes and data as [Op] declares them; other operations compute a layer
// by it too. The same holds for the functions below.
func InGo(p Params) kernels.Runner {
	return own{p, gemm.PackWhole(p.Transposed, p.In, p.Out), gemm.NewSerial()}
}

// InParallel returns a layer on a pool.
func InParallel(p Params, workers *pool.Pool) kernels.Runner {
	return own{p, gemm.PackWhole(p.Transposed, p.In, p.Out), gemm.NewParallel(workers)}
}

// Run computes a call.
func (o own) Run(s kernels.Shape, a *kernels.Args) error {
	o.multiplier.MultiplyBiased(a[0], a[1], o.packed, s[rows], o.Bias)
	return nil
}

// blas multiplies by OpenBLAS.
type blas struct {
	Params
	threads int
}

// Run computes a call.
func (b blas) Run(s kernels.Shape, a *kernels.Args) error {
	b.addBias(a[0])
	openblas.Gemm(b.threads, false, false, s[rows], b.Out, b.In, 1, a[1], b.In, b.Transposed, b.Out, 1, a[0], b.Out)
	return nil
}

// ByOpenBLAS returns a layer by OpenBLAS on a number of threads.
func ByOpenBLAS(p Params, threads int) kernels.Runner { return blas{p, threads} }

// ByAccelerate returns a layer by Apple's framework.
func ByAccelerate(p Params) kernels.Runner { return framework{p} }

// framework multiplies by the BLAS of Apple's Accelerate, which chooses its number of threads itself.
type framework struct{ Params }

// Run computes a call.
func (f framework) Run(s kernels.Shape, a *kernels.Args) error {
	f.addBias(a[0])
	accelerate.Gemm(false, false, s[rows], f.Out, f.In, 1, a[1], f.Transposed, 1, a[0])
	return nil
}
