//go:build (darwin || linux) && (amd64 || arm64)

package signpost

import "github.com/ebitengine/purego"

func invoke(function uintptr, arguments []uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, arguments...)
	return result
}
