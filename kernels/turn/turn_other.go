//go:build !amd64 && !arm64

package turn

var haveSIMD = false

func turnSIMD(dst *float32, rowDst, nextDst int, src *float32, rowSrc, nextSrc, blocks int) {
	panic("turn: no vector code")
}
