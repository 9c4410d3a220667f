package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/harness"
)

// state is the content of a calibration file.
type state struct {
	text []byte // nil if there is no file
	file *calibration.File
	raw  map[string]string // text of each host, by ids
	err  error             // why it cannot be loaded
}

func readState(path string) *state {
	s := &state{file: &calibration.File{}, raw: map[string]string{}}
	s.text, s.err = os.ReadFile(path)
	if errors.Is(s.err, fs.ErrNotExist) {
		s.text, s.err = nil, nil
		return s
	}
	if s.err != nil {
		return s
	}
	file, err := calibration.Load(path)
	if err != nil {
		s.err = err
		return s
	}
	s.file = file
	s.raw, s.err = rawHosts(s.text)
	return s
}

// rawHosts returns the text of each host in the text of a file.
func rawHosts(text []byte) (map[string]string, error) {
	var file struct{ Hosts []json.RawMessage }
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	raw := map[string]string{}
	for _, h := range file.Hosts {
		var named struct{ ID string }
		if err := json.Unmarshal(h, &named); err != nil {
			return nil, err
		}
		raw[named.ID] = string(h)
	}
	return raw, nil
}

// expect says what one or several commands may have changed.
type expect struct {
	hosts   []string // hosts other than this one whose entries may be new
	often   []string // cases that several runs measured; each may have fewer blocks than the run before
	replace bool     // cases may be gone or poorer, because the command line says so
	same    bool     // nothing may have changed
	harmed  bool     // the entry of this host or its samples were damaged
}

// check tests that the calibration file is whole, and is the old or the new one, and that samples and file fit together. It
// returns the state, against which the next step is tested.
func (r *round) check(path string, old *state, e expect) *state {
	now := readState(filepath.Join(r.work, path))
	switch {
	case now.err != nil:
		r.lose("%s cannot be loaded: %v", path, now.err)
		return now
	case now.text == nil && old.text != nil:
		r.lose("%s is gone", path)
		return now
	case e.same && !bytes.Equal(now.text, old.text):
		r.lose("%s has changed", path)
	}
	for id, text := range old.raw {
		if id != r.host && !slices.Contains(e.hosts, id) && now.raw[id] != text {
			r.lose("%s: the entry of %s has changed", path, id)
		}
	}
	for k := range now.file.Hosts {
		h := &now.file.Hosts[k]
		if was := old.file.Host(h.ID); was == nil && h.ID != r.host && !slices.Contains(e.hosts, h.ID) {
			r.lose("%s: %s is new", path, h.ID)
		} else if was != nil && !e.replace {
			r.checkCases(path, h, was, e.often)
		}
		if h.ID == r.host && !e.harmed || slices.Contains(e.hosts, h.ID) || now.raw[h.ID] != old.raw[h.ID] {
			r.checkSamples(path, h, now.raw[h.ID])
		}
	}
	return now
}

// checkCases tests that no case of an entry is gone or poorer, except for cases that several runs measured.
func (r *round) checkCases(path string, now, old *calibration.Host, often []string) {
	for k := range old.Cases {
		was := &old.Cases[k]
		n := slices.IndexFunc(now.Cases, func(c calibration.Case) bool { return c.Name == was.Name })
		if n < 0 {
			r.lose("%s: %s has lost %s", path, now.ID, was.Name)
			continue
		}
		if is := &now.Cases[n]; is.Samples != was.Samples && !slices.Contains(often, was.Name) {
			if reason := harness.Poorer(is, was, nil, old.Processors()); reason != "" {
				r.lose("%s: %s of %s was better: %s", path, was.Name, now.ID, reason)
			}
		}
	}
}

// checkSamples tests that the samples of an entry exist, and that a fit of them gives the entry's text.
func (r *round) checkSamples(path string, h *calibration.Host, text string) {
	data := filepath.Join(r.work, dataOf(path), h.ID)
	if h.Edited {
		r.lose("%s: the entry of %s does not match its digest", path, h.ID)
	}
	run, err := harness.Find(data, h)
	if err != nil {
		r.lose("%s: the samples of %s: %v", path, h.ID, err)
		return
	}
	if !r.must(run.Fit(context.Background())) {
		return
	}
	var fitted bytes.Buffer
	if _, err := (&calibration.File{Hosts: []calibration.Host{run.Entry}}).WriteTo(&fitted); err != nil {
		r.lose("%s: the samples of %s fit to no entry: %v", path, h.ID, err)
		return
	}
	if raw, err := rawHosts(fitted.Bytes()); err != nil || raw[h.ID] != text {
		r.lose("%s: the samples of %s in %s fit to another entry (%v)", path, h.ID, run.Folder, err)
	}
}

// dataOf returns the folder of the samples of a calibration file.
func dataOf(path string) string {
	if path == defaultFile {
		return defaultData
	}
	return filepath.Join(strings.TrimSuffix(path, filepath.Ext(path)), "data")
}

func plotsOf(path string) string {
	if path == defaultFile {
		return defaultPlots
	}
	return filepath.Join(strings.TrimSuffix(path, filepath.Ext(path)), "plots")
}

var (
	runFolder        = regexp.MustCompile(`^\d{8}T\d{6}Z(-\d+)?$`)
	unfinishedFolder = regexp.MustCompile(`^unfinished-\d{8}T\d{6}Z-\d+(-\d+)?$`)
	backup           = regexp.MustCompile(`\.bak\d*$`)
)

// checkStrays tests that the folder of the round has nothing but calibration files, their backups, samples, charts, and
// unfinished runs that can still be fitted. If a command was ended by force, whole runs of old entries may stay, too.
func (r *round) checkStrays(files ...string) {
	known := map[string]bool{}
	for _, file := range files {
		r.checkTree(file, known)
	}
	filepath.WalkDir(r.work, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(r.work, path)
		switch {
		case err != nil:
			r.lose("%s: %v", name, err)
		case entry.IsDir() || known[name] || slices.Contains(r.own, name):
		case backup.MatchString(name) && slices.Contains(files, backup.ReplaceAllString(name, "")):
		default:
			r.lose("%s was left behind", name)
		}
		return nil
	})
}

// checkTree adds the files that belong to a calibration file to known, and tests its folders of runs and charts.
func (r *round) checkTree(file string, known map[string]bool) {
	known[file] = true
	s := readState(filepath.Join(r.work, file))
	hosts, _ := filepath.Glob(filepath.Join(r.work, dataOf(file), "*"))
	for _, folder := range hosts {
		id := filepath.Base(folder)
		charts := filepath.Join(plotsOf(file), id)
		if r.forced && id != r.host { // the next run of that host removes what a killed command left there
			r.know(folder, known)
			r.know(filepath.Join(r.work, charts), known)
			continue
		}
		runs, _ := os.ReadDir(folder)
		finished := 0
		for _, entry := range runs {
			run := filepath.Join(dataOf(file), id, entry.Name())
			unfinished := unfinishedFolder.MatchString(entry.Name())
			if !unfinished && !runFolder.MatchString(entry.Name()) {
				r.lose("%s was left behind", run)
				continue
			}
			if !unfinished {
				finished++
			}
			r.checkRun(run, unfinished, known)
		}
		if finished > 1 && !r.forced {
			r.lose("%s holds %d runs", filepath.Join(dataOf(file), id), finished)
		}
		if r.forced { // a command that was killed between file and charts may leave those of removed cases
			for _, name := range []string{"scale", "log", "sum"} {
				known[filepath.Join(charts, name+".png")] = true
			}
		}
		if h := s.file.Host(id); h != nil {
			r.checkCharts(charts, h, known)
		}
	}
}

// know adds everything in a folder to known.
func (r *round) know(folder string, known map[string]bool) {
	filepath.WalkDir(folder, func(path string, _ fs.DirEntry, _ error) error {
		name, _ := filepath.Rel(r.work, path)
		known[name] = true
		return nil
	})
}

// checkRun tests that the folder of a run can be fitted and has nothing else. An unfinished folder may have anything that a
// killed run left.
func (r *round) checkRun(folder string, unfinished bool, known map[string]bool) {
	run, err := harness.Load(filepath.Join(r.work, folder))
	if err != nil {
		r.lose("%s cannot be fitted: %v", folder, err)
	}
	if unfinished {
		r.know(filepath.Join(r.work, folder), known)
	}
	known[filepath.Join(folder, harness.EntryFile)] = true
	if run == nil {
		return
	}
	for _, c := range run.Entry.Cases {
		known[harness.CaseFile(folder, c.Name)] = true
		for _, e := range c.Earlier {
			known[harness.EarlierFile(folder, e.Run)] = true
		}
	}
}

// checkCharts tests that the charts of an entry exist and are whole, and adds them to known.
func (r *round) checkCharts(folder string, h *calibration.Host, known map[string]bool) {
	names := []string{"overview"}
	for _, c := range h.Cases {
		names = append(names, c.Name) // cases in stress have letters only
	}
	for _, name := range names {
		path := filepath.Join(folder, name+".png")
		known[path] = true
		file, err := os.Open(filepath.Join(r.work, path))
		if err != nil {
			r.lose("a chart is missing: %v", err)
			continue
		}
		if _, err := png.Decode(file); err != nil {
			r.lose("%s is no chart: %v", path, err)
		}
		file.Close()
	}
}

// lose records that something was lost.
func (r *round) lose(format string, args ...any) {
	r.losses = append(r.losses, fmt.Sprintf(format, args...))
}
