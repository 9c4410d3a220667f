// Package affinity says which processor a thread runs on and moves threads apart.
//
// Linux wakes a thread on its waker's processor where no other one seems to be idle. To a guest of KVM a processor that
// sleeps does not seem so, because its host has taken it away. A parallel loop whose helpers have slept then shares one
// processor with them, and takes as long as a serial one, until the system balances its load some ticks later. On a
// virtual machine of two processors, helpers that had slept for 10 ms were on the waker's processor in 19 cases of 20,
// and still were a millisecond later.
//
// On other systems than Linux nothing is known and nothing is done: macOS lets no thread say where it wants to run.
package affinity
