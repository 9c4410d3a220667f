//go:build !linux

package affinity

// Yield does nothing here.
func Yield() {}

// Current returns -1, because the processor is not known here.
func Current() int { return -1 }

// Leave does nothing here.
func Leave(int) {}

// KeepOff does nothing here.
func KeepOff(int, []int) {}

// Named calls start and returns nil, because it cannot tell threads apart here.
func Named(_ string, start func()) []int {
	start()
	return nil
}
