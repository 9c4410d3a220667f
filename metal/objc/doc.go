// Package objc sends messages to Objective-C objects from pure Go, without cgo.
//
// It binds a handful of libobjc's C functions and knows no framework: which methods there are is declared by its users,
// each method once, with its class, its selector and its type as a Go function. That declaration makes the call, and a
// test derives the method's type encoding from it and holds it against Apple's headers; see [Declared]. It has no blocks,
// defines no classes, and does not catch exceptions: an NSException ends the process. The usual steps are
//
//  1. [Declare] methods as package variables;
//  2. [Load] libobjc, once a process, before the first call;
//  3. call them with [Method.Call] inside an autorelease pool: [InPool];
//  4. where a call must not allocate: [Method.To] or [Method.Bare] make a [Message], to be sent as often as wanted, and
//     a [Pool] is kept for the pools around it.
//
// Ownership is by Apple's naming rule: what alloc, new… and copy… return is the caller's to [Release], everything else
// belongs to the pool until it is retained. A message to nil does nothing and returns zero.
//
// It is written for darwin on arm64 and amd64. It has run on Linux only, against a fake runtime, and not yet on a Mac.
//
// Reference: https://developer.apple.com/documentation/objectivec/objective-c-runtime
package objc
