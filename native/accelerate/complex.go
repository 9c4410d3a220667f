package accelerate

import (
	"fmt"
	"math/bits"
	"runtime"
	"unsafe"
)

// Complex transforms n complex values. Only one goroutine at a time may use a Complex.
type Complex struct {
	n         int
	transform func(dst, src []complex64, direction int)
}

// mostComplex is the greatest length of a Complex.
const mostComplex = 1 << 27

// NewComplex returns the transform of n complex values. n is from 1 to 2^27. vDSP has transforms of lengths 2^k from 4 on,
// and of 3, 5 or 15 times 2^k from k = 3 on. Other lengths become a convolution by transforms of a power of two (Bluestein).
// NewComplex fails if Probe does, if n is out of range, or if there is no memory for tables.
func NewComplex(n int) (*Complex, error) {
	if n < 1 || n > mostComplex {
		return nil, fmt.Errorf("accelerate: transform of %d complex values: want 1 to %d", n, mostComplex)
	}
	lib, err := loaded()
	if err != nil {
		return nil, err
	}
	c := &Complex{n: n}
	if n <= 2 {
		c.transform = transformFew
	} else if n&(n-1) == 0 {
		c.transform, err = newZop(lib, n)
	} else if c.transform = newComplexDFT(lib, n); c.transform == nil {
		c.transform, err = newComplexChirp(lib, n)
	}
	return c, err
}

// Forward writes the unscaled transform of src to dst. Both have n values. They must not overlap. Forward panics if a length
// is wrong.
func (c *Complex) Forward(dst, src []complex64) {
	c.check(dst, src)
	c.transform(dst, src, forward)
}

// InverseUnscaled writes n times the inverse transform of src to dst. Both have n values. They must not overlap.
// InverseUnscaled panics if a length is wrong.
func (c *Complex) InverseUnscaled(dst, src []complex64) {
	c.check(dst, src)
	c.transform(dst, src, inverse)
}

func (c *Complex) check(dst, src []complex64) {
	if len(dst) != c.n || len(src) != c.n {
		panic(fmt.Sprintf("accelerate: transform of %d complex values got src of %d and dst of %d", c.n, len(src), len(dst)))
	}
}

// transformFew transforms one value or two. vDSP does not take so few.
func transformFew(dst, src []complex64, _ int) {
	if len(src) == 1 {
		dst[0] = src[0]
		return
	}
	dst[0], dst[1] = src[0]+src[1], src[0]-src[1]
}

// parted are n complex values in the layout of vDSP: all real parts, then all imaginary parts.
type parted struct {
	re, im []float32
	both   *split
}

func newParted(n int) parted {
	values := make([]float32, 2*n)
	return parted{values[:n], values[n:], splitOf(values[:n], values[n:])}
}

// take copies values to p.
func (p parted) take(lib *library, src []complex64) {
	begin().pointer(unsafe.Pointer(&src[0])).number(2).pointer(unsafe.Pointer(p.both)).number(1).number(len(src)).run(lib.ctoz)
}

// give copies values from p.
func (p parted) give(lib *library, dst []complex64) {
	begin().pointer(unsafe.Pointer(p.both)).number(1).pointer(unsafe.Pointer(&dst[0])).number(2).number(len(dst)).run(lib.ztoc)
}

// zop is vDSP's transform of a power of two, out of place.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_fft_zop
type zop struct {
	lib      *library
	setup    uintptr
	log2     int
	from, to parted
}

func newZop(lib *library, n int) (func(dst, src []complex64, direction int), error) {
	e := &zop{lib: lib, log2: bits.Len(uint(n)) - 1, from: newParted(n), to: newParted(n)}
	var err error
	e.setup, err = newSetup(lib, e.log2, e)
	return e.run, err
}

func (e *zop) run(dst, src []complex64, direction int) {
	e.from.take(e.lib, src)
	begin().number(int(e.setup)).pointer(unsafe.Pointer(e.from.both)).number(1).pointer(unsafe.Pointer(e.to.both)).number(1).
		number(e.log2).number(direction).run(e.lib.fftZop)
	e.to.give(e.lib, dst)
	runtime.KeepAlive(e)
}

// complexDFT is vDSP's transform of 3, 5 or 15 times a power of two.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_dft_zop_createsetup
type complexDFT struct {
	lib         *library
	there, back uintptr
	from, to    parted
}

// newComplexDFT returns nil if vDSP has no transform of the length.
func newComplexDFT(lib *library, n int) func(dst, src []complex64, direction int) {
	e := &complexDFT{lib: lib, from: newParted(n), to: newParted(n)}
	if !newDFTSetups(lib, lib.createComplexDFT, n, e, &e.there, &e.back) {
		return nil
	}
	return e.run
}

func (e *complexDFT) run(dst, src []complex64, direction int) {
	setup := e.there
	if direction == inverse {
		setup = e.back
	}
	e.from.take(e.lib, src)
	begin().number(int(setup)).slice(e.from.re).slice(e.from.im).slice(e.to.re).slice(e.to.im).run(e.lib.executeDFT)
	e.to.give(e.lib, dst)
	runtime.KeepAlive(e)
}

// newComplexChirp returns the transform of any length from 3 on.
func newComplexChirp(lib *library, n int) (func(dst, src []complex64, direction int), error) {
	e, err := newBluestein(lib, n)
	if err != nil {
		return nil, err
	}
	return func(dst, src []complex64, direction int) {
		copy(e.work, src)
		if direction == inverse {
			conjugateAll(e.work) // the transform of the conjugate is the conjugate of the inverse
		}
		e.run()
		if direction == inverse {
			conjugateAll(e.work)
		}
		copy(dst, e.work)
	}, nil
}

func conjugateAll(x []complex64) {
	for i, v := range x {
		x[i] = conjugate(v)
	}
}
