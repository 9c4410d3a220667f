package gemm

import "golang.org/x/sys/cpu"

// others returns the kernels that this processor can run besides its fastest ones, with functions that choose them.
func others() map[string]func() (back func()) {
	with := func(kernels []kernel) func() func() {
		return func() func() {
			fastest := vectors
			use(kernels)
			return func() { use(fastest) }
		}
	}
	all := map[string]func() func(){}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all["go"] = with(nil)
		if cpu.X86.HasAVX512F {
			all["avx2"] = with(avx2)
		}
	}
	return all
}
