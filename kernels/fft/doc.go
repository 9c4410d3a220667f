// Package fft computes the discrete Fourier transform of real and of complex float32 samples, of any length, and its inverse.
//
//	X[k] = Σ_j x[j]·exp(−2πi·jk/n)      x[j] = 1/n·Σ_k X[k]·exp(2πi·jk/n)
//
// The forward transform is unscaled and the inverse divides by n, so that the inverse of the forward transform is the input.
// The spectrum of n real samples is its bins 0 to n/2, because the others are conjugates of these. The operation fft is the
// transform of real rows, ifft is its inverse, and fft-complex is the transform of complex rows in either direction.
//
// Package transform computes them on the processor, package launch on a GPU, and package double in float64. The implementation
// go-parallel divides a single long row among the cores if the processor has AVX2 and FMA, or NEON, and the row has an even
// length without prime factors above 7. A row is long from 32 768 samples on, or from 112 000 on with three workers or fewer.
//
// Packages conv1d and stft have convolutions and spectrograms.
//
// The usual steps are
//
//  1. call [New], [NewInverse] or [NewComplexPlan] for a length: the plan chooses the implementation that is fastest on this
//     host;
//  2. call Transform as often as needed: a warm plan allocates nothing;
//  3. call Close.
//
// [NewReal] and [NewComplex] return transforms that run on one core in Go, without a choice. Clone returns one more for another
// goroutine, which shares the tables.
//
// Source: C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992: the Stockham passes in
// section 1.7, the steps in section 3.3, the real transform by one of half the length in section 4.3, Bluestein's
// algorithm in section 4.2.
package fft
