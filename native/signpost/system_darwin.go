package signpost

import (
	"fmt"

	"github.com/ebitengine/purego"

	"crossover/native/loadable"
)

// System returns the functions of macOS.
func System() (Symbols, error) {
	handle, err := loadable.Open("/usr/lib/libSystem.B.dylib", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("signpost: %w", err)
	}
	return func(name string) (uintptr, error) { return loadable.Symbol(handle, name) }, nil
}

// libraryFlags make clang link a library, which it also signs.
const libraryFlags = "-dynamiclib"
