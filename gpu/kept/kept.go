// Package kept keeps what compilers have made of kernel texts, for the tests that compile the same texts again and again.
// Compiling takes most of the time of such a test. Nothing else uses the package.
package kept

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Folder is a folder with what a compiler has made. A file is named after everything that it is made of, so that none is ever
// out of date. The Folder "" keeps nothing.
type Folder string

// lifetime is how long a file stays that nobody uses.
const lifetime = 7 * 24 * time.Hour

// Open returns the folder crossover-<name> among the user's caches, without the files that were not used for long. It returns
// "" where no folder can be made.
func Open(name string) Folder {
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	folder := filepath.Join(user, "crossover-"+name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return ""
	}
	Folder(folder).trim(time.Now())
	return Folder(folder)
}

// trim removes what was not used for long.
func (f Folder) trim(now time.Time) {
	entries, _ := os.ReadDir(string(f))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > lifetime {
			os.RemoveAll(filepath.Join(string(f), e.Name())) // a folder is what a killed process left
		}
	}
}

// File calls use with the path of a file that is made of the given parts. It calls build to make the file, unless the file is
// kept. A file that use fails with is kept no longer.
func (f Folder) File(build, use func(path string) error, parts ...any) error {
	path := ""
	if f != "" {
		path = filepath.Join(string(f), fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %s %q", runtime.GOOS, runtime.GOARCH, parts))))
		// A file in use is a young one, so that another process does not remove it.
		if now := time.Now(); os.Chtimes(path, now, now) == nil {
			if use(path) == nil {
				return nil
			}
			os.Remove(path)
		}
	}
	return inTemporary(string(f), func(dir string) error {
		made := filepath.Join(dir, "made")
		if err := build(made); err != nil {
			return err
		}
		if err := use(made); err != nil || path == "" {
			return err
		}
		// Other processes see the whole file or none. Without the file they compile again.
		os.Rename(made, path)
		return nil
	})
}

// inTemporary calls f with a new folder, and removes the folder afterwards. The new folder is made in the given one, or in
// the system's if that is "".
func inTemporary(in string, f func(dir string) error) error {
	dir, err := os.MkdirTemp(in, "making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(dir)
}
