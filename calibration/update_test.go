//go:build darwin || linux

package calibration

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// merged returns a change that merges a host with an id.
func merged(id string) func(*Index) error {
	return func(x *Index) error {
		h := m3()
		h.ID = id
		return x.Merge(h)
	}
}

// changed returns a change of the host with an id.
func changed(id string, change func(*Host)) func(*Index) error {
	return func(x *Index) error {
		h, err := x.Host(id)
		if err != nil {
			return err
		}
		change(h)
		return x.Merge(*h)
	}
}

func update(t *testing.T, path string, change func(*Index) error) {
	t.Helper()
	if err := Update(t.Context(), path, change); err != nil {
		t.Fatal(err)
	}
}

// onlyFiles compares the names in a folder with the wanted ones.
func onlyFiles(t *testing.T, folder string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestUpdatesLoseNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "calibration.json")
	link := filepath.Join(folder, "link.json")
	if err := os.Symlink("calibration.json", link); err != nil {
		t.Fatal(err)
	}
	const writers, hosts = 8, 6
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for h := range hosts {
				to := path
				if w%2 == 0 {
					to = link
				}
				if err := Update(t.Context(), to, merged(fmt.Sprintf("host-%d-%d", w, h))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Hosts) != writers*hosts {
		t.Errorf("%d hosts, want %d", len(f.Hosts), writers*hosts)
	}
	onlyFiles(t, folder, "calibration.json", "link.json")
}

func TestFailedUpdateLeavesTheOldFile(t *testing.T) {
	refused := errors.New("a poorer result")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	for name, test := range map[string]struct {
		ctx    context.Context
		old    string
		change func(*Index) error
		want   string
	}{
		"refused": {t.Context(), "", func(x *Index) error { return errors.Join(merged("new")(x), refused) }, "a poorer result"},
		"not valid": {t.Context(), "", merged("No Slug"),
			`calibration: "No Slug": id is not a slug (want lower-case letters and digits, with hyphens between)`},
		"not valid deep inside": {t.Context(), "", changed("old", func(h *Host) {
			h.Cases[0].Implementations = nil
		}), `calibration: "old": case "fft/batch=1": has no implementations`},
		"a simulation of a measured host": {t.Context(), "", changed("old", func(h *Host) { h.Simulated = true }),
			`calibration: "old" was measured, and a simulation does not replace a measurement`},
		"not readable": {t.Context(), "{", merged("new"), "PATH: line 1: the file is cut short (" + remedy + ")"},
		"ended before": {ended, "", merged("new"), "PATH: interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "calibration.json")
			update(t, path, merged("old"))
			if test.old != "" {
				if err := os.WriteFile(path, []byte(test.old), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := os.ReadFile(path)
			err := Update(test.ctx, path, test.change)
			if err == nil || err.Error() != strings.Replace(test.want, "PATH", path, 1) {
				t.Errorf("error\n got %v\nwant %s", err, test.want)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Errorf("the file changed to %s", after)
			}
			onlyFiles(t, folder, "calibration.json")
		})
	}
	if err := Update(t.Context(), filepath.Join(t.TempDir(), "x.json"), func(*Index) error { return refused }); err != refused {
		t.Errorf("error %v, want that of change as it is", err)
	}
}

// A change that panics must release the lock.
func TestPanicInUpdate(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "calibration.json")
	func() {
		defer func() { recover() }()
		Update(t.Context(), path, func(*Index) error { panic("a mistake") })
	}()
	onlyFiles(t, folder)
	update(t, path, merged("new"))
}

func TestUpdateKeepsModeAndLinks(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"real", "shown"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real, shown := filepath.Join(folder, "real", "calibration.json"), filepath.Join(folder, "shown", "link.json")
	if err := os.Symlink("../real/middle.json", shown); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("calibration.json", filepath.Join(folder, "real", "middle.json")); err != nil {
		t.Fatal(err)
	}
	update(t, shown, merged("first")) // the link's target does not exist yet
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	update(t, shown, merged("second"))
	info, err := os.Lstat(real)
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, mode %v, want 0640", err, info.Mode())
	}
	if f, err := Load(real); err != nil || len(f.Hosts) != 2 {
		t.Errorf("%v, %+v", err, f)
	}
	if info, err := os.Lstat(shown); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	onlyFiles(t, filepath.Dir(shown), "link.json")
	onlyFiles(t, filepath.Dir(real), "calibration.json", "middle.json")
}

func TestUpdateKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to somebody else")
	}
	path := filepath.Join(t.TempDir(), "calibration.json")
	update(t, path, merged("first"))
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	update(t, path, merged("second"))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 1234 || owner.Gid != 2345 {
		t.Errorf("owner %d, group %d", owner.Uid, owner.Gid)
	}
}

// A path that is not a regular file is neither read nor replaced. Reading a pipe would wait for ever. The test uses no
// device of the machine, because a mistake here, run by root, would replace the device.
func TestNoRegularFile(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder) // the path of a socket must be short
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket := filepath.Join(folder, "socket")
	loop := filepath.Join(folder, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe:   "is a device, a pipe or a socket (want a regular file)",
		socket: "is a device, a pipe or a socket (want a regular file)",
		folder: "is a directory (want a file)",
		loop:   "too many levels of symbolic links",
	} {
		want = path + ": " + want
		_, loadErr := Load(path)
		viewErr := View(path, func([]Entry) error { return nil })
		_, updateErr := LoadForUpdate(path)
		for name, err := range map[string]error{
			"Update": Update(t.Context(), path, merged("new")), "Save": Save(path, &File{}), "Load": loadErr, "View": viewErr, "LoadForUpdate": updateErr,
		} {
			if err == nil || err.Error() != want {
				t.Errorf("%s: error %v, want %s", name, err, want)
			}
		}
	}
	onlyFiles(t, folder, "loop", "pipe", "socket")
}

func TestWaitForAnotherWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		path := filepath.Join(folder, "calibration.json")
		unlock, err := lock(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s: process %d writes it since more than 20s; try again when it has ended", path, os.Getpid())
		if err := Update(t.Context(), path, merged("new")); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		go cancel(errors.New("interrupted"))
		want = fmt.Sprintf("%s: waited for process %d, which writes it: interrupted", path, os.Getpid())
		if err := Update(ctx, path, merged("new")); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		unlock()
		update(t, path, merged("new"))
		onlyFiles(t, folder, "calibration.json")
	})
}

// A lock file that its holder removed after we opened it keeps nobody out.
func TestLockOfARemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	for name, then := range map[string]func(){
		"gone":     func() {},
		"replaced": func() { os.WriteFile(path, nil, 0o644) },
	} {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		os.Remove(path)
		then()
		if taken, err := take(file, path); taken || err != nil {
			t.Errorf("%s: taken %v, %v", name, taken, err)
		}
	}
}

// A killed writer leaves a lock file that is not locked, and a temporary file.
func TestUpdateAfterAKilledWriter(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "calibration.json")
	for _, name := range []string{".calibration.json.lock", ".calibration.json.tmp123", ".other.json.tmp123"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("4711\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	update(t, path, merged("new"))
	onlyFiles(t, folder, ".other.json.tmp123", "calibration.json")
}
