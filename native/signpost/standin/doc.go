// Package standin stands in for the functions of macOS that package signpost calls, in tests on Linux. They are C functions made of Go
// functions, so a test makes the same calls of C as a program on a Mac.
//
// The stand-in records what it is given. It does not know what macOS does with it.
package standin
