package gemm

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

var avx2 = [tileRows + 1]func(c *float32, rowC int, a, b *float32, rowB, terms int, add bool){
	1: multiply1AVX2, 2: multiply2AVX2, 3: multiply3AVX2, 4: multiply4AVX2, 5: multiply5AVX2, 6: multiply6AVX2,
}

// multiply is multiplyGo by the fastest means of this processor. terms must be at least 1.
func multiply(c []float32, rowC int, a, b []float32, rowB, rows, terms int, add bool) {
	if !haveAVX2 {
		multiplyGo(c, rowC, a, b, rowB, rows, terms, add)
		return
	}
	_, _, _ = c[(rows-1)*rowC+tileColumns-1], a[rows*terms-1], b[(terms-1)*rowB+tileColumns-1]
	avx2[rows](&c[0], 4*rowC, &a[0], &b[0], 4*rowB, terms, add)
}
