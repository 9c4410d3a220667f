package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"crossover/calibration"
	"crossover/sweeps"
	"crossover/timings"
)

// EntryFile is the name of the file, beside a run's sample files, with everything that the samples lack: the entry without
// segments, in the format of the calibration file, compressed. A fit of samples and entry gives the same bytes again.
const EntryFile = "sweep.json.gz"

// save writes the samples of one case, and puts the case into the entry, which is saved after the samples of other cases.
func (r *Run) save(result *sweeps.Result) error {
	result.Samples.Simulated = r.Entry.Simulated
	if err := saveSamples(r.Folder, &result.Samples); err != nil {
		return err
	}
	r.describe(result)
	return nil
}

// saveSamples writes the samples of a case of the newest run. Like all samples they are compressed, because a host keeps
// those of several runs, and a run has a hundred files and more.
func saveSamples(folder string, set *timings.Set) error {
	folder = filepath.Join(folder, casesFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return cannotSave(err)
	}
	return cannotSave(set.SaveCompressed(folder))
}

// casesFolder is the name of the folder, in that of a run, with the samples of its cases. The samples of operations' shapes
// lie beside it. An operation and a case may have the same name.
const casesFolder = "cases"

// CaseFile returns the path of the sample file of a case of the newest run in the folder of a run.
func CaseFile(folder, caseName string) string {
	return filepath.Join(folder, casesFolder, timings.CompressedName(caseName))
}

func cannotSave(err error) error {
	if err != nil {
		return fmt.Errorf("cannot save samples: %w", err)
	}
	return nil
}

func (r *Run) saveEntry(folder string) error {
	file := &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{r.Entry}}
	if err := calibration.SaveCompressed(filepath.Join(folder, EntryFile), file); err != nil {
		return fmt.Errorf("cannot save the sweep: %w", err)
	}
	return nil
}

// Save writes a run that is not fitted yet into a folder that exists: all samples, and then the entry. If ctx is cancelled,
// Save returns the error of ctx after the samples of the current case.
func (r *Run) Save(ctx context.Context, folder string) error {
	for _, set := range r.Timings {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := saveSamples(folder, set); err != nil {
			return err
		}
	}
	for _, set := range r.Shapes {
		if err := cannotSave(set.SaveCompressed(folder)); err != nil {
			return err
		}
	}
	if err := r.saveEarlier(ctx, folder); err != nil {
		return err
	}
	if err := r.saveEntry(folder); err != nil {
		return err
	}
	r.Folder = folder
	return nil
}

// EarlierFile returns the path of the file, in the folder of a run, with the samples of all cases of an earlier run. Its name is the
// run's number in the entry.
func EarlierFile(folder string, run int) string {
	return filepath.Join(folder, "earlier", timings.CompressedName(strconv.Itoa(run)))
}

// saveEarlier writes the samples of earlier runs.
func (r *Run) saveEarlier(ctx context.Context, folder string) error {
	runs := map[int][]*timings.Set{}
	for _, c := range r.Entry.Cases {
		for k, set := range r.Earlier[c.Name] {
			run := c.Earlier[k].Run
			runs[run] = append(runs[run], set)
		}
	}
	for run, sets := range runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := EarlierFile(folder, run)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return cannotSave(err)
		}
		if err := cannotSave(timings.SaveTogether(path, sets)); err != nil {
			return err
		}
	}
	return nil
}

// loadEarlier reads the samples of the earlier runs of all cases.
func (r *Run) loadEarlier() error {
	runs := map[int]map[string]*timings.Set{}
	for k := range r.Entry.Cases {
		c := &r.Entry.Cases[k]
		for _, e := range c.Earlier {
			path := EarlierFile(r.Folder, e.Run)
			if runs[e.Run] == nil {
				sets, err := timings.LoadTogether(path)
				if err != nil {
					return err
				}
				runs[e.Run] = map[string]*timings.Set{}
				for _, set := range sets {
					runs[e.Run][set.Case] = set
				}
			}
			set := runs[e.Run][c.Name]
			if set == nil || set.Simulated != r.Entry.Simulated || set.Digest() != e.Samples {
				return fmt.Errorf("%s holds other samples of %s than %s names", path, c.Name, EntryFile)
			}
			r.Earlier[c.Name] = append(r.Earlier[c.Name], set)
		}
	}
	return nil
}

// saved is the entry beside the samples of a run.
type saved struct{ *calibration.Host }

// killed reports whether the run ended before it saved its duration. Sample files may then be newer than the entry.
func (s *saved) killed() bool { return s.Method.SpentSeconds == 0 }

func loadEntry(folder string) (*saved, error) {
	path := filepath.Join(folder, EntryFile)
	file, err := calibration.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no sweep: there is no %s in it (want a folder such as sweeps/data/HOST)", folder, EntryFile)
	}
	if err != nil {
		return nil, err
	}
	if len(file.Hosts) != 1 {
		return nil, fmt.Errorf("%s: %d hosts in it, want 1", path, len(file.Hosts))
	}
	return &saved{&file.Hosts[0]}, nil
}

// Load reads the run in a folder. If the folder is that of a host, Load reads the newest finished run in it.
func Load(folder string) (*Run, error) {
	if _, err := os.Stat(filepath.Join(folder, EntryFile)); errors.Is(err, fs.ErrNotExist) {
		if runs := finished(folder); len(runs) > 0 {
			folder = runs[len(runs)-1]
		}
	}
	s, err := loadEntry(folder)
	if err != nil {
		return nil, err
	}
	r := &Run{Entry: *s.Host, Timings: map[string]*timings.Set{}, Earlier: map[string][]*timings.Set{}, Shapes: map[string]*timings.Set{}, Folder: folder}
	if err := r.loadShapes(s.killed()); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	for k := range r.Entry.Cases {
		c := &r.Entry.Cases[k]
		set, err := timings.Load(CaseFile(folder, c.Name))
		if errors.Is(err, fs.ErrNotExist) && (c.Blocks == 0 || s.killed()) {
			set, err = &timings.Set{Case: c.Name, Simulated: r.Entry.Simulated}, nil
		}
		if err == nil && s.killed() {
			recount(c, set)
		}
		if err == nil {
			err = agree(c, set, r.Entry.Simulated)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		r.Timings[c.Name] = set
	}
	if err := r.loadEarlier(); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return r, nil
}

// recount sets the sizes and the number of blocks of a case from its samples.
func recount(c *calibration.Case, set *timings.Set) {
	c.Sizes, c.Blocks = set.Sizes(), len(set.Blocks)
	if len(c.Sizes) > 0 {
		c.Axis.From, c.Axis.To = c.Sizes[0], c.Sizes[len(c.Sizes)-1]
	}
}

// agree returns an error if the samples of a case do not fit the entry beside them.
func agree(c *calibration.Case, set *timings.Set, simulated bool) error {
	file := timings.CompressedName(c.Name)
	switch {
	case set.Case != c.Name:
		return fmt.Errorf("%s holds samples of %q, want %q as %s has it", file, set.Case, c.Name, EntryFile)
	case set.Simulated != simulated:
		return fmt.Errorf("%s says simulated %v, %s says %v", file, set.Simulated, EntryFile, simulated)
	case len(set.Blocks) != c.Blocks:
		return fmt.Errorf("%s holds %d blocks, want %d as %s has it", file, len(set.Blocks), c.Blocks, EntryFile)
	case c.Blocks > 0 && !slices.Equal(set.Sizes(), c.Sizes):
		return fmt.Errorf("%s holds other sizes than %s", file, EntryFile)
	}
	for _, name := range set.Implementations {
		if !slices.ContainsFunc(c.Implementations, func(i calibration.Implementation) bool { return i.Name == name }) {
			return fmt.Errorf("%s times %q, which %s does not list", file, name, EntryFile)
		}
	}
	return nil
}
