// Package conv1d convolves a signal with a fixed filter, in full:
//
//	y[i] = Σ_k h[k]·x[i−k],   0 ≤ i < n+taps−1,   x zero outside of [0, n)
//
// The algorithms compete, not only their implementations:
//
//   - direct is the definition: n·taps multiply-adds, in registers, and nothing else. It wins where one of the two
//     sequences is short.
//   - fft is one transform of the whole output's length, zero padded, and its inverse.
//   - partitioned is uniformly partitioned overlap-save: transforms of twice a block, and a product for each block of
//     the filter. It is what a stream needs, and its working set stays in the cache however long the signal is.
//
// On a GPU a block is what one threadgroup transforms, and a filter that fits into one is convolved in a single kernel.
//
// Whatever depends on the filter alone, its transform above all, is made once and is no part of a call; the signal's
// transforms are.
//
// It does not filter recursively, and it keeps no state from one call to the next: a signal that comes in pieces is
// convolved piece by piece, and the tails are added up. The usual steps are New with the filter's taps, and Convolve.
//
// Sources: A. Oppenheim and R. Schafer, Discrete-Time Signal Processing, 3rd ed., Pearson 2010, section 8.7, for the
// sum, the convolution theorem and overlap-save; F. Wefers, Partitioned convolution algorithms for real-time
// auralization, Logos 2015, chapter 5, for the uniform partition with a frequency-domain delay line.
package conv1d
