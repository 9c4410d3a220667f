package docs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mostBytes is how much a checkout may hold. Samples and charts of machines are most of it.
const mostBytes = 25_000_000

func TestACheckoutIsSmall(t *testing.T) {
	out, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--full-name").Output()
	if err != nil {
		t.Skip("this is no git checkout: ", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(files) < 100 {
		t.Skipf("git has %d files here", len(files))
	}
	size, err := weight("..", files)
	if err != nil {
		t.Fatal(err)
	}
	if size > mostBytes {
		t.Errorf("the tracked files have %d bytes, want at most %d", size, mostBytes)
	}
}

// weight returns the number of bytes of files in a folder. Files that were removed have none.
func weight(folder string, files []string) (size int64, err error) {
	for _, name := range files {
		info, err := os.Lstat(filepath.Join(folder, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}
