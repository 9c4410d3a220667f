// Package metal runs launch plans on Apple's GPUs: it implements gpu.Driver with Metal, gpu.GEMM with Metal Performance
// Shaders ("mps") and gpu.FFT with MPSGraph ("mpsgraph"), in pure Go, without cgo.
//
// On macOS [Backends] returns the API "metal", and on other systems nothing. The usual steps are those of package gpu:
//
//  1. open the backend that [Backends] returns; this loads the frameworks and takes the system's default GPU;
//  2. describe and build a plan: the kernels' texts are compiled by newLibraryWithSource as they are, their macros put
//     before them, with safe arithmetic and precise functions, so that only what says fast:: is fast;
//  3. Plan.Run as often as wanted. Every submission makes one command buffer and encodes into it what the recording holds
//     ready; a warm call allocates no Go memory.
//
// Host and GPU share memory on Apple silicon: a shared buffer is memory from mmap that is given to the GPU without a
// copy. If a Mac's GPU has memory of its own, Facts say so and plans copy.
//
// The GPU of a virtual machine lacks what the kernels need. Such a GPU opens and compiles, and its Facts say what it
// lacks. On M1 and M2, MPSMatrixMultiplication returns NaN for large products. Such a product is computed in parts of
// fewer rows, or refused if no part would come out right.
//
// Times are the command buffer's: Span from GPUStartTime to GPUEndTime. Metal does not time single dispatches of an
// encoder on Apple silicon. So Busy is known if a recording is one kernel or one library call, and is 0 otherwise. All
// times are 0 if the GPU reports none.
//
// The package keeps no compiled kernels on disk, and cannot drop those that macOS keeps. So after Forget the next
// compilation is new to this process, but not to the system. The package takes one GPU, uses one queue, and does not
// watch the GPU's temperature.
//
// # What is tested, and what is not
//
// None of this has run on a Mac yet. The tests run all of it on Linux, against a fake Objective-C runtime in
// testdata/fake whose encoder drives package gpu/emulator: every operation of the catalogue gives the right values
// through this driver, without an allocation a call, on amd64 and, under qemu, on arm64. A test compares the methods'
// types with Apple's headers (testdata/selectors.tsv). The fake ends the process on what Metal does not forgive, such
// as a method that does not exist, an object used after its release, an encoder left open, no autorelease pool. A test
// makes each such mistake on purpose. On a Mac the tests that need no fake run on its GPU.
//
// A fake shows plumbing and order, not Apple's semantics. It cannot show whether
//
//   - Metal's compiler takes the kernels' texts and both settings of its mathematics, and words its errors as expected;
//   - Metal orders what the encoders and command buffers of a queue do, where both use a buffer: the fake runs commands
//     one by one;
//   - Apple's methods return what their names promise, owned or not, and put into a pool what the fake does;
//   - Metal Performance Shaders and MPSGraph take these shapes, strides and types, and do without a copy;
//   - calls of C functions by purego pass structs and floats on darwin as they do on Linux;
//   - any of it is fast.
//
// Reference: https://developer.apple.com/documentation/metal
package metal
