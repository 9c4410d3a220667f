//go:build !linux

package stream

import "time"

func (c systemClock) until(t time.Duration) { time.Sleep(t - c.now()) }
