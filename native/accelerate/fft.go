package accelerate

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"unsafe"
)

// Directions and options of vDSP, from vDSP.h.
const (
	forward = 1  // FFT_FORWARD, vDSP_DFT_FORWARD
	inverse = -1 // FFT_INVERSE, vDSP_DFT_INVERSE
	radix2  = 0  // kFFTRadix2
)

// split is a DSPSplitComplex: the addresses of the real parts and of the imaginary parts.
type split struct{ re, im unsafe.Pointer }

func splitOf(re, im []float32) *split {
	return &split{unsafe.Pointer(unsafe.SliceData(re)), unsafe.Pointer(unsafe.SliceData(im))}
}

// Real transforms n real samples to the n/2+1 bins of their spectrum and back. Only one goroutine at a time may use a Real.
type Real struct {
	n         int
	transform packedTransform
}

// packedTransform transforms a packed real signal in place. In the signal, even samples are real parts and odd samples are
// imaginary parts. In the spectrum, value k is bin k. Bin 0 is real, and bin n/2 takes the place of its imaginary part.
type packedTransform interface {
	forward() // computes twice the transform, as vDSP does
	inverse() // computes n times the samples of the spectrum
	parts() *split
	values() []float32 // the real parts, then the imaginary ones
}

// NewReal returns the transform of n real samples. n is even, from 2 to 2^28. vDSP has transforms of lengths 2^k from 4 on,
// and of 3, 5 or 15 times 2^k. Other lengths become a convolution by transforms of a power of two (Bluestein). NewReal fails
// if Probe does, if n is out of range, or if there is no memory for tables.
func NewReal(n int) (*Real, error) {
	if n < 2 || n%2 != 0 || n > 1<<28 {
		return nil, fmt.Errorf("accelerate: transform of %d samples: want an even number from 2 to %d", n, 1<<28)
	}
	lib, err := loaded()
	if err != nil {
		return nil, err
	}
	var transform packedTransform
	if n == 2 {
		transform = newPair()
	} else if n&(n-1) == 0 {
		transform, err = newZrip(lib, n)
	} else if e := newDFT(lib, n); e != nil {
		transform = e
	} else {
		transform, err = newChirp(lib, n)
	}
	if err != nil {
		return nil, err
	}
	return &Real{n, transform}, nil
}

// newSetup returns vDSP's tables for transforms of 2^log2 points. They are freed when e is unreachable.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_create_fftsetup
func newSetup[E any](lib *library, log2 int, e *E) (uintptr, error) {
	setup, _ := begin().number(log2).number(radix2).run(lib.createFFT)
	if setup == 0 {
		return 0, fmt.Errorf("accelerate: no memory for the tables of a transform of 2^%d points", log2)
	}
	runtime.AddCleanup(e, func(setup uintptr) { begin().number(int(setup)).run(lib.destroyFFT) }, setup)
	return setup, nil
}

// Forward writes bins 0 to n/2 of the unscaled transform of src to dst. src has n values and dst has n/2+1. They must not
// overlap. Forward panics if a length is wrong.
func (r *Real) Forward(dst []complex64, src []float32) {
	r.check(dst, src)
	lib, half := must(), r.n/2
	parts := r.transform.parts()
	begin().slice(src).number(2).pointer(unsafe.Pointer(parts)).number(1).number(half).run(lib.ctoz)
	r.transform.forward()
	values := r.transform.values()
	Multiply(values, values, 0.5)
	begin().pointer(unsafe.Pointer(parts)).number(1).pointer(unsafe.Pointer(&dst[0])).number(2).number(half).run(lib.ztoc)
	dst[0], dst[half] = complex(real(dst[0]), 0), complex(imag(dst[0]), 0)
}

// InverseUnscaled writes n times the samples whose spectrum is src to dst. src has n/2+1 values and dst has n. They must not
// overlap. The imaginary parts of bins 0 and n/2 are taken as 0. InverseUnscaled panics if a length is wrong.
func (r *Real) InverseUnscaled(dst []float32, src []complex64) {
	r.check(src, dst)
	lib, half := must(), r.n/2
	parts := r.transform.parts()
	begin().pointer(unsafe.Pointer(&src[0])).number(2).pointer(unsafe.Pointer(parts)).number(1).number(half).run(lib.ctoz)
	values := r.transform.values()
	values[0], values[half] = real(src[0]), real(src[half])
	r.transform.inverse()
	begin().pointer(unsafe.Pointer(parts)).number(1).slice(dst).number(2).number(half).run(lib.ztoc)
}

func (r *Real) check(bins []complex64, samples []float32) {
	if len(bins) != r.n/2+1 || len(samples) != r.n {
		panic(fmt.Sprintf("accelerate: transform of %d samples got %d samples and %d bins", r.n, len(samples), len(bins)))
	}
}

// pair is the transform of two samples: their sum and their difference. vDSP_fft_zrip does not take so few.
type pair struct {
	data []float32
	both *split
}

func newPair() *pair {
	data := make([]float32, 2)
	return &pair{data, splitOf(data[:1], data[1:])}
}

func (e *pair) parts() *split     { return e.both }
func (e *pair) values() []float32 { return e.data }
func (e *pair) forward()          { e.data[0], e.data[1] = 2*(e.data[0]+e.data[1]), 2*(e.data[0]-e.data[1]) }
func (e *pair) inverse()          { e.data[0], e.data[1] = e.data[0]+e.data[1], e.data[0]-e.data[1] }

// zrip is vDSP's transform of a power of two from 4 on, in place.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_fft_zrip
type zrip struct {
	lib   *library
	setup uintptr
	log2  int
	data  []float32
	both  *split
}

func newZrip(lib *library, n int) (_ *zrip, err error) {
	e := &zrip{lib: lib, log2: bits.Len(uint(n)) - 1, data: make([]float32, n)}
	e.both = splitOf(e.data[:n/2], e.data[n/2:])
	e.setup, err = newSetup(lib, e.log2, e)
	return e, err
}

func (e *zrip) parts() *split     { return e.both }
func (e *zrip) values() []float32 { return e.data }
func (e *zrip) forward()          { e.run(forward) }
func (e *zrip) inverse()          { e.run(inverse) }

func (e *zrip) run(direction int) {
	begin().number(int(e.setup)).pointer(unsafe.Pointer(e.both)).number(1).number(e.log2).number(direction).run(e.lib.fftZrip)
	runtime.KeepAlive(e)
}

// dft is vDSP's transform of 3, 5 or 15 times a power of two. It is not in place.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_dft_zrop_createsetup
type dft struct {
	lib           *library
	there, back   uintptr
	data, scratch []float32
	both          *split
}

// newDFT returns nil if vDSP has no transform of the length.
func newDFT(lib *library, n int) *dft {
	e := &dft{lib: lib, data: make([]float32, n), scratch: make([]float32, n)}
	e.both = splitOf(e.data[:n/2], e.data[n/2:])
	if !newDFTSetups(lib, lib.createDFT, n, e, &e.there, &e.back) {
		return nil
	}
	return e
}

// newDFTSetups makes vDSP's tables for both directions of a transform. They are freed when e is unreachable. It returns false
// if vDSP has no transform of the length.
func newDFTSetups[E any](lib *library, create uintptr, n int, e *E, there, back *uintptr) bool {
	free := func(setup uintptr) { begin().number(int(setup)).run(lib.destroyDFT) }
	if *there, _ = begin().number(0).number(n).number(forward).run(create); *there == 0 {
		return false
	}
	runtime.AddCleanup(e, free, *there)
	if *back, _ = begin().number(int(*there)).number(n).number(inverse).run(create); *back == 0 {
		return false
	}
	runtime.AddCleanup(e, free, *back)
	return true
}

func (e *dft) parts() *split     { return e.both }
func (e *dft) values() []float32 { return e.data }
func (e *dft) forward()          { e.run(e.there) }
func (e *dft) inverse()          { e.run(e.back) }

func (e *dft) run(setup uintptr) {
	half := len(e.data) / 2
	copy(e.scratch, e.data)
	begin().number(int(setup)).slice(e.scratch[:half]).slice(e.scratch[half:]).slice(e.data[:half]).slice(e.data[half:]).run(e.lib.executeDFT)
	runtime.KeepAlive(e)
}

// chirp is the transform of any other even length n. It transforms h = n/2 complex points and then separates the two
// interleaved spectra.
type chirp struct {
	*bluestein // of h points
	data       []float32
	both       *split
	twiddles   []complex64 // −i·exp(−2πi·k/n)
}

func newChirp(lib *library, n int) (*chirp, error) {
	h := n / 2
	points, err := newBluestein(lib, h)
	if err != nil {
		return nil, err
	}
	e := &chirp{bluestein: points, data: make([]float32, n), twiddles: make([]complex64, h)}
	e.both = splitOf(e.data[:h], e.data[h:])
	for j := range h {
		sin, cos := math.Sincos(2 * math.Pi * float64(j) / float64(n))
		e.twiddles[j] = complex64(complex(-sin, -cos))
	}
	return e, nil
}

func (e *chirp) parts() *split     { return e.both }
func (e *chirp) values() []float32 { return e.data }

func (e *chirp) forward() {
	h := len(e.work)
	for j := range h {
		e.work[j] = complex(e.data[j], e.data[h+j])
	}
	e.run()
	z := e.work[0]
	e.data[0], e.data[h] = 2*(real(z)+imag(z)), 2*(real(z)-imag(z))
	for k := 1; k < h; k++ {
		a, b := e.work[k], conjugate(e.work[h-k])
		x := (a + b) + e.twiddles[k]*(a-b)
		e.data[k], e.data[h+k] = real(x), imag(x)
	}
}

func (e *chirp) inverse() {
	h := len(e.work)
	first, last := e.data[0], e.data[h]
	// The transform of the conjugate is the conjugate of the inverse.
	e.work[0] = complex(first+last, last-first)
	for k := 1; k < h; k++ {
		a, b := complex(e.data[k], e.data[h+k]), complex(e.data[h-k], -e.data[2*h-k])
		x := (a + b) + conjugate(e.twiddles[k])*(a-b)
		e.work[k] = conjugate(x)
	}
	e.run()
	for j := range h {
		e.data[j], e.data[h+j] = real(e.work[j]), -imag(e.work[j])
	}
}

// bluestein transforms h complex points by convolution with a chirp.
//
//	Z[k] = c[k]·Σ_j (z[j]·c[j])·conj(c[k−j]),   c[j] = exp(−πi·j²/h)
//
// Source: L. Bluestein, A linear filtering approach to the computation of discrete Fourier transform, IEEE
// Transactions on Audio and Electroacoustics 18 (1970), 451–455.
type bluestein struct {
	lib    *library
	setup  uintptr
	log2   int
	chirp  []complex64 // c
	filter []complex64 // the transform of conj(c), wrapped around, divided by its length
	work   []complex64
	re, im []float32
	parted *split
}

// newBluestein returns the transform of h points, at least 2.
func newBluestein(lib *library, h int) (_ *bluestein, err error) {
	log2 := bits.Len(uint(2*h - 2))
	length := 1 << log2
	e := &bluestein{
		lib: lib, log2: log2, chirp: make([]complex64, h), filter: make([]complex64, length), work: make([]complex64, h),
		re: make([]float32, length), im: make([]float32, length),
	}
	e.parted = splitOf(e.re, e.im)
	if e.setup, err = newSetup(lib, log2, e); err != nil {
		return nil, err
	}
	for j := range h {
		sin, cos := math.Sincos(math.Pi * float64(j*j%(2*h)) / float64(h))
		e.chirp[j] = complex64(complex(cos, -sin))
		e.re[j], e.im[j] = float32(cos), float32(sin)
		if j > 0 {
			e.re[length-j], e.im[length-j] = e.re[j], e.im[j]
		}
	}
	e.transform(forward)
	scale := 1 / float32(length)
	for i := range e.filter {
		e.filter[i] = complex(e.re[i]*scale, e.im[i]*scale)
	}
	return e, nil
}

// transform transforms re and im in place, unscaled in both directions.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_fft_zip
func (e *bluestein) transform(direction int) {
	begin().number(int(e.setup)).pointer(unsafe.Pointer(e.parted)).number(1).number(e.log2).number(direction).run(e.lib.fftZip)
	runtime.KeepAlive(e)
}

// run computes the forward transform of work in place.
func (e *bluestein) run() {
	for j, c := range e.chirp {
		v := e.work[j] * c
		e.re[j], e.im[j] = real(v), imag(v)
	}
	clear(e.re[len(e.work):])
	clear(e.im[len(e.work):])
	e.transform(forward)
	for i, f := range e.filter {
		v := complex(e.re[i], e.im[i]) * f
		e.re[i], e.im[i] = real(v), imag(v)
	}
	e.transform(inverse)
	for j, c := range e.chirp {
		e.work[j] = complex(e.re[j], e.im[j]) * c
	}
}

func conjugate(z complex64) complex64 { return complex(real(z), -imag(z)) }

// FastLength returns the least length from n on for which vDSP has a transform: 1, 3, 5 or 15 times a power of two,
// which is at least 16.
func FastLength(n int) int {
	best := 0
	for _, odd := range []int{1, 3, 5, 15} {
		length := 16 * odd
		for length < n {
			length *= 2
		}
		if best == 0 || length < best {
			best = length
		}
	}
	return best
}
