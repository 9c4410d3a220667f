//go:build !linux && !darwin

package host

import "runtime"

func identify() Facts {
	return Facts{Architecture: runtime.GOARCH, Cores: runtime.NumCPU()}.complete()
}

func observe() Condition { return unobserved() }
