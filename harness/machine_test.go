package harness

import "testing"

// In virtual time the garbage collector stays on. On a computer a sweep collects between visits, never during calls.
func TestGarbageInVirtualTime(t *testing.T) {
	if !(Machine{Clock: &moments{}}).Sweep().Virtual {
		t.Error("each visit in virtual time ends with a collection")
	}
	if (Machine{}).Sweep().Virtual {
		t.Error("garbage may be collected during calls that are timed")
	}
}
