// Package emulator runs kernel texts on the processor, so that tests of launch plans need no GPU: a driver for package
// gpu that compiles a text with the host's C++ compiler and runs its threads one by one. Only tests use it, to tell
// right results from wrong ones. No program has it as an implementation, and it is never timed.
//
// It is stricter than any GPU. A text does not compile if [crossover/gpu/msl.Check] objects, or if it computes in
// double. A dispatch fails with a *[Fault], naming the kernel and the line (a race's and a stray access's on Linux
// alone), where the kernel
//
//   - reads or writes outside of the buffers that it was given, to the byte, or outside of an array;
//   - has a data race: two threads use the same word, one of them writing, and no barrier that orders that kind of
//     memory (mem_device, mem_threadgroup) stands between; threads of different threadgroups are never ordered;
//   - has a barrier or a simd function in divergent control flow, or a simd function in less than 32 lanes;
//   - takes more than 32 KiB of threadgroup memory, or than [ThreadgroupMemory] says, or divides an integer by zero, shifts by the
//     width or more, converts a float that does not fit, or uses a misaligned vector: what the devices do then differs.
//
// Threadgroup memory holds NaNs when a threadgroup begins. Threadgroups, and threads between barriers, run in changing
// order. The fast:: functions are as coarse as hardware's. What it cannot tell: how fast a kernel is, how a device
// rounds, whether Metal's own compiler takes the text.
//
// How it works: the compiler's thread and undefined-behaviour sanitizers instrument the text, and cpp/runtime.cpp answers
// their calls instead of the sanitizers' libraries. Every thread of a threadgroup is a fiber; a barrier switches to the
// next one.
package emulator
