// Package fft computes the discrete Fourier transform of real and of complex float32 samples, of any length.
//
//	X[k] = Σ_j x[j]·exp(−2πi·jk/n)
//
// The forward transform is unscaled and the inverse divides by n, so that the inverse of the forward transform is the input.
// Package transform computes it on the processor, package launch on a GPU, and package double in float64. The implementation
// go-parallel divides a single long row among the cores if the processor has AVX2 and FMA and the row has an even length
// without prime factors above 5. A row is long from 65 536 samples on, or from 112 000 on with three workers or fewer.
//
// Packages conv1d and stft have convolutions and spectrograms.
//
// The usual steps are
//
//  1. call NewReal (or NewComplex) once for a length: it makes the tables and the scratch memory;
//  2. call Forward and Inverse as often as needed: they allocate nothing;
//  3. call Clone for each further goroutine: clones share the tables.
//
// These transforms run on one core. The plans of New choose the implementation that is fastest on this host.
//
// Source: C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992: the Stockham passes in
// section 1.7, the steps in section 3.3, the real transform by one of half the length in section 4.3, Bluestein's
// algorithm in section 4.2.
package fft
