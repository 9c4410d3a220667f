//go:build !amd64 && !arm64

package biquad

func byVectors(channels, n int) bool { return false }

func cascadeByVectors(channels, n int) bool { return false }

func (f *section) beside(s []state, dst, src []float32) { f.besideGo(s, dst, src) }

func (f *abreast) beside(s []state, dst, src []float32, w *workspace) { f.besideGo(s, dst, src, w) }
