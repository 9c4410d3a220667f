package mel

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg mel
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

import (
	"crossover/kernels"
	"crossover/kernels/turn"
	"crossover/native/accelerate"
	"crossover/native/openblas"
)

// aboutAMicrosecond is how many bins of frames a core sums up in that time with AVX2.
const aboutAMicrosecond = 8192

// newBands returns the loop over the frames of a power spectrogram.
func newBands(p Params, workers int) (kernels.Loop, error) {
	bank, strips := newBanded(p), make([]strip, workers)
	for i := range strips {
		powers, bands := turn.Rows*bank.bins, turn.Rows*p.Bands
		strips[i] = strip{make([]float32, powers), make([]float32, bands), make([]float32, powers), make([]float32, bands)}
	}
	return kernels.Loop{
		Rows:           func(s *kernels.Shape) int { return s[frames] },
		PerMicrosecond: aboutAMicrosecond / float64(bank.bins), Unit: turn.Rows,
		Do: func(worker int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
			bank.rows(&strips[worker], a[0], a[1], lo, hi)
		},
	}, nil
}

// banded holds, for each band, the weights from the first to the last that is not zero. These are some two weights per bin
// in all.
type banded struct {
	bins    int
	spans   []span
	weights []float32 // of all spans
}

// span is the bins of a band: count bins from first on.
type span struct{ first, count int }

// strip is memory for eight frames: their powers, bin by bin, and their bands, band by band; and both frame by frame, for calls of
// fewer frames.
type strip struct{ power, bands, powerRows, bandRows []float32 }

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
		b.spans[m] = span{first, end - first}
		b.weights = append(b.weights, row[first:end]...)
	}
	return b
}

// rows computes the frames from lo to hi−1, eight at a time. The last eight may include frames that are computed already.
func (b *banded) rows(by *strip, dst, power []float32, lo, hi int) {
	bands := len(b.spans)
	switch {
	case hi-lo >= turn.Rows:
	case haveSIMD && hi-lo > 1: // eight frames take less time than two one by one
		copy(by.powerRows, power[lo*b.bins:hi*b.bins])
		b.rows(by, by.bandRows, by.powerRows, 0, turn.Rows)
		copy(dst[lo*bands:hi*bands], by.bandRows)
		return
	default:
		for f := lo; f < hi; f++ {
			b.frame(dst[f*bands:][:bands], power[f*b.bins:][:b.bins])
		}
		return
	}
	for f := lo; f < hi; f += turn.Rows {
		f := min(f, hi-turn.Rows)
		turn.Aside(by.power, turn.Rows, power[f*b.bins:], b.bins, b.bins)
		b.eight(by.bands, by.power)
		turn.Back(dst[f*bands:], bands, by.bands, bands)
	}
}

// frame computes one frame.
func (b *banded) frame(dst, power []float32) {
	weights := b.weights
	for m, s := range b.spans {
		dst[m] = dot(weights[:s.count], power[s.first:])
		weights = weights[s.count:]
	}
}

// eightGo computes the bands of eight frames, whose values lie side by side.
func (b *banded) eightGo(bands, power []float32) {
	weights := b.weights
	for m, s := range b.spans {
		sums := (*[turn.Rows]float32)(bands[m*turn.Rows:])
		clear(sums[:])
		for k, w := range weights[:s.count] {
			for f, v := range power[(s.first+k)*turn.Rows:][:turn.Rows] {
				sums[f] += w * v
			}
		}
		weights = weights[s.count:]
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
