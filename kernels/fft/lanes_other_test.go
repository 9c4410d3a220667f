//go:build !amd64

package fft

import "testing"

// withoutLanes does nothing: there are none.
func withoutLanes(*testing.T) {}
