// Package dryrun registers GPUs that compute nothing: they note what they are given to dispatch, so that a
// test can say what the launch plans ask of a GPU that is not there. They have the facts of Apple's GPUs, with as many
// cores each as its name says. It is for tests alone, and no time or result of it means anything.
//
// The APIs have to be registered before the tables of contenders are made, as with package gpu/standin: Go initialises the
// packages that are ready in the order of their import paths (https://go.dev/ref/spec#Program_initialization), and this
// one, which needs nothing but package gpu, comes before every crossover/kernels/….
package dryrun
