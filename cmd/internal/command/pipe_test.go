//go:build unix

package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A device must stay one. A pipe stands for it, because a failing test would replace it.
func TestReplaceWritesIntoAPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that neither end waits for the other one
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, path := range []string{pipe, link} {
		if err := WritableFile(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := Replace(path, func(w io.Writer) error { _, err := fmt.Fprint(w, "text"); return err }); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Type() != os.ModeNamedPipe {
			t.Fatalf("%s is no pipe any more: %v, %v", path, info.Mode(), err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(reader, got); err != nil || string(got) != "text" {
			t.Errorf("read %q from %s: %v", got, path, err)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}
