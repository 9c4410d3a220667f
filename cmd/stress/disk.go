package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// mounts lists the folders over which rounds have mounted a file system.
type mounts struct {
	mu      sync.Mutex
	folders []string
}

func (m *mounts) add(folder string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.folders = append(m.folders, folder)
}

// undo unmounts all of them. If one is in use, the system unmounts it later.
func (m *mounts) undo() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, folder := range slices.Backward(m.folders) {
		if exec.Command("umount", folder).Run() != nil {
			err = errors.Join(err, exec.Command("umount", "-l", folder).Run())
		}
	}
	m.folders = nil
	return err
}

// mount mounts a new file system in memory over a folder of the round. It reports whether that worked. The round's end
// unmounts it.
func (r *round) mount(folder, options string) bool {
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "crossover-stress", folder).CombinedOutput(); err != nil {
		r.skipped = fmt.Sprintf("no file system can be mounted here: %v %s", err, strings.TrimSpace(string(out)))
		return false
	}
	r.mounts.add(folder)
	return true
}

// fullDisk fills the disk up to a little room, or uses up all but a few of its inodes.
func fullDisk(r *round, ctx context.Context) {
	disk := filepath.Join(r.folder, "disk")
	if !r.must(os.Mkdir(disk, 0o755)) || !r.mount(disk, "size=4m,mode=0755"+r.inodes()) {
		return
	}
	r.work = disk
	a := r.any()
	r.beginFor(a, 80)
	filler := filepath.Join(disk, "filler")
	r.own = append(r.own, "filler")
	room := int64(4096 * r.random.IntN(100))
	var at *moment
	switch draw := r.random.IntN(5); draw {
	case 0, 1: // it becomes full suddenly
		at = r.moment()
		at.do = func() { r.must(fill(filler, 0)) }
	case 2:
		at = r.moment(pick(r, append(slices.Clone(systemSignals), os.Kill)))
		fallthrough
	default:
		r.must(fill(filler, room))
	}
	r.full = true
	r.act(ctx, a, at, "|"+syscall.ENOSPC.Error()+"|"+defaultFile+": no such file")
	if err := os.Remove(filler); !errors.Is(err, fs.ErrNotExist) { // the command may have ended before the filler was written
		r.must(err)
	}
	r.must(exec.Command("mount", "-o", "remount,size=16m,nr_inodes=100000", disk).Run())
	r.full = false
	r.later()
	r.finish(ctx, a.file)
}

// inodes returns, in some rounds, a mount option that leaves room for a few more files than the calibration has.
func (r *round) inodes() string {
	if r.chance(70) {
		return ""
	}
	files := 0
	filepath.WalkDir(r.base, func(string, fs.DirEntry, error) error { files++; return nil })
	return fmt.Sprintf(",nr_inodes=%d", files+2+r.random.IntN(14))
}

// fill writes a file until the disk is full, and then frees room bytes.
func fill(path string, room int64) error {
	file, err := os.Create(path)
	if errors.Is(err, syscall.ENOSPC) {
		return nil // no inode is left
	}
	if err != nil {
		return err
	}
	defer file.Close()
	page := make([]byte, 4096)
	for err == nil {
		_, err = file.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	size, err := file.Seek(0, 2)
	if err != nil {
		return err
	}
	return file.Truncate(max(0, size-room))
}

// readOnly makes a folder that a run needs, or all of them, read-only.
func readOnly(r *round, ctx context.Context) {
	r.begin()
	a := r.any()
	name := pick(r, []string{".", defaultPlots, "sweeps", filepath.Join(defaultPlots, r.host), filepath.Join(defaultData, r.host)})
	writable, ok := r.lock(filepath.Join(r.work, name))
	if !ok {
		return
	}
	r.act(ctx, a, nil, "|"+syscall.EROFS.Error()+"|"+syscall.EACCES.Error())
	if r.must(writable()) {
		r.finish(ctx, a.file)
	}
}

// lock makes a folder read-only until writable is called. Root ignores permissions, so for root lock mounts a read-only file
// system.
func (r *round) lock(folder string) (writable func() error, ok bool) {
	if os.Getuid() != 0 {
		return func() error { return os.Chmod(folder, 0o755) }, r.must(os.Chmod(folder, 0o555))
	}
	aside := filepath.Join(r.folder, "aside")
	if !r.must(os.CopyFS(aside, os.DirFS(folder))) || !r.mount(folder, "size=4m,mode=0755") {
		return nil, false
	}
	remount := func(how string) error { return exec.Command("mount", "-o", "remount,"+how, folder).Run() }
	return func() error { return remount("rw") }, r.must(os.CopyFS(folder, os.DirFS(aside))) && r.must(remount("ro"))
}
