//go:build !amd64

package gemm

func inGo() (back func()) { return nil }
