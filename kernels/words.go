package kernels

import "unsafe"

// ComplexWords returns complex values as words, two for each: the real part, then the imaginary part. Like all functions of
// this file it copies nothing: the result shares the memory of x.
func ComplexWords(x []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// Complex returns pairs of words as complex values, the reverse of [ComplexWords].
func Complex(x []float32) []complex64 {
	return unsafe.Slice((*complex64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/2)
}

// Float64Words returns float64 values as words, two for each, low before high.
func Float64Words(x []float64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// Float64s returns pairs of words as float64 values, the reverse of [Float64Words].
func Float64s(x []float32) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/2)
}

// Uint32s returns the integers whose bits the words hold.
func Uint32s(x []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// Uint32Words returns integers as words that hold their bits, the reverse of [Uint32s].
func Uint32Words(x []uint32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
