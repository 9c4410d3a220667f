//go:build !linux

package pool

func yield() {}
