//go:build !amd64 && !arm64

package sampling

func greatest(x []float32) (most float32, nan bool) { return greatestGo(x) }

func position(x []float32, v float32) int { return positionGo(x, v) }
