package gemm

import "golang.org/x/sys/cpu"

// fastest returns the fastest kernels of this processor, or nil.
func fastest() *instructions {
	if cpu.ARM64.HasASIMD {
		return narrow
	}
	return nil
}
