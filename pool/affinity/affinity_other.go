//go:build !linux

package affinity

// Yield does nothing here.
func Yield() {}

// Current returns -1: it is not known here.
func Current() int { return -1 }

// Leave does nothing here.
func Leave(int) {}

// KeepOff does nothing here.
func KeepOff(int, []int) {}

// Named calls start and returns nil: threads are not told apart here.
func Named(_ string, start func()) []int {
	start()
	return nil
}
