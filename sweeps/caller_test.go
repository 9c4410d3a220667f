package sweeps

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// A failure in a call ends neither the sweep nor the caller.
func TestCaller(t *testing.T) {
	c := newCaller()
	defer c.close()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		f    func() error
		want string
	}{
		"fine":        {func() error { return nil }, ""},
		"fails":       {func() error { return broken }, "broken"},
		"panics":      {func() error { panic("out of range") }, "panic: out of range"},
		"ends itself": {func() error { runtime.Goexit(); return nil }, "runtime.Goexit"},
	} {
		for range 2 {
			err := c.run(tc.f)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("a call that %s: %v, want %q", name, err, tc.want)
			}
		}
	}
}

// The caller's goroutine ends with the sweep. So does one that replaced a goroutine which a call ended.
func TestCallerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // synctest fails if a goroutine is left
		c := newCaller()
		_ = c.run(func() error { runtime.Goexit(); return nil })
		c.close()
	})
}
