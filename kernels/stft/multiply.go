package stft

//go:generate go run ./asm -out multiply_avx_amd64.s -stubs multiply_avx_amd64.go -pkg stft
//go:generate go run ../neon -in multiply_avx_amd64.s -in-stubs multiply_avx_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// multiplyAddGo adds a[i]·b[i] to dst[i]. a and b are at least as long as dst. It rounds each product, as the vector code does,
// so that a result does not depend on its place. Without the conversions, Go fuses the two operations on arm64.
func multiplyAddGo(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		d, u, v := dst[i:i+4:i+4], a[i:i+4:i+4], b[i:i+4:i+4]
		d[0] += float32(u[0] * v[0])
		d[1] += float32(u[1] * v[1])
		d[2] += float32(u[2] * v[2])
		d[3] += float32(u[3] * v[3])
	}
	for ; i < len(dst); i++ {
		dst[i] += float32(a[i] * b[i])
	}
}

// multiplyGo sets dst[i] to a[i]·b[i]. a and b are at least as long as dst.
func multiplyGo(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		d, u, v := dst[i:i+4:i+4], a[i:i+4:i+4], b[i:i+4:i+4]
		d[0] = u[0] * v[0]
		d[1] = u[1] * v[1]
		d[2] = u[2] * v[2]
		d[3] = u[3] * v[3]
	}
	for ; i < len(dst); i++ {
		dst[i] = a[i] * b[i]
	}
}
