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
	"crossover/kernels/catalogue"
	"crossover/plots"
)

// drawing is the prefix of folders in which charts are drawn before they move to their places. The number of the process
// follows.
const drawing = ".charts-"

// draw draws the charts of a fitted run into a folder of their own and returns it.
func (o *output) draw(ctx context.Context, r *harness.Run) (folder string, err error) {
	if folder, err = os.MkdirTemp(o.charts, fmt.Sprintf("%s%d-*", drawing, os.Getpid())); err != nil {
		return "", err
	}
	if _, err = plots.Write(ctx, folder, shown(&r.Entry), chartRuns(r), catalogue.GroupOf); err != nil {
		os.RemoveAll(folder)
		return "", err
	}
	return folder, nil
}

// chartRuns returns the runs of each case in the form that package plots takes.
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

// placeCharts moves drawn charts to their places and returns their number. old is the host's entry before, or nil.
// placeCharts removes charts of old that were not drawn again.
func (o *output) placeCharts(folder string, old *calibration.Host) (int, error) {
	drawn, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	var before []string
	if old != nil {
		// Older versions drew the overview of every host as one page.
		before = append(plots.FileNames(shown(old), catalogue.GroupOf), "overview.png")
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

// removeStrays removes what killed runs left in the folder of the charts: folders of processes that have ended, and
// temporary files that are too old to belong to a running process.
func removeStrays(charts string) {
	const longest = time.Hour // no chart takes so long
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
