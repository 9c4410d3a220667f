package accelerate

import (
	"sync"
	"unsafe"
)

// Abs sets dst[i] to |src[i]|. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vabs
func Abs(dst, src []float32) {
	equal(dst, src)
	begin().slice(src).number(1).slice(dst).number(1).number(len(src)).run(must().vabs)
}

// Subtract sets dst[i] to a[i] − b[i]. dst may be a or b.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vsub
func Subtract(dst, a, b []float32) {
	equal(dst, a)
	equal(dst, b)
	// vDSP_vsub takes what is subtracted first.
	begin().slice(b).number(1).slice(a).number(1).slice(dst).number(1).number(len(a)).run(must().vsub)
}

// Log1p sets dst[i] to ln(1 + src[i]). dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vvlog1pf
func Log1p(dst, src []float32) { vforce(must().vvlog1pf, dst, src) }

// Tanh sets dst[i] to the hyperbolic tangent of src[i]. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vvtanhf
func Tanh(dst, src []float32) { vforce(must().vvtanhf, dst, src) }

// Pow sets dst[i] to src[i]^y. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vvpowsf
func Pow(dst, src []float32, y float32) {
	equal(dst, src)
	for len(src) > 0 {
		n := min(mostOfVForce, len(src))
		begin().slice(dst[:n]).float(y).slice(src[:n]).length(n).run(must().vvpowsf)
		dst, src = dst[n:], src[n:]
	}
}

// Power sets dst[i] to the sum of the squares of both parts of src[i]. It panics if the lengths differ.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_zvmags
func Power(dst []float32, src []complex64) { magnitudes(must().zvmags, dst, src) }

// Magnitude sets dst[i] to the root of what [Power] computes.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_zvabs
func Magnitude(dst []float32, src []complex64) { magnitudes(must().zvabs, dst, src) }

// planar has the real parts of complex values, and then their imaginary parts, as vDSP wants them: a block that stays in the
// first-level cache.
type planar struct {
	data [2 * planarBlock]float32
	both *split
}

const planarBlock = 2048

var planars = sync.Pool{New: func() any {
	p := new(planar)
	p.both = splitOf(p.data[:planarBlock], p.data[planarBlock:])
	return p
}}

// magnitudes calls a function from complex to real values, block by block.
func magnitudes(function uintptr, dst []float32, src []complex64) {
	if len(dst) != len(src) {
		panic("accelerate: slices differ in length")
	}
	lib := must()
	p := planars.Get().(*planar)
	for len(src) > 0 {
		n := min(planarBlock, len(src))
		begin().pointer(unsafe.Pointer(&src[0])).number(2).pointer(unsafe.Pointer(p.both)).number(1).number(n).run(lib.ctoz)
		begin().pointer(unsafe.Pointer(p.both)).number(1).slice(dst).number(1).number(n).run(function)
		dst, src = dst[n:], src[n:]
	}
	planars.Put(p)
}

// Mean returns the arithmetic mean of x, which must not be empty, in float32.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_meanv
func Mean(x []float32) float32 { return reduce(must().meanv, x) }

// MeanSquare returns the mean of the squares of x, which must not be empty, in float32.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_measqv
func MeanSquare(x []float32) float32 { return reduce(must().measqv, x) }

// MultiplyBy multiplies dst[i] by src[i].
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vmul
func MultiplyBy(dst, src []float32) {
	equal(dst, src)
	begin().slice(dst).number(1).slice(src).number(1).slice(dst).number(1).number(len(src)).run(must().vmul)
}

// MultiplyAdd multiplies dst[i] by a[i], and adds b[i].
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vma
func MultiplyAdd(dst, a, b []float32) {
	equal(dst, a)
	equal(dst, b)
	begin().slice(dst).number(1).slice(a).number(1).slice(b).number(1).slice(dst).number(1).number(len(dst)).run(must().vma)
}

// Min returns the least value of x, which must not be empty. Like [Max], it passes over NaNs.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_minv
func Min(x []float32) float32 { return reduce(must().minv, x) }

var indexes = sync.Pool{New: func() any { return new(uintptr) }}

// MaxAt returns the greatest value of x, which must not be empty, and the index of the first that equals it. It passes over
// NaNs. If no value is greater than −Inf, the index is 0.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_maxvi
func MaxAt(x []float32) (value float32, index int) {
	at := indexes.Get().(*uintptr)
	*at = 0 // vDSP writes no index if nothing is greater than −Inf
	_, value = begin().slice(x).number(1).float(0).pointer(unsafe.Pointer(at)).number(len(x)).run(must().maxvi)
	index = int(*at)
	indexes.Put(at)
	return value, index
}

// Log10 sets dst[i] to the logarithm of src[i] to base 10. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vvlog10f
func Log10(dst, src []float32) { vforce(must().vvlog10f, dst, src) }

// Raise sets dst[i] to src[i], or to least if src[i] is less. dst may be src.
//
// Reference: https://developer.apple.com/documentation/accelerate/vdsp_vthr
func Raise(dst, src []float32, least float32) {
	equal(dst, src)
	begin().slice(src).number(1).float(least).slice(dst).number(1).number(len(src)).run(must().vthr)
}
