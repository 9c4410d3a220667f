//go:build !amd64 && !arm64

package conv1d

func fir(y, x, h []float32) { firGo(y, x, h) }

func spectral(y, x, h []complex64) { spectralGo(y, x, h) }

func spread(y, sum, x, h []complex64) { spreadGo(y, sum, x, h) }
