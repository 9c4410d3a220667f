package kernels

import "unsafe"

// ComplexWords views complex values as their parts: twice as many float32, real before imaginary.
func ComplexWords(x []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// Complex views pairs of words as complex values, the reverse of [ComplexWords].
func Complex(x []float32) []complex64 {
	return unsafe.Slice((*complex64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/2)
}

// Float64Words views float64 values as their words, low before high.
func Float64Words(x []float64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// Float64s views pairs of words as float64 values, the reverse of [Float64Words].
func Float64s(x []float32) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/2)
}

// Uint32s views words as the integers whose bits they hold.
func Uint32s(x []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// Uint32Words views integers as words, the reverse of [Uint32s].
func Uint32Words(x []uint32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
