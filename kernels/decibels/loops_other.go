//go:build !amd64 && !arm64

package decibels

func convert(dst, src []float32, floor, offset float32) { convertGo(dst, src, floor, offset) }
