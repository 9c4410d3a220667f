// Package turn transposes strips of eight rows, so that vector code finds the values of eight rows at one place side by side.
package turn

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg turn
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// Rows is the number of rows of a strip.
const Rows = 8

// Aside writes the first n values of eight rows, which are k values apart in src, side by side: dst[i·step+r] = src[r·k+i]. It
// writes in the order of i. So with a step below eight, values are overwritten by those that follow.
func Aside(dst []float32, step int, src []float32, k, n int) {
	if haveSIMD && n >= Rows {
		_, _ = dst[(n-1)*step+Rows-1], src[(Rows-1)*k+n-1]
		turnSIMD(&dst[0], 4*step, 4*step*Rows, &src[0], 4*k, 4*Rows, n/Rows)
		if last := n - Rows; n%Rows > 0 { // some values a second time
			turnSIMD(&dst[last*step], 4*step, 0, &src[last], 4*k, 0, 1)
		}
		return
	}
	for i := range n {
		for r := range Rows {
			dst[i*step+r] = src[r*k+i]
		}
	}
}

// Back undoes [Aside] with a step of eight: dst[r·k+i] = src[8·i+r], for i below n.
func Back(dst []float32, k int, src []float32, n int) {
	if haveSIMD && n >= Rows {
		_, _ = dst[(Rows-1)*k+n-1], src[n*Rows-1]
		turnSIMD(&dst[0], 4*k, 4*Rows, &src[0], 4*Rows, 4*Rows*Rows, n/Rows)
		if last := n - Rows; n%Rows > 0 { // some values a second time
			turnSIMD(&dst[last], 4*k, 0, &src[last*Rows], 4*Rows, 0, 1)
		}
		return
	}
	for i := range n {
		for r, v := range src[i*Rows:][:Rows] {
			dst[r*k+i] = v
		}
	}
}
