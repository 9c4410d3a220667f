// Package elementwise computes functions of one value on every value of a slice: scale and bias, and the natural
// logarithm.
//
//	scale: y[i] = a·x[i] + b
//	log:   y[i] = ln x[i]
//
// The package does not broadcast, convert types or fuse one function with the next. The usual steps are NewScale or NewLog,
// once, and Apply.
//
// On amd64 with AVX2 the loops are generated vector code (folder asm). Elsewhere they are plain Go with the same polynomial,
// which package approx documents. Both treat NaNs, infinities and zeros as package math does.
package elementwise
