package kernels

import (
	"os"
	"runtime"

	"crossover/accelerate"
)

// Accelerate returns the contender that Apple's framework computes, "accelerate" or, where variant is not empty,
// "accelerate/" and the variant. There is none outside of macOS, unless the environment names a library to take for the
// framework.
func Accelerate[P, E any](variant string, build func(P) (E, error)) Contenders[P, E] {
	if runtime.GOOS != "darwin" && os.Getenv(accelerate.Environment) == "" {
		return nil
	}
	name := "accelerate"
	if variant != "" {
		name += "/" + variant
	}
	return Contenders[P, E]{{
		Implementation: Implementation{Name: name, Processor: CPU, Probe: accelerate.Probe},
		New:            build,
	}}
}
