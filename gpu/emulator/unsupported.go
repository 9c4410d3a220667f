//go:build !((darwin || linux) && (amd64 || arm64))

package emulator

import (
	"fmt"
	"runtime"

	"crossover/gpu"
)

// New says that there is no emulator here.
func New(...Option) (gpu.Driver, error) { return nil, errUnsupported }

// Run says that there is no emulator here.
func Run(gpu.Pipeline, gpu.Size, gpu.Size, [][]byte) error { return errUnsupported }

var errUnsupported = fmt.Errorf("emulator: it does not run on %s/%s", runtime.GOOS, runtime.GOARCH)
