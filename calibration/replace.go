package calibration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lockWait is how long a writer waits for other writers. A writer holds the lock while it reads and writes the file, but not
// while it measures.
const lockWait = 20 * time.Second

// locked calls write with the file to which path leads, while it holds the lock of that file. It adds the name of the file
// to errors.
func locked(ctx context.Context, path string, write func(target string) error) error {
	target, err := resolve(path)
	if err == nil {
		err = checkRegular(target)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, unnamed(err))
	}
	unlock, err := lock(ctx, target)
	if err == nil {
		defer unlock() // even if write panics
		err = write(target)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, unnamed(err))
	}
	return nil
}

// resolve follows symbolic links to the file that is to be replaced. That file need not exist.
func resolve(path string) (string, error) {
	for range 40 { // as many as operating systems follow
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(folder, filepath.Base(path))
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // it is no link, or does not exist
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(folder, link)
		}
		path = link
	}
	return "", errors.New("too many levels of symbolic links")
}

// checkRegular refuses a path that exists and is not a regular file. A device or a pipe must not be replaced, and reading it
// may never end.
func checkRegular(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a directory (want a file)")
	case !info.Mode().IsRegular():
		return errors.New("is a device, a pipe or a socket (want a regular file)")
	}
	return nil
}

// replace writes a text to a temporary file beside path and renames that file to path. If the process is killed meanwhile,
// the next writer removes the temporary file.
func replace(path string, text []byte) error {
	return replaceBy(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func replaceBy(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), temporaryPrefix(path)+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		keepOwner(file, info) // before the mode, because a change of owner may clear bits of the mode
	}
	if err := file.Chmod(mode); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// temporaryPrefix begins the names of the temporary files of path.
func temporaryPrefix(path string) string { return "." + filepath.Base(path) + ".tmp" }

// removeTemporary removes the temporary files of killed writers of path. The caller holds the lock of path.
func removeTemporary(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return // a folder may be writable and not readable
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), temporaryPrefix(path)) {
			os.Remove(filepath.Join(filepath.Dir(path), entry.Name()))
		}
	}
}

// syncFolder brings a rename to the disk. Some file systems cannot sync a folder, which is no failure.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	err = folder.Sync()
	if err == nil || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("written, but its folder could not be synced: %w", err)
}
