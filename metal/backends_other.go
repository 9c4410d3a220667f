//go:build !darwin || !(amd64 || arm64)

package metal

import "crossover/gpu"

// Backends returns nothing: there is no Metal on this system.
func Backends() []*gpu.Backend { return nil }
