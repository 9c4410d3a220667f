package reduce

import "math"

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg reduce
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// block is the number of values that are added up in float32. A float64 adds the sums of the blocks. A block has 64 partial
// sums in vector code, of 64 values each, and 8 in Go. So the error stays at a few units of the last place of Σ|x| at every
// length, and the additions in float64 cost nothing.
const block = 4096

// stride is the number of values that the loops take at a time.
const stride = 64

// sum returns the sum of x.
func sum(x []float32) float64 {
	var total float64
	for len(x) > block {
		total += float64(sumBlock(x[:block]))
		x = x[block:]
	}
	whole := len(x) / stride * stride
	if whole > 0 {
		total += float64(sumBlock(x[:whole]))
	}
	for _, v := range x[whole:] {
		total += float64(v)
	}
	return total
}

// sumBlockGo returns the sum of x in eight partial sums. len(x) must be a multiple of 8.
func sumBlockGo(x []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for ; len(x) >= 8; x = x[8:] {
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
		s4 += x[4]
		s5 += x[5]
		s6 += x[6]
		s7 += x[7]
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

// Greatest returns the greatest value of x, which is not empty, and NaN if x has a NaN. It computes on one core, for
// operations that need a maximum.
func Greatest(x []float32) float32 { return greatest(x) }

// greatestGo returns the greatest value of x, which is not empty, and NaN if x has a NaN: so does Go's max.
func greatestGo(x []float32) float32 {
	m0, m1, m2, m3 := x[0], x[0], x[0], x[0]
	for ; len(x) >= 4; x = x[4:] {
		m0, m1, m2, m3 = max(m0, x[0]), max(m1, x[1]), max(m2, x[2]), max(m3, x[3])
	}
	for _, v := range x {
		m0 = max(m0, v)
	}
	return max(m0, m1, m2, m3)
}

// leastGo returns the least value of x, which is not empty, and NaN if x has a NaN.
func leastGo(x []float32) float32 {
	m0, m1, m2, m3 := x[0], x[0], x[0], x[0]
	for ; len(x) >= 4; x = x[4:] {
		m0, m1, m2, m3 = min(m0, x[0]), min(m1, x[1]), min(m2, x[2]), min(m3, x[3])
	}
	for _, v := range x {
		m0 = min(m0, v)
	}
	return min(m0, m1, m2, m3)
}

// indexGo returns the least i for which x[i] equals v, where a NaN equals a NaN. It returns len(x) if there is none.
func indexGo(x []float32, v float32) int {
	for i, w := range x {
		if w == v || w != w && v != v {
			return i
		}
	}
	return len(x)
}

// searched is the number of values in which greatestAt looks for the greatest one. It reads them twice, and all others once.
const searched = 1024

// greatestAt returns the greatest value of x, which is not empty, and the index of the first that equals it. A NaN is greater
// than all numbers.
func greatestAt(x []float32) (value float32, at int) {
	value = float32(math.Inf(-1))
	for lo := 0; lo < len(x); lo += searched {
		if v := greatest(x[lo:min(lo+searched, len(x))]); beats(float64(v), float64(value)) {
			value, at = v, lo
		}
	}
	return value, at + index(x[at:min(at+searched, len(x))], value)
}

// beats reports whether a is greater than b. A NaN is greater than all numbers.
func beats(a, b float64) bool { return a > b || a != a && b == b }
