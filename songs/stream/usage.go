package stream

import (
	"runtime"
)

// usage is what the process has taken so far.
type usage struct {
	processor float64 // seconds of processor time; NaN if the system does not say
	heap      int64   // bytes of live objects
	resident  int64   // bytes of memory; −1 if the system does not say
}

// used returns what the process has taken. It collects garbage first, so that only live objects count.
func used() usage {
	runtime.GC()
	runtime.GC() // the second one frees what finalizers and cleanups held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{processorSeconds(), int64(m.HeapAlloc), residentBytes()}
}
