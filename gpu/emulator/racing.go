package emulator

import (
	"runtime/debug"
	"slices"
)

// Racing reports whether the test runs under Go's race detector. The detector makes sync.Pool drop some of its objects,
// so a warm call may allocate. Tests that count allocations ask Racing first.
func Racing() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
