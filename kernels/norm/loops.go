package norm

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg norm
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// loops are the passes over values, in Go or in vector code.
type loops struct {
	// moments returns the sums of x[i]−shift and of its squares. len(x) is a multiple of vector.
	moments func(x []float32, shift float32) (sum, squares float32)
	// compensated returns partial sums of x[i], then those of its squares, and then what rounding made of each too much.
	// len(x) is a multiple of stride.
	compensated func(x []float32) [4]lanes
	// perColumn sets dst[i] to (src[i]−mean)·factor·weights[i] + bias[i].
	perColumn func(dst, src, weights, bias []float32, mean, factor float32)
	// scaled sets dst[i] to src[i]·factor·weights[i].
	scaled func(dst, src, weights []float32, factor float32)
	// perChannel sets dst[i] to (src[i]−mean)·weight + bias.
	perChannel func(dst, src []float32, mean, weight, bias float32)
}

const (
	vector = 8    // values that the loops take at a time,
	stride = 32   // except the compensated sums
	block  = 1024 // values that are added up in float32; float64 joins the blocks
)

// lanes are the partial sums of compensated.
type lanes [16]float32

// inGo has no loop over whole vectors that differs from the one over the rest.
var inGo = loops{momentsGo, compensatedGo, perColumnGo, scaledGo, perChannelGo}

func momentsGo(x []float32, shift float32) (sum, squares float32) {
	var s0, s1, s2, s3, q0, q1, q2, q3 float32
	for ; len(x) >= 4; x = x[4:] {
		d0, d1, d2, d3 := x[0]-shift, x[1]-shift, x[2]-shift, x[3]-shift
		s0, s1, s2, s3 = s0+d0, s1+d1, s2+d2, s3+d3
		q0, q1, q2, q3 = q0+d0*d0, q1+d1*d1, q2+d2*d2, q3+d3*d3
	}
	for _, v := range x {
		d := v - shift
		s0, q0 = s0+d, q0+d*d
	}
	return (s0 + s2) + (s1 + s3), (q0 + q2) + (q1 + q3)
}

func compensatedGo(x []float32) (sums [4]lanes) {
	for ; len(x) >= 4; x = x[4:] {
		for i := range 4 {
			v := x[i]
			sums[0][i], sums[2][i] = kahan(sums[0][i], sums[2][i], v)
			sums[1][i], sums[3][i] = kahan(sums[1][i], sums[3][i], float32(v*v))
		}
	}
	return sums
}

// kahan adds v to a sum. tooMuch is what rounding has added to the sum so far.
func kahan(sum, tooMuch, v float32) (next, error float32) {
	v -= tooMuch
	next = sum + v
	return next, (next - sum) - v
}

func perColumnGo(dst, src, weights, bias []float32, mean, factor float32) {
	dst, weights, bias = dst[:len(src)], weights[:len(src)], bias[:len(src)]
	for i, v := range src {
		dst[i] = (v-mean)*factor*weights[i] + bias[i]
	}
}

func scaledGo(dst, src, weights []float32, factor float32) {
	dst, weights = dst[:len(src)], weights[:len(src)]
	for i, v := range src {
		dst[i] = v * factor * weights[i]
	}
}

func perChannelGo(dst, src []float32, mean, weight, bias float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = (v-mean)*weight + bias
	}
}

// statistics returns the mean and the variance of x, which is not empty.
type statistics func(l *loops, x []float32) (mean, variance float64)

// standard has the sums of x and of its squares, in one pass: the variance is the mean square minus the squared mean. Where
// the mean is c standard deviations, the variance loses c² times the rounding error of the sums.
func standard(l *loops, x []float32) (mean, variance float64) {
	var sum, squares float64
	for lo := 0; lo < len(x); lo += block {
		s, q := l.sums(x[lo:min(lo+block, len(x))], 0)
		sum, squares = sum+s, squares+q
	}
	return byMoments(sum, squares, float64(len(x)))
}

// compensating is standard with Kahan's sums.
func compensating(l *loops, x []float32) (mean, variance float64) {
	whole := len(x) / stride * stride
	sums := l.compensated(x[:whole])
	var sum, squares float64
	for i := range sums[0] {
		sum += float64(sums[0][i]) - float64(sums[2][i])
		squares += float64(sums[1][i]) - float64(sums[3][i])
	}
	for _, v := range x[whole:] {
		sum += float64(v)
		squares += float64(v * v)
	}
	return byMoments(sum, squares, float64(len(x)))
}

func byMoments(sum, squares, n float64) (mean, variance float64) {
	mean = sum / n
	if variance = squares/n - mean*mean; variance < 0 {
		variance = 0 // a rounding error; a NaN stays one
	}
	return mean, variance
}

// welford goes over x block by block: it takes the mean of a block, then the squared distances from that, and joins them with
// those of the blocks before. The values of a block stay in the first-level cache meanwhile.
func welford(l *loops, x []float32) (mean, variance float64) {
	var count, squares float64
	for lo := 0; lo < len(x); lo += block {
		values := x[lo:min(lo+block, len(x))]
		n := float64(len(values))
		s, _ := l.sums(values, 0)
		shift := float32(s / n)
		s, q := l.sums(values, shift) // s is what the rounded mean is off by
		apart := float64(shift) + s/n - mean
		share := n / (count + n)
		squares += q - s*s/n + apart*apart*count*share
		mean += apart * share
		count += n
	}
	return mean, squares / count
}

// sums returns the moments of at most a block of values.
func (l *loops) sums(x []float32, shift float32) (sum, squares float64) {
	whole := len(x) / vector * vector
	if whole > 0 {
		s, q := l.moments(x[:whole], shift)
		sum, squares = float64(s), float64(q)
	}
	if whole < len(x) {
		s, q := momentsGo(x[whole:], shift)
		sum, squares = sum+float64(s), squares+float64(q)
	}
	return sum, squares
}
