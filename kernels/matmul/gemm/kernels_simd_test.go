//go:build amd64 || arm64

package gemm

// others returns the kernels that this processor can run besides its fastest ones, with functions that choose them.
func others() map[string]func() (back func()) {
	with := func(kernels *instructions) func() func() {
		return func() func() {
			before := vectors
			use(kernels)
			return func() { use(before) }
		}
	}
	all := map[string]func() func(){}
	best := fastest()
	if best != nil {
		all["go"] = with(nil)
	}
	if best != nil && best != narrow { // AVX-512 runs on processors with AVX2
		all["avx2"] = with(narrow)
	}
	return all
}
