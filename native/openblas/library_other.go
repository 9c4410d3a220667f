//go:build !((darwin || linux) && (amd64 || arm64))

package openblas

import (
	"fmt"
	"runtime"
)

func load() (*library, error) {
	return nil, fmt.Errorf("openblas: not supported on %s/%s (want linux or darwin on amd64 or arm64)",
		runtime.GOOS, runtime.GOARCH)
}

func newArguments() *arguments { return new(arguments) }

// callGemm, callGemv and setThreads are never called, because there is no library to call.
func callGemm(*library, *arguments) {}

func callGemv(*library, *arguments) {}

func setThreads(*library, int) {}
