// Package gpu is what launch plans run on: a device, programs compiled from kernel text, pooled buffers, and plans that
// are checked and recorded once and then submitted as often as wanted.
//
// It knows neither Metal nor CUDA. Each platform implements [Driver] and returns a [Backend], so the checks of this
// package apply to every platform. The package does not choose between devices, and returns only those times that the
// platform reports. The usual steps of an operation's launch plan are
//
//  1. open the device of a backend with [Backend.Open], or, in a test, make one with [NewDevice];
//  2. describe the plan with a [Builder]: inputs, outputs, constants, scratch memory, and the kernels that run on them,
//     in order;
//  3. [Builder.Build], which compiles new kernels, checks every argument against the signature in the kernel's text and
//     makes the recording;
//  4. per call: write the inputs' host memory, [Plan.Run], read the outputs' host memory.
//
// Kernel text is the Metal Shading Language within the dialect that package gpu/msl describes, and is the same on every
// device. A warm plan allocates nothing. A plan is for one goroutine at a time; devices are for any number.
package gpu
