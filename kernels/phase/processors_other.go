//go:build !amd64 && !arm64

package phase

func (s *sum) accumulate(dst, src []float32) { s.accumulateGo(dst, src) }

func (s *sum) advance(src []float32) { s.advanceGo(src) }
