// Package objc sends messages to Objective-C objects from pure Go, without cgo.
//
// The package binds a handful of libobjc's C functions and knows no framework. Its users declare methods, each method
// once, with its class, its selector and its type as a Go function. That declaration makes the call. A test derives the
// method's type encoding from it and compares that with Apple's headers; see [Declared]. The package has no blocks,
// defines no classes, and does not catch exceptions: an NSException ends the process. The usual steps are
//
//  1. [Declare] methods as package variables;
//  2. [Load] libobjc, once a process, before the first call;
//  3. call them with [Method.Call] inside an autorelease pool: [InPool];
//  4. where a call must not allocate: [Method.To] or [Method.Bare] make a [Message], to be sent as often as wanted, and
//     a [Pool] is kept for the pools around it.
//
// Ownership is by Apple's naming rule. What alloc, new… and copy… return is the caller's to [Release]. Everything else
// belongs to the pool until it is retained. A message to nil does nothing and returns zero.
//
// The package is written for darwin on arm64 and amd64. It has run only on Linux, against a fake runtime.
//
// Reference: https://developer.apple.com/documentation/objectivec/objective-c-runtime
package objc
