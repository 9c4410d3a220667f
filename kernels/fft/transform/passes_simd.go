//go:build amd64 || arm64

package transform

import (
	"unsafe"

	"crossover/kernels/fft/double"
)

const (
	// vectorFloats is the length of a vector: eight real parts, then eight imaginary parts.
	vectorFloats = 16
	// signBit flips the sign of a float32.
	signBit = 1 << 31
	// Addresses that are pageFloats apart are in the same set of a first-level cache.
	pageFloats = 4096 / 4
)

// vectorPass is a pass of stockham on vectors. m and s count vectors.
type vectorPass struct {
	radix, m, s int
	twiddles    []float32
}

// vectorPasses returns the passes of the given radices, whose product is m.
func vectorPasses(m int, radices []int) []vectorPass {
	var passes []vectorPass
	s := 1
	for _, r := range radices {
		p := vectorPass{radix: r, m: m / r, s: s}
		for j := range p.m {
			for k := 1; k < r; k++ {
				w := double.Root(j*k, m)
				p.twiddles = append(p.twiddles, float32(real(w)), float32(imag(w)))
			}
		}
		passes = append(passes, p)
		m, s = p.m, s*r
	}
	return passes
}

func (p *vectorPass) first(dst, src, twiddles []float32, count, stride, step, dstStride, dstStep int, sign uint32) {
	d, s, w := &dst[0], &src[0], &twiddles[0]
	switch p.radix {
	case 2:
		first2(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 3:
		first3(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 4:
		first4(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 5:
		first5(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 7:
		first7(d, s, w, count, stride, step, dstStride, dstStep, sign)
	case 8:
		first8(d, s, w, count, stride, step, dstStride, dstStep, sign)
	}
}

// run computes a pass after the first one.
func (p *vectorPass) run(dst, src []float32) {
	d, r, w, stride := &dst[0], &src[0], &p.twiddles[0], p.s*p.m
	switch {
	case p.m == 1:
		p.final(d, r)
	case p.radix == 2:
		middle2(d, r, w, p.m, p.s, stride)
	case p.radix == 3:
		middle3(d, r, w, p.m, p.s, stride)
	case p.radix == 4:
		middle4(d, r, w, p.m, p.s, stride)
	case p.radix == 5:
		middle5(d, r, w, p.m, p.s, stride)
	case p.radix == 7:
		middle7(d, r, w, p.m, p.s, stride)
	case p.radix == 8:
		middle8(d, r, w, p.m, p.s, stride)
	}
}

// final computes the last pass.
func (p *vectorPass) final(dst, src *float32) {
	switch p.radix {
	case 2:
		final2(dst, src, p.s)
	case 3:
		final3(dst, src, p.s)
	case 4:
		final4(dst, src, p.s)
	case 5:
		final5(dst, src, p.s)
	case 7:
		final7(dst, src, p.s)
	case 8:
		final8(dst, src, p.s)
	}
}

// appendVector appends a vector of eight values.
func appendVector(to []float32, value func(i int) complex128) []float32 {
	var re, im [8]float32
	for i := range re {
		v := value(i)
		re[i], im[i] = float32(real(v)), float32(imag(v))
	}
	return append(append(to, re[:]...), im[:]...)
}

// vectorRadices returns the radices of the passes for m vectors, or false if m has a prime factor above 7. Radices 8 come
// last, because the last pass needs no factors, and a pass with a small radix has few factors.
func vectorRadices(m int) (radices []int, ok bool) {
	twos := 0
	for ; m%2 == 0; m /= 2 {
		twos++
	}
	for _, r := range []int{7, 5, 3} {
		for ; m%r == 0; m /= r {
			radices = append(radices, r)
		}
	}
	for ; twos > 0 && twos%3 != 0; twos -= 2 { // 4·4 is faster than 2·8
		if twos == 1 {
			radices = append(radices, 2)
			break
		}
		radices = append(radices, 4)
	}
	for ; twos >= 3; twos -= 3 {
		radices = append(radices, 8)
	}
	return radices, m == 1
}

// twoBuffers returns two buffers of n zeros that start at a cache line. The passes walk both in strides of powers of two,
// with up to eight places at a time in each. Long buffers are half a page apart, modulo a page. So the places in one do not
// evict those in the other from an eight-way cache.
func twoBuffers(n int) (front, back []float32) {
	apart, align := n, vectorFloats
	if n >= pageFloats {
		align = pageFloats
		apart = (n+pageFloats/2-1)/pageFloats*pageFloats + pageFloats/2
	}
	memory := make([]float32, apart+n+align)
	start := -int(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))/4) & (align - 1)
	return memory[start:][:n:n], memory[start+apart:][:n:n]
}
