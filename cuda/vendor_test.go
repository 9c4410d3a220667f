//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"crossover/gpu"
)

// fill writes values that are all different, and different for each seed.
func fill(x []float32, seed int) {
	for i := range x {
		x[i] = float32(math.Sin(float64(3*i*i + 7*seed + 1)))
	}
}

// bin returns bin k of the unscaled transform of the values that at returns, or of the inverse one.
func bin(n, k int, inverse bool, at func(j int) complex128) complex128 {
	var sum complex128
	angle := -2 * math.Pi / float64(n)
	if inverse {
		angle = -angle
	}
	for j := range n {
		sum += at(j) * cmplx.Rect(1, angle*float64(j*k%n))
	}
	return sum
}

func TestFFT(t *testing.T) {
	device, d, f := openFake(t)
	if err := d.FFTMissing(); err != nil {
		t.Fatal(err)
	}
	if got := d.FFTVersion(); got != "cuFFT 12.0.0" {
		t.Errorf("version %q", got)
	}
	for _, n := range []int{1, 2, 5, 8} {
		const batch = 3
		for _, test := range []struct{ real, inverse bool }{{true, false}, {false, false}, {false, true}} {
			real, inverse := test.real, test.inverse
			bins, kind := n, gpu.Float2
			if real {
				bins, kind = n/2+1, gpu.Float
			}
			b := device.NewPlan()
			src, dst := b.Input(kind, n*batch), b.Output(gpu.Float2, bins*batch)
			b.Encode(func() (gpu.External, error) {
				if real {
					return d.NewFFT(dst.Region(), src.Region(), gpu.Transform{N: n, Batch: batch})
				}
				return d.NewFFT(dst.Region(), src.Region(), gpu.Transform{N: n, Batch: batch, Complex: true, Inverse: inverse})
			})
			p, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			x, y := src.Floats(), dst.Floats()
			fill(x, 0)
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			for row := range batch {
				for k := range bins {
					want := bin(n, k, inverse, func(j int) complex128 {
						if real {
							return complex(float64(x[row*n+j]), 0)
						}
						return complex(float64(x[2*(row*n+j)]), float64(x[2*(row*n+j)+1]))
					})
					got := complex(float64(y[2*(row*bins+k)]), float64(y[2*(row*bins+k)+1]))
					if cmplx.Abs(got-want) > 1e-5 {
						t.Errorf("n=%d %+v row %d bin %d: %v; want %v", n, test, row, k, got, want)
					}
				}
			}
			if times, err := p.Time(true); err != nil || times.Kernel != 1 || times.Busy == 0 {
				t.Errorf("%+v, %v", times, err)
			}
			p.Close()
		}
	}
	if left := f.live(liveTransform); left != 0 {
		t.Errorf("%d plans of cuFFT are left", left)
	}
}

// TestInverseRealFFT transforms to real values. An odd number of them has no bin n/2.
func TestInverseRealFFT(t *testing.T) {
	device, d, _ := openFake(t)
	for _, n := range []int{1, 2, 5, 8} {
		const batch = 3
		bins := n/2 + 1
		b := device.NewPlan()
		src, dst := b.State(gpu.Float2, bins*batch), b.Output(gpu.Float, n*batch)
		b.Encode(func() (gpu.External, error) {
			return d.NewFFT(dst.Region(), src.Region(), gpu.Transform{N: n, Batch: batch, Inverse: true})
		})
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 2*bins*batch)
		fill(x, 0)
		for row := range batch {
			x[2*row*bins+1] = 0
			if n%2 == 0 {
				x[2*(row*bins+n/2)+1] = 0
			}
		}
		copy(src.Floats(), x)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for row := range batch {
			for j := range n {
				want := bin(n, j, true, func(k int) complex128 {
					at := 2 * (row*bins + min(k, n-k))
					if k < bins {
						return complex(float64(x[at]), float64(x[at+1]))
					}
					return complex(float64(x[at]), -float64(x[at+1]))
				})
				if got := float64(dst.Floats()[row*n+j]); math.Abs(got-real(want)) > 1e-5 {
					t.Errorf("n=%d row %d value %d: %v; want %v", n, row, j, got, real(want))
				}
			}
		}
		p.Close()
	}
}

func TestGEMM(t *testing.T) {
	device, d, f := openFake(t)
	if err := d.GEMMMissing(); err != nil {
		t.Fatal(err)
	}
	if got := d.GEMMVersion(); got != "cuBLAS 13.1.0, FP32 (TF32 off)" {
		t.Errorf("version %q", got)
	}
	const alpha, beta = 1.5, 0.25
	for _, size := range [][3]int{{1, 1, 1}, {2, 3, 4}, {7, 5, 3}} {
		m, n, k := size[0], size[1], size[2]
		for turns := range 4 {
			transposedA, transposed := turns&1 != 0, turns&2 != 0
			b := device.NewPlan()
			left, right, product := b.Input(gpu.Float, m*k), b.Input(gpu.Float, k*n), b.State(gpu.Float, m*n)
			b.Encode(func() (gpu.External, error) {
				if !transposedA {
					return d.NewProduct(gpu.Product{
						C: product.Region(), A: left.Region(), B: right.Region(),
						M: m, N: n, K: k, TransposeB: transposed, Alpha: alpha, Beta: beta,
					})
				}
				return d.NewProduct(gpu.Product{C: product.Region(), A: left.Region(), B: right.Region(), M: m, N: n, K: k,
					TransposeA: true, TransposeB: transposed, Alpha: alpha, Beta: beta})
			})
			p, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			fill(left.Floats(), 1)
			fill(right.Floats(), 2)
			before := make([]float32, m*n)
			fill(before, 3)
			copy(product.Floats(), before)
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			for i := range m {
				for j := range n {
					sum := 0.0
					for l := range k {
						at, atA := l*n+j, i*k+l
						if transposed {
							at = j*k + l
						}
						if transposedA {
							atA = l*m + i
						}
						sum += float64(left.Floats()[atA]) * float64(right.Floats()[at])
					}
					want := alpha*sum + beta*float64(before[i*n+j])
					if got := float64(product.Floats()[i*n+j]); math.Abs(got-want) > 1e-5 {
						t.Errorf("%d×%d×%d transposed=%v,%v: C[%d,%d] = %g; want %g", m, n, k, transposedA, transposed, i, j, got, want)
					}
				}
			}
			p.Close()
		}
	}
	if got := f.calls("cublasCreate_v2"); got != 1 {
		t.Errorf("%d handles were made; want one that every plan takes in turn", got)
	}
}

// TestProducts multiplies several pairs of matrices that lie one after the other.
func TestProducts(t *testing.T) {
	device, d, _ := openFake(t)
	const m, n, k, alpha, beta = 2, 3, 4, 1.5, 0.25
	for _, count := range []int{1, 3} {
		for turns := range 4 {
			turnA, turnB := turns&1 != 0, turns&2 != 0
			b := device.NewPlan()
			left, right, product := b.Input(gpu.Float, count*m*k), b.Input(gpu.Float, count*k*n), b.State(gpu.Float, count*m*n)
			b.Encode(func() (gpu.External, error) {
				return d.NewProducts(gpu.Product{C: product.Region(), A: left.Region(), B: right.Region(), M: m, N: n, K: k,
					TransposeA: turnA, TransposeB: turnB, Alpha: alpha, Beta: beta}, count)
			})
			p, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			fill(left.Floats(), 1)
			fill(right.Floats(), 2)
			fill(product.Floats(), 3)
			before := slices.Clone(product.Floats())
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			for at := range count * m * n {
				of, i, j := at/(m*n), at/n%m, at%n
				sum := 0.0
				for l := range k {
					atA, atB := i*k+l, l*n+j
					if turnA {
						atA = l*m + i
					}
					if turnB {
						atB = j*k + l
					}
					sum += float64(left.Floats()[of*m*k+atA]) * float64(right.Floats()[of*k*n+atB])
				}
				want := alpha*sum + beta*float64(before[at])
				if got := float64(product.Floats()[at]); math.Abs(got-want) > 1e-5 {
					t.Errorf("%d products, transposed=%v,%v: C%d[%d,%d] = %g; want %g", count, turnA, turnB, of, i, j, got, want)
				}
			}
			p.Close()
		}
	}
}

func TestVectorProduct(t *testing.T) {
	device, d, _ := openFake(t)
	for _, size := range [][2]int{{1, 1}, {3, 2}, {2, 5}} {
		rows, columns := size[0], size[1]
		b := device.NewPlan()
		matrix, x, y := b.Input(gpu.Float, rows*columns), b.Input(gpu.Float, columns), b.Output(gpu.Float, rows)
		b.Encode(func() (gpu.External, error) {
			return d.NewVectorProduct(y.Region(), matrix.Region(), x.Region(), rows, columns)
		})
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		fill(matrix.Floats(), 1)
		fill(x.Floats(), 2)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			want := 0.0
			for j := range columns {
				want += float64(matrix.Floats()[i*columns+j]) * float64(x.Floats()[j])
			}
			if got := float64(y.Floats()[i]); math.Abs(got-want) > 1e-5 {
				t.Errorf("%d×%d: y[%d] = %g; want %g", rows, columns, i, got, want)
			}
		}
		p.Close()
	}
}

// Two multiplications that exist at once have a handle and a workspace each.
func TestProductsShareNothing(t *testing.T) {
	device, d, f := openFake(t)
	var group sync.WaitGroup
	plans := make([]*gpu.Plan, 4)
	for i := range plans {
		group.Go(func() {
			b := device.NewPlan()
			x, y := b.Input(gpu.Float, 4), b.Output(gpu.Float, 4)
			b.Encode(func() (gpu.External, error) {
				return d.NewProduct(gpu.Product{
					C: y.Region(), A: x.Region(), B: x.Region(),
					M: 2, N: 2, K: 2, Alpha: 1,
				})
			})
			p, err := b.Build()
			if err != nil {
				t.Error(err)
				return
			}
			copy(x.Floats(), []float32{1, 2, 3, 4})
			if err := p.Run(); err != nil || y.Floats()[3] != 22 {
				t.Errorf("%v, %v", y.Floats(), err)
			}
			plans[i] = p
		})
	}
	group.Wait()
	if got := f.live(liveHandle); got != len(plans) {
		t.Errorf("%d handles for %d plans", got, len(plans))
	}
	for _, p := range plans {
		p.Close()
	}
	// Later multiplications share nothing with them either.
	m, err := d.Allocate(64, gpu.Private)
	if err != nil {
		t.Fatal(err)
	}
	region := gpu.Region{Memory: m}
	benches := map[*bench]bool{}
	for range plans {
		e, err := d.NewProduct(gpu.Product{C: region, A: region, B: region, M: 2, N: 2, K: 2, Alpha: 1})
		if err != nil {
			t.Fatal(err)
		}
		benches[e.(*product).bench] = true
	}
	if len(benches) != len(plans) || f.live(liveHandle) != len(plans) {
		t.Errorf("%d of %d handles for %d products", len(benches), f.live(liveHandle), len(plans))
	}
}

// cuFFT fails if it makes several plans at once, and so does the stand-in.
func TestTransformsPlannedAtOnce(t *testing.T) {
	_, d, _ := openFake(t)
	m, err := d.Allocate(64, gpu.Private)
	if err != nil {
		t.Fatal(err)
	}
	region := gpu.Region{Memory: m}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			e, err := d.NewFFT(region, region, gpu.Transform{N: 4, Batch: 1, Complex: true})
			if err != nil {
				t.Error(err)
				return
			}
			e.Close()
		})
	}
	group.Wait()
}

// A missing library is reported when it is asked for, in one line. The device works without it.
func TestLibrariesMissing(t *testing.T) {
	f := loadFake(t)
	t.Setenv("CROSSOVER_LIBCUFFT", filepath.Join(f.folder, "nofft.so"))
	t.Setenv("CROSSOVER_LIBCUBLAS", "libm.so.6")
	opened, err := open()
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*driver)
	oneLineWith(t, d.FFTMissing(), "cuda: ", "nofft.so", "CROSSOVER_LIBCUFFT")
	oneLineWith(t, d.GEMMMissing(), "libm.so.6 is not the library that is wanted", "CROSSOVER_LIBCUBLAS")
	if got := d.FFTVersion() + d.GEMMVersion(); got != "" {
		t.Errorf("versions %q of libraries that are missing", got)
	}
	m, err := d.Allocate(64, gpu.Private)
	if err != nil {
		t.Fatal(err)
	}
	region := gpu.Region{Memory: m}
	_, err = d.NewFFT(region, region, gpu.Transform{N: 4, Batch: 1})
	oneLineWith(t, err, "nofft.so")
	_, err = d.NewFFT(region, region, gpu.Transform{N: 4, Batch: 1, Inverse: true})
	oneLineWith(t, err, "nofft.so")
	_, err = d.NewFFT(region, region, gpu.Transform{N: 4, Batch: 1, Complex: true})
	oneLineWith(t, err, "nofft.so")
	_, err = d.NewProduct(gpu.Product{C: region, A: region, B: region, M: 1, N: 1, K: 1, Alpha: 1})
	oneLineWith(t, err, "libm.so.6")
	_, err = d.NewProducts(gpu.Product{C: region, A: region, B: region, M: 1, N: 1, K: 1, Alpha: 1}, 1)
	oneLineWith(t, err, "libm.so.6")
	_, err = d.NewVectorProduct(region, region, region, 1, 1)
	oneLineWith(t, err, "libm.so.6")
}

func TestLibrariesFail(t *testing.T) {
	for _, test := range []struct {
		function string
		status   int32
		want     error
		text     string
	}{
		{"cufftPlanMany", 2, gpu.ErrOutOfMemory, "cufftPlanMany"},
		{"cufftPlanMany", 5, nil, "cufftPlanMany: cufftResult 5"},
		{"cufftSetStream", 5, nil, "cufftSetStream: cufftResult 5"},
		{"cufftExecC2C", 6, nil, "cufftExecC2C: cufftResult 6"},
		{"cublasCreate_v2", 3, gpu.ErrOutOfMemory, "cublasCreate_v2"},
		{"cublasCreate_v2", 1, nil, "cublasCreate_v2: cublasStatus_t 1"},
		{"cublasSetMathMode", 7, nil, "cublasSetMathMode: cublasStatus_t 7"},
		{"cublasSetStream_v2", 7, nil, "cublasSetStream_v2: cublasStatus_t 7"},
		{"cublasSetWorkspace_v2", 7, nil, "cublasSetWorkspace_v2: cublasStatus_t 7"},
		{"cublasSgemm_v2", 13, nil, "cublasSgemm_v2: cublasStatus_t 13"},
		{"cublasSgemmStridedBatched", 13, nil, "cublasSgemmStridedBatched: cublasStatus_t 13"},
		{"cublasSgemv_v2", 13, nil, "cublasSgemv_v2: cublasStatus_t 13"},
	} {
		t.Run(fmt.Sprintf("%s/%d", test.function, test.status), func(t *testing.T) {
			device, d, f := openFake(t)
			build := func() error {
				b := device.NewPlan()
				x, y, z := b.Input(gpu.Float2, 4), b.Output(gpu.Float2, 4), b.Output(gpu.Float2, 4)
				b.Encode(func() (gpu.External, error) {
					return d.NewFFT(y.Region(), x.Region(), gpu.Transform{N: 4, Batch: 1, Complex: true})
				})
				b.Encode(func() (gpu.External, error) {
					return d.NewProduct(gpu.Product{
						C: z.Region(), A: x.Region(), B: x.Region(),
						M: 2, N: 2, K: 2, Alpha: 1,
					})
				})
				b.Encode(func() (gpu.External, error) {
					return d.NewProducts(gpu.Product{C: z.Region(), A: x.Region(), B: x.Region(), M: 2, N: 1, K: 2, Alpha: 1}, 2)
				})
				b.Encode(func() (gpu.External, error) { return d.NewVectorProduct(z.Region(), x.Region(), y.Region(), 2, 2) })
				p, err := b.Build()
				if err != nil {
					return err
				}
				defer p.Close()
				return p.Run()
			}
			f.fail(test.function, 1, test.status)
			err := build()
			oneLineWith(t, err, "cuda: "+test.text)
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%v; want %v", err, test.want)
			}
			if left := f.live(liveTransform) + f.live(liveGraph) + f.live(liveExecutable); left != 0 {
				t.Errorf("%d plans and graphs are left", left)
			}
			if err := build(); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			device.Trim()
			if blocks, handles := f.blocks(0), f.live(liveHandle); blocks != handles {
				t.Errorf("%d blocks of device memory are left for %d workspaces", blocks, handles)
			}
		})
	}
}

// Compiling what a plan needs makes a plan of cuFFT, which compiles kernels for the first one of a length, and leaves nothing.
func TestCompileFFT(t *testing.T) {
	device, d, f := openFake(t)
	b := device.NewPlan()
	x, y := b.Input(gpu.Float, 8), b.Output(gpu.Float2, 5)
	b.FFT(d, y, x, gpu.Transform{N: 8, Batch: 1})
	f.fail("cufftPlanMany", 1, 5)
	oneLineWith(t, b.Compile(), "cuda: cufftPlanMany: cufftResult 5")
	if err := b.Compile(); err != nil {
		t.Error(err)
	}
	if plans, blocks := f.live(liveTransform), f.blocks(0); plans != 0 || blocks != 0 {
		t.Errorf("compiling left %d plans and %d blocks of memory", plans, blocks)
	}
	oneLineWith(t, d.CompileFFT(gpu.Transform{N: 0, Batch: 1}), "cuFFT takes no")
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}

func TestLibrariesRefuseSizes(t *testing.T) {
	_, d, _ := openFake(t)
	m, err := d.Allocate(64, gpu.Private)
	if err != nil {
		t.Fatal(err)
	}
	region := gpu.Region{Memory: m}
	for _, size := range [][2]int{{0, 1}, {1, 0}, {1 << 31, 1}, {1, 1 << 31}} {
		_, err := d.NewFFT(region, region, gpu.Transform{N: size[0], Batch: size[1]})
		oneLineWith(t, err, "cuFFT takes no")
		_, err = d.NewProduct(gpu.Product{C: region, A: region, B: region, M: size[0], N: size[1], K: 1, Alpha: 1})
		oneLineWith(t, err, "cuBLAS takes no")
		_, err = d.NewProducts(gpu.Product{C: region, A: region, B: region, M: size[0], N: 1, K: 1, Alpha: 1}, size[1])
		oneLineWith(t, err, "cuBLAS takes no")
		_, err = d.NewVectorProduct(region, region, region, size[0], size[1])
		oneLineWith(t, err, "cuBLAS takes no")
	}
}
