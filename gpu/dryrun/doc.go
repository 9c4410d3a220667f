// Package dryrun has GPUs that compute nothing. They note the kernels that they are given to dispatch. So a test sees
// what launch plans ask of a GPU that the machine does not have. They have the facts of Apple's or NVIDIA's GPUs, with
// as many cores each as its name says. The package is for tests alone, and no time or result of it means anything.
package dryrun
