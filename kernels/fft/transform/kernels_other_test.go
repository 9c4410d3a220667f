//go:build !amd64

package transform

import "testing"

// withoutLanes does nothing: there are none.
func withoutLanes(*testing.T) {}
