// Package accelerate computes with Apple's Accelerate framework on the processor: vDSP's transforms, convolution, biquads,
// sums and magnitudes, vForce's exponentials, logarithms and powers, and the BLAS. The framework is found and loaded at run time, without cgo.
//
// The package has what Crossover's operations need and is not a general binding. Accelerate is a part of macOS. Elsewhere
// [Probe] fails, and nothing else does. The package has not run on a Mac yet. On Linux its tests use a library that
// implements the definitions in Apple's documentation. The usual steps are
//
//  1. call [Probe], and compute without Accelerate if it fails;
//  2. make a transform or a filter by [NewReal], [NewComplex] or [NewBiquad], or call a function of slices.
//
// Slices must not overlap partly. Functions panic if slices have wrong lengths. No function allocates once warm. Functions
// that need Accelerate panic if Probe fails.
//
// Reference: https://developer.apple.com/documentation/accelerate
package accelerate

import (
	"runtime"
	"sync"
	"unsafe"
)

// Environment is the variable that holds the path of the library to load in place of the framework.
const Environment = "CROSSOVER_ACCELERATE"

// library holds the addresses of the functions that are used.
type library struct {
	vsmsa, vsadd, vsmul, sve, maxv, conv uintptr
	vadd, vsub, vmul, vma                uintptr
	vabs, vthr, zvmags, zvabs, desamp    uintptr
	meanv, measqv, minv, maxvi           uintptr
	vvlogf, vvexpf                       uintptr
	vvlog1pf, vvlog10f, vvtanhf, vvpowsf uintptr
	createFFT, destroyFFT                uintptr
	fftZrip, fftZip, fftZop              uintptr
	ctoz, ztoc                           uintptr
	createDFT, createComplexDFT          uintptr
	destroyDFT, executeDFT               uintptr
	createBiquad, destroyBiquad, biquad  uintptr
	sgemm                                uintptr
}

var loaded = sync.OnceValues(load)

// Probe returns nil if Accelerate can be used, and otherwise an error of one line that says what is missing. The first call
// loads the framework.
func Probe() error {
	_, err := loaded()
	return err
}

// must returns the library. It panics if Probe fails.
func must() *library {
	lib, err := loaded()
	if err != nil {
		panic(err.Error())
	}
	return lib
}

// call is the argument list of one call into C, with the numbers that C takes by address and pointers to the memory that C
// uses. Objects on Go's heap do not move. The call is on the heap and keeps everything alive that C touches. The arguments
// are already in a slice, so calling C allocates nothing.
type call struct {
	words  [16]uintptr
	count  int
	floats [4]float32
	used   int
	int32s [1]int32
	keep   [8]unsafe.Pointer
	kept   int
}

var calls = sync.Pool{New: func() any { return new(call) }}

func begin() *call { return calls.Get().(*call) }

// number appends an integer, a stride or a handle.
func (c *call) number(v int) *call {
	c.words[c.count] = uintptr(v)
	c.count++
	return c
}

// pointer appends an address, and keeps the object at the address alive.
func (c *call) pointer(p unsafe.Pointer) *call {
	c.keep[c.kept] = p
	c.kept++
	c.words[c.count] = uintptr(p)
	c.count++
	return c
}

// slice appends the address of a slice's first element.
func (c *call) slice(x []float32) *call { return c.pointer(unsafe.Pointer(unsafe.SliceData(x))) }

// float appends the address of a number.
func (c *call) float(v float32) *call {
	c.floats[c.used] = v
	c.used++
	return c.pointer(unsafe.Pointer(&c.floats[c.used-1]))
}

// length appends the address of an int, as vForce takes it.
func (c *call) length(n int) *call {
	c.int32s[0] = int32(n)
	return c.pointer(unsafe.Pointer(&c.int32s[0]))
}

// run calls a function. It returns the result, and the first number that was passed by address, because some functions write
// their result there.
func (c *call) run(function uintptr) (result uintptr, written float32) {
	result = invoke(function, c.words[:c.count])
	runtime.KeepAlive(c)
	written = c.floats[0]
	c.count, c.used, c.kept = 0, 0, 0
	clear(c.keep[:])
	calls.Put(c)
	return result, written
}

func equal(a, b []float32) {
	if len(a) != len(b) {
		panic("accelerate: slices differ in length")
	}
}

// Scale sets dst[i] to src[i]·a + b. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vsmsa
func Scale(dst, src []float32, a, b float32) {
	equal(dst, src)
	begin().slice(src).number(1).float(a).float(b).slice(dst).number(1).number(len(src)).run(must().vsmsa)
}

// Add sets dst[i] to src[i] + b. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vsadd
func Add(dst, src []float32, b float32) {
	equal(dst, src)
	begin().slice(src).number(1).float(b).slice(dst).number(1).number(len(src)).run(must().vsadd)
}

// AddTo adds src[i] to dst[i].
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vadd
func AddTo(dst, src []float32) {
	equal(dst, src)
	begin().slice(dst).number(1).slice(src).number(1).slice(dst).number(1).number(len(src)).run(must().vadd)
}

// Multiply sets dst[i] to src[i]·a. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vsmul
func Multiply(dst, src []float32, a float32) {
	equal(dst, src)
	begin().slice(src).number(1).float(a).slice(dst).number(1).number(len(src)).run(must().vsmul)
}

// Sum returns the sum of x in float32.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_sve
func Sum(x []float32) float32 { return reduce(must().sve, x) }

// Max returns the greatest value of x, which must not be empty. It passes over NaNs.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_maxv
func Max(x []float32) float32 { return reduce(must().maxv, x) }

func reduce(function uintptr, x []float32) float32 {
	_, result := begin().slice(x).number(1).float(0).number(len(x)).run(function)
	return result
}

// Log sets dst[i] to the natural logarithm of src[i]. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vvlogf
func Log(dst, src []float32) { vforce(must().vvlogf, dst, src) }

// Exp sets dst[i] to e^src[i]. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vvexpf
func Exp(dst, src []float32) { vforce(must().vvexpf, dst, src) }

// mostOfVForce is the number of values in a call of vForce. The length is a 32-bit int there.
const mostOfVForce = 1 << 30

// vforce calls a function of vForce, several times for long slices.
func vforce(function uintptr, dst, src []float32) {
	equal(dst, src)
	for len(src) > 0 {
		n := min(mostOfVForce, len(src))
		begin().slice(dst[:n]).slice(src[:n]).length(n).run(function)
		dst, src = dst[n:], src[n:]
	}
}

// Convolve sets dst[i] to the sum over j of src[i+len(taps)−1−j]·taps[j]: the outputs of a convolution that need no samples
// beyond src. src has len(dst) + len(taps) − 1 values and must not overlap dst. Convolve panics if the lengths do not fit.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_conv
func Convolve(dst, src, taps []float32) {
	if len(src) != len(dst)+len(taps)-1 {
		panic("accelerate: src has not the values of dst and the taps, less one")
	}
	last := unsafe.Pointer(&taps[len(taps)-1]) // read backwards, because vDSP_conv is a correlation
	begin().slice(src).number(1).pointer(last).number(-1).slice(dst).number(1).number(len(dst)).number(len(taps)).run(must().conv)
}

// Decimate sets dst[i] to the sum over j of src[i·factor+j]·taps[j]: a correlation that keeps each factor-th value. src has
// (len(dst)−1)·factor + len(taps) values and must not overlap dst. Decimate panics if the lengths do not fit.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_desamp
func Decimate(dst, src, taps []float32, factor int) {
	if len(dst) == 0 || len(src) != (len(dst)-1)*factor+len(taps) {
		panic("accelerate: src has not the values that the taps meet")
	}
	begin().slice(src).number(factor).slice(taps).slice(dst).number(len(dst)).number(len(taps)).run(must().desamp)
}
