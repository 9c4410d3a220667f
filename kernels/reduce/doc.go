// Package reduce turns a slice into one number.
//
//	sum:    Σ x[i]
//	mean:   Σ x[i] / n
//	max:    the greatest x[i]
//	min:    the least x[i]
//	argmax: the index of the greatest x[i], the first one if several are equal
//
// As in NumPy, a NaN in the slice makes the greatest and the least value NaN, and argmax is the index of the first NaN. The
// package does not reduce along an axis of a matrix. The usual steps are NewSum or another constructor, once, and Of.
//
// If float32 values are added one after the other, the error grows to about √n units of the last place. So the
// implementations compute many partial sums in each block of the slice, and add the sums of the blocks in float64. Source:
// N. Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14 (1993), pages 783–799.
package reduce
