package mel

import (
	"crossover/kernels"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// framesPerChunk is the number of frames that a worker takes at a time. At 1025 bins that is some ten microseconds of work,
// a few times the cost of handing it over. It is a multiple of four, because four frames are computed together.
const framesPerChunk = 16

// newBands returns the loop over the frames of a power spectrogram.
func newBands(p Params, _ int) (kernels.Loop, error) {
	bank := newBanded(p)
	return kernels.Loop{
		Rows:  func(s *kernels.Shape) int { return s[frames] },
		Grain: func(*kernels.Shape, int, *pool.Pool) int { return framesPerChunk },
		Do:    func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) { bank.rows(a[0], a[1], lo, hi) },
	}, nil
}

// banded holds, for each band, the weights from the first to the last that is not zero. These are some two weights per bin
// in all.
type banded struct {
	bins  int
	spans []span
}

type span struct {
	first   int // bin
	weights []float32
}

func newBanded(p Params) *banded {
	b := &banded{bins: p.bins(), spans: make([]span, p.Bands)}
	weights := Filterbank(p)
	for m := range b.spans {
		row := weights[m*b.bins : (m+1)*b.bins]
		first, end := 0, len(row)
		for first < end && row[first] == 0 {
			first++
		}
		for first < end && row[end-1] == 0 {
			end--
		}
		b.spans[m] = span{first: first, weights: row[first:end]}
	}
	return b
}

// rows computes the frames from lo to hi−1, four at a time. Each weight is loaded once for four products. The sums of the
// four frames are independent, and four spectra still fit into the first-level cache.
func (b *banded) rows(dst, power []float32, lo, hi int) {
	bands := len(b.spans)
	f := lo
	for ; f+4 <= hi; f += 4 {
		in := power[f*b.bins : (f+4)*b.bins]
		out := dst[f*bands : (f+4)*bands]
		for m := range b.spans {
			s := &b.spans[m]
			n := len(s.weights)
			p0 := in[s.first:][:n]
			p1 := in[s.first+b.bins:][:n]
			p2 := in[s.first+2*b.bins:][:n]
			p3 := in[s.first+3*b.bins:][:n]
			var a0, a1, a2, a3 float32
			for k, w := range s.weights {
				a0 += w * p0[k]
				a1 += w * p1[k]
				a2 += w * p2[k]
				a3 += w * p3[k]
			}
			out[m] = a0
			out[m+bands] = a1
			out[m+2*bands] = a2
			out[m+3*bands] = a3
		}
	}
	for ; f < hi; f++ {
		in := power[f*b.bins : (f+1)*b.bins]
		for m := range b.spans {
			s := &b.spans[m]
			dst[f*bands+m] = dot(s.weights, in[s.first:])
		}
	}
}

// dot returns the sum of a[k]·b[k] over the length of a. It computes four independent sums.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	k := 0
	for ; k+4 <= len(a); k += 4 {
		u, v := a[k:k+4:k+4], b[k:k+4:k+4]
		s0 += u[0] * v[0]
		s1 += u[1] * v[1]
		s2 += u[2] * v[2]
		s3 += u[3] * v[3]
	}
	for ; k < len(a); k++ {
		s0 += a[k] * b[k]
	}
	return (s0 + s1) + (s2 + s3)
}

// transposed returns the filterbank as a dense matrix, bins×bands.
func transposed(p Params) []float32 {
	matrix := make([]float32, p.bins()*p.Bands)
	for i, w := range Filterbank(p) {
		matrix[i%p.bins()*p.Bands+i/p.bins()] = w
	}
	return matrix
}

// newBLAS multiplies frames×bins by bins×bands with OpenBLAS.
func newBLAS(p Params, threads int) kernels.Runner {
	weights := transposed(p)
	return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
		openblas.Gemm(threads, false, false, s[frames], p.Bands, p.bins(), 1, a[1], p.bins(), weights, p.Bands, 0, a[0], p.Bands)
		return nil
	})
}

// newFramework multiplies with the BLAS of Apple's Accelerate, which chooses its number of threads itself.
func newFramework(p Params) (kernels.Runner, error) {
	weights := transposed(p)
	return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
		accelerate.Gemm(false, false, s[frames], p.Bands, p.bins(), 1, a[1], weights, 0, a[0])
		return nil
	}), nil
}
