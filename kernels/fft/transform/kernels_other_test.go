//go:build !amd64 && !arm64

package transform

import "testing"

// withoutLanes does nothing, because there is no assembly.
func withoutLanes(*testing.T) {}
