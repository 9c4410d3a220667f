//go:build !amd64 && !arm64

package recurrence

const haveSIMD = false

func spread(dst []float32, width int, src []float32, stride, count, length int) {
	spreadGo(dst, width, src, stride, count, length)
}

func gather(dst []float32, stride int, src []float32, width, count, length int) {
	gatherGo(dst, stride, src, width, count, length)
}

func (c *comb) filter(line, dst, src []float32) { c.filterGo(line, dst, src) }
