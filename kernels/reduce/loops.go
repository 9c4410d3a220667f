package reduce

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg reduce

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
