package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"crossover/calibration"
	"crossover/sweeps"
	"crossover/timings"
)

// EntryFile is the name, beside a run's sample files, of what the samples do not hold: the entry without its segments, in
// the format of the calibration file. Samples and entry together refit to the same bytes.
const EntryFile = "sweep.json"

// save writes one case's samples, then the entry that lists it.
func (r *Run) save(result *sweeps.Result) error {
	result.Samples.Simulated = r.Entry.Simulated
	if err := result.Samples.Save(r.options.Folder); err != nil {
		return fmt.Errorf("cannot save samples in %s: %w", r.options.Folder, err)
	}
	r.describe(result)
	return r.saveEntry()
}

func (r *Run) saveEntry() error {
	file := &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{r.Entry}}
	if err := calibration.Save(filepath.Join(r.options.Folder, EntryFile), file); err != nil {
		return fmt.Errorf("cannot save the sweep in %s: %w", r.options.Folder, err)
	}
	return nil
}

// Load reads the run that was saved in a folder.
func Load(folder string) (*Run, error) {
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
	r := &Run{Entry: file.Hosts[0], Timings: map[string]*timings.Set{}}
	for _, c := range r.Entry.Cases {
		set, err := timings.Load(filepath.Join(folder, timings.FileName(c.Name)))
		if errors.Is(err, fs.ErrNotExist) && c.Blocks == 0 {
			set, err = &timings.Set{Case: c.Name}, nil
		}
		if err != nil {
			return nil, err
		}
		r.Timings[c.Name] = set
	}
	return r, nil
}
