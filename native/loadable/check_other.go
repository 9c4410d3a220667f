//go:build !linux

package loadable

func check(string) error { return nil }
