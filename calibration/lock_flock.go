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

// lock waits until no other writer of path holds its lock file. Then it locks the file and returns a function that unlocks
// it. The operating system holds the lock on an open file, so the lock ends with the process, however the process ends. The
// lock file exists only while a writer works, or after one was killed.
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
				os.Remove(name) // still locked: a process that opened it meanwhile finds that it is gone
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
		fmt.Fprintln(file, os.Getpid()) // only holder needs the number, so a full disk is no reason to stop
	}
	return file, nil
}

// take locks a file that was opened by a name. It reports whether the lock keeps other processes out.
func take(file *os.File, name string) (bool, error) {
	switch err := flock(file); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, errors.ErrUnsupported):
		return true, nil // some network file systems have no locks, and losing measurements is worse than writing
	case err != nil:
		return false, fmt.Errorf("cannot lock the file: %w", err)
	}
	mine, err := file.Stat()
	if err != nil {
		return false, err
	}
	// The last holder may have removed the file since it was opened. A lock on a removed file keeps no other process out.
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

// keepOwner gives a file the owner and the group of the file that it will replace, if this process may.
func keepOwner(file *os.File, old fs.FileInfo) {
	if stat, ok := old.Sys().(*syscall.Stat_t); ok {
		if file.Chown(int(stat.Uid), int(stat.Gid)) != nil {
			file.Chown(-1, int(stat.Gid))
		}
	}
}
