//go:build !amd64 && !arm64

package resample

func (f *polyphase) groups(y, x []float32, m int) { f.groupsGo(y, x, m) }
