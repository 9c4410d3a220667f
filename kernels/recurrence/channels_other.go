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

func (c *compressor) reduce(dst, src []float32)          { c.reduceGo(dst, src) }
func (c *compressor) amplify(dst, src, levels []float32) { c.amplifyGo(dst, src, levels) }

func (c *compressor) one(state []float64, dst, src []float32) { c.oneGo(state, dst, src) }

func (c *compressor) smoothTwo(state []float64, levels0, levels1 []float32) {
	c.envelope.two(state, levels0, levels1, levels0, levels1)
}
