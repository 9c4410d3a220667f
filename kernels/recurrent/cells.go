package recurrent

import "crossover/kernels/elementwise/approx"

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg recurrent
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// advanceLSTMGo computes a step of an LSTM. gates has len(y) values for each of i, f, g and o. c is updated in place.
func advanceLSTMGo(y, c, gates []float32) {
	n := len(y)
	c = c[:n]
	i, f, g, o := gates[:n], gates[n:2*n], gates[2*n:3*n], gates[3*n:4*n]
	for k := range y {
		c[k] = approx.Logistic(f[k])*c[k] + approx.Logistic(i[k])*approx.Tanh(g[k])
		y[k] = approx.Logistic(o[k]) * approx.Tanh(c[k])
	}
}

// advanceGRUGo computes a step of a GRU. gates and parts have len(y) values for each of r, z and n.
func advanceGRUGo(y, h, gates, parts []float32) {
	n := len(y)
	h = h[:n]
	for k := range y {
		r, z := approx.Logistic(gates[k]+parts[k]), approx.Logistic(gates[n+k]+parts[n+k])
		y[k] = (1-z)*approx.Tanh(gates[2*n+k]+r*parts[2*n+k]) + z*h[k]
	}
}
