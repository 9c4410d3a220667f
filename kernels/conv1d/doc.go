// Package conv1d convolves a signal with a fixed filter, in full:
//
//	y[i] = Σ_k h[k]·x[i−k],   0 ≤ i < n+taps−1,   x zero outside of [0, n)
//
// There are three algorithms, which are variants of the implementations:
//
//   - direct is the definition: n·taps multiply-adds, in registers, and nothing else. It is fastest if one of the two
//     sequences is short.
//   - fft is one zero-padded transform of the whole output's length, and its inverse.
//   - partitioned is uniformly partitioned overlap-save. Its transforms are twice as long as a block, and it multiplies by
//     the transform of each block of the filter. Its working set stays in the cache at every length of the signal.
//
// On a GPU one threadgroup transforms a block. A filter that fits into one block is convolved in a single kernel.
//
// Values that depend on the filter alone, such as its transform, are computed before the first call at a length. The
// transforms of the signal are part of each call.
//
// The package does not filter recursively. A [Plan] keeps no state from one call to the next. A program that gets a signal in
// blocks of equal length, such as an audio callback, has a [Stream]: it convolves block after block, and each call returns
// the outputs of its own block. The usual steps are New with the filter's taps, and Convolve; or NewStream with the taps and
// the length of the blocks, and Process.
//
// Sources: A. Oppenheim and R. Schafer, Discrete-Time Signal Processing, 3rd ed., Pearson 2010, section 8.7, for the
// sum, the convolution theorem and overlap-save; F. Wefers, Partitioned convolution algorithms for real-time
// auralization, Logos 2015, chapter 5, for the uniform partition with a frequency-domain delay line.
package conv1d
