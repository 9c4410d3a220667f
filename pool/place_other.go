//go:build !linux

package pool

// Other systems do not let a thread say where it wants to run, or keep wakers and woken apart by themselves.

func yield() {}

func processor() int { return -1 }

func leave(int) {}
