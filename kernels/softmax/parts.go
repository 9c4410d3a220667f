package softmax

// Largest returns the greatest value of x, which is not empty, or −Inf if there is none. If x has a NaN, it may return any
// value. Largest, Exponentials and Scale are the passes of a softmax, for operations that have one in the middle.
func Largest(x []float32) float32 {
	l := fastest()
	return l.largest(x)
}

// Exponentials sets dst[i] to e^(src[i]−shift), and returns the sum of dst in float32. dst is as long as src, and may be src.
// No src[i] is greater than shift, unless it is a NaN.
func Exponentials(dst, src []float32, shift float32) float32 {
	l := fastest()
	return l.exponentials(dst, src, shift)
}

// Scale multiplies x by factor.
func Scale(x []float32, factor float32) {
	l := fastest()
	l.scale(x, factor)
}
