//go:build !amd64 && !arm64

package reduce

func sumBlock(x []float32) float32          { return sumBlockGo(x) }
func greatest(x []float32) float32          { return greatestGo(x) }
func least(x []float32) float32             { return leastGo(x) }
func index(x []float32, v float32) (at int) { return indexGo(x, v) }
