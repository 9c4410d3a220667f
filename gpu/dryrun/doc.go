// Package dryrun has GPUs that compute nothing: they note what they are given to dispatch, so that a test can see what
// launch plans ask of a GPU that the machine does not have. They have the facts of Apple's GPUs, with as many cores
// each as its name says. It is for tests alone, and no time or result of it means anything.
package dryrun
