package mel

import (
	"slices"

	"crossover/kernels"
	"crossover/openblas"
	"crossover/pool"
)

// engine is one implementation, ready for one filterbank. It is for one goroutine at a time.
type engine interface {
	// transform writes the mel spectrogram of power, at least one frame, to dst, which has its length. It allocates
	// nothing once it has seen that many frames.
	transform(dst, power []float32) error
}

// contenders is the table of the family: our own code takes the filterbank as bands, BLAS libraries multiply by it as a
// dense matrix.
var contenders = slices.Concat(kernels.Contenders[Params, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return newBanded(p), nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New: func(p Params) (engine, error) {
			return &parallel{banded: newBanded(p), pool: pool.Shared()}, nil
		},
	},
	{
		Implementation: kernels.Implementation{
			Name: "openblas", Processor: kernels.CPU, Probe: openblas.Probe, Version: openblas.Version,
		},
		New: func(p Params) (engine, error) { return newDense(p, 1), nil },
	},
	{
		Implementation: kernels.Implementation{
			Name: "openblas-parallel", Processor: kernels.CPU, Probe: openblas.Probe, Version: openblas.Version,
		},
		New: func(p Params) (engine, error) { return newDense(p, openblas.Threads()), nil },
	},
}, kernels.OnGPU("", newSparse), kernels.GPUGEMM(newMultiplied))

// banded keeps the span of bins from a filter's first weight to its last, and nothing of the zeros around it: some
// two weights a bin in all.
type banded struct {
	bins  int
	spans []span
}

type span struct {
	first   int // bin
	weights []float32
}

func newBanded(p Params) *banded {
	e := &banded{bins: p.bins(), spans: make([]span, p.Bands)}
	weights := Filterbank(p.SampleRate, p.NFFT, p.Bands)
	for m := range e.spans {
		row := weights[m*e.bins : (m+1)*e.bins]
		first, end := 0, len(row)
		for first < end && row[first] == 0 {
			first++
		}
		for first < end && row[end-1] == 0 {
			end--
		}
		e.spans[m] = span{first: first, weights: row[first:end]}
	}
	return e
}

func (e *banded) transform(dst, power []float32) error {
	e.rows(dst, power, 0, len(power)/e.bins)
	return nil
}

// rows computes the frames from lo to hi−1, four at a time: each weight is loaded once for four products, whose sums
// do not wait for each other, and four spectra still fit the first-level cache.
func (e *banded) rows(dst, power []float32, lo, hi int) {
	bands := len(e.spans)
	f := lo
	for ; f+4 <= hi; f += 4 {
		in := power[f*e.bins : (f+4)*e.bins]
		out := dst[f*bands : (f+4)*bands]
		for m := range e.spans {
			s := &e.spans[m]
			n := len(s.weights)
			p0 := in[s.first:][:n]
			p1 := in[s.first+e.bins:][:n]
			p2 := in[s.first+2*e.bins:][:n]
			p3 := in[s.first+3*e.bins:][:n]
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
		in := power[f*e.bins : (f+1)*e.bins]
		for m := range e.spans {
			s := &e.spans[m]
			dst[f*bands+m] = dot(s.weights, in[s.first:])
		}
	}
}

// dot returns the sum of a[k]·b[k] over the length of a, in four sums that do not wait for each other.
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

// framesPerChunk is the least number of frames that a worker takes at a time: work of some ten microseconds at 1025
// bins, a few times what handing it over costs, and a multiple of the four frames that are computed together.
const framesPerChunk = 16

// parallel shares out the frames over the pool.
type parallel struct {
	*banded
	pool       *pool.Pool
	dst, power []float32 // of the call that runs
}

func (e *parallel) transform(dst, power []float32) error {
	e.dst, e.power = dst, power
	e.pool.Run(len(power)/e.bins, framesPerChunk, e)
	e.dst, e.power = nil, nil
	return nil
}

// Do computes the frames from lo to hi−1.
func (e *parallel) Do(_, lo, hi int) { e.rows(e.dst, e.power, lo, hi) }

// dense multiplies frames×bins by bins×bands.
type dense struct {
	threads, bins, bands int
	transposed           []float32 // the filterbank, bins×bands
}

func newDense(p Params, threads int) *dense {
	e := &dense{threads: threads, bins: p.bins(), bands: p.Bands, transposed: make([]float32, p.bins()*p.Bands)}
	for i, w := range Filterbank(p.SampleRate, p.NFFT, p.Bands) {
		e.transposed[i%e.bins*e.bands+i/e.bins] = w
	}
	return e
}

func (e *dense) transform(dst, power []float32) error {
	openblas.Gemm(e.threads, false, false, len(power)/e.bins, e.bands, e.bins,
		1, power, e.bins, e.transposed, e.bands, 0, dst, e.bands)
	return nil
}
