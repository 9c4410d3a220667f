// Package reduce turns a slice into one number: the sum of its values.
//
//	sum: Σ x[i]
//
// The package does not reduce along an axis of a matrix. The usual steps are NewSum, once, and Sum.
//
// If float32 values are added one after the other, the error grows to about √n units of the last place. So the
// implementations compute many partial sums in each block of the slice, and add the sums of the blocks in float64. Source:
// N. Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14 (1993), pages 783–799.
package reduce
