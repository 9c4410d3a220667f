package gemm

import "golang.org/x/sys/cpu"

var avx512 = &instructions{[]kernel{
	1: multiply1AVX512, 2: multiply2AVX512, 3: multiply3AVX512, 4: multiply4AVX512, 5: multiply5AVX512, 6: multiply6AVX512,
	7: multiply7AVX512, 8: multiply8AVX512, 9: multiply9AVX512, 10: multiply10AVX512, 11: multiply11AVX512,
	12: multiply12AVX512,
}, []thinKernel{
	1: thin1AVX512, 2: thin2AVX512, 3: thin3AVX512, 4: thin4AVX512, 5: thin5AVX512, 6: thin6AVX512,
}, []dotKernel{1: dot1AVX512, 2: dot2AVX512, 3: dot3AVX512, 4: dot4AVX512}, loneAVX512}

var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// fastest returns the fastest kernels of this processor, or nil.
func fastest() *instructions {
	switch {
	case cpu.X86.HasAVX512F:
		return avx512
	case haveAVX2:
		return narrow
	}
	return nil
}
