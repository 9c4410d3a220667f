//go:build !amd64 && !arm64

package mel

func (b *banded) eight(bands, power []float32) { b.eightGo(bands, power) }
