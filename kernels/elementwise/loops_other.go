//go:build !amd64

package elementwise

func scale(dst, src []float32, a, b float32) { scaleGo(dst, src, a, b) }

func log(dst, src []float32) { logGo(dst, src) }
