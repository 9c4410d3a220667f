package conv1d

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg conv1d
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// width is the number of outputs that one call of fir computes.
const width = 64

// firGo adds to y[j] the sum over k of h[k]·x[j+len(h)−1−k], for each of the width values of y. len(x) is len(h)+width−1.
// The sum starts from zero and is added to y at the end, so that calls for successive runs of taps add up few rounding
// errors.
//
// It computes eight outputs and four taps at a time. Each sample is loaded once for four products, and eight independent
// sums keep the adders busy.
func firGo(y, x, h []float32) {
	for j := 0; j < width; j += 8 {
		var a0, a1, a2, a3, a4, a5, a6, a7 float32
		k := 0
		for ; k+4 <= len(h); k += 4 {
			t := h[k : k+4 : k+4]
			h0, h1, h2, h3 := t[0], t[1], t[2], t[3]
			first := j + len(h) - 4 - k
			w := x[first : first+11 : first+11]

			v := w[0]
			a0 += h3 * v
			v = w[1]
			a0 += h2 * v
			a1 += h3 * v
			v = w[2]
			a0 += h1 * v
			a1 += h2 * v
			a2 += h3 * v
			v = w[3]
			a0 += h0 * v
			a1 += h1 * v
			a2 += h2 * v
			a3 += h3 * v
			v = w[4]
			a1 += h0 * v
			a2 += h1 * v
			a3 += h2 * v
			a4 += h3 * v
			v = w[5]
			a2 += h0 * v
			a3 += h1 * v
			a4 += h2 * v
			a5 += h3 * v
			v = w[6]
			a3 += h0 * v
			a4 += h1 * v
			a5 += h2 * v
			a6 += h3 * v
			v = w[7]
			a4 += h0 * v
			a5 += h1 * v
			a6 += h2 * v
			a7 += h3 * v
			v = w[8]
			a5 += h0 * v
			a6 += h1 * v
			a7 += h2 * v
			v = w[9]
			a6 += h0 * v
			a7 += h1 * v
			v = w[10]
			a7 += h0 * v
		}
		for ; k < len(h); k++ {
			first := j + len(h) - 1 - k
			w := x[first : first+8 : first+8]
			t := h[k]
			a0 += t * w[0]
			a1 += t * w[1]
			a2 += t * w[2]
			a3 += t * w[3]
			a4 += t * w[4]
			a5 += t * w[5]
			a6 += t * w[6]
			a7 += t * w[7]
		}
		out := y[j : j+8 : j+8]
		out[0] += a0
		out[1] += a1
		out[2] += a2
		out[3] += a3
		out[4] += a4
		out[5] += a5
		out[6] += a6
		out[7] += a7
	}
}

// spectralGo sets y[b] to the sum over p of x[b+(partitions−1−p)·len(y)]·h[b+p·len(y)]. x holds spectra, the oldest first,
// and h holds the partitions of a filter, the first one first. len(x) and len(h) are partitions·len(y). With one partition,
// y may be x.
func spectralGo(y, x, h []complex64) {
	bins := len(y)
	if len(h) == 0 {
		clear(y)
		return
	}
	last := len(x) - bins
	for b, v := range x[last:] {
		y[b] = v * h[b]
	}
	for p := bins; p < len(h); p += bins {
		spectrum := x[last-p : last-p+bins]
		partition := h[p : p+bins]
		for b := range y {
			y[b] += spectrum[b] * partition[b]
		}
	}
}

// spreadGo sets y[b] to sum[b] + x[b]·h[b]. All have the length of y.
func spreadGo(y, sum, x, h []complex64) {
	sum, x, h = sum[:len(y)], x[:len(y)], h[:len(y)]
	for b := range y {
		y[b] = sum[b] + x[b]*h[b]
	}
}
