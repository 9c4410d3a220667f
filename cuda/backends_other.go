//go:build !linux || !(amd64 || arm64)

package cuda

import "crossover/gpu"

// Backends returns nothing: there is no CUDA on this system.
func Backends() []*gpu.Backend { return nil }
