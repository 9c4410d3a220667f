package emulator

import (
	"runtime/debug"
	"slices"
)

// Racing reports whether the test runs under Go's race detector. There sync.Pool drops some of what it is given, so that
// a warm call may allocate, and a test that counts allocations counts those.
func Racing() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
