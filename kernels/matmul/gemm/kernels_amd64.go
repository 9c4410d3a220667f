package gemm

import "golang.org/x/sys/cpu"

// kernel computes a fixed number of rows of C. The number is the kernel's index in a table.
type kernel func(c *float32, rowC int, a, b *float32, rowB, terms int, add bool)

var (
	avx2 = []kernel{
		1: multiply1AVX2, 2: multiply2AVX2, 3: multiply3AVX2, 4: multiply4AVX2, 5: multiply5AVX2, 6: multiply6AVX2,
	}
	avx512 = []kernel{
		1: multiply1AVX512, 2: multiply2AVX512, 3: multiply3AVX512, 4: multiply4AVX512, 5: multiply5AVX512, 6: multiply6AVX512,
		7: multiply7AVX512, 8: multiply8AVX512, 9: multiply9AVX512, 10: multiply10AVX512, 11: multiply11AVX512,
		12: multiply12AVX512,
	}
)

var (
	// vectors are the kernels of this processor by their number of rows. It is nil if the processor runs multiplyGo.
	vectors []kernel
	// tileRows is the greatest number of rows of C that a kernel computes.
	tileRows int
)

func init() {
	switch {
	case cpu.X86.HasAVX512F:
		use(avx512)
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		use(avx2)
	default:
		use(nil)
	}
}

// use chooses the kernels that compute. nil stands for multiplyGo.
func use(kernels []kernel) {
	vectors, tileRows = kernels, 6
	if kernels != nil {
		tileRows = len(kernels) - 1
	}
}

// multiply is multiplyGo by the fastest instructions of this processor. terms must be at least 1.
func multiply(c []float32, rowC int, a, b []float32, rowB, rows, terms int, add bool) {
	if vectors == nil {
		multiplyGo(c, rowC, a, b, rowB, rows, terms, add)
		return
	}
	_, _, _ = c[(rows-1)*rowC+tileColumns-1], a[rows*terms-1], b[(terms-1)*rowB+tileColumns-1]
	vectors[rows](&c[0], 4*rowC, &a[0], &b[0], 4*rowB, terms, add)
}

// packEight is packEightGo by the fastest instructions of this processor.
func packEight(panel, b []float32, k, terms int) {
	whole := 0
	if vectors != nil && terms >= 8 {
		whole = terms / 8 * 8
		_, _ = panel[(whole-1)*tileColumns+7], b[7*k+whole-1]
		turnAVX2(&panel[0], &b[0], 4*k, whole/8)
	}
	if whole < terms {
		packEightGo(panel[whole*tileColumns:], b[whole:], k, terms-whole)
	}
}
