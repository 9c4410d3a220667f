//go:build !amd64 && !arm64

package recurrent

// advanceLSTM is advanceLSTMGo by the fastest instructions of this processor.
func advanceLSTM(y, c, gates []float32) { advanceLSTMGo(y, c, gates) }

// advanceGRU is advanceGRUGo by the fastest instructions of this processor.
func advanceGRU(y, h, gates, parts []float32) { advanceGRUGo(y, h, gates, parts) }
