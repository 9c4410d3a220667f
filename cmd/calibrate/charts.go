package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/harness"
	"crossover/plots"
)

// drawing is the beginning of the name of a folder, in that of the charts, in which charts are drawn before they take their
// places. The number of the process follows.
const drawing = ".charts-"

// draw draws the charts of a fitted run into a folder of their own and returns it.
func (o *output) draw(ctx context.Context, r *harness.Run) (folder string, err error) {
	if folder, err = os.MkdirTemp(o.charts, fmt.Sprintf("%s%d-*", drawing, os.Getpid())); err != nil {
		return "", err
	}
	if _, err = plots.Write(ctx, folder, shown(&r.Entry), chartRuns(r)); err != nil {
		os.RemoveAll(folder)
		return "", err
	}
	return folder, nil
}

// chartRuns returns the runs of each case, as charts show them.
func chartRuns(r *harness.Run) map[string][]plots.Run {
	runs := make(map[string][]plots.Run, len(r.Entry.Cases))
	for k := range r.Entry.Cases {
		c := &r.Entry.Cases[k]
		earlier := r.EarlierThresholds(c)
		for n, set := range r.History(c.Name) {
			run := plots.Run{Samples: set}
			if n > 0 {
				run.Thresholds = earlier[n-1]
			}
			runs[c.Name] = append(runs[c.Name], run)
		}
	}
	return runs
}

// placeCharts puts drawn charts into the place of those of the entry before, nil where there was none, and returns how many
// there are. Charts of cases that the entry no longer has are removed.
func (o *output) placeCharts(folder string, old *calibration.Host) (int, error) {
	drawn, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	var before []string
	if old != nil {
		before = plots.FileNames(old)
	}
	for _, chart := range drawn {
		if err := os.Rename(filepath.Join(folder, chart.Name()), filepath.Join(o.charts, chart.Name())); err != nil {
			return 0, err
		}
		before = slices.DeleteFunc(before, func(name string) bool { return name == chart.Name() })
	}
	for _, name := range before {
		os.Remove(filepath.Join(o.charts, name))
	}
	return len(drawn), nil
}

// removeStrays removes what runs left in the folder of the charts that were killed while they drew: folders of processes that
// are gone, and files without a process in their name that are too old to be of one that runs.
func removeStrays(charts string) {
	const longest = time.Hour // no chart takes as long
	all, _ := os.ReadDir(charts)
	for _, entry := range all {
		path := filepath.Join(charts, entry.Name())
		if rest, found := strings.CutPrefix(entry.Name(), drawing); found {
			if process, _, _ := strings.Cut(rest, "-"); harness.Ended(process) {
				os.RemoveAll(path)
			}
			continue
		}
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > longest &&
			(strings.HasPrefix(entry.Name(), ".plot-") || strings.HasPrefix(entry.Name(), ".writable-")) {
			os.Remove(path)
		}
	}
}
