// Package elementwise computes functions of one value on every value of a slice.
//
//	scale:     y[i] = a·x[i] + b
//	gain:      y[i] = a·x[i]
//	abs:       y[i] = |x[i]|
//	soft-clip: y[i] = tanh(a·x[i])
//	exp:       y[i] = exp x[i]
//	log:       y[i] = ln x[i]
//	log1p:     y[i] = ln(1 + x[i])
//	pow:       y[i] = x[i]ᵃ
//	gelu:      y[i] = x[i]·(1 + erf(x[i]/√2))/2
//	gelu-tanh: y[i] = x[i]·(1 + tanh(√(2/π)·(x[i] + 0.044715·x[i]³)))/2
//	power:     y[i] = re(x[i])² + im(x[i])²
//	magnitude: y[i] = √(re(x[i])² + im(x[i])²)
//
// The input of power and magnitude is complex, such as a spectrum. The package does not broadcast, convert types or fuse one
// function with the next. The usual steps are NewScale or another constructor, once, and Apply.
//
// On amd64 with AVX2 the loops are generated vector code (folder asm, by package emit), and on arm64 they are its twin in NEON
// (command neon), with the same results to the bit. Elsewhere they are plain Go with the same polynomials, which package approx
// documents. All treat NaNs, infinities, zeros and denormals as package math does. A
// GPU may take denormal inputs of exp and soft-clip for 0, and may return 0 for a denormal result.
package elementwise
