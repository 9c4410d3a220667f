// Package turn transposes strips of eight rows, so that vector code finds the values of eight rows at one place side by side.
package turn

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg turn
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// Rows is the number of rows of a strip.
const Rows = 8

// Aside writes the first n values of eight rows, which are k values apart in src, side by side: dst[i·step+r] = src[r·k+i]. It
// writes in the order of i. So with a step below eight, values are overwritten by those that follow.
func Aside(dst []float32, step int, src []float32, k, n int) {
	i := 0
	if haveSIMD && n >= Rows {
		i = n / Rows * Rows
		_, _ = dst[(i-1)*step+Rows-1], src[(Rows-1)*k+i-1]
		turnSIMD(&dst[0], 4*step, 4*step*Rows, &src[0], 4*k, 4*Rows, i/Rows)
	}
	if i == n {
		return
	}
	r0, r1, r2, r3 := src[:n], src[k:][:n], src[2*k:][:n], src[3*k:][:n]
	r4, r5, r6, r7 := src[4*k:][:n], src[5*k:][:n], src[6*k:][:n], src[7*k:][:n]
	for ; i < n; i++ {
		*(*[Rows]float32)(dst[i*step:]) = [Rows]float32{r0[i], r1[i], r2[i], r3[i], r4[i], r5[i], r6[i], r7[i]}
	}
}

// Back undoes [Aside] with a step of eight: dst[r·k+i] = src[8·i+r], for i below n.
func Back(dst []float32, k int, src []float32, n int) {
	i := 0
	if haveSIMD && n >= Rows {
		i = n / Rows * Rows
		_, _ = dst[(Rows-1)*k+i-1], src[i*Rows-1]
		turnSIMD(&dst[0], 4*k, 4*Rows, &src[0], 4*Rows, 4*Rows*Rows, i/Rows)
	}
	for ; i < n; i++ {
		for r, v := range src[i*Rows:][:Rows] {
			dst[r*k+i] = v
		}
	}
}
