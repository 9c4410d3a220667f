//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// cache is a folder with what the compiler has made. Compiling takes most of the time of a test on the emulated device, and
// the tests of several packages compile the same texts. A file is named after everything that it is made of, so that none is
// ever out of date.
type cache string

// kept is how long a file stays that nobody uses.
const kept = 7 * 24 * time.Hour

// openCache returns the cache of the user, without the files that were not used for long. It is "", which keeps nothing, where
// no folder can be made.
func openCache() cache {
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	folder := filepath.Join(user, "crossover-emulator")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return ""
	}
	cache(folder).trim(time.Now())
	return cache(folder)
}

// trim removes what was not used for long.
func (c cache) trim(now time.Time) {
	entries, _ := os.ReadDir(string(c))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > kept {
			os.RemoveAll(filepath.Join(string(c), e.Name())) // a folder is what a killed process left
		}
	}
}

// file calls use with the path of a file that is made of the given parts. It calls build to make the file, unless the file is
// in the cache. A file that use fails with is kept no longer.
func (c cache) file(build, use func(path string) error, parts ...any) error {
	path := ""
	if c != "" {
		path = filepath.Join(string(c), fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %s %q", runtime.GOOS, runtime.GOARCH, parts))))
		// A file in use is a young one, so that another process does not remove it.
		if now := time.Now(); os.Chtimes(path, now, now) == nil {
			if use(path) == nil {
				return nil
			}
			os.Remove(path)
		}
	}
	return inTemporary(string(c), func(dir string) error {
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
