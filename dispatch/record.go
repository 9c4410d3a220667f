package dispatch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// Recorder counts how often a program asks for each shape, and writes the counts to a file that `calibrate --shapes FILE`
// reads. All methods may be called concurrently.
type Recorder struct {
	d      *Dispatcher
	path   string
	counts counts
	alone  map[string]*atomic.Int64 // calls by case, of cases whose axes are not known; guarded by the dispatcher's lock

	writing sync.Mutex // one Flush at a time; guards closed
	closed  bool
}

// Record begins to count the shapes that the program's cases, operations and plans ask this dispatcher for. Counting takes some
// ten nanoseconds a call, and some two hundred if a new shape takes the place of another. It waits for nothing and allocates
// nothing. Choose and ChooseShape count, Explain and Peek do not.
//
// The file is written by Flush and by Close, and not before: a program that ends without either leaves no record. It
// replaces what path holds, which may be nothing or an older record. Record fails, with one line, if the file cannot be
// written, if it holds something else, and if the dispatcher records already.
//
// A record has at most [MostRecorded] shapes. If a program calls more, these are the most frequent ones, and some of their
// counts lack calls: a comment in the file says at most how many, and how many calls are left out. Calls of a case whose axes
// neither the calibration nor the program knows (see [Declare]) are counted together in a comment.
func (d *Dispatcher) Record(path string) (*Recorder, error) {
	if d.none() {
		return nil, errors.New("dispatch: a nil or zero dispatcher records nothing (where there is no calibration file yet, New(nil) makes one that does)")
	}
	target, err := recordTo(path)
	if err != nil {
		return nil, fmt.Errorf("dispatch: cannot record into %q: %w", path, err)
	}
	r := &Recorder{d: d, path: target, alone: map[string]*atomic.Int64{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.recorder != nil {
		return nil, fmt.Errorf("dispatch: cannot record into %q: the dispatcher records into %q until that recorder is closed", path, d.recorder.path)
	}
	d.recorder = r
	d.rebuild()
	return r, nil
}

// recordTo returns the file that a path leads to, if a record can take its place.
func recordTo(path string) (target string, err error) {
	if target, err = filepath.Abs(path); err != nil || path == "" {
		return "", cmp.Or(err, errors.New("want the name of a file, e.g. shapes.txt"))
	}
	if resolved, err := filepath.EvalSymlinks(target); err == nil {
		target = resolved
	}
	switch info, err := os.Stat(target); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", cause(err)
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file")
	default:
		if _, err := ReadShapes(target); err != nil {
			return "", errors.New("it holds something else than shapes: remove it, or name another file")
		}
	}
	probe, err := os.CreateTemp(filepath.Dir(target), temporary)
	if err != nil {
		return "", cause(err)
	}
	probe.Close()
	return target, os.Remove(probe.Name())
}

// temporary is the pattern of the name of a file that becomes a record.
const temporary = ".shapes-*"

// cause is what went wrong with a file, without its name.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

var errNoRecorder = errors.New("dispatch: there is no recorder (Record failed, and returned why)")

// Flush writes what was counted so far. The file is replaced as a whole, so that a reader never sees half of it. If Flush
// fails, the file is as it was, and counting goes on. Without a recorder, because Record failed, Flush and Close fail.
func (r *Recorder) Flush() error {
	if r == nil {
		return errNoRecorder
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.closed {
		return fmt.Errorf("dispatch: the record in %q is closed", r.path)
	}
	return r.write()
}

// Close ends the recording and writes the file. A second Close does nothing. If Close fails, the recording has ended all
// the same.
func (r *Recorder) Close() error {
	if r == nil {
		return errNoRecorder
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.d.mu.Lock()
	r.d.recorder = nil
	r.d.rebuild()
	r.d.mu.Unlock()
	return r.write()
}

// write replaces the file.
func (r *Recorder) write() (err error) {
	file, err := os.CreateTemp(filepath.Dir(r.path), temporary)
	if err == nil {
		_, err = file.Write(r.text())
		err = cmp.Or(err, file.Chmod(0o644), file.Close())
		if err == nil {
			err = os.Rename(file.Name(), r.path)
		}
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}
	if err != nil {
		return fmt.Errorf("dispatch: cannot write the record %q: %w", r.path, cause(err))
	}
	return nil
}

// text is what the file holds: the shapes, the most frequent first, and what was left out.
func (r *Recorder) text() []byte {
	var b bytes.Buffer
	b.WriteString("# Shapes that a program called, and how often. calibrate --shapes FILE measures them.\n")
	all, left, least := r.called()
	for _, c := range all {
		fmt.Fprintf(&b, "%s %d\n", c.Name, c.Calls)
	}
	if left > 0 {
		fmt.Fprintf(&b, "# %d calls at further shapes are left out. What was called more than %d times is here, and no count lacks more.\n", left, least)
	}
	for _, c := range r.unnamed() {
		fmt.Fprintf(&b, "# %d calls of %q are left out: its axes are not known.\n", c.Calls, short(c.Name))
	}
	return b.Bytes()
}

// called returns the most frequent shapes with their counts, the most frequent first. It also returns the number of calls at
// others, and how often a shape may have been called without being among them.
func (r *Recorder) called() (all []Called, left, least int64) {
	byName, missed := map[string]int64{}, map[string]int64{}
	places, least := r.counts.all()
	left = r.counts.lost.Load()
	for _, one := range places {
		byName[one.name] += one.calls
		missed[one.name] = max(missed[one.name], one.missed)
	}
	all = byCalls(byName)
	for ; len(all) > MostRecorded; all = all[:len(all)-1] {
		last := all[len(all)-1]
		left += last.Calls
		least = max(least, last.Calls+missed[last.Name])
	}
	return all, left, least
}

// unnamed returns the cases whose axes are not known and that were called, the most frequent first.
func (r *Recorder) unnamed() []Called {
	const most = 20
	byName := map[string]int64{}
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	for name, calls := range r.alone {
		byName[name] = calls.Load()
	}
	all := byCalls(byName)
	return all[:min(len(all), most)]
}

// byCalls lists names that were called, the most frequent first.
func byCalls(calls map[string]int64) []Called {
	var all []Called
	for name, n := range calls {
		if n > 0 {
			all = append(all, Called{Name: name, Calls: n})
		}
	}
	slices.SortFunc(all, func(a, b Called) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return all
}
