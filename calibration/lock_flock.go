//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package calibration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lock waits until no other writer of path holds its lock file. Then it takes the lock file and returns a function that
// gives it back. The lock is the system's, on an open file, so it ends with the process, however the process ends. The
// lock file exists only while a writer is at work, or after one was killed.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
	for deadline := time.Now().Add(lockWait); ; {
		file, err := tryLock(name)
		if err != nil {
			return nil, err
		}
		if file != nil {
			removeTemporary(path)
			return func() {
				os.Remove(name) // still locked: a process that opened it meanwhile sees that it is gone
				file.Close()
			}, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s writes it since more than %v; try again when it has ended", holder(name), lockWait)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waited for %s, which writes it: %w", holder(name), context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tryLock returns the open and locked file of a name, or nil if another process has the lock.
func tryLock(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	taken, err := take(file, name)
	if err != nil || !taken {
		file.Close()
		return nil, err
	}
	if err := file.Truncate(0); err == nil {
		fmt.Fprintln(file, os.Getpid()) // only for holder: a full disk is no reason to stop here
	}
	return file, nil
}

// take locks a file that was opened by a name, and reports whether the lock keeps others out.
func take(file *os.File, name string) (bool, error) {
	switch err := flock(file); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, errors.ErrUnsupported):
		return true, nil // some network file systems have no locks: writing is better than losing measurements
	case err != nil:
		return false, fmt.Errorf("cannot lock the file: %w", err)
	}
	mine, err := file.Stat()
	if err != nil {
		return false, err
	}
	// The last holder may have removed the file since it was opened. A lock on a file without a name keeps no other
	// process out.
	there, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, there), err
}

func flock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// holder names the process that holds a lock file.
func holder(name string) string {
	file, err := os.Open(name)
	if err != nil {
		return "another process"
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, 32))
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", number)
}

// keepOwner gives a file the owner and the group of the file that it will replace, as far as this process may.
func keepOwner(file *os.File, old fs.FileInfo) {
	if stat, ok := old.Sys().(*syscall.Stat_t); ok {
		if file.Chown(int(stat.Uid), int(stat.Gid)) != nil {
			file.Chown(-1, int(stat.Gid))
		}
	}
}
