// Package reduce turns a slice into one number: the sum of its values.
//
//	sum: Σ x[i]
//
// It does not reduce along an axis of a matrix. The usual steps are NewSum, once, and Sum.
//
// Adding float32 one after the other loses about √n units of the last place, so the implementations add in many partial
// sums and in blocks, and a float64 adds the sums of the blocks. Source: N. Higham, The accuracy of floating point summation, SIAM J.
// Sci. Comput. 14 (1993), pages 783–799.
package reduce
