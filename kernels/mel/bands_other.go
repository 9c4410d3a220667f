//go:build !amd64 && !arm64

package mel

const haveSIMD = false

func (b *banded) eight(bands, power []float32) { b.eightGo(bands, power) }
