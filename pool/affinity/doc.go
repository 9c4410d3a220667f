// Package affinity says which processor a thread runs on and moves threads apart.
//
// Linux wakes a thread on the processor of its waker if no other processor seems to be idle. In a guest of KVM, a sleeping
// processor does not seem idle, because the host has taken it away. After helpers have slept, all threads of a parallel loop
// then share one processor. The loop takes as long as a serial one, until the system balances its load some ticks later. On
// a virtual machine of two processors, helpers that had slept for 10 ms were on the waker's processor in 19 cases of 20, and
// still were a millisecond later.
//
// On other systems than Linux the package does nothing: macOS lets no thread say where it wants to run.
package affinity
