//go:build unix

package audio

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The pipe has no writer, so a ReadWAV that opened it would never return.
func TestReadWAVOpensNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "take.wav")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{path, "/dev/urandom"} {
		if _, err := ReadWAV(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
