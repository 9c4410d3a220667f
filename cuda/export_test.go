//go:build linux && (amd64 || arm64)

package cuda

import (
	"crossover/gpu"
	"crossover/gpu/msl"
)

// Prelude is what NVRTC gets as the header PreludeName.
var Prelude = prelude

const PreludeName = preludeName

// Program returns the text that NVRTC compiles for a source.
func Program(src gpu.Source) (string, error) {
	functions, err := msl.Parse(src.Text)
	return program(src, functions, false), err
}
