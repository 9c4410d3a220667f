package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"crossover/calibration"
)

// The folder of a host has a folder for each run, named after the time at which the run began: 20261122T110405Z. A run that
// is not finished, or was interrupted, is in unfinished-<time>-<process>.
const (
	runTime    = "20060102T150405Z"
	unfinished = "unfinished-"
)

// NewFolder makes the folder of a run that begins now, in the folder of a host, and returns its path. It removes folders of
// runs that died before they had anything to save.
func NewFolder(host string) (string, error) {
	if err := os.MkdirAll(host, 0o755); err != nil {
		return "", err
	}
	removeEmpty(host)
	return newName(host, fmt.Sprintf("%s%s-%d", unfinished, time.Now().UTC().Format(runTime), os.Getpid()), func(path string) error {
		return os.Mkdir(path, 0o755)
	})
}

// newName calls make with a path in a folder. As long as make says that the path exists, newName adds another number to it.
func newName(folder, name string, make func(path string) error) (string, error) {
	path := filepath.Join(folder, name)
	for n := 2; ; n++ {
		err := make(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return "", err
		}
		path = filepath.Join(folder, fmt.Sprintf("%s-%d", name, n))
	}
}

// removeEmpty removes the folders of runs that died before they saved anything, which cannot be fitted.
func removeEmpty(host string) {
	all, _ := os.ReadDir(host)
	for _, entry := range all {
		path := filepath.Join(host, entry.Name())
		if _, err := os.Stat(filepath.Join(path, EntryFile)); !IsUnfinished(path) || err == nil {
			continue
		}
		if parts := strings.Split(entry.Name(), "-"); len(parts) >= 3 && Ended(parts[2]) {
			os.RemoveAll(path)
		}
	}
}

// KeptDays is the number of days for which the samples of an interrupted run are kept. That is long enough to fit them.
const KeptDays = 7

// RemoveForgotten removes, from the folder of a host, runs that were interrupted more than KeptDays ago. No run takes so
// long.
func RemoveForgotten(host string) {
	all, _ := os.ReadDir(host)
	for _, entry := range all {
		rest, found := strings.CutPrefix(entry.Name(), unfinished)
		text, _, _ := strings.Cut(rest, "-")
		began, err := time.Parse(runTime, text)
		if found && err == nil && time.Since(began) > KeptDays*24*time.Hour {
			Discard(filepath.Join(host, entry.Name()))
		}
	}
}

// Discard removes the folder of a run. If the process is killed meanwhile, an unfinished run is left, either whole or
// without an entry. NewFolder removes the latter, so no half of a run is ever found.
func Discard(folder string) error {
	if !IsUnfinished(folder) {
		name := fmt.Sprintf("%s%s-%d", unfinished, time.Now().UTC().Format(runTime), os.Getpid())
		renamed, err := newName(filepath.Dir(folder), name, func(path string) error {
			if _, err := os.Lstat(path); err == nil {
				return fs.ErrExist
			}
			return os.Rename(folder, path)
		})
		if err != nil {
			return err
		}
		folder = renamed
	}
	if err := os.Remove(filepath.Join(folder, EntryFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(folder)
}

// Ended reports whether the process with a number, in decimal digits, is known to have ended.
func Ended(process string) bool {
	number, err := strconv.Atoi(process)
	if err != nil || number < 1 {
		return false
	}
	p, err := os.FindProcess(number)
	return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// IsUnfinished reports whether a folder is that of a run that is not yet among the runs of a host.
func IsUnfinished(folder string) bool { return strings.HasPrefix(filepath.Base(folder), unfinished) }

// Finish moves the saved run in an unfinished folder to its place in the host's folder, in one step, and returns its new
// path.
func Finish(folder string) (string, error) {
	entry, err := loadEntry(folder)
	if err != nil {
		return "", err
	}
	return newName(filepath.Dir(folder), entry.newest().Format(runTime), func(path string) error {
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist // for systems on which a folder may replace an empty one
		}
		return os.Rename(folder, path)
	})
}

// newest returns the time at which the last of a saved entry's runs began.
func (s *saved) newest() time.Time {
	newest := s.Created
	for _, r := range s.Runs {
		if r.Created.After(newest) {
			newest = r.Created
		}
	}
	return newest
}

// finished returns the folders of a host's finished runs, the newest last.
func finished(host string) []string {
	all, _ := os.ReadDir(host) // sorted by names, and so by times
	var folders []string
	for _, entry := range all {
		path := filepath.Join(host, entry.Name())
		if _, err := os.Stat(filepath.Join(path, EntryFile)); err == nil && !IsUnfinished(path) {
			folders = append(folders, path)
		}
	}
	return folders
}

// DamagedError is the error of [Find] that there is no run, and that it could not look into a folder, because the entry there cannot
// be read. Err names the file. The error counts as one that wraps fs.ErrNotExist.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return e.Err.Error() }

func (e *DamagedError) Unwrap() []error { return []error{fs.ErrNotExist, e.Err} }

// Find returns the run in a host's folder from which an entry of the calibration file was fitted. Its error wraps
// fs.ErrNotExist if there is none.
func Find(host string, entry *calibration.Host) (*Run, error) {
	var damaged error
	for _, folder := range finished(host) {
		s, err := loadEntry(folder)
		if err != nil {
			damaged = err // another folder may hold the run
			continue
		}
		if !s.isOf(entry) {
			continue
		}
		r, err := Load(folder)
		if err != nil || r.fits(entry) {
			return r, err
		}
	}
	if damaged != nil {
		return nil, &DamagedError{damaged}
	}
	return nil, fmt.Errorf("%s holds no samples of the entry of %s: %w", host, entry.Created.Format(time.DateTime), fs.ErrNotExist)
}

// fits reports whether the samples are those that an entry names. Samples that the entry does not name are not compared.
func (r *Run) fits(entry *calibration.Host) bool {
	return !slices.ContainsFunc(entry.Cases, func(c calibration.Case) bool {
		return c.Samples != "" && c.Samples != r.Timings[c.Name].Digest()
	})
}

// sameEarlier returns a function that compares the earlier runs of a case in the saved entry and in another one.
func (s *saved) sameEarlier(entry *calibration.Host) func(a, b calibration.Earlier) bool {
	return func(a, b calibration.Earlier) bool {
		return a.Samples == b.Samples && s.EarlierRun(a).Created.Equal(entry.EarlierRun(b).Created)
	}
}

// isOf reports whether a fitted entry has the cases of the saved one, from the same runs. The samples of a killed run may be
// newer than the number of blocks in its entry.
func (s *saved) isOf(entry *calibration.Host) bool {
	if s.ID != entry.ID || len(s.Cases) != len(entry.Cases) {
		return false
	}
	for k := range s.Cases {
		was, is := &s.Cases[k], &entry.Cases[k]
		from, of := s.RunOf(was), entry.RunOf(is)
		if was.Name != is.Name || was.Blocks != is.Blocks && !s.killed() || !slices.EqualFunc(was.Earlier, is.Earlier, s.sameEarlier(entry)) || !from.Created.Equal(of.Created) || from.Method.Seed != of.Method.Seed {
			return false
		}
	}
	return true
}
