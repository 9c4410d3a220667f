// Package api registers the emulated GPU as an API, for tests that run the whole catalogue on it. Nothing else may
// import it: the emulator is no contender.
//
// The families make their tables of contenders when they are initialised, so the registration must come first. It does:
// packages are initialised in the order of their import paths as soon as what they import is, this one imports package
// gpu alone, which every family imports too, and its path comes before theirs.
// Reference: https://go.dev/ref/spec#Program_initialization.
package api

import (
	"errors"

	"crossover/gpu"
)

// Name is the name of the API, and so of its implementations.
const Name = "emulator"

// Open makes the driver when the API is first asked for. A test sets it before that.
var Open = func() (gpu.Driver, error) { return nil, errors.New("the test brings no driver") }

func init() {
	gpu.Register(Name, func() (gpu.Driver, error) { return Open() })
}
