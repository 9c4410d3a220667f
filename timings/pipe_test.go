//go:build unix

package timings

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Nobody writes to the pipe, so a Load that opened it would never return.
func TestLoadOpensNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sum.bench")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{path, "/dev/urandom"} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
