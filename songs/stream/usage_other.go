//go:build !linux && !darwin

package stream

import "math"

func processorSeconds() float64 { return math.NaN() }

func residentBytes() int64 { return -1 }
